"""Lay ledgers over months: depreciation, power, licences, labour and invoices as charges, one per day or hour."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from trainfare.engine.duckdb import DuckDB, quoted
from trainfare.errors import Faults
from trainfare.ledger_tables import COMMITMENTS, HARDWARE, INVOICES, LABOUR, LICENCES, NAMED, POWER, TARIFFS
from trainfare.period import Month
from trainfare.places import Place
from trainfare.tables import BASES, CHARGES, Table

PACKAGE = "trainfare.ledgers"
ROWS: dict[str, tuple[str, Table]] = {
    "hardware": ("hardware_rows", HARDWARE),
    "tariffs": ("tariff_rows", TARIFFS),
    "power": ("power_rows", POWER),
    "licences": ("licence_rows", LICENCES),
    "labour": ("labour_rows", LABOUR),
    "invoices": ("invoice_rows", INVOICES),
    "commitments": ("commitment_rows", COMMITMENTS),
}
"""By the kind of file, the view of what such files say, and its columns."""
LONGEST_GAP_US = 900 * 1_000_000
"""Readings further apart than a quarter of an hour say nothing of the time between them."""
LINES_PER_ROW = 1_000_000_000
"""What a row's number is multiplied by, so that each charge it gives has a line of its own."""
SHOWN_FAULTS = 25


@dataclass(frozen=True)
class Ledger:
    """A delivered ledger: its kind, the source and file it came from, and a SELECT of its rows."""

    kind: str
    delivery: int
    source: str
    path: Place
    select: str
    header_lines: int


@dataclass(frozen=True)
class Laying:
    """How ledgers are laid: up to which moment, under which tags they name jobs, projects and teams, and beside which bills, each
    a SELECT of charges.
    """

    as_of: datetime
    tags: Mapping[str, str]
    bills: Sequence[str] = ()


def lay(engine: DuckDB, ledgers: Sequence[Ledger], months: Iterable[Month], laying: Laying, into: str) -> None:
    """Make table `into`: what these ledgers cost in these months, with the columns of `tables.CHARGES`."""
    spans = [(month.start.date(), month.end.date()) for month in months]
    engine.values("laid_months", "first DATE, before_ DATE", spans)
    for kind, (name, table) in ROWS.items():
        engine.view(name, _rows(table, [ledger for ledger in ledgers if ledger.kind == kind], laying.tags))
    given = {
        "as_of": f"TIMESTAMP '{laying.as_of:%Y-%m-%d %H:%M:%S}'",
        "longest_gap_us": str(LONGEST_GAP_US),
        "columns": ", ".join(
            f"CAST({_columns()[column.name]} AS {column.type}) AS {column.name}" for column in CHARGES.columns
        ),
    }
    for step in ("declining_months", "stretches", "laid_days", "tariff_hours", "measured_power", "power_hours"):
        engine.step(PACKAGE, step, step, given)
    _require_prices(engine, ledgers)
    engine.step(PACKAGE, "laid_charges", into, given)
    if any(ledger.kind == "commitments" for ledger in ledgers):
        engine.add(into, _commitments(engine, ledgers, laying, given))
    engine.drop("declining_months", "stretches", "laid_days", "tariff_hours", "measured_power", "power_hours")


def _commitments(engine: DuckDB, ledgers: Sequence[Ledger], laying: Laying, given: Mapping[str, str]) -> str:
    """A SELECT of what commitments cost, as charges. On the other bases they cost what the bill says, when it says it."""
    known = "WHERE lower(commitment_id) IN (SELECT lower(commitment_id) FROM commitment_rows)"
    lines = " UNION ALL ".join(laying.bills) or f"SELECT {_nothing(CHARGES)} WHERE false"
    engine.table("committed_lines", f"SELECT * FROM ({lines}) {known}")
    _require_not_spread(engine, ledgers)
    engine.step(PACKAGE, "commitment_parts", "commitment_parts", given)
    told = _columns() | dict.fromkeys(BASES, "0") | {"effective": "amount", "origin": "'commitment'", "tags": "NULL"}
    told |= {
        name: name for name in ("charge_category", "commitment_id", "commitment_status", "billing_account", "account")
    }
    told |= {"billing_start": "billing_start", "billing_end": "billing_end"}
    columns = ", ".join(f"CAST({told[column.name]} AS {column.type}) AS {column.name}" for column in CHARGES.columns)
    return f"SELECT {columns} FROM commitment_parts"


def _require_not_spread(engine: DuckDB, ledgers: Sequence[Ledger]) -> None:
    """Refuse a commitment that the bill spreads itself, or that two files have: it would be counted twice."""
    files = {one.delivery: one for one in ledgers}
    faults = Faults()
    twice = engine.rows(
        "SELECT max_by(delivery, delivery), max_by(line, delivery), max_by(commitment_id, delivery) FROM commitment_rows "
        f"GROUP BY lower(commitment_id) HAVING count(*) > 1 ORDER BY ALL LIMIT {SHOWN_FAULTS}"
    )
    for delivery, line, name in twice:
        where = f"{files[delivery].path}:{line + files[delivery].header_lines}"
        faults.add(where, f"commitment '{name}' is in another file too", "Keep one of them.")
    spread = engine.rows(
        "SELECT c.delivery, c.line, c.commitment_id, sum(l.effective), l.currency FROM commitment_rows c JOIN committed_lines l "
        "ON lower(l.commitment_id) = lower(c.commitment_id) WHERE l.charge_category = 'Usage' AND l.effective <> 0 GROUP BY ALL "
        f"ORDER BY ALL LIMIT {SHOWN_FAULTS}"
    )
    for delivery, line, name, amount, currency in spread:
        faults.add(
            f"{files[delivery].path}:{line + files[delivery].header_lines}",
            f"the bill spreads commitment '{name}' itself: its usage lines have {amount:,.2f} {currency} of EffectiveCost",
            "Take the row out, or it would be counted twice.",
        )
    faults.refuse()


def worked_months(engine: DuckDB, ledgers: Sequence[Ledger]) -> set[Month]:
    """The months of time entries: these have a book of their own accord, as a bill's have."""
    days = [f"SELECT day FROM ({one.select})" for one in ledgers if one.kind == "labour"]
    if not days:
        return set()
    found = engine.rows(f"SELECT DISTINCT CAST(date_trunc('month', day) AS DATE) FROM ({' UNION ALL '.join(days)})")
    return {Month.of(day) for (day,) in found}


def _rows(table: Table, ledgers: Sequence[Ledger], tags: Mapping[str, str]) -> str:
    """The rows of all ledgers of one kind, with where they came from and, where they name somebody, their tags."""
    selects = [
        f"SELECT CAST({one.delivery} AS INTEGER) AS delivery, {quoted(one.source)} AS source, * FROM ({one.select})"
        for one in ledgers
    ]
    rows = " UNION ALL ".join(
        selects
        or [f"SELECT CAST(NULL AS INTEGER) AS delivery, CAST(NULL AS VARCHAR) AS source, {_nothing(table)} WHERE false"]
    )
    if not set(NAMED) <= set(table.names):
        return rows
    pairs = ", ".join(f"{quoted(tags[name])}, {name}" for name in NAMED)
    told = f"nullif(CAST(json_merge_patch('{{}}', json_object({pairs})) AS VARCHAR), '{{}}')"
    return f"SELECT *, {told} AS tags FROM ({rows})"


def _nothing(table: Table) -> str:
    return ", ".join(f"CAST(NULL AS {column.type}) AS {column.name}" for column in table.columns)


def _columns() -> dict[str, str]:
    """SQL for each column of a charge, over what a ledger gives."""
    month = "date_trunc('month', period_start)"
    columns = {column.name: "NULL" for column in CHARGES.columns}
    columns |= dict.fromkeys(BASES, "amount")
    columns |= {
        name: name
        for name in ("delivery", "source", "period_start", "period_end", "currency", "origin", "description", "tags")
    }
    return columns | {
        "line": f"line * {LINES_PER_ROW} + component * 10000000 + place",
        "billing_start": month,
        "billing_end": f"{month} + INTERVAL 1 MONTH",
        "charge_category": "'Usage'",
        "service_category": "category",
        "service_name": "service",
        "resource_id": "resource",
        "finer": "0",
    }


def _require_prices(engine: DuckDB, ledgers: Sequence[Ledger]) -> None:
    """Refuse power in an hour for which its tariff has no price, or two."""
    files = {one.delivery: one for one in ledgers}
    faults = Faults()
    found = engine.rows(
        "SELECT min(delivery), min(line), tariff, min(hour) FROM power_hours WHERE price IS NULL GROUP BY tariff, date_trunc('month', "
        f"make_timestamp(hour * 3600000000)) ORDER BY ALL LIMIT {SHOWN_FAULTS}"
    )
    for delivery, line, tariff, hour in found:
        at = datetime.fromtimestamp(hour * 3600, UTC)
        where = f"{files[delivery].path}:{line + files[delivery].header_lines}"
        faults.add(
            where,
            f"tariff '{tariff}' has no price at {at:%Y-%m-%d %H:%M} UTC",
            "Add a tariff file with a price for every hour of the week.",
        )
    twice = engine.rows(
        "SELECT tariff, min(hour), list(DISTINCT tariff_line ORDER BY tariff_line) FROM power_hours "
        "GROUP BY tariff, delivery, line, component, place HAVING count(*) > 1 "
        f"QUALIFY row_number() OVER (PARTITION BY tariff ORDER BY min(hour)) = 1 LIMIT {SHOWN_FAULTS}"
    )
    for tariff, hour, lines in twice:
        at = datetime.fromtimestamp(hour * 3600, UTC)
        rows = " and ".join(str(line) for line in lines)
        faults.add(
            f"tariff '{tariff}'",
            f"has two prices at {at:%Y-%m-%d %H:%M} UTC (rows {rows})",
            "Give each hour one price: check days, hours, valid_from and valid_to.",
        )
    faults.refuse()
