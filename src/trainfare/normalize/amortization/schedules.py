"""Amortize ledgers over months: depreciation, power, licenses, labor and invoices as charges per day or hour."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from trainfare.engine.duckdb import DuckDB, quoted
from trainfare.errors import Problems
from trainfare.files.locations import Location
from trainfare.period import Month
from trainfare.sources.ledgers.tables import (
    COMMITMENTS,
    HARDWARE,
    INVOICES,
    LABOR,
    LICENSES,
    POWER,
    TARGET_COLUMNS,
    TARIFFS,
)
from trainfare.tables import BASES, CHARGES, Table

PACKAGE = "trainfare.normalize.amortization"
ROWS: dict[str, tuple[str, Table]] = {
    "hardware": ("hardware_rows", HARDWARE),
    "tariffs": ("tariff_rows", TARIFFS),
    "power": ("power_rows", POWER),
    "licenses": ("license_rows", LICENSES),
    "labor": ("labor_rows", LABOR),
    "invoices": ("invoice_rows", INVOICES),
    "commitments": ("commitment_rows", COMMITMENTS),
}
"""By kind of file: the view over the rows of all such files, and its columns."""
LONGEST_GAP_US = 900 * 1_000_000
"""Two readings more than 15 minutes apart do not count for the time between them."""
LINES_PER_ROW = 1_000_000_000
"""The factor applied to a row number, so that each charge of the row has its own line number."""
SHOWN_PROBLEMS = 25
STEPS: dict[str, tuple[str, ...]] = {
    "declining_balance": (),
    "service_periods": (),
    "amortized_days": ("as_of",),
    "tariff_hours": (),
    "measured_power": ("longest_gap_us",),
    "power_hours": ("as_of",),
}
"""The steps in order, each with the SQL fragments it takes."""


@dataclass(frozen=True)
class Ledger:
    """A delivered ledger: its kind, the source and file it came from, and a SELECT of its rows."""

    kind: str
    delivery: int
    source: str
    path: Location
    select: str
    header_lines: int


@dataclass(frozen=True)
class AmortizationContext:
    """What amortization depends on: the time up to which charges are made, the tags under which ledgers name jobs,
    projects and teams, and the bills beside them, each a SELECT of charges.
    """

    as_of: datetime
    tags: Mapping[str, str]
    bills: Sequence[str] = ()


def amortize(
    engine: DuckDB, ledgers: Sequence[Ledger], months: Iterable[Month], context: AmortizationContext, into: str
) -> None:
    """Make table `into`: the charges of these ledgers in these months, with the columns of `tables.CHARGES`."""
    spans = [(month.start.date(), month.end.date()) for month in months]
    engine.values("amortized_months", "first_day DATE, end_day DATE", spans)
    for kind, (name, table) in ROWS.items():
        engine.view(name, _rows(table, [ledger for ledger in ledgers if ledger.kind == kind], context.tags))
    fragments = {
        "as_of": f"TIMESTAMP '{context.as_of:%Y-%m-%d %H:%M:%S}'",
        "longest_gap_us": str(LONGEST_GAP_US),
    }
    for step, names in STEPS.items():
        engine.step(PACKAGE, step, step, {name: fragments[name] for name in names})
    _require_prices(engine, ledgers)
    engine.step(PACKAGE, "amortized_charges", into, {"columns": _select_list(_columns())})
    if any(ledger.kind == "commitments" for ledger in ledgers):
        engine.add(into, _commitments(engine, ledgers, context, fragments["as_of"]))
    engine.drop(*STEPS)


def _commitments(engine: DuckDB, ledgers: Sequence[Ledger], context: AmortizationContext, as_of: str) -> str:
    """Return a SELECT of what commitments cost, as charges. On the other cost bases they cost what the bill states."""
    known = "WHERE lower(commitment_id) IN (SELECT lower(commitment_id) FROM commitment_rows)"
    lines = " UNION ALL ".join(context.bills) or f"SELECT {_nulls(CHARGES)} WHERE false"
    engine.table("committed_lines", f"SELECT * FROM ({lines}) {known}")
    _require_not_amortized(engine, ledgers)
    engine.step(PACKAGE, "commitment_parts", "commitment_parts", {"as_of": as_of})
    sql = _columns() | dict.fromkeys(BASES, "0") | {"effective": "amount", "origin": "'commitment'", "tags": "NULL"}
    sql |= {
        name: name for name in ("charge_category", "commitment_id", "commitment_status", "billing_account", "account")
    }
    sql |= {"billing_start": "billing_start", "billing_end": "billing_end"}
    return f"SELECT {_select_list(sql)} FROM commitment_parts"


def _select_list(sql: Mapping[str, str]) -> str:
    """Return the columns of a charge as a SELECT list, given the SQL of each."""
    return ", ".join(f"CAST({sql[column.name]} AS {column.type}) AS {column.name}" for column in CHARGES.columns)


def _require_not_amortized(engine: DuckDB, ledgers: Sequence[Ledger]) -> None:
    """Reject a commitment that the bill already amortizes, or that two files list: it would be counted twice."""
    files = {ledger.delivery: ledger for ledger in ledgers}
    problems = Problems()
    duplicates = engine.rows(
        "SELECT max_by(delivery, delivery), max_by(line, delivery), max_by(commitment_id, delivery) "
        f"FROM commitment_rows GROUP BY lower(commitment_id) HAVING count(*) > 1 ORDER BY ALL LIMIT {SHOWN_PROBLEMS}"
    )
    for delivery, line, name in duplicates:
        where = f"{files[delivery].path}:{line + files[delivery].header_lines}"
        problems.add(where, f"commitment '{name}' is also in another file", "Keep one of them.")
    amortized = engine.rows(
        "SELECT c.delivery, c.line, c.commitment_id, sum(l.effective), l.currency FROM commitment_rows c "
        "JOIN committed_lines l ON lower(l.commitment_id) = lower(c.commitment_id) "
        "WHERE l.charge_category = 'Usage' AND l.effective <> 0 GROUP BY ALL "
        f"ORDER BY ALL LIMIT {SHOWN_PROBLEMS}"
    )
    for delivery, line, name, amount, currency in amortized:
        problems.add(
            f"{files[delivery].path}:{line + files[delivery].header_lines}",
            f"the bill already amortizes commitment '{name}': "
            f"its usage lines have {amount:,.2f} {currency} of EffectiveCost",
            "Remove the row, or the commitment would be counted twice.",
        )
    problems.raise_if_any()


def labor_months(engine: DuckDB, ledgers: Sequence[Ledger]) -> set[Month]:
    """Return the months with time entries: like the months of a bill, each has a book."""
    days = [f"SELECT day FROM ({ledger.select})" for ledger in ledgers if ledger.kind == "labor"]
    if not days:
        return set()
    found = engine.rows(f"SELECT DISTINCT CAST(date_trunc('month', day) AS DATE) FROM ({' UNION ALL '.join(days)})")
    return {Month.of(day) for (day,) in found}


def _rows(table: Table, ledgers: Sequence[Ledger], tags: Mapping[str, str]) -> str:
    """Return a SELECT of the rows of all ledgers of one kind, with their origin and the tags of the named payers."""
    selects = [
        f"SELECT CAST({ledger.delivery} AS INTEGER) AS delivery, {quoted(ledger.source)} AS source, * "
        f"FROM ({ledger.select})"
        for ledger in ledgers
    ]
    rows = " UNION ALL ".join(
        selects
        or [f"SELECT CAST(NULL AS INTEGER) AS delivery, CAST(NULL AS VARCHAR) AS source, {_nulls(table)} WHERE false"]
    )
    if not set(TARGET_COLUMNS) <= set(table.names):
        return rows
    pairs = ", ".join(f"{quoted(tags[name])}, {name}" for name in TARGET_COLUMNS)
    tags_sql = f"nullif(CAST(json_merge_patch('{{}}', json_object({pairs})) AS VARCHAR), '{{}}')"
    return f"SELECT *, {tags_sql} AS tags FROM ({rows})"


def _nulls(table: Table) -> str:
    return ", ".join(f"CAST(NULL AS {column.type}) AS {column.name}" for column in table.columns)


def _columns() -> dict[str, str]:
    """Return SQL for each column of a charge, in terms of the columns of an amortized row."""
    month = "date_trunc('month', period_start)"
    columns = {column.name: "NULL" for column in CHARGES.columns}
    columns |= dict.fromkeys(BASES, "amount")
    columns |= {
        name: name
        for name in ("delivery", "source", "period_start", "period_end", "currency", "origin", "description", "tags")
    }
    return columns | {
        "line": f"line * {LINES_PER_ROW} + component * 10000000 + sequence",
        "billing_start": month,
        "billing_end": f"{month} + INTERVAL 1 MONTH",
        "charge_category": "'Usage'",
        "service_category": "category",
        "service_name": "service",
        "resource_id": "resource",
        "finer": "0",
    }


def _require_prices(engine: DuckDB, ledgers: Sequence[Ledger]) -> None:
    """Reject power use in an hour for which its tariff has no price, or two."""
    files = {ledger.delivery: ledger for ledger in ledgers}
    problems = Problems()
    unpriced = engine.rows(
        "SELECT min(delivery), min(line), tariff, min(hour) FROM power_hours WHERE price IS NULL "
        "GROUP BY tariff, date_trunc('month', "
        f"make_timestamp(hour * 3600000000)) ORDER BY ALL LIMIT {SHOWN_PROBLEMS}"
    )
    for delivery, line, tariff, hour in unpriced:
        at = datetime.fromtimestamp(hour * 3600, UTC)
        where = f"{files[delivery].path}:{line + files[delivery].header_lines}"
        problems.add(
            where,
            f"tariff '{tariff}' has no price at {at:%Y-%m-%d %H:%M} UTC",
            "Add a tariff file with a price for every hour of the week.",
        )
    ambiguous = engine.rows(
        "SELECT tariff, min(hour), list(DISTINCT tariff_line ORDER BY tariff_line) FROM power_hours "
        "GROUP BY tariff, delivery, line, component, sequence HAVING count(*) > 1 "
        f"QUALIFY row_number() OVER (PARTITION BY tariff ORDER BY min(hour)) = 1 LIMIT {SHOWN_PROBLEMS}"
    )
    for tariff, hour, lines in ambiguous:
        at = datetime.fromtimestamp(hour * 3600, UTC)
        rows = " and ".join(str(line) for line in lines)
        problems.add(
            f"tariff '{tariff}'",
            f"has two prices at {at:%Y-%m-%d %H:%M} UTC (rows {rows})",
            "Give each hour one price: check days, hours, valid_from and valid_to.",
        )
    problems.raise_if_any()
