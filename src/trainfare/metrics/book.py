"""The tables a book consists of, made from the account of one month."""

from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import Decimal
from types import MappingProxyType

from trainfare import keyed
from trainfare.engine.protocol import Engine
from trainfare.engine.sql import parquet
from trainfare.metrics import coverage, failures, findings, lost_work
from trainfare.period import Month
from trainfare.places import Place
from trainfare.tables import BASES, CONVERSIONS, ESTIMATE_ERRORS, ESTIMATES, Table

PACKAGE = "trainfare.metrics"
TABLES = {
    "shares": "kept_shares",
    "ways": "ways",
    "payers": "payers",
    "book_attempts": "book_attempts",
    "book_placements": "kept_placements",
    "book_machines": "book_machines",
    "bill_totals": "bill_totals",
    "conversions": "conversions",
    "work_seconds": "work_seconds",
    "book_work": "book_work",
    "checkpointing": "checkpointing",
    "used": "used",
    "book_quality": "qualities",
    "egress_parts": "egress",
    "spend_rates": "spend_rates",
    "estimates": "kept_estimates",
    "estimate_errors": "estimate_errors",
    "findings": "findings",
    "failures": "failures",
    "failure_rows": "failure_rows",
    "rules_in_force": "rules_in_force",
    "settings": "settings",
}
"""The files of a book, and what each is written from."""
OUTLASTING = ("estimate_errors", "rules_in_force", "settings")
"""What of it stays when all of its charges are withdrawn."""
OPENED = (*TABLES, *keyed.NUMBERED)
"""The names that an open book takes in an engine."""
OF_COST = {
    name: TABLES[name]
    for name in (
        "shares",
        "ways",
        "payers",
        "book_attempts",
        "book_placements",
        "book_machines",
        "bill_totals",
        "conversions",
        "estimates",
        "estimate_errors",
        "findings",
        "rules_in_force",
        "settings",
    )
}
"""What of it a report of cost reads."""


def run(
    engine: Engine, month: Month, before: Mapping[str, Place] = MappingProxyType({}), is_whole: bool = True
) -> datetime | None:
    """Make the tables of the month's book, or only those of `OF_COST`; returns the time through which the bill is complete.

    `before` has the files of the version before, if there is one: what it estimated is compared with the bill.
    """
    through = complete_through(engine, month)
    second = int(through.timestamp()) if through else int(month.start.timestamp())
    coverage.run(engine, month)
    times = {
        "complete_through": str(second),
        "month_start": str(int(month.start.timestamp())),
        "month_end": str(int(month.end.timestamp())),
        "through": _moment(second),
        "a_day_before": _moment(second - 86400),
    }
    shown = times | {"complete_through": str(max(second, _estimated_through(engine)))}
    engine.step(PACKAGE, "kept_placements", "kept_placements", shown)
    engine.view("book_placements", keyed.placements("kept_placements", "attempts", "machines"))
    for step in ("book_attempts", "book_machines", "bill_totals", "spent", "kept_estimates"):
        engine.step(PACKAGE, step, step, {"first_special": str(keyed.FIRST_SPECIAL)})
    _converted(engine)
    _compare(engine, second, before)
    findings.run(engine, second)
    if is_whole:
        lost_work.run(engine, second)
        for step in ("used", "egress", "spend_rates"):
            engine.step(PACKAGE, step, step, times)
        failures.run(engine, month)
    return through


def _moment(second: int) -> str:
    return f"TIMESTAMP '{datetime.fromtimestamp(second, UTC):%Y-%m-%d %H:%M:%S}'"


def _estimated_through(engine: Engine) -> int:
    """The second up to which hours are estimated; 0 where none are."""
    (last,) = engine.row("SELECT coalesce(max(ends), 0) FROM estimates")
    return int(last)


def _converted(engine: Engine) -> None:
    """Make `conversions`; where nothing was converted, the bill is not read for it."""
    if engine.row("SELECT count(*) FROM routed_kinds WHERE converted_from IS NOT NULL")[0]:
        engine.step(PACKAGE, "conversions", "conversions")
    else:
        engine.table("conversions", f"SELECT {_nothing(CONVERSIONS)} WHERE false")


def _nothing(table: Table) -> str:
    return ", ".join(f"CAST(NULL AS {column.type}) AS {column.name}" for column in table.columns)


def _compare(engine: Engine, through: int, before: Mapping[str, Place]) -> None:
    """Make `estimate_errors`: what earlier versions estimated, and what the bill then said."""
    for name, table in (("previous_estimates", ESTIMATES), ("previous_errors", ESTIMATE_ERRORS)):
        known = before.get(table.name)
        engine.taken(name, f"SELECT * FROM {parquet(known)}" if known else f"SELECT {_nothing(table)} WHERE false")
    if engine.row("SELECT count(*) FROM previous_estimates")[0]:
        engine.step(PACKAGE, "estimate_errors", "estimate_errors", {"through": str(through)})
    else:
        engine.table("estimate_errors", "SELECT * FROM previous_errors")


def complete_through(engine: Engine, month: Month) -> datetime | None:
    """The end of the last metered charge in the month: hours after it have no bill yet.

    Charges for a whole month say nothing about how far metering has come, unless there are no others; and ledgers say
    nothing about the bill, unless there is none.
    """
    (second,) = engine.row(
        "SELECT coalesce(max(epoch_second(last_end)) FILTER (origin = 'bill' AND longest <= 86400), "
        "max(epoch_second(last_end)) FILTER (origin = 'bill'), max(epoch_second(last_end))) "
        "FROM routed_kinds WHERE charge_category = 'Usage' AND origin <> 'estimate' "
        f"AND epoch_second(first_start) < {int(month.end.timestamp())}"
    )
    return None if second is None else min(datetime.fromtimestamp(second, UTC), month.end)


def totals(engine: Engine) -> list[tuple[str, str, str, Decimal, Decimal]]:
    """Both sides of the account, added up independently: source, currency, basis, what was charged and what was shared."""
    sums = ", ".join(f"sum({basis}) AS {basis}" for basis in BASES)
    shared = "(SELECT w.source, w.currency, s.* FROM shared_by_way s JOIN ways w ON w.way = s.way)"
    sides = [
        {
            (record["source"], record["currency"]): record
            for record in engine.records(f"SELECT source, currency, {sums} FROM {table} GROUP BY ALL")
        }
        for table in ("bill_totals", shared)
    ]
    return [
        (source, currency, basis, charged[basis], sides[1][source, currency][basis])
        for (source, currency), charged in sorted(sides[0].items())
        for basis in BASES
    ]
