"""Unallocated cost: its services, resources, tags and bill lines, and the settings that would allocate it."""

import json
import pickle
from collections.abc import Callable
from dataclasses import asdict, replace
from decimal import Decimal
from typing import Any

from trainfare.books import reopen
from trainfare.money import decimal_text
from trainfare.query import trend
from trainfare.query.cost import Question
from trainfare.query.unallocated import (
    MOST_LINES,
    UNTAGGED,
    Part,
    Unallocated,
    fixes,
    selected_unallocated,
    unallocated,
)
from trainfare.report.render import money
from trainfare.serve.auth.permissions import require_full_visibility
from trainfare.serve.cache.results import ResultKey
from trainfare.serve.pages import cost_trace
from trainfare.serve.pages.context import RequestContext
from trainfare.serve.pages.figures import TOTAL, Link
from trainfare.serve.pages.lineage import line_link, location, period
from trainfare.serve.pages.panel import Check, Column, Page, Panel, Record, Stat
from trainfare.store import Book

OWN_FILTERS = ("service", "resource_id", "tag")
"""Filters by what bill lines state and shares do not."""

Rows = list[dict[str, Any]]


def page(context: RequestContext) -> Page:
    found = _found(context)
    total = context.run(trend.by_payer_kind, _question(context))["total"]
    cost = sum((one.cost for one in found), Decimal(0))
    lines = sum(one.count for one in found)
    stats = [
        Stat(
            "Unallocated",
            money(cost),
            context.currency,
            str(context.window),
            decimal_text(cost),
            answers=(context.figure(TOTAL, cost),),
        ),
        Stat("Bill lines", f"{lines:,}"),
    ]
    checks = list(cost_trace.book_checks(context))
    if not any(asdict(_part(context)).values()):
        text = f"The bill lines add up to {money(cost)} {context.currency}; the books have {money(total)}. "
        checks.insert(0, Check(text + "Both are compared to the last digit.", cost == total))
    breadcrumbs = [(cost_trace.TITLE, context.link("/cost-trace", payer=None))]
    settings = {str(book.month): context.run(fixes, books=[book]) for book in reversed(context.books)}
    extra = {"settings": {month: text for month, text in settings.items() if text}}
    panels = [build(context) for build in PANELS.values()]
    return Page("Unallocated cost", panels, stats, breadcrumbs, checks=checks, extra=extra, own_filters=OWN_FILTERS)


def _part(context: RequestContext) -> Part:
    return Part(**{name: context.query.get(name) for name in OWN_FILTERS})


def _question(context: RequestContext) -> Question:
    """The question about the unallocated part of the selection."""
    others = tuple(one for one in context.question.filters if one[0] != "payer")
    chosen = context.query.get_all("payer")
    kept = ("unallocated",) if not chosen or "unallocated" in chosen else tuple(chosen)
    return replace(context.question, filters=(*others, ("payer", kept)))


def _found(context: RequestContext) -> list[Unallocated]:
    """What is unallocated in each book of the window."""
    require_full_visibility(context.viewer)
    return [_in_book(context, book) for book in context.books]


def _in_book(context: RequestContext, book: Book) -> Unallocated:
    question, part = _question(context), _part(context)
    is_narrowed = len(question.filters) > 1 or question.days is not None or question.scope != "full"
    is_narrowed = is_narrowed or question.filters[0][1] != ("unallocated",)

    def compute() -> bytes:
        shares = context.run(selected_unallocated, question, books=[book]) if is_narrowed else None
        with context.book_reader.account(book) as (engine, account):
            reopen.open_unallocated(engine, account, shares)
            return pickle.dumps(unallocated(engine, question.basis, question.currency, part))

    key = ResultKey((book.id,), ("unallocated", question.basis, question.selection, part), None)
    found: Unallocated = pickle.loads(context.book_reader.results.get(key, compute))
    return replace(found, lines=[line | {"month": str(book.month)} for line in found.lines])


def _grouped(context: RequestContext, key: str) -> Rows:
    """The groups of all books, highest cost first."""
    rows: dict[str, dict[str, Any]] = {}
    for row in (row for one in _found(context) for row in one.groups[key]):
        so_far = rows.setdefault(row["value"], {"value": row["value"], "cost": Decimal(0), "lines": 0})
        rows[row["value"]] = so_far | {name: so_far[name] + row[name] for name in ("cost", "lines")}
    return sorted(rows.values(), key=lambda row: (-abs(row["cost"]), row["value"]))


def _panel(name: str, key: str, title: str, about: str = "") -> Callable[[RequestContext], Panel]:
    """A panel of groups that each lead to this page, narrowed to the group."""

    def build(context: RequestContext) -> Panel:
        rows = _grouped(context, key)
        kept = {own: context.query.get(own) for own in OWN_FILTERS if context.query.get(own)}

        def narrowed(row: Record) -> Link | None:
            return context.drill_kind("/unallocated", TOTAL, row["cost"], "unallocated", **(kept | {key: row["value"]}))

        columns = [
            Column("value", title, "wide", narrowed),
            Column("lines", "Bill lines", "count", minor=True),
            Column("cost", f"Cost {context.currency}", "money", narrowed),
        ]
        empty = ("Everything is allocated", "Every charge is allocated to a payer or is non-training.")
        return Panel(name, f"By {title.lower()}", columns, rows, 6, about, empty=empty)

    return build


def lines(context: RequestContext) -> Panel:
    largest = sorted((line for one in _found(context) for line in one.lines), key=lambda line: -abs(line["cost"]))
    rows = [
        line
        | {
            "location": location(line["file"], line["file_line"]),
            "period": period(line),
            "tags": _tags(line["tags"]),
        }
        for line in largest[:MOST_LINES]
    ]
    columns = [
        Column("location", "File and line", "id", lambda row: line_link(context, row)),
        Column("period", "Period", "id", minor=True),
        Column("service", "Service"),
        Column("resource_id", "Resource", "wide", minor=True),
        Column("tags", "Tags", "wide", minor=True),
        Column("line_amount", f"Line {context.currency}", "money", lambda row: line_link(context, row), minor=True),
        Column("cost", f"Unallocated {context.currency}", "money"),
    ]
    count = sum(one.count for one in _found(context))
    title = f"Bill lines, top {MOST_LINES} of {count:,}" if count > MOST_LINES else "Bill lines"
    empty = ("No bill lines", "Nothing here is unallocated, or all of it is part of a pot that is split by spend.")
    return Panel("lines", title, columns, rows, 12, "Open a line to see its fields and payers.", empty=empty)


def _tags(text: str | None) -> str:
    try:
        found = json.loads(text or "{}")
    except ValueError:
        return str(text)
    return ", ".join(f"{key}={value}" for key, value in found.items()) or UNTAGGED


NONE_ABOUT = (
    "(none): lines that name none, and parts of pots that are split by spend, which have no lines of their own."
)
TAGS_ABOUT = "A line counts under each of its tags, so these amounts do not add up to the total."
PANELS: dict[str, Callable[[RequestContext], Panel]] = {
    "reasons": _panel("reasons", "reason", "Reason"),
    "services": _panel("services", "service", "Service", NONE_ABOUT),
    "resources": _panel("resources", "resource_id", "Resource", NONE_ABOUT),
    "tags": _panel("tags", "tag", "Tag", TAGS_ABOUT),
    "lines": lines,
}
