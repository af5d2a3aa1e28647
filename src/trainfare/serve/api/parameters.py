"""Query parameters that several API endpoints share."""

from datetime import UTC, datetime
from typing import Annotated, Literal

from litestar.params import PathParameter, QueryParameter

from trainfare.errors import IncompleteError, TrainfareError
from trainfare.period import Month
from trainfare.query import job_names, selection, window
from trainfare.query.open_books import OpenBooks
from trainfare.query.window import Window
from trainfare.serve.books import BookReader
from trainfare.settings import scope
from trainfare.store import Book

MAX_TEXT_LENGTH = 200
MAX_FILTERS = 20

WindowText = Annotated[
    str | None,
    QueryParameter(
        name="window",
        description=f"The period: {window.GRAMMAR}. Default: the newest month.",
        max_length=MAX_TEXT_LENGTH,
    ),
]
Basis = Annotated[
    Literal["effective", "billed", "list", "contracted"],
    QueryParameter(description="Cost basis (FOCUS column)."),
]
Per = Annotated[Literal["wall", "gpu"], QueryParameter(description="The hours that rates are divided by.")]
Scope = Annotated[
    Literal["full", "infra"], QueryParameter(name="scope", description="infra excludes licenses and labor.")
]
Currency = Annotated[
    str | None, QueryParameter(description="The currency, if the bill has several.", pattern="^[A-Z]{3}$")
]
Filters = Annotated[
    list[str] | None,
    QueryParameter(
        name="filter",
        description="KEY:VALUE, such as team:nlp; can be repeated. Values of one key are alternatives. Or a scope, as "
        "in team=nlp,vision and pool=large. (none) matches rows without a value.",
        max_items=MAX_FILTERS,
    ),
]
JobId = Annotated[
    str,
    PathParameter(description="The job's id. Encode a slash in it as %2F, as in gpu-cluster%2F4711.", max_length=2000),
]
"""Still percent-encoded, so that it is one segment of the path; `unquote` returns the id."""
MonthText = Annotated[
    str | None,
    QueryParameter(name="month", description="YYYY-MM. Default: the newest month.", pattern=r"^\d{4}-\d{2}$"),
]
Version = Annotated[
    int | None, QueryParameter(name="version", description="Default: the newest version.", ge=1, le=2_000_000_000)
]


def parse_window(book_reader: BookReader, text: str | None) -> Window:
    return window.parse(text, datetime.now(UTC)) if text else window.month_window(book_reader.newest().month)


def no_data_error(book_reader: BookReader) -> IncompleteError:
    """The error for a period that no book covers."""
    months = [str(book.month) for book in book_reader.current()]
    do = f"Available months: {', '.join(months)}." if months else "Run: trainfare build"
    return IncompleteError("window", "no data for this period", do)


def select_book(book_reader: BookReader, month: MonthText = None, version: Version = None) -> Book:
    """Return one version of one month; by default the newest."""
    try:
        wanted = Month.parse(month) if month else None
    except ValueError as error:
        raise TrainfareError("month", str(error), "Write it as YYYY-MM, for example 2026-10.") from None
    if version and wanted and any(book.month == wanted for book in book_reader.published.books):
        return book_reader.store.catalog.book(wanted, version)
    newest = book_reader.newest(wanted)
    return book_reader.store.catalog.book(newest.month, version) if version else newest


def parse_filters(filters: tuple[str, ...], opened: OpenBooks) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Group filters by key. Reject one that is neither KEY:VALUE nor a scope, or has an unknown key."""
    found: dict[str, list[str]] = {}
    scopes: list[scope.Condition] = []
    for text in filters:
        key, colon, value = text.partition(":")
        if "=" in key:
            scopes += scope.parse(text, "filter")
            continue
        if not colon or not key or not value:
            raise TrainfareError("filter", f"'{text[:60]}' is not KEY:VALUE", "Write, for example, filter=team:nlp.")
        found.setdefault(key, []).append(value)
    conditions = [*((key, tuple(values)) for key, values in found.items()), *scopes]
    return job_names.with_full_ids(opened, selection.parse_filters(conditions, opened.engine, "filter"))
