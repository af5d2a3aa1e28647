"""What every API handler starts from: the viewer, the books and the response format, resolved by dependencies.

A handler takes one of `ApiRequest`, `BookRequest` (one version of one month) or `CostRequest` (a period), and returns
its `respond(...)`, which caches, negotiates the format and handles ETags.
"""

from collections.abc import Callable, Hashable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any

import msgspec
from litestar import Request, Response
from litestar.di import NamedDependency, Provide

from trainfare import quoting
from trainfare.query.cost import Question
from trainfare.query.open_books import OpenBooks
from trainfare.query.window import Window
from trainfare.report import documents
from trainfare.serve.api.parameters import (
    Basis,
    Currency,
    Filters,
    MonthText,
    Per,
    Scope,
    Version,
    WindowText,
    no_data_error,
    parse_filters,
    parse_window,
    select_book,
)
from trainfare.serve.api.responses import MEDIA_TYPES, Format, Payload, body, preferred_format
from trainfare.serve.auth.viewer import Viewer
from trainfare.serve.books import BookReader
from trainfare.serve.cache.responses import cached_response
from trainfare.serve.cache.results import ResultKey
from trainfare.store import Book

_NUMBERS = msgspec.json.Encoder(decimal_format="number")


@dataclass(frozen=True)
class ApiRequest:
    """One API request with its viewer and response format."""

    request: Request[Viewer, Any, Any]
    book_reader: BookReader
    viewer: Viewer
    format: str

    def open(self, books: Sequence[Book]) -> AbstractContextManager[OpenBooks]:
        return self.book_reader.open(self.viewer, books)

    def currency(self, opened: OpenBooks, requested: str | None, basis: str) -> str:
        """Return the currency to report in: the requested one, that of the settings, or the only one billed."""
        return opened.currency(requested, self.book_reader.config.currency, basis)

    def respond(self, books: Sequence[Book], compute: Callable[[], Payload], *depends: Hashable) -> Response[bytes]:
        """Respond with a payload that depends on these books, the URL, the visibility and `depends`."""
        return self._respond(books, lambda: body(compute(), self.format), depends)

    def respond_foreign(self, books: Sequence[Book], compute: Callable[[], Any], *depends: Hashable) -> Response[bytes]:
        """Respond with JSON in another product's schema, where amounts are numbers with all their digits."""
        return self._respond(books, lambda: quoting.json_document(_NUMBERS.encode(compute())), depends)

    def _respond(
        self, books: Sequence[Book], compute: Callable[[], bytes], depends: tuple[Hashable, ...]
    ) -> Response[bytes]:
        versions = tuple((str(book.month), book.version, book.closed) for book in books)
        url = self.request.url
        key = ResultKey(
            versions, (url.path, url.query, self.format, depends), (self.viewer.role, self.viewer.visibility)
        )
        vary = "Accept, Authorization, Cookie"
        return cached_response(self.request, self.book_reader.results, key, compute, MEDIA_TYPES[self.format], vary)


@dataclass(frozen=True)
class BookRequest:
    """A request about one version of one month."""

    api: ApiRequest
    book: Book

    @property
    def fields(self) -> dict[str, Any]:
        """The JSON fields that identify the book."""
        return {"month": str(self.book.month), "version": self.book.version}

    def respond(self, compute: Callable[[OpenBooks], Payload]) -> Response[bytes]:
        def compute_open() -> Payload:
            with self.api.open([self.book]) as opened:
                return compute(opened)

        return self.api.respond([self.book], compute_open)


@dataclass(frozen=True)
class CostRequest:
    """A request about a period, a cost basis, hours and filters. At least one book covers the period."""

    api: ApiRequest
    window: Window
    basis: str
    per: str
    scope: str
    currency: str | None
    filters: tuple[str, ...]
    books: tuple[Book, ...]

    def question(self, opened: OpenBooks) -> Question:
        currency = self.api.currency(opened, self.currency, self.basis)
        filters = parse_filters(self.filters, opened)
        return Question([], self.basis, self.per, self.scope, currency, self.window.days, filters)

    def respond(self, compute: Callable[[OpenBooks, Question], Payload]) -> Response[bytes]:
        def compute_open() -> Payload:
            with self.api.open(self.books) as opened:
                question = self.question(opened)
                payload = compute(opened, question)
                fields = {"window": documents.window(opened.covered(question.days))} | dict(payload.fields)
                return replace(payload, fields=fields)

        return self.api.respond(self.books, compute_open, self.window)


def api_request(
    request: Request[Viewer, Any, Any],
    book_reader: NamedDependency[BookReader],
    viewer: NamedDependency[Viewer],
    format_: Format = None,
) -> ApiRequest:
    accept = request.headers.get("accept", "")
    return ApiRequest(request, book_reader, viewer, format_ or preferred_format(accept))


def json_request(
    request: Request[Viewer, Any, Any], book_reader: NamedDependency[BookReader], viewer: NamedDependency[Viewer]
) -> ApiRequest:
    """A request to an endpoint that responds with JSON only."""
    return ApiRequest(request, book_reader, viewer, "json")


def book_request(
    api_request: NamedDependency[ApiRequest], month: MonthText = None, version: Version = None
) -> BookRequest:
    return BookRequest(api_request, select_book(api_request.book_reader, month, version))


def cost_request(
    api_request: NamedDependency[ApiRequest],
    window_: WindowText = None,
    basis: Basis = "effective",
    per: Per = "wall",
    scope_: Scope = "full",
    currency: Currency = None,
    filters: Filters = None,
) -> CostRequest:
    window = parse_window(api_request.book_reader, window_)
    books = tuple(api_request.book_reader.books_in(window))
    if not books:
        raise no_data_error(api_request.book_reader)
    return CostRequest(api_request, window, basis, per, scope_, currency, tuple(filters or ()), books)


DEPENDENCIES = {
    "api_request": Provide(api_request, sync_to_thread=False),
    "book_request": Provide(book_request, sync_to_thread=True),
    "cost_request": Provide(cost_request, sync_to_thread=True),
}
JSON_DEPENDENCIES = {"api_request": Provide(json_request, sync_to_thread=False)}
