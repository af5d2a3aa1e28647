"""Monthly close: months and versions, reconciliation with the bill, statements, and what changed between versions."""

from collections.abc import Callable
from dataclasses import asdict, replace
from decimal import Decimal
from typing import Any

from trainfare.books.compare import causes, difference
from trainfare.errors import TrainfareError
from trainfare.money import decimal_text
from trainfare.query import cost, trend
from trainfare.query import reconcile as reconciling
from trainfare.query.open_books import OpenBooks
from trainfare.query.selection import NONE
from trainfare.report.render import money
from trainfare.report.statements.formats import FORMATS
from trainfare.serve.pages import spend
from trainfare.serve.pages.context import RequestContext
from trainfare.serve.pages.figures import TOTAL, FigureLink, Link
from trainfare.serve.pages.panel import Column, Page, Panel, Record, Stat, add_up
from trainfare.serve.pages.query import FILTERS
from trainfare.store import Book, BookFiles
from trainfare.store.records import Closing
from trainfare.tables import ESTIMATED, LABELS

MOST_CHANGES = 100


def page(context: RequestContext) -> Page:
    panels = [build(context) for name, build in PANELS.items() if name != "payer-changes" or context.book.version > 1]
    shown = [panel for panel in panels if panel.rows or panel.name != "conversions"]
    return Page("Monthly close", shown, [total_stat(context)], ignored_filters="A month is closed as a whole")


def total_stat(context: RequestContext) -> Stat:
    """The total of the month, whatever the filters: it is closed as a whole."""
    question = replace(context.question, days=None, filters=(), scope="full")
    sums = context.run(trend.by_payer_kind, question, books=[context.book])
    return Stat(
        f"Total of {context.book.month}",
        money(sums["total"]),
        context.currency,
        f"{money(sums['estimated'])} of it estimated" if sums["estimated"] else f"version {context.book.version}",
        decimal_text(sums["total"]),
        _whole_month(context, "/cost-trace", context.book, sums["total"]),
        answers=(context.figure(TOTAL, sums["total"]),),
    )


def _whole_month(
    context: RequestContext, path: str, book: Book, value: Decimal | None, /, **changed: object
) -> FigureLink | None:
    """The link from an amount of a whole month: it drops the filters, which do not apply to this page."""
    month = {"from_": str(book.month), "to": str(book.month), "currency": context.currency}
    return context.drill(path, TOTAL, value, **(dict.fromkeys((*FILTERS, "scope")) | month | changed))


def versions(context: RequestContext) -> Panel:
    basis, currency = context.question.basis, context.currency
    current = {book.id for book in context.current_books}
    rows: list[dict[str, Any]] = [
        {
            "month": str(book.month),
            "version": book.version,
            "built": book.built_at,
            "through": book.complete_through,
            "shares": book.rows.get("shares"),
            "total": _total(book, basis, currency),
            "estimated": _total(book, basis, currency, ESTIMATED),
            "status": _status(book, book.id in current, context.closing(book) if book.closed else None),
            "muted": book.id not in current,
            "book": book,
        }
        for book in sorted(context.published.books, key=lambda book: (book.month, book.version), reverse=True)
    ]

    def of_month(row: Record) -> Link | None:
        """The page of a month; superseded versions have none, and neither has a month without this currency."""
        has_total = row["book"].id in current and any(
            (one.basis, one.currency) == (basis, currency) for one in row["book"].totals
        )
        return _whole_month(context, "/monthly-close", row["book"], row["total"]) if has_total else None

    columns = [
        Column("month", "Month", "key", of_month),
        Column("version", "Version", "count"),
        Column("status", "Status"),
        Column("built", "Built", "time", minor=True),
        Column("through", "Billed through", "time", minor=True),
        Column("shares", "Shares", "count", minor=True),
        Column("total", f"Total {currency}", "money", of_month, estimated="estimated"),
    ]
    note = (
        "To close a month: trainfare close YYYY-MM. Later bills and corrections are booked as adjustments in the next "
        "open month; only an admin can reopen a closed one."
    )
    may_close = context.viewer.closes and not context.closing(context.book)
    month = context.book.month
    more = (f"Close {month} ...", f"/close?month={month}") if may_close else None
    if context.viewer.reopens and context.closing(context.book):
        more = (f"Reopen {month} ...", f"/reopen?month={month}")
    return Panel("versions", "Months and versions", columns, rows, 12, note=note, more=more)


def _status(book: Book, is_current: bool, closing: Closing | None) -> str:
    if closing:
        note = f" ({closing.note})" if closing.note else ""
        return f"closed on {closing.closed_at:%Y-%m-%d} by {closing.closed_by}{note}"
    if book.is_withdrawn:
        return "withdrawn: nothing is charged"
    return "open, current" if is_current else "superseded"


def _total(book: Book, basis: str, currency: str, source: str = "") -> Decimal:
    """The total of a book, or of one of its sources."""
    found = [one for one in book.totals if (one.basis, one.currency) == (basis, currency)]
    return sum((one.shares for one in found if source in ("", one.source)), Decimal(0))


def statements(context: RequestContext) -> Panel:
    """What each value of a label is charged, with its statement to download."""
    by = context.query.get("by", "cost_center")
    if by not in LABELS:
        raise TrainfareError("by", f"statements cannot be made by '{by}'", f"Use one of {', '.join(LABELS)}.")
    question = replace(context.question, days=None, filters=(), scope="full")
    rows = [
        {"value": row.group[by] or NONE, "cost": row.cost, "estimated": row.estimated}
        | {form: form.upper() for form in FORMATS}
        for row in context.run(cost.rows, question, [by], books=[context.book])
    ]

    def download(form: str) -> Callable[[Record], str]:
        return lambda row: context.link(f"/statements/{context.book.month}.{form}", by=by, value=row["value"])

    def trace(row: Record) -> Link | None:
        return _whole_month(context, "/cost-trace", context.book, row["cost"], **{by: row["value"], "payer": "jobs"})

    name = by.replace("_", " ")
    columns = [
        Column("value", name.capitalize(), "key", trace),
        Column("cost", f"Cost {context.currency}", "money", trace, estimated="estimated"),
        *(Column(form, "", "text", download(form)) for form in FORMATS),
    ]
    foot = {"value": "Total"} | add_up(rows, "cost", "estimated")
    about = f"What each {name} is charged for {context.book.month}, to download and file."
    other = "team" if by != "team" else "cost_center"
    more = (f"By {other.replace('_', ' ')}", context.link_here(by=other))
    return Panel("statements", "Statements", columns, rows, 12, about, foot=foot, more=more)


def reconciliation(context: RequestContext) -> Panel:
    basis = context.question.basis
    rows = [
        {
            "source": row["source"],
            "currency": row["currency"],
            "lines": row["lines"],
            "bill": row[f"{basis}_bill"],
            "allocated": row[f"{basis}_shared"],
            "difference": row[f"{basis}_difference"],
            "estimated": row[f"{basis}_shared"] if row["source"] == ESTIMATED else None,
        }
        for row in context.run(reconciling.reconcile, "source", books=[context.book])
    ]

    def trace(row: Record) -> Link | None:
        own = {"source": row["source"], "currency": row["currency"]}
        return _whole_month(context, "/cost-trace", context.book, row["allocated"], **own)

    columns = [
        Column("source", "Source", "key", trace),
        Column("currency", "Currency", minor=True),
        Column("lines", "Lines", "count", minor=True),
        Column("bill", "Bill", "money"),
        Column("allocated", "Allocated", "money", trace, estimated="estimated"),
        Column("difference", "Difference", "money"),
    ]
    about = f"{_version(context)}, {basis} cost. The bill and the allocated shares are added up independently."
    return Panel("reconciliation", "Reconciliation with the bill", columns, rows, 5, about)


def _version(context: RequestContext) -> str:
    return f"{context.book.month}, version {context.book.version}"


def payers(context: RequestContext) -> Panel:
    question = context.question
    rows = context.run(reconciling.by_payer, question.basis, question.currency, books=[context.book])

    def trace(row: Record) -> Link | None:
        kind = {"attempt": "attempts", "label": "labels"}.get(row["payer_kind"], row["payer_kind"])
        own = {"payer": kind, "reason": row["reason"] or NONE}
        path = "/unallocated" if kind == "unallocated" else "/cost-trace"
        return _whole_month(context, path, context.book, row["cost"], **own)

    columns = [
        Column("payer_kind", "Payer", "payer_kind"),
        Column("reason", "Reason", "wide"),
        Column("cost", f"Cost {context.currency}", "money", trace, estimated="estimated"),
    ]
    foot = {"payer_kind": "Total"} | add_up(rows, "cost", "estimated")
    return Panel("payers", "Cost by payer and reason", columns, rows, 7, foot=foot, tall=True)


def conversions(context: RequestContext) -> Panel:
    """The exchange rates applied to charges in other currencies, with their day and source."""
    rows = [asdict(one) for one in spend.applied_rates(context, [context.book])]
    columns = [
        Column("converted_from", "From"),
        Column("original", "Billed", "money"),
        Column("rate", "Rate", "digits"),
        Column("rate_day", "Rate of", "day"),
        Column("rate_source", "Source", "wide"),
        Column("lines", "Lines", "count"),
        Column("converted", f"Converted {context.currency}", "money"),
    ]
    about = f"{_version(context)}. Each line is converted at the rate of its day and rounded once."
    return Panel("conversions", "Currency conversions", columns, rows, 12, about, foot=add_up(rows, "converted"))


def payer_changes(context: RequestContext) -> Panel:
    columns = [
        Column("payer", "Payer", "payer"),
        Column("rule", "Rule", minor=True),
        Column("reason", "Reason", "wide", minor=True),
        Column("before", "Before", "money", estimated="before_estimated"),
        Column("after", "After", "money", estimated="after_estimated"),
        Column("change", f"Change {context.currency}", "change"),
    ]
    return _changes(context, Panel("payer-changes", "Changes by payer", columns, [], 12), difference)


def bill_changes(context: RequestContext) -> Panel:
    columns = [
        Column("source", "Source"),
        Column("category", "Category"),
        Column("rule", "Rule"),
        Column("before", "Before", "money", estimated="before_estimated"),
        Column("after", "After", "money", estimated="after_estimated"),
        Column("change", f"Change {context.currency}", "change"),
    ]
    return _changes(context, Panel("bill-changes", "Changes in the bill", columns, [], 5), causes)


def _changes(context: RequestContext, panel: Panel, find: Callable[..., Any]) -> Panel:
    """Fill a panel with what changed between the month's newest version and the one before it."""
    book = context.book
    if not context.viewer.sees_all:
        return replace(panel, empty=("Changes need full visibility", "Ask finance for them."))
    if book.version == 1:
        return replace(panel, empty=("There is only one version", "A late bill or a changed rule makes another one."))
    store = context.book_reader.store
    sides = (store.files(store.catalog.book(book.month, book.version - 1)), store.files(book))
    rows = context.run(_differing, find, sides, context.question.basis, context.currency, books=[book])
    return replace(
        panel,
        title=f"{panel.title}: {book.month}, version {book.version - 1} to {book.version}",
        rows=rows,
        empty=("No differences", "The versions have different inputs but the same amounts."),
        note=f"The {MOST_CHANGES} largest changes. To list all: trainfare diff" if len(rows) == MOST_CHANGES else "",
    )


def _differing(
    opened: OpenBooks, find: Callable[..., Any], sides: tuple[BookFiles, BookFiles], basis: str, currency: str
) -> list[dict[str, Any]]:
    found = find(opened.engine, *sides, basis)
    return [row for row in found if row["currency"] == currency][:MOST_CHANGES]


PANELS: dict[str, Callable[[RequestContext], Panel]] = {
    "versions": versions,
    "statements": statements,
    "reconciliation": reconciliation,
    "payers": payers,
    "bill-changes": bill_changes,
    "conversions": conversions,
    "payer-changes": payer_changes,
}
