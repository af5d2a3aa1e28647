"""The books themselves: versions, tying out, differences, findings and rules."""

from typing import Annotated, Any, Literal

import msgspec
from litestar import Request, Response, get
from litestar.params import Parameter

from trainfare.errors import IncompleteError
from trainfare.pipeline import fresh_engine
from trainfare.report import difference, taken
from trainfare.report.reconcile import reconcile
from trainfare.store import Book
from trainfare.web import checked
from trainfare.web.api.answer import Format, Row, Told, answered, documented, plain
from trainfare.web.api.asked import Basis, Currency, MonthText, Version, chosen_book
from trainfare.web.books import Shelf
from trainfare.web.rights import sees_everything
from trainfare.web.viewer import Viewer


class Books(msgspec.Struct):
    """Every version of every month, in order."""

    schema_version: int
    books: list[Row]


class OfBook(msgspec.Struct):
    """Rows of one version of one month."""

    schema_version: int
    month: str
    version: int
    rows: list[Row]


class Difference(msgspec.Struct):
    """What changed between two versions of a month, by payer and reason, and what the bill itself says differently."""

    schema_version: int
    month: str
    old: int
    new: int
    basis: str
    bill: list[Row]
    rows: list[Row]


@get("/books", responses=documented(Books), sync_to_thread=True, summary="Books")
def list_books(
    request: Request[Viewer, Any, Any], shelf: Shelf, viewer: Viewer, format_: Format = None
) -> Response[bytes]:
    """Every version of every month. What a book adds up to is told to those who see all of it."""
    books = shelf.published.books

    def find() -> Told:
        return Told("books", [_book(book, viewer) for book in books])

    return answered(request, shelf, format_, books, find)


def _book(book: Book, viewer: Viewer) -> dict[str, Any]:
    told = {
        "month": str(book.month),
        "version": book.version,
        "built_at": book.built_at,
        "complete_through": book.complete_through,
        "closed": book.closed,
        "engine": book.engine,
    }
    if viewer.sees_all:
        told["totals"] = [
            {
                "source": one.source,
                "currency": one.currency,
                "basis": one.basis,
                "charges": one.charges,
                "shares": one.shares,
            }
            for one in book.totals
        ]
    return told


def of_book(book: Book) -> dict[str, Any]:
    return {"month": str(book.month), "version": book.version}


@get(
    "/reconcile",
    responses=documented(OfBook),
    guards=[sees_everything],
    sync_to_thread=True,
    summary="Tie out to the bill",
)
def reconciled(
    request: Request[Viewer, Any, Any],
    shelf: Shelf,
    viewer: Viewer,
    by: Literal["source", "account", "category", "rule"] = "source",
    month: MonthText = None,
    version: Version = None,
    format_: Format = None,
) -> Response[bytes]:
    """Per group and currency what the bill says and what was shared, on every basis, and what is between them."""
    book = chosen_book(shelf, month, version)

    def find() -> Told:
        with shelf.opened(viewer, [book]) as opened:
            return Told("rows", reconcile(opened, by), of_book(book))

    return answered(request, shelf, format_, [book], find)


@get(
    "/diff",
    responses=documented(Difference),
    guards=[sees_everything],
    sync_to_thread=True,
    summary="What changed between versions",
)
def differing(
    request: Request[Viewer, Any, Any],
    shelf: Shelf,
    viewer: Viewer,
    basis: Basis = "effective",
    month: MonthText = None,
    old: Annotated[int | None, Parameter(description="Without it: the one before.", ge=1, le=2_000_000_000)] = None,
    new: Annotated[int | None, Parameter(description="Without it: the newest.", ge=1, le=2_000_000_000)] = None,
    format_: Format = None,
) -> Response[bytes]:
    """Who pays differently in one version than in another, by rule and reason."""
    after = chosen_book(shelf, month, new)
    number = old or after.version - 1
    if number < 1:
        raise IncompleteError(
            f"book {after.month}", "it has no version before", "Build it again when something has changed."
        )
    before = shelf.store.catalog.book(after.month, number)

    def find() -> Told:
        with fresh_engine() as engine:
            sides = (shelf.store.files(before), shelf.store.files(after))
            rows = difference.difference(engine, *sides, basis)
            bill = [plain(row) for row in difference.causes(engine, *sides, basis)]
        beside = {"month": str(after.month), "old": before.version, "new": after.version, "basis": basis, "bill": bill}
        return Told("rows", rows, beside)

    return answered(request, shelf, format_, [before, after], find)


@get("/findings", responses=documented(OfBook), guards=[sees_everything], sync_to_thread=True, summary="What is wrong")
def findings(
    request: Request[Viewer, Any, Any],
    shelf: Shelf,
    viewer: Viewer,
    month: MonthText = None,
    version: Version = None,
    format_: Format = None,
) -> Response[bytes]:
    """What is wrong in a book, with evidence, the money at stake and what to do."""
    book = chosen_book(shelf, month, version)
    known = checked.life(shelf)

    def find() -> Told:
        return Told("rows", [one.record() for one in checked.findings(shelf, viewer, book, known)], of_book(book))

    return answered(request, shelf, format_, [book], find, checked.mark(known))


@get("/rules", responses=documented(OfBook), guards=[sees_everything], sync_to_thread=True, summary="Rules")
def rules(
    request: Request[Viewer, Any, Any],
    shelf: Shelf,
    viewer: Viewer,
    basis: Basis = "effective",
    currency: Currency = None,
    month: MonthText = None,
    version: Version = None,
    format_: Format = None,
) -> Response[bytes]:
    """The rules of a book in order, with what each took and who pays it."""
    book = chosen_book(shelf, month, version)

    def find() -> Told:
        with shelf.opened(viewer, [book]) as opened:
            chosen = opened.currency(currency, shelf.config.currency, basis)
            return Told("rows", taken.taken(opened, basis, chosen), of_book(book))

    return answered(request, shelf, format_, [book], find)


ROUTES = [list_books, reconciled, differing, findings, rules]
