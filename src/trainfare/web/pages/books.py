"""The books: months and versions, how each ties out to the bill, what changed between versions, and closing."""

from collections.abc import Callable
from dataclasses import asdict, replace
from decimal import Decimal
from typing import Any

from trainfare.errors import TrainfareError
from trainfare.report import cost
from trainfare.report import reconcile as reconciling
from trainfare.report.difference import causes, difference
from trainfare.report.opened import Opened
from trainfare.report.slice import NONE
from trainfare.report.statements.forms import FORMS
from trainfare.store import Book, BookFiles
from trainfare.tables import ESTIMATED, LABELS
from trainfare.web.pages import spend
from trainfare.web.pages.desk import Desk
from trainfare.web.pages.panel import Column, Panel, Record, Sheet

MOST_CHANGES = 100


def sheet(desk: Desk) -> Sheet:
    shown = [find(desk) for name, find in PANELS.items() if name != "differences" or desk.book.version > 1]
    return Sheet("Books", [panel for panel in shown if panel.rows or panel.name != "conversions"])


def versions(desk: Desk) -> Panel:
    rows: list[dict[str, Any]] = []
    for book in sorted(desk.published.books, key=lambda book: (book.month, book.version), reverse=True):
        closing = desk.closing(book) if book.closed else None
        newest = any(book.id == one.id for one in desk.shelved)
        rows.append(
            {
                "month": str(book.month),
                "version": book.version,
                "built": book.built_at,
                "through": book.complete_through,
                "lines": book.rows.get("shares"),
                "total": _total(book, desk.question.basis, desk.currency),
                "estimated": _total(book, desk.question.basis, desk.currency, ESTIMATED),
                "state": _state(book, newest, closing),
                "quiet": not newest,
            }
        )
    columns = [
        Column("month", "Month", "key", lambda row: desk.link("/books", from_=row["month"], to=row["month"])),
        Column("version", "Version", "count"),
        Column("state", "Is"),
        Column("built", "Built", "time", minor=True),
        Column("through", "Billed through", "time", minor=True),
        Column("lines", "Shares", "count", minor=True),
        Column("total", f"Total {desk.currency}", "money", estimated="estimated"),
    ]
    note = "To close a month: trainfare close YYYY-MM. It cannot be undone; what comes later is booked in the next open month."
    may = desk.viewer.closes and not desk.closing(desk.book)
    more = (f"Close {desk.book.month} ...", f"/close?month={desk.book.month}") if may else None
    return Panel("versions", "Months and versions", columns, rows, 12, note=note, more=more)


def statements(desk: Desk) -> Panel:
    """What each value of a label is charged, and its statement for filing."""
    by = desk.asked.one("by", "cost_center")
    if by not in LABELS:
        raise TrainfareError("by", f"statements are not made by '{by}'", f"Use one of {', '.join(LABELS)}.")
    found = desk.ask(cost.rows, replace(desk.question, days=None, only=()), [by], books=[desk.book])
    rows = [
        {"value": row.group[by] or NONE, "cost": row.cost, "estimated": row.estimated}
        | {form: form.upper() for form in FORMS}
        for row in found
    ]

    def address(form: str) -> Callable[[Record], str]:
        return lambda row: desk.link(f"/statements/{desk.book.month}.{form}", by=by, value=row["value"])

    columns = [
        Column("value", by.replace("_", " ").capitalize(), "key"),
        Column("cost", f"Cost {desk.currency}", "money", estimated="estimated"),
        *(Column(form, "", "text", address(form)) for form in FORMS),
    ]
    foot = {"value": "all"} | {
        name: sum((row[name] or Decimal(0) for row in rows), Decimal(0)) for name in ("cost", "estimated")
    }
    about = f"What each {by.replace('_', ' ')} is charged for {desk.book.month}, for filing."
    others = "team" if by != "team" else "cost_center"
    more = (f"By {others.replace('_', ' ')}", desk.stay(by=others))
    return Panel("statements", "Statements", columns, rows, 12, about, foot=foot, more=more)


def _state(book: Book, newest: bool, closing: Any) -> str:
    if closing:
        note = f" ({closing.note})" if closing.note else ""
        return f"closed on {closing.closed_at:%Y-%m-%d} by {closing.closed_by}{note}"
    if book.is_withdrawn:
        return "withdrawn: nothing is charged"
    return "open, the newest" if newest else "replaced"


def _total(book: Book, basis: str, currency: str, source: str = "") -> Decimal:
    """What a book adds up to, or one source of it."""
    found = [one for one in book.totals if (one.basis, one.currency) == (basis, currency)]
    told = (one.shares for one in found if source in ("", one.source))
    return sum(told, Decimal(0))


def tie_out(desk: Desk) -> Panel:
    basis = desk.question.basis
    found = desk.ask(reconciling.reconcile, "source", books=[desk.book])
    rows = [
        {
            "source": row["source"],
            "currency": row["currency"],
            "lines": row["lines"],
            "bill": row[f"{basis}_bill"],
            "shared": row[f"{basis}_shared"],
            "difference": row[f"{basis}_difference"],
            "estimated": row[f"{basis}_shared"] if row["source"] == ESTIMATED else None,
        }
        for row in found
    ]
    columns = [
        Column("source", "Source"),
        Column("currency", "Currency", minor=True),
        Column("lines", "Lines", "count", minor=True),
        Column("bill", "On the bill", "money"),
        Column("shared", "Shared", "money", estimated="estimated"),
        Column("difference", "Difference", "money"),
    ]
    about = (
        f"{desk.book.month}, version {desk.book.version}, {basis} cost. Both sides are added up apart from each other."
    )
    return Panel("tie-out", "Does it tie out to the bill?", columns, rows, 5, about)


def payers(desk: Desk) -> Panel:
    question = desk.question
    rows = desk.ask(reconciling.by_payer, question.basis, question.currency, books=[desk.book])
    columns = [
        Column("payer_kind", "Paid by"),
        Column("reason", "Why", "wide"),
        Column("cost", f"Cost {desk.currency}", "money", estimated="estimated"),
    ]
    foot = {"payer_kind": "total"} | {
        name: sum((row[name] for row in rows), Decimal(0)) for name in ("cost", "estimated")
    }
    return Panel("payers", "Where the money went", columns, rows, 7, foot=foot, tall=True)


def conversions(desk: Desk) -> Panel:
    """By which rates charges of other currencies were converted, of which day, and where they were read."""
    rows = [asdict(one) for one in spend.rates(desk, [desk.book])]
    columns = [
        Column("converted_from", "From"),
        Column("original", "Billed", "money"),
        Column("rate", "Rate", "digits"),
        Column("rate_day", "Of", "day"),
        Column("rate_source", "Source", "wide"),
        Column("lines", "Lines", "count"),
        Column("converted", f"Became {desk.currency}", "money"),
    ]
    foot = {"converted": sum((row["converted"] or Decimal(0) for row in rows), Decimal(0))}
    about = f"{desk.book.month}, version {desk.book.version}. Each line was converted by the rate of its day, and rounded once."
    return Panel("conversions", "Converted from other currencies", columns, rows, 12, about, foot=foot)


def differences(desk: Desk) -> Panel:
    columns = [
        Column("payer", "Payer", "key"),
        Column("rule", "Rule", minor=True),
        Column("reason", "Why", "wide", minor=True),
        Column("before", "Before", "money", estimated="before_estimated"),
        Column("after", "After", "money", estimated="after_estimated"),
        Column("change", f"Change {desk.currency}", "change"),
    ]
    return _between(desk, "differences", "Who pays differently", difference, columns)


def bill_changes(desk: Desk) -> Panel:
    columns = [
        Column("source", "Source"),
        Column("category", "Category"),
        Column("rule", "Rule"),
        Column("before", "Before", "money", estimated="before_estimated"),
        Column("after", "After", "money", estimated="after_estimated"),
        Column("change", f"Change {desk.currency}", "change"),
    ]
    return _between(desk, "bill-changes", "What the bill says differently", causes, columns)


def _between(desk: Desk, name: str, title: str, find: Callable[..., Any], columns: list[Column]) -> Panel:
    """What differs between the newest version of the month and the one before it."""
    book = desk.book
    width = 5 if name == "bill-changes" else 12
    if book.version > 1:
        title = f"{title}: version {book.version - 1} to {book.version} of {book.month}"
    if book.version == 1 or not desk.viewer.sees_all:
        what = "There is only one version" if desk.viewer.sees_all else "This is about everybody's money"
        do = (
            "Build the month again when a bill or a rule has changed."
            if desk.viewer.sees_all
            else "Ask finance for it."
        )
        return Panel(name, title, columns, [], width, empty=(what, do))
    store = desk.shelf.store
    old = store.catalog.book(book.month, book.version - 1)
    sides = (store.files(old), store.files(book))
    rows = desk.ask(_differing, find, sides, desk.question.basis, desk.currency, books=[book])
    empty = ("Nothing differs", "The versions have other inputs, and the same money.")
    note = f"The {MOST_CHANGES} largest. All of them: trainfare diff" if len(rows) == MOST_CHANGES else ""
    return Panel(name, title, columns, rows, width, empty=empty, note=note)


def _differing(
    opened: Opened, find: Callable[..., Any], sides: tuple[BookFiles, BookFiles], basis: str, currency: str
) -> list[dict[str, Any]]:
    found = find(opened.engine, *sides, basis)
    return [row for row in found if row["currency"] == currency][:MOST_CHANGES]


PANELS: dict[str, Callable[[Desk], Panel]] = {
    "versions": versions,
    "statements": statements,
    "tie-out": tie_out,
    "payers": payers,
    "bill-changes": bill_changes,
    "conversions": conversions,
    "differences": differences,
}
