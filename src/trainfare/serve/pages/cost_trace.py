"""Cost trace: any part of the cost, traced back to source, rule and category."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

from trainfare.money import decimal_text
from trainfare.query import jobs, trend
from trainfare.query.flow import flows
from trainfare.query.jobs import Listing
from trainfare.report.render import money
from trainfare.serve.pages import flow_chart, labels
from trainfare.serve.pages.context import RequestContext
from trainfare.serve.pages.figures import ALLOCATED, JOBS, TOTAL, Link
from trainfare.serve.pages.layout import ties_out
from trainfare.serve.pages.panel import Check, Column, Page, Panel, Record, Stat, add_up, ratio

TITLE = "Cost trace"


def page(context: RequestContext) -> Page:
    found = context.run(trend.by_payer_kind, context.question)
    scope = ", ".join(f"{key.replace('_', ' ')} {value}" for key, values in context.query.filters for value in values)
    detail = str(context.window)
    if found["estimated"]:
        detail += f", {money(found['estimated'])} of it estimated"
    stats = [
        Stat(
            scope or "Total",
            money(found["total"]),
            context.currency,
            detail,
            decimal_text(found["total"]),
            answers=(context.figure(TOTAL, found["total"]),),
        ),
        Stat(
            "Allocated cost",
            money(found["jobs"]),
            context.currency,
            "",
            decimal_text(found["jobs"]),
            context.drill("/jobs", ALLOCATED, found["jobs"]),
        ),
    ]
    if context.selects("unallocated") and found["unallocated"]:
        amount = found["unallocated"]
        link = context.drill_kind("/unallocated", TOTAL, amount, "unallocated")
        stats.append(Stat("Unallocated", money(amount), context.currency, "", decimal_text(amount), link))
    return Page(TITLE, [build(context) for build in PANELS.values()], stats, checks=checks(context, found["total"]))


def checks(context: RequestContext, total: Decimal) -> list[Check]:
    """The parts of the total add up to it, and the books they come from tie out."""
    parts = add_up(context.run(flows, context.question), "cost")["cost"]
    return [
        Check(f"The parts add up to {money(parts)} {context.currency}, to the last digit.", parts == total),
        *book_checks(context),
    ]


def book_checks(context: RequestContext) -> list[Check]:
    """What holds for the books as a whole: every charge is allocated once, and the month is closed or not."""
    is_closed = all(context.closing(book) for book in context.books)
    versions = ", ".join(f"{book.month} version {book.version}" for book in context.books)
    return [
        Check(
            "No double counting: each charge is allocated by exactly one rule, and shares add up to the bill on every "
            "cost basis.",
            all(context.run(ties_out, books=[book]) for book in context.books),
        ),
        Check(
            f"{'Closed' if is_closed else 'Not closed yet, so it may still change'}: {versions}.",
            True if is_closed else None,
        ),
    ]


def flow(context: RequestContext) -> Panel:
    found = context.run(flows, context.question)
    columns = [
        Column("source", "Source", "key", lambda row: context.link_here(source=row["source"]), plain_link=True),
        Column("rule", "Rule", "key", lambda row: context.link_here(rule=row["rule"]), plain_link=True),
        Column("category", "Category", "key", lambda row: context.link_here(category=row["category"]), plain_link=True),
        Column("payer", "Payer", "payer", lambda row: _payer_link(context, row["payer"]), plain_link=True),
        Column(
            "cost", f"Cost {context.currency}", "money", lambda row: _flow_link(context, row), estimated="estimated"
        ),
    ]
    foot = {"source": "Total"} | add_up(found, "cost", "estimated")
    about = (
        "From the bill's source through rules and categories to the payer. Click a value in the table to filter by it."
    )
    steps = [((row["source"], row["rule"], row["category"], row["payer"]), row["cost"]) for row in found]
    return Panel(
        "flow", "Cost flow", columns, found, 12, about, flow_chart.sankey(steps, context.currency), "tall", foot
    )


def _payer_link(context: RequestContext, payer: str) -> str:
    if payer in labels.PAYERS:
        return context.link_here(payer=payer.strip("_"))
    return context.link_here(team=payer, payer="jobs")


def _flow_link(context: RequestContext, row: Record) -> Link | None:
    """The part of the cost that takes this way."""
    way = {name: row[name] for name in ("source", "rule", "category")}
    if row["payer"] in labels.PAYERS:
        return context.drill_kind("/cost-trace", TOTAL, row["cost"], row["payer"].strip("_"), **way)
    return context.drill_kind("/cost-trace", TOTAL, row["cost"], "jobs", **way, team=row["payer"])


def top_jobs(context: RequestContext) -> Panel:
    found = context.run(jobs.jobs, context.question, Listing(limit=25))
    rows = [row | {"part": ratio(row["cost"], found.cost)} for row in found.rows if row["cost"]]
    columns = [
        Column("job", "Job", "key", lambda row: context.drill("/cost-trace/job", TOTAL, row["cost"], job=row["job"])),
        Column("team", "Team", "key"),
        Column("project", "Project", "key", minor=True),
        Column("state", "State", "state", minor=True),
        Column("cost", f"Cost {context.currency}", "money", estimated="estimated"),
        Column("part", "% of jobs", "percent"),
    ]
    foot: dict[str, Any] = {"job": f"All {found.count:,} jobs", "cost": found.cost}
    about = "Open a job to see its pots, weights and bill lines."
    empty = ("No jobs", "This cost is not allocated to jobs; the table above shows its payers and rules.")
    more = (f"All {found.count:,} jobs", context.drill("/jobs", JOBS, found.count) or "")
    return Panel("top-jobs", "Jobs, highest cost first", columns, rows, 12, about, foot=foot, empty=empty, more=more)


PANELS: dict[str, Callable[[RequestContext], Panel]] = {"flow": flow, "top-jobs": top_jobs}
