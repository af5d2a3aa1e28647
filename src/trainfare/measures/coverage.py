"""Find the held time for which the bill has charges: rates divide by that time, and no other."""

from trainfare.engine.protocol import Engine
from trainfare.period import Month
from trainfare.store import scopes
from trainfare.tables import BILLED_ELSEWHERE

PACKAGE = "trainfare.measures"

FOREVER = 253402300800
"""The second at which a running attempt ends."""
OPTIONAL_TABLES = {
    "charged_hours": "target INTEGER, hours BIGINT",
    "billed_coverage_parts": "holding BIGINT, first_second BIGINT, last_second BIGINT, "
    "from_second BIGINT, to_second BIGINT",
}
"""Tables that not every month needs; they are empty if it does not."""


def run(engine: Engine, month: Month) -> None:
    """Make `billed_coverage`, the billed time of each holding, and `billed_coverage_parts` for those with gaps."""
    for name, columns in OPTIONAL_TABLES.items():
        engine.values(name, columns, [])
    times = {"month_start": str(int(month.start.timestamp())), "month_end": str(int(month.end.timestamp()))}
    _make_spans(engine, times["month_end"])
    overlaps = _overlaps(engine, **times)
    engine.step(PACKAGE, "billed_coverage", "billed_coverage", {"overlaps": overlaps})
    if engine.row("SELECT count(*) FROM billed_coverage WHERE spans > 1")[0]:
        engine.step(PACKAGE, "billed_coverage_parts", "billed_coverage_parts", times | {"overlaps": overlaps})


def find_elsewhere(engine: Engine, month: Month) -> None:
    """Make `billed_elsewhere`, what this book bills of the hours of other months, and `other_months`."""
    first, end = (int(moment.timestamp()) for moment in (month.start, month.end))
    if engine.row(f"SELECT count(*) FROM billed_spans WHERE starts < {first} OR ends > {end}")[0]:
        before, after = _overlaps(engine, "0", str(first)), _overlaps(engine, str(end), str(FOREVER))
        engine.step(PACKAGE, BILLED_ELSEWHERE.name, BILLED_ELSEWHERE.name, {"overlaps": f"{before} UNION ALL {after}"})
    else:
        engine.values(BILLED_ELSEWHERE.name, BILLED_ELSEWHERE.definition(), [])
    days = {"first_day": str(first // 86400), "end_day": str(end // 86400)}
    engine.step(PACKAGE, "other_months", "other_months", days)


def _make_spans(engine: Engine, month_end: str) -> None:
    """Make `billed_spans`, the spans of time for which each target has charges.

    Lines are read once more to count hours, for all targets at once, and again only for targets with gaps.
    """
    engine.step(PACKAGE, "time_charge_kinds", "time_charge_kinds", {"month_end": month_end})
    # Hours are counted by their start, so all must start at the same minute: in some zones that is not the full hour.
    (minutes,) = engine.row("SELECT count(DISTINCT starts % 3600) FROM periods WHERE ends - starts = 3600")
    if minutes == 1:
        engine.step(PACKAGE, "charged_hours", "charged_hours")
    engine.step(PACKAGE, "billed_targets", "billed_targets")
    engine.table(
        "spans", "SELECT target, first_second AS starts, last_second AS ends FROM billed_targets WHERE NOT has_gaps"
    )
    if engine.row("SELECT count(*) FROM billed_targets WHERE has_gaps")[0]:
        engine.step(PACKAGE, "spans_with_gaps", "spans_with_gaps")
        engine.add("spans", "SELECT target, starts, ends FROM spans_with_gaps")
        engine.drop("spans_with_gaps")
    columns = "t.weighing, t.scope, t.machine, s.starts, s.ends"
    engine.table("billed_spans", f"SELECT {columns} FROM spans s JOIN targets t ON t.target = s.target")
    engine.drop("time_charge_kinds", "charged_hours", "billed_targets", "spans")


def _overlaps(engine: Engine, month_start: str, month_end: str) -> str:
    """Return a SELECT of the billed spans that overlap each placement: those of its machine, and of wider scopes."""
    select = (
        "SELECT p.holding, p.machine, "
        f"CASE WHEN s.starts IS NOT NULL THEN greatest(s.starts, p.starts, {month_start}) END AS starts, "
        f"CASE WHEN s.ends IS NOT NULL THEN least(s.ends, p.ends, {month_end}) END AS ends FROM placements p "
    )
    overlap = f"s.ends > greatest(p.starts, {month_start}) AND s.starts < least(p.ends, {month_end})"
    selects = [f"{select} LEFT JOIN billed_spans s ON s.machine = p.machine AND {overlap}"]
    wide = engine.rows(
        "SELECT DISTINCT k.weighing, r.among FROM routed_kinds k JOIN rules_in_force r ON r.rule = k.rule "
        "WHERE k.weighing IN (SELECT weighing FROM billed_spans WHERE machine IS NULL)"
    )
    selects += [
        f"{select} JOIN attempts a ON a.attempt_key = p.attempt_key LEFT JOIN machines m ON m.machine = p.machine "
        f"JOIN billed_spans s ON s.weighing = {weighing} AND s.scope = {scopes.of_placement(among)} AND {overlap}"
        for weighing, among in wide
    ]
    return " UNION ALL ".join(selects)
