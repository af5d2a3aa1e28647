"""The month at a glance: what was spent, who it was allocated to, what changed, and whether it ties out to the bill."""

from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import Any

from trainfare.money import decimal_text
from trainfare.query import change, cost, jobs, trend
from trainfare.query.cost import Row
from trainfare.query.jobs import Listing
from trainfare.query.selection import NONE
from trainfare.query.window import Window
from trainfare.report.render import money
from trainfare.serve.pages import labels, spend
from trainfare.serve.pages.context import RequestContext
from trainfare.serve.pages.figures import ALLOCATED, BILLED, ESTIMATED, JOBS, TOTAL, Link, chart_link
from trainfare.serve.pages.panel import Column, Page, Panel, Record, Stat, format_value, ratio


def page(context: RequestContext) -> Page:
    return Page("Overview", [build(context) for build in PANELS.values()], stats(context))


def stats(context: RequestContext) -> list[Stat]:
    now = context.run(trend.by_payer_kind, context.question)
    (overall,) = context.run(cost.rows, context.question, [])
    before, old_rate = None, None
    if context.books_before and context.query.get("compare") != "off":
        before = context.run(trend.by_payer_kind, context.question_before, books=context.books_before)
        (old,) = context.run(cost.rows, context.question_before, [], books=context.books_before)
        old_rate = old.rate
    return [
        Stat(
            "Total",
            money(now["total"]),
            context.currency,
            f"{money(now['estimated'])} of it estimated" if now["estimated"] else "",
            decimal_text(now["total"]),
            context.drill("/cost-trace", TOTAL, now["total"]),
            *_change(context, now["total"], before["total"] if before else None),
            answers=(context.figure(TOTAL, now["total"]),),
        ),
        Stat(
            "Allocated cost",
            money(now["jobs"]),
            context.currency,
            f"{overall.jobs:,} {'job' if overall.jobs == 1 else 'jobs'}",
            decimal_text(now["jobs"]),
            context.drill("/jobs", ALLOCATED, now["jobs"]),
            *_change(context, now["jobs"], before["jobs"] if before else None),
        ),
        Stat(
            "Cost per training hour",
            labels.rate(overall),
            f"{context.currency} / {'GPU' if context.question.per == 'gpu' else 'wall'} h",
            labels.rate_detail(overall) or f"median {money(overall.rate_median)}, p95 {money(overall.rate_p95)}",
            decimal_text(overall.rate),
            None,
            *_change(context, overall.rate, old_rate),
        ),
        *(_percent_stat(context, kind, now, before) for kind in ("idle", "unallocated") if context.selects(kind)),
        *spend.budget_stats(context, now["total"]),
    ]


def _percent_stat(
    context: RequestContext, kind: str, now: dict[str, Decimal], before: dict[str, Decimal] | None
) -> Stat:
    """One payer kind as a percentage of the total."""
    versus = ""
    if before:
        versus = f"{format_value('percent', ratio(before[kind], before['total']))} in {context.window.previous()}"
    return Stat(
        spend.PAYER_NAMES[kind],
        format_value("percent", ratio(now[kind], now["total"])),
        "of total",
        f"{money(now[kind])} {context.currency}",
        decimal_text(now[kind]),
        context.drill_kind("/unallocated" if kind == "unallocated" else "/cost-trace", TOTAL, now[kind], kind),
        versus=versus,
    )


def _change(context: RequestContext, now: Decimal | None, before: Decimal | None) -> tuple[str, str, str]:
    """The relative change since the preceding period, its direction, and the name of that period."""
    if now is None or not before:
        return "", "", ""
    part = (now - before) / abs(before)
    direction = "up" if part > 0 else "down" if part < 0 else ""
    return f"{100 * abs(part):.1f} %", direction, f"vs. {context.window.previous()}"


def teams(context: RequestContext) -> Panel:
    by_team = context.run(cost.rows, context.question, ["team"])
    total = sum((row.cost or Decimal(0) for row in by_team), Decimal(0))
    rows = [
        {
            "team": row.group["team"],
            "jobs": row.jobs or None,
            "gpu_seconds": row.gpu_seconds,
            "cost": row.cost,
            "estimated": row.estimated,
            "part": ratio(row.cost, total),
            "rate": row.rate,
            "at_least": row.at_least,
        }
        for row in by_team
    ]

    def jobs_of_team(row: Record) -> Link | None:
        return context.drill_kind("/jobs", ALLOCATED, row["cost"], "jobs", team=row["team"] or NONE)

    columns = [
        Column("team", "Team", "key", jobs_of_team),
        Column("jobs", "Jobs", "count", minor=True),
        Column("gpu_seconds", "GPU h", "hours", minor=True),
        Column(
            "cost",
            f"Cost {context.currency}",
            "money",
            lambda row: context.drill_kind("/cost-trace", TOTAL, row["cost"], "jobs", team=row["team"] or NONE),
            estimated="estimated",
        ),
        Column("part", "% of jobs", "percent"),
        Column("rate", labels.rate_title(context), "rate"),
    ]
    about = "Size: cost. Darker (dark theme: lighter): higher cost per hour."
    foot = {"team": "All jobs", "cost": total, "estimated": sum((row.estimated for row in by_team), Decimal(0))}
    chart = _team_treemap(context, by_team)
    return Panel(
        "teams", "Cost by team and project", columns, rows, 7, about, chart, "r16", foot, table_open=True, tall=True
    )


def _team_treemap(context: RequestContext, by_team: list[Row]) -> dict[str, Any]:
    by_project = context.run(cost.rows, context.question, ["team", "project"])
    nodes = [
        {
            "name": row.group["team"] or NONE,
            "value": decimal_text(row.cost),
            "rate": decimal_text(row.rate),
            **chart_link(context.drill_kind("/jobs", ALLOCATED, row.cost, "jobs", team=row.group["team"] or NONE)),
            "children": [
                tile
                for part in by_project
                if part.group["team"] == row.group["team"] and part.cost and part.cost > 0
                for tile in _project_tiles(context, row.group["team"], part)
            ],
        }
        for row in by_team
        if row.cost and row.cost > 0
    ]
    return {"kind": "treemap", "unit": context.currency, "rate_unit": f"{context.currency}/h", "nodes": nodes}


def _project_tiles(context: RequestContext, team: str | None, project: Row) -> list[dict[str, Any]]:
    """The tiles of a project: one for its billed cost, one for its estimated cost."""
    name, cost_ = project.group["project"] or NONE, project.cost or Decimal(0)
    group = {"team": team or NONE, "project": name}

    def tile(measure: str, value: Decimal) -> dict[str, Any]:
        link = chart_link(context.drill_kind("/jobs", measure, value, "jobs", **group))
        return {"value": decimal_text(value), "rate": decimal_text(project.rate), **link}

    billed, estimated = cost_ - project.estimated, project.estimated
    tiles = []
    if billed > 0:
        tiles.append({"name": name} | tile(BILLED, billed))
    if estimated > 0:
        tiles.append({"name": f"{name}, estimated", "hatched": True} | tile(ESTIMATED, estimated))
    return tiles


def top_jobs(context: RequestContext) -> Panel:
    found = context.run(jobs.jobs, context.question, Listing(limit=10))
    rows = [row | {"part": ratio(row["cost"], found.cost)} for row in found.rows]
    columns = [
        Column("job", "Job", "key", lambda row: context.job_figure(row["job"], row["cost"])),
        Column("team", "Team", "key", minor=True),
        Column("cost", f"Cost {context.currency}", "money", estimated="estimated"),
        Column("part", "% of jobs", "percent"),
        Column("rate", labels.rate_title(context), "rate"),
    ]
    more = (f"All {found.count:,} jobs", context.drill("/jobs", JOBS, found.count) or "")
    return Panel("top-jobs", "Top 10 jobs by cost", columns, rows, 5, more=more)


def unallocated(context: RequestContext) -> Panel:
    found = context.run(cost.non_job_payers, context.question)["unallocated"]
    total = context.run(trend.by_payer_kind, context.question)["total"]
    rows: list[dict[str, Any]] = [
        {"reason": reason, "cost": amount, "estimated": found.estimated_by_reason[reason], "part": ratio(amount, total)}
        for reason, amount in found.reasons
    ]

    def of_reason(row: Record) -> Link | None:
        return context.drill_kind("/unallocated", TOTAL, row["cost"], "unallocated", reason=row["reason"])

    columns = [
        Column("reason", "Reason", "wide", of_reason),
        Column("cost", f"Cost {context.currency}", "money", of_reason, estimated="estimated"),
        Column("part", "% of total", "percent"),
    ]
    foot = {"reason": "Unallocated", "cost": found.cost, "estimated": found.estimated}
    empty = ("Everything is allocated", "Every charge is allocated to a payer or is non-training.")
    if not context.selects("unallocated"):
        empty = (
            "Not part of this selection",
            "Unallocated cost belongs to no job or team, so a filter by one of them leaves it out. Remove the filter to "
            "see it."
            if context.viewer.sees_all
            else "You see the cost of your own jobs. Ask finance for unallocated cost.",
        )
    more = ("Services, resources, tags and settings that would fix it", context.link("/unallocated", payer=None))
    return Panel(
        "unallocated",
        "Unallocated cost by reason",
        columns,
        rows,
        5,
        foot=foot,
        empty=empty,
        more=more if rows else None,
    )


def changes(context: RequestContext) -> Panel:
    columns = [
        Column("step", "Step"),
        Column("change", f"Change {context.currency}", "change"),
        Column("meaning", "Meaning", "wide"),
    ]
    period = context.window.previous()
    title = f"What changed since {period}"
    if not context.books_before:
        do = f"There is no complete book for {period}. Build it to see the change step by step."
        return Panel("changes", title, columns, [], empty=("Nothing to compare with", do))
    found = change.change(
        context.run(change.period_costs, context.question_before, books=context.books_before),
        context.run(change.period_costs, context.question),
    )
    rows = [step | {"step": labels.payer_kind(step["step"]).capitalize()} for step in found.steps]
    estimated = context.run(trend.by_payer_kind, context.question)["estimated"]
    start = axis_start(found.before, [step["change"] for step in found.steps])
    chart = {
        "kind": "waterfall",
        "unit": context.currency,
        "axis_start": decimal_text(start),
        "steps": [
            {"name": _short_name(period), "value": decimal_text(found.before), "total": True},
            *({"name": r["step"], "value": decimal_text(r["change"]), "about": r["meaning"]} for r in rows),
            {
                "name": _short_name(context.window),
                "value": decimal_text(found.after),
                "total": True,
                "estimated": decimal_text(estimated),
            },
        ],
    }
    foot = {"step": "Total", "change": found.after - found.before}
    note = f"{money(found.before)} + steps = {money(found.after)} {context.currency}, to the last digit."
    if start:
        note += f" The axis starts at {start:,.0f} {context.currency}, so that small steps are visible."
    return Panel("changes", title, columns, rows, chart=chart, foot=foot, note=note)


def _short_name(period: Window) -> str:
    """The name of a period on an axis: its month, or its first and last day."""
    last = period.last_day
    if period.of_books and period.first.month == last.month:
        return f"{period.first:%b %Y}"
    return f"{period.first:%-d %b}" + (f" – {last:%-d %b}" if period.length > 1 else "")


def axis_start(first: Decimal, steps: Iterable[Decimal]) -> Decimal:
    """Where the axis of a waterfall starts: a round number below its lowest level, or 0 if that is near."""
    levels = [first]
    for step in steps:
        levels.append(levels[-1] + step)
    low, high = min(levels), max(levels)
    start = low - (high - low) * Decimal("0.35")
    if start <= 0 or high == low:
        return Decimal(0)
    unit = Decimal(10) ** (high - low).adjusted()
    return start // unit * unit


PANELS: dict[str, Callable[[RequestContext], Panel]] = {
    "by-month": spend.by_month,
    "by-day": spend.by_day,
    "forecast": spend.forecast,
    "teams": teams,
    "top-jobs": top_jobs,
    "unallocated": unallocated,
    "changes": changes,
}
