"""Which of the time that was held the bill has charges for: rates divide by that time, and no other."""

from trainfare import scope
from trainfare.engine.protocol import Engine
from trainfare.period import Month

PACKAGE = "trainfare.metrics"

MISSING = {
    "charged_hours": "target INTEGER, hours BIGINT",
    "covered_parts": "holding BIGINT, first_second BIGINT, last_second BIGINT, from_second BIGINT, to_second BIGINT",
}
"""Tables that not every month needs, and that are empty then."""


def run(engine: Engine, month: Month) -> None:
    """Make `covered`, the time of each holding that the bill covers, and `covered_parts`, its stretches where it has gaps."""
    for name, columns in MISSING.items():
        engine.values(name, columns, [])
    _make_spans(engine)
    given = {"month_start": str(int(month.start.timestamp())), "month_end": str(int(month.end.timestamp()))}
    given["coverage"] = _coverage(engine, **given)
    engine.step(PACKAGE, "covered", "covered", given)
    if engine.row("SELECT count(*) FROM covered WHERE spans > 1")[0]:
        engine.step(PACKAGE, "covered_parts", "covered_parts", given)


def _make_spans(engine: Engine) -> None:
    """Make `billed_spans`, the stretches of time for which each target has charges. Lines are read once more to count hours, in all
    targets at once, and then one by one of targets with gaps.
    """
    engine.step(PACKAGE, "timed_kinds", "timed_kinds")
    # Hours are counted by when they begin, so all must begin at the same minute: in some zones it is not the full hour.
    (minutes,) = engine.row("SELECT count(DISTINCT starts % 3600) FROM periods WHERE ends - starts = 3600")
    if minutes == 1:
        engine.step(PACKAGE, "charged_hours", "charged_hours")
    engine.step(PACKAGE, "billed_targets", "billed_targets")
    engine.table(
        "spans", "SELECT target, first_second AS starts, last_second AS ends FROM billed_targets WHERE NOT has_gaps"
    )
    if engine.row("SELECT count(*) FROM billed_targets WHERE has_gaps")[0]:
        engine.step(PACKAGE, "broken_spans", "broken_spans")
        engine.add("spans", "SELECT target, starts, ends FROM broken_spans")
        engine.drop("broken_spans")
    columns = "t.weighing, t.scope, t.machine, s.starts, s.ends"
    engine.table("billed_spans", f"SELECT {columns} FROM spans s JOIN targets t ON t.target = s.target")
    engine.drop("timed_kinds", "charged_hours", "billed_targets", "spans")


def _coverage(engine: Engine, month_start: str, month_end: str) -> str:
    """For each way of weighing that takes charges for time, the placements within its targets; those on machines in any case."""
    span = (
        f"SELECT p.holding, p.machine, CASE WHEN s.starts IS NOT NULL THEN greatest(s.starts, p.starts, {month_start}) END AS starts, "
        f"CASE WHEN s.ends IS NOT NULL THEN least(s.ends, p.ends, {month_end}) END AS ends FROM placements p "
    )
    meets = f"s.ends > greatest(p.starts, {month_start}) AND s.starts < least(p.ends, {month_end})"
    selects = [f"{span} LEFT JOIN billed_spans s ON s.machine = p.machine AND {meets}"]
    wide = engine.rows(
        "SELECT DISTINCT k.weighing, r.among FROM routed_kinds k JOIN rules_in_force r ON r.rule = k.rule "
        "WHERE k.weighing IN (SELECT weighing FROM billed_spans WHERE machine IS NULL)"
    )
    selects += [
        f"{span} JOIN attempts a ON a.attempt_key = p.attempt_key LEFT JOIN machines m ON m.machine = p.machine "
        f"JOIN billed_spans s ON s.weighing = {weighing} AND s.scope = {scope.of_placement(among)} AND {meets}"
        for weighing, among in wide
    ]
    return " UNION ALL ".join(selects)
