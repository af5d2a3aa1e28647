"""What a request asks, in the words that all of the API shares."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Literal

from litestar.params import Parameter

from trainfare.errors import IncompleteError, TrainfareError
from trainfare.period import Month
from trainfare.report import keys, window
from trainfare.report.cost import Question
from trainfare.report.opened import Opened
from trainfare.report.window import Window
from trainfare.store import Book
from trainfare.web.books import Shelf

LONGEST_TEXT = 200
MOST_FILTERS = 20

WindowText = Annotated[
    str | None,
    Parameter(
        query="window",
        description=f"The time: {window.GRAMMAR}. Without it: the newest month.",
        max_length=LONGEST_TEXT,
    ),
]
Basis = Annotated[
    Literal["effective", "billed", "list", "contracted"],
    Parameter(description="Which cost, in FOCUS terms."),
]
Per = Annotated[Literal["wall", "gpu"], Parameter(description="Which hours a rate divides by.")]
Scope = Annotated[
    Literal["full", "infra"], Parameter(query="scope", description="infra leaves out licences and labour.")
]
Currency = Annotated[
    str | None, Parameter(description="Which currency, where the bill has several.", pattern="^[A-Z]{3}$")
]
Filters = Annotated[
    list[str] | None,
    Parameter(
        query="filter",
        description="KEY:VALUE, such as team:nlp; may be given again. Values of one key are alternatives; (none) is having none.",
        max_items=MOST_FILTERS,
    ),
]
MonthText = Annotated[
    str | None, Parameter(query="month", description="YYYY-MM. Without it: the newest month.", pattern=r"^\d{4}-\d{2}$")
]
Version = Annotated[
    int | None, Parameter(query="version", description="Without it: the newest.", ge=1, le=2_000_000_000)
]


@dataclass(frozen=True)
class Priced:
    """A window with the cost and the hours it is asked in."""

    window: Window
    basis: str
    per: str
    scope: str
    currency: str | None
    filters: tuple[str, ...]
    books: tuple[Book, ...]

    def question(self, opened: Opened, shelf: Shelf, by: list[str] | None = None) -> Question:
        return Question(
            by or [],
            self.basis,
            self.per,
            self.scope,
            opened.currency(self.currency, shelf.config.currency, self.basis),
            self.window.days,
            only(self.filters, opened),
        )


def priced(
    shelf: Shelf,
    window_: WindowText = None,
    basis: Basis = "effective",
    per: Per = "wall",
    scope_: Scope = "full",
    currency: Currency = None,
    filters: Filters = None,
) -> Priced:
    """What most questions share: the time, the cost, the hours and the filters."""
    asked = time_of(shelf, window_)
    books = tuple(book for book in shelf.current() if asked.has(book.month))
    if not books:
        raise nothing(shelf)
    return Priced(asked, basis, per, scope_, currency, tuple(filters or ()), books)


def time_of(shelf: Shelf, text: str | None) -> Window:
    return window.parse(text, datetime.now(UTC)) if text else window.of_month(shelf.newest().month)


def nothing(shelf: Shelf) -> IncompleteError:
    """There is no book of the time that was asked for."""
    months = [str(book.month) for book in shelf.current()]
    do = f"There are books of {', '.join(months)}." if months else "Run: trainfare build"
    return IncompleteError("window", "there is no book of this time", do)


def chosen_book(shelf: Shelf, month: MonthText = None, version: Version = None) -> Book:
    """One version of one month."""
    try:
        wanted = Month.parse(month) if month else None
    except ValueError as error:
        raise TrainfareError("month", str(error), "Write it as YYYY-MM, for example 2026-10.") from None
    if version and wanted and any(book.month == wanted for book in shelf.published.books):
        return shelf.store.catalog.book(wanted, version)
    newest = shelf.newest(wanted)
    return shelf.store.catalog.book(newest.month, version) if version else newest


def only(filters: tuple[str, ...], opened: Opened) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """The filters by key; one that is no KEY:VALUE, or of a key that nobody knows, is refused."""
    found: dict[str, list[str]] = {}
    for text in filters:
        key, colon, value = text.partition(":")
        if not colon or not key or not value:
            raise TrainfareError("filter", f"'{text[:60]}' is not KEY:VALUE", "Write, for example, filter=team:nlp.")
        (known,) = keys.parse([key], opened.engine)
        found.setdefault(known, []).append(value)
    return tuple((key, tuple(values)) for key, values in found.items())
