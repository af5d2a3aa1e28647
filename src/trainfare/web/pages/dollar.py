"""Where does this dollar come from? Any part of the books, opened by source, rule and category."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

from trainfare.report import jobs, trend
from trainfare.report.flow import flows
from trainfare.report.jobs import Listing
from trainfare.report.render import exact, money
from trainfare.web.pages import river
from trainfare.web.pages.desk import Desk
from trainfare.web.pages.frame import ties
from trainfare.web.pages.panel import Check, Column, Figure, Panel, Sheet, ratio

TITLE = "Where does this dollar come from?"


def sheet(desk: Desk) -> Sheet:
    found = desk.ask(trend.by_kind, desk.question)
    what = ", ".join(f"{key.replace('_', ' ')} {value}" for key, values in desk.asked.only for value in values)
    told = f"{desk.window}{', ' + money(found['estimated']) + ' of it estimated' if found['estimated'] else ''}"
    figures = [
        Figure(what or "Everything", money(found["total"]), desk.currency, told, exact(found["total"])),
        Figure("Of it, jobs", money(found["jobs"]), desk.currency, "", exact(found["jobs"])),
    ]
    return Sheet(TITLE, [find(desk) for find in PANELS.values()], figures, checks=checks(desk, found))


def checks(desk: Desk, found: dict[str, Decimal]) -> list[Check]:
    """What can be said of the figure beside its size."""
    parts = sum((row["cost"] for row in desk.ask(flows, desk.question)), Decimal(0))
    return [
        Check(f"It adds up: its parts are {exact(parts)} {desk.currency}.", parts == found["total"]),
        *of_books(desk),
    ]


def of_books(desk: Desk) -> list[Check]:
    """What is true of everything in the books: shared once, and closed or not."""
    closed = [book for book in desk.books if desk.closing(book)]
    told = ", ".join(f"{book.month} version {book.version}" for book in desk.books)
    return [
        Check(
            "Nobody else took it: each charge is taken by one rule, and shares add up to the bill on every basis.",
            all(desk.ask(ties, books=[book]) for book in desk.books),
        ),
        Check(
            f"{'Closed' if len(closed) == len(desk.books) else 'Not closed yet, so it may still change'}: {told}.",
            True if len(closed) == len(desk.books) else None,
        ),
    ]


def flow(desk: Desk) -> Panel:
    found = desk.ask(flows, desk.question)
    places = [((row["source"], row["rule"], row["category"], row["payer"]), row["cost"]) for row in found]
    columns = [
        Column("source", "Source", "key", lambda row: desk.stay(source=row["source"]), soft=True),
        Column("rule", "Rule", "key", lambda row: desk.stay(rule=row["rule"]), soft=True),
        Column("category", "Category", "key", lambda row: desk.stay(category=row["category"]), soft=True),
        Column("payer", "Paid by", "key", lambda row: _narrow(desk, row["payer"])),
        Column("cost", f"Cost {desk.currency}", "money", estimated="estimated"),
    ]
    foot = {"source": "all"} | {name: sum((row[name] for row in found), Decimal(0)) for name in ("cost", "estimated")}
    about = "From the bill's source through rules and categories to who pays. Choose a value in the table to look at it alone."
    chart = river.sankey(places, desk.currency)
    return Panel("flow", "The way of the money", columns, found, 12, about, chart, "tall", foot)


def _narrow(desk: Desk, payer: str) -> str:
    kind = payer.strip("_")
    return desk.stay(payer=kind) if payer.startswith("__") else desk.stay(team=payer, payer="jobs")


def dearest(desk: Desk) -> Panel:
    found = desk.ask(jobs.jobs, desk.question, Listing(limit=25))
    rows = [row | {"part": ratio(row["cost"], found.cost)} for row in found.rows if row["cost"]]
    columns = [
        Column("job", "Job", "key", lambda row: desk.link("/dollar/job", job=row["job"])),
        Column("team", "Team", "key"),
        Column("project", "Project", "key"),
        Column("state", "State", "state"),
        Column("cost", f"Cost {desk.currency}", "money", estimated="estimated"),
        Column("part", "Of its jobs", "percent"),
    ]
    foot: dict[str, Any] = {"job": f"all {found.count:,} jobs", "cost": found.cost}
    about = "Open a job to see its pots, weights and bill lines."
    empty = ("No job is in it", "This money was not given to jobs: the table above says to whom, and by which rule.")
    more = ("All of them", desk.link("/jobs"))
    return Panel(
        "dearest", "Jobs in it, dearest first", columns, rows, 12, about, None, "", foot, empty=empty, more=more
    )


PANELS: dict[str, Callable[[Desk], Panel]] = {"flow": flow, "dearest": dearest}
