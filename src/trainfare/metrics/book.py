"""The tables a book consists of, made from the account of one month."""

from datetime import UTC, datetime

from trainfare import keyed, scope
from trainfare.engine.protocol import Engine
from trainfare.metrics import failures, findings, lost_work
from trainfare.period import Month

PACKAGE = "trainfare.metrics"
TABLES = {
    "shares": "kept_shares",
    "ways": "ways",
    "payers": "payers",
    "book_attempts": "book_attempts",
    "book_placements": "kept_placements",
    "book_machines": "book_machines",
    "bill_totals": "bill_totals",
    "work": "work",
    "book_work": "book_work",
    "checkpointing": "checkpointing",
    "book_usage": "book_usage",
    "book_quality": "qualities",
    "egress": "egress",
    "spend_rates": "spend_rates",
    "findings": "findings",
    "failures": "failures",
    "failure_rows": "failure_rows",
    "rules_in_force": "rules_in_force",
    "settings": "settings",
}
"""The files of a book, and what each is written from."""


def run(engine: Engine, month: Month) -> datetime | None:
    """Make the tables of the month's book; returns the time through which the bill is complete."""
    through = complete_through(engine, month)
    second = int(through.timestamp()) if through else int(month.start.timestamp())
    engine.step(PACKAGE, "covered", "covered", {"coverage": _coverage(engine)})
    times = {
        "complete_through": str(second),
        "month_start": str(int(month.start.timestamp())),
        "month_end": str(int(month.end.timestamp())),
        "through": _moment(second),
        "a_day_before": _moment(second - 86400),
    }
    engine.step(PACKAGE, "kept_placements", "kept_placements", times)
    engine.view("book_placements", keyed.placements("kept_placements", "attempts", "machines"))
    for step in ("book_attempts", "book_machines", "bill_totals", "spent"):
        engine.step(PACKAGE, step, step, {"first_special": str(keyed.FIRST_SPECIAL)})
    lost_work.run(engine, second)
    for step in ("book_usage", "egress", "spend_rates"):
        engine.step(PACKAGE, step, step, times)
    findings.run(engine, second)
    failures.run(engine, month)
    return through


def _moment(second: int) -> str:
    return f"TIMESTAMP '{datetime.fromtimestamp(second, UTC):%Y-%m-%d %H:%M:%S}'"


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


def _coverage(engine: Engine) -> str:
    """For each way of weighing that takes compute charges, the placements within its targets."""
    selects = [
        "SELECT p.holding, t.first_second, t.last_second FROM placements p JOIN targets t ON t.machine = p.machine"
    ]
    wide = engine.rows(
        "SELECT DISTINCT k.weighing, r.among FROM routed_kinds k JOIN rules_in_force r ON r.rule = k.rule "
        "WHERE k.weighing IS NOT NULL AND r.among <> 'machine' AND k.category IN ('compute', 'platform')"
    )
    selects += [
        "SELECT p.holding, t.first_second, t.last_second FROM placements p "
        "JOIN attempts a ON a.attempt_key = p.attempt_key LEFT JOIN machines m ON m.machine = p.machine "
        f"JOIN targets t ON t.weighing = {weighing} AND t.scope = {scope.of_placement(among)}"
        for weighing, among in wide
    ]
    return " UNION ALL ".join(selects)
