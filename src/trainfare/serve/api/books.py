"""API endpoints about books: versions, reconciliation, differences, findings and rules."""

from typing import Annotated, Any, Literal

import msgspec
from litestar import Response, get
from litestar.di import NamedDependency
from litestar.params import FromQuery, QueryParameter

from trainfare.books import compare
from trainfare.engine.choice import embedded
from trainfare.errors import IncompleteError
from trainfare.query import rule_usage
from trainfare.query.cost import Question
from trainfare.query.open_books import OpenBooks
from trainfare.query.reconcile import reconcile
from trainfare.serve import finding_states
from trainfare.serve.api.parameters import Basis, Currency, MonthText, select_book
from trainfare.serve.api.requests import ApiRequest, BookRequest
from trainfare.serve.api.responses import Payload, Row, documented_responses, plain
from trainfare.serve.auth.permissions import sees_everything
from trainfare.serve.auth.viewer import Viewer
from trainfare.store import Book


class Books(msgspec.Struct):
    """Every version of every month, in order."""

    schema_version: int
    books: list[Row]


class BookRows(msgspec.Struct):
    """Rows of one version of one month."""

    schema_version: int
    month: str
    version: int
    rows: list[Row]


class Difference(msgspec.Struct):
    """The changes between two versions of a month, by payer and reason, and the changes of the bill itself."""

    schema_version: int
    month: str
    old: int
    new: int
    basis: str
    bill: list[Row]
    rows: list[Row]


@get("/books", responses=documented_responses(Books), sync_to_thread=True, summary="Books")
def list_books(api_request: NamedDependency[ApiRequest]) -> Response[bytes]:
    """Every version of every month. Totals are included only for viewers with full visibility."""
    books = api_request.book_reader.published.books
    return api_request.respond(books, lambda: Payload("books", [_book(book, api_request.viewer) for book in books]))


def _book(book: Book, viewer: Viewer) -> dict[str, Any]:
    record: dict[str, Any] = {
        "month": str(book.month),
        "version": book.version,
        "built_at": book.built_at,
        "complete_through": book.complete_through,
        "closed": book.closed,
        "engine": book.engine,
    }
    if viewer.sees_all:
        record["totals"] = [
            {
                "source": one.source,
                "currency": one.currency,
                "basis": one.basis,
                "charges": one.charges,
                "shares": one.shares,
            }
            for one in book.totals
        ]
    return record


@get(
    "/reconcile",
    responses=documented_responses(BookRows),
    guards=[sees_everything],
    sync_to_thread=True,
    summary="Reconciliation with the bill",
)
def reconciliation(
    book_request: NamedDependency[BookRequest],
    by: FromQuery[Literal["source", "account", "category", "rule"]] = "source",
) -> Response[bytes]:
    """Billed and allocated amounts per group and currency, on every cost basis, and their difference."""
    return book_request.respond(lambda opened: Payload("rows", reconcile(opened, by), book_request.fields))


@get(
    "/diff",
    responses=documented_responses(Difference),
    guards=[sees_everything],
    sync_to_thread=True,
    summary="Changes between versions",
)
def difference(
    api_request: NamedDependency[ApiRequest],
    basis: Basis = "effective",
    month: MonthText = None,
    old: Annotated[
        int | None, QueryParameter(description="Default: the version before `new`.", ge=1, le=2_000_000_000)
    ] = None,
    new: Annotated[
        int | None, QueryParameter(description="Default: the newest version.", ge=1, le=2_000_000_000)
    ] = None,
) -> Response[bytes]:
    """Payers whose cost differs between two versions, by rule and reason."""
    store = api_request.book_reader.store
    after = select_book(api_request.book_reader, month, new)
    number = old or after.version - 1
    if number < 1:
        do = "Build it again after something has changed."
        raise IncompleteError(f"book {after.month}", "there is no earlier version", do)
    before = store.catalog.book(after.month, number)

    def compute() -> Payload:
        with embedded() as engine:
            sides = (store.files(before), store.files(after))
            rows = compare.difference(engine, *sides, basis)
            bill = [plain(row) for row in compare.causes(engine, *sides, basis)]
        fields = {"month": str(after.month), "old": before.version, "new": after.version, "basis": basis, "bill": bill}
        return Payload("rows", rows, fields)

    return api_request.respond([before, after], compute)


@get(
    "/findings",
    responses=documented_responses(BookRows),
    guards=[sees_everything],
    sync_to_thread=True,
    summary="Findings",
)
def findings(book_request: NamedDependency[BookRequest]) -> Response[bytes]:
    """Problems in the records of a book, with evidence, the amount at stake and a remedy."""
    api, book = book_request.api, book_request.book
    states = finding_states.load(api.book_reader)

    def compute() -> Payload:
        found = finding_states.findings(api.book_reader, api.viewer, book, states)
        return Payload("rows", [one.record() for one in found], book_request.fields)

    return api.respond([book], compute, finding_states.cache_key(states))


@get("/rules", responses=documented_responses(BookRows), guards=[sees_everything], sync_to_thread=True, summary="Rules")
def rules(
    book_request: NamedDependency[BookRequest], basis: Basis = "effective", currency: Currency = None
) -> Response[bytes]:
    """The rules of a book in order, with the amount each matched and its payers."""

    def compute(opened: OpenBooks) -> Payload:
        chosen = book_request.api.currency(opened, currency, basis)
        return Payload("rows", rule_usage.by_rule(opened, Question([], basis, currency=chosen)), book_request.fields)

    return book_request.respond(compute)


ROUTES = [list_books, reconciliation, difference, findings, rules]
