"""The month at a glance: what was spent, on whom, what changed, and whether it ties out."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

from trainfare.report import change, cost, jobs, trend
from trainfare.report.cost import Row
from trainfare.report.jobs import Listing
from trainfare.report.render import exact, money
from trainfare.report.slice import NONE
from trainfare.web.pages import spend
from trainfare.web.pages.desk import Desk
from trainfare.web.pages.panel import Column, Figure, Panel, Sheet, ratio, shown


def sheet(desk: Desk) -> Sheet:
    return Sheet("Training spend", [find(desk) for find in PANELS.values()], figures(desk))


def figures(desk: Desk) -> list[Figure]:
    now = desk.ask(trend.by_kind, desk.question)
    before = (
        desk.ask(trend.by_kind, desk.question_before, books=desk.books_before)
        if desk.books_before and desk.asked.one("compare") != "off"
        else None
    )
    (overall,) = desk.ask(cost.rows, desk.question, [])
    old = desk.ask(cost.rows, desk.question_before, [], books=desk.books_before)[0] if before else None
    unit = f"{desk.currency} / {'GPU' if desk.question.per == 'gpu' else 'wall'} h"
    spread = f"median {money(overall.rate_median)}, p95 {money(overall.rate_p95)}"
    last = f"before: {desk.window.before()}"
    expected = f"{money(now['estimated'])} of it estimated" if now["estimated"] else ""
    return [
        Figure(
            *("Total", money(now["total"]), desk.currency, expected or (last if before else ""), exact(now["total"])),
            desk.link("/dollar"),
            *_delta(now["total"], before["total"] if before else None),
        ),
        Figure(
            *("Jobs", money(now["jobs"]), desk.currency, f"{overall.jobs:,} jobs", exact(now["jobs"])),
            desk.link("/jobs"),
            *_delta(now["jobs"], before["jobs"] if before else None),
        ),
        Figure(
            *("Cost per training hour", money(overall.rate), unit, spread, exact(overall.rate), None),
            *_delta(overall.rate, old.rate if old else None),
        ),
        _part(desk, "Idle", "idle", now, before),
        _part(desk, "Unallocated", "unallocated", now, before),
        *spend.budget(desk, now["total"]),
    ]


def _part(desk: Desk, what: str, kind: str, now: dict[str, Decimal], before: dict[str, Decimal] | None) -> Figure:
    was = f", before {shown('percent', ratio(before[kind], before['total']))}" if before else ""
    told = f"{money(now[kind])} {desk.currency}{was}"
    link = desk.link("/dollar", payer=kind)
    return Figure(what, shown("percent", ratio(now[kind], now["total"])), "of total", told, exact(now[kind]), link)


def _delta(now: Decimal | None, before: Decimal | None) -> tuple[str, str]:
    """The change against the period before, and whether it went up or down."""
    if now is None or not before:
        return "", ""
    part = (now - before) / abs(before)
    return f"{abs(part):.1%}", "up" if part > 0 else "down" if part < 0 else ""


def teams(desk: Desk) -> Panel:
    by_team = desk.ask(cost.rows, desk.question, ["team"])
    by_project = desk.ask(cost.rows, desk.question, ["team", "project"])
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
        }
        for row in by_team
    ]

    def of_team(team: str | None) -> str:
        return desk.link("/jobs", team=team or NONE)

    nodes = [
        {
            "name": row.group["team"] or NONE,
            "value": exact(row.cost),
            "rate": exact(row.rate),
            "link": of_team(row.group["team"]),
            "children": [
                tile
                for part in by_project
                if part.group["team"] == row.group["team"] and part.cost and part.cost > 0
                for tile in _tiles(desk, row.group["team"], part)
            ],
        }
        for row in by_team
        if row.cost and row.cost > 0
    ]
    chart = {"kind": "treemap", "unit": desk.currency, "rate_unit": f"{desk.currency}/h", "nodes": nodes}
    columns = [
        Column("team", "Team", "key", lambda row: of_team(row["team"])),
        Column("jobs", "Jobs", "count"),
        Column("gpu_seconds", "GPU h", "hours"),
        Column(
            *("cost", f"Cost {desk.currency}", "money", lambda row: desk.link("/dollar", team=row["team"] or NONE)),
            estimated="estimated",
        ),
        Column("part", "Of jobs", "percent"),
        Column("rate", "Per hour", "rate"),
    ]
    about = "Size is cost. The stronger the colour, the dearer the hour."
    foot = {"team": "All jobs", "cost": total, "estimated": sum((row.estimated for row in by_team), Decimal(0))}
    return Panel("teams", "Cost by team and project", columns, rows, 7, about, chart, "r16", foot, keep=True, tall=True)


def _tiles(desk: Desk, team: str | None, part: Row) -> list[dict[str, Any]]:
    """A project's tiles: what bills say of it, and what is estimated."""
    told = {
        "rate": exact(part.rate),
        "link": desk.link("/jobs", team=team or NONE, project=part.group["project"] or NONE),
    }
    name, cost = part.group["project"] or NONE, part.cost or Decimal(0)
    billed = {"name": name, "value": exact(cost - part.estimated)} | told
    expected = {"name": f"{name}, estimated", "value": exact(part.estimated), "hatched": True} | told
    return [tile for tile, amount in ((billed, cost - part.estimated), (expected, part.estimated)) if amount > 0]


def top_jobs(desk: Desk) -> Panel:
    found = desk.ask(jobs.jobs, desk.question, Listing(limit=10))
    rows = [row | {"part": ratio(row["cost"], found.cost)} for row in found.rows]
    columns = [
        Column("job", "Job", "key", lambda row: desk.job(row["job"])),
        Column("team", "Team", "key", minor=True),
        Column("state", "State", "state", minor=True),
        Column("cost", f"Cost {desk.currency}", "money", estimated="estimated"),
        Column("part", "Of jobs", "percent"),
        Column("rate", "Per hour", "rate"),
    ]
    more = (f"All {found.count:,} jobs", desk.link("/jobs"))
    return Panel("top-jobs", "Top 10 jobs by cost", columns, rows, 5, more=more)


def unallocated(desk: Desk) -> Panel:
    found = desk.ask(cost.reasons, desk.question)["unallocated"]
    total = desk.ask(trend.by_kind, desk.question)["total"]
    rows: list[dict[str, Any]] = [
        {"reason": reason, "cost": amount, "estimated": found.expected[reason], "part": ratio(amount, total)}
        for reason, amount in found.reasons
    ]
    columns = [
        Column("reason", "Why", "wide"),
        Column("cost", f"Cost {desk.currency}", "money", estimated="estimated"),
        Column("part", "Of total", "percent"),
    ]
    foot = {"reason": "Unallocated", "cost": found.cost, "estimated": found.estimated}
    empty = ("Everything is allocated", "Every charge was given to somebody, or is outside training.")
    more = ("Give it to somebody with a rule", desk.link("/rules"))
    return Panel("unallocated", "Unallocated, and why", columns, rows, 5, foot=foot, empty=empty, more=more)


def changed(desk: Desk) -> Panel:
    columns = [
        Column("step", "Step"),
        Column("change", f"Change {desk.currency}", "change"),
        Column("meaning", "What it is", "wide"),
    ]
    title, width = f"What changed since {desk.window.before()}", 12
    if not desk.books_before:
        do = f"There is no book of {desk.window.before()}. Build it, and the change is told here step by step."
        return Panel("changed", title, columns, [], width, empty=("There is nothing to compare with", do))
    told = change.change(
        desk.ask(change.parts, desk.question_before, books=desk.books_before), desk.ask(change.parts, desk.question)
    )
    expected = desk.ask(trend.by_kind, desk.question)["estimated"]
    steps = [{"name": step["step"], "value": exact(step["change"]), "about": step["meaning"]} for step in told.steps]
    chart = {
        "kind": "waterfall",
        "unit": desk.currency,
        "near": True,
        "steps": [
            {"name": "before", "value": exact(told.before), "total": True},
            *steps,
            {"name": "now", "value": exact(told.after), "total": True, "estimated": exact(expected)},
        ],
    }
    foot = {"step": "all", "change": told.after - told.before}
    sums = f"{money(told.before)} + steps = {money(told.after)} {desk.currency}, to the last digit."
    note = f"{sums} The axis begins above zero, so that small steps can be seen."
    return Panel("changed", title, columns, told.steps, width, chart=chart, foot=foot, note=note)


PANELS: dict[str, Callable[[Desk], Panel]] = {
    "by-month": spend.by_month,
    "by-day": spend.by_day,
    "forecast": spend.forecast,
    "teams": teams,
    "top-jobs": top_jobs,
    "unallocated": unallocated,
    "changed": changed,
}
