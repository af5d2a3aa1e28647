"""One page request: who sent it, what its query asks for, and the books that answer it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from typing import Any, TypeVar
from urllib.parse import quote

from litestar import Request

from trainfare.errors import IncompleteError
from trainfare.period import Month
from trainfare.query import job_names, keys, window
from trainfare.query.cost import Question
from trainfare.query.open_books import OpenBooks
from trainfare.query.selection import NONE
from trainfare.query.window import Window
from trainfare.report.outlook import Outlook
from trainfare.serve.auth.viewer import Viewer
from trainfare.serve.books import BookReader
from trainfare.serve.forecasts import forecast_months
from trainfare.serve.pages.figures import INTERVAL, RATE, TOTAL, Figure, FigureLink
from trainfare.serve.pages.query import DRILL_FILTERS, PageQuery, parse_query
from trainfare.serve.published import Published
from trainfare.store import Book
from trainfare.store.records import Closing

Answer = TypeVar("Answer")
ONLY_OF_JOBS = (*keys.JOB_KEYS, keys.ATTEMPT_STATE)
"""Filters by what only jobs and labels have."""
PAYERS_OF = {"jobs": ("jobs", "attempts", "labels")}
"""Values of the filter by payer that are part of another one."""


class NoDataError(IncompleteError):
    """No book covers the requested period. `context` lets the error page offer other periods."""

    def __init__(self, context: "RequestContext") -> None:
        months = ", ".join(str(book.month) for book in context.current_books[-6:])
        super().__init__(str(context.window), "no data for this period", f"There are books for {months}.")
        self.context = context


@dataclass(frozen=True)
class RequestContext:
    book_reader: BookReader
    viewer: Viewer
    query: PageQuery
    path: str = ""

    @cached_property
    def published(self) -> Published:
        """The state of the catalog when the request arrived; the whole page is based on it."""
        return self.book_reader.published

    @cached_property
    def current_books(self) -> list[Book]:
        """The newest version of every month."""
        return self.published.current

    def closing(self, book: Book) -> Closing | None:
        """When and by whom the book's month was closed, or None while it is open."""
        return self.published.closings.get(book.month)

    @cached_property
    def window(self) -> Window:
        """The requested period; by default, the newest month."""
        if not self.current_books:
            raise IncompleteError("books", "nothing has been built yet", "Build a month with: trainfare build")
        return self.query.window or window.month_window(self.current_books[-1].month)

    @cached_property
    def books(self) -> list[Book]:
        """The newest version of each month in the window; at least one."""
        found = self.books_in(self.window)
        if not found:
            raise NoDataError(self)
        return found

    @cached_property
    def cost_books(self) -> list[Book]:
        """The books that have cost of the window: those of its months, and others that book cost for its days."""
        return self.book_reader.books_in(self.window, self.current_books) if self.books else []

    @property
    def book(self) -> Book:
        """The last book of the window, for panels that show one month."""
        return self.books[-1]

    @cached_property
    def books_before(self) -> list[Book]:
        """The books of the preceding period, or none unless they cover all of it. A single day has no such period."""
        if self.query.get("day"):
            return []
        before = self.window.previous()
        found = self.books_in(before)
        is_complete = found and found[0].month == Month.of(before.first) and found[-1].month.end >= before.end
        return self.book_reader.books_in(before, self.current_books) if is_complete else []

    def books_in(self, period: Window) -> list[Book]:
        return [book for book in self.current_books if period.overlaps(book.month)]

    @cached_property
    def currency(self) -> str:
        requested, default = self.query.get("currency") or None, self.book_reader.config.currency
        return self.run(OpenBooks.currency, requested, default, self.query.get("basis", "effective"))

    @cached_property
    def currencies(self) -> list[str]:
        return self.run(_currencies)

    @cached_property
    def question(self) -> Question:
        return Question(
            [],
            self.query.get("basis", "effective"),
            self.query.get("per", "wall"),
            self.query.get("scope", "full"),
            self.currency,
            self.window.days,
            self.query.filters,
        )

    @property
    def question_before(self) -> Question:
        """The same question about the preceding period."""
        return replace(self.question, days=self.window.previous().days)

    @cached_property
    def outlooks(self) -> list[Outlook]:
        """Forecasts for the newest month and the next, regardless of the window."""
        return forecast_months(self.book_reader, self.viewer, self.current_books, self.question)

    def job_question(self, name: str) -> Question:
        """The question about one job: the filters of the page narrow its cost, too."""
        others = tuple(one for one in self.question.filters if one[0] != "job")
        return replace(self.question, filters=(*others, ("job", (self.run(job_names.find, name) or name,))))

    def selects(self, kind: str) -> bool:
        """Whether cost of this kind of payer can be in the selection: idle, for example, has no team.

        A filter by what only jobs have leaves out all other payers, unless it asks for those without a value.
        """
        filters = [values for key, values in self.query.filters if key in ONLY_OF_JOBS]
        can_be = kind == "jobs" or (self.viewer.sees_all and all(NONE in values for values in filters))
        return can_be and bool(self._payers(kind))

    def _payers(self, kind: str) -> list[str]:
        """The values of the filter by payer that select cost of this kind alone; none if it leaves out this kind."""
        chosen = self.query.get_all("payer")
        return [one for one in chosen if one in PAYERS_OF.get(kind, (kind,))] if chosen else [kind]

    def run(self, find: Callable[..., Answer], *arguments: Any, books: Sequence[Book] | None = None) -> Answer:
        """Run a query function on the given books; by default, on those with cost of the window."""
        with self.book_reader.open(self.viewer, self.cost_books if books is None else books) as opened:
            return find(opened, *arguments)

    def link(self, path: str, /, **changed: object) -> str:
        return self.query.link(path, **changed)

    def figure(self, measure: str, value: Decimal) -> Figure:
        """An amount on this page, in its currency and on its cost basis."""
        return Figure(measure, value, self.currency, self.question.basis)

    def drill(self, path: str, measure: str, value: Decimal | int | None, /, **changed: object) -> FigureLink | None:
        """The link from a figure to the page about the part of the selection with these values; None if unknown.

        It keeps every filter of this page; a changed one replaces its values, which include the new one.
        """
        if value is None:
            return None
        kept = {key: self.query.get_all(key) for key in DRILL_FILTERS if self.query.get_all(key)}
        currency, basis = str(changed.get("currency", self.currency)), str(changed.get("basis", self.question.basis))
        figure = Figure(measure, value, currency, basis) if isinstance(value, Decimal) else Figure(measure, value)
        return FigureLink(self.link(path, **(kept | changed)), figure)

    def drill_kind(
        self, path: str, measure: str, value: Decimal | None, kind: str, /, **changed: object
    ) -> FigureLink | None:
        """The link from an amount of one kind of payer; None if the filters of this page leave it out."""
        payers = self._payers(kind)
        return self.drill(path, measure, value, **({"payer": payers} | changed)) if payers else None

    def job_figure(self, job: str, cost: Decimal | None) -> FigureLink | str:
        """The link from a job's cost to its page, which the filters of this page narrow, too."""
        return self.drill(job_path(job), TOTAL, cost, job=None) or self.job_link(job)

    def job_rate(self, job: str, rate: Decimal) -> FigureLink | None:
        """The link from a job's cost per hour to its page."""
        return self.drill(job_path(job), RATE, rate, job=None)

    def job_interval(self, job: str, seconds: int) -> FigureLink | None:
        """The link from the interval of a job's checkpoints to its page."""
        return self.drill(job_path(job), INTERVAL, seconds, job=None)

    def job_link(self, job: str) -> str:
        """The URL of a job's page; special characters in its id are escaped."""
        return self.link(job_path(job))

    def link_here(self, /, **changed: object) -> str:
        return self.query.link_here(self.path, **changed)


def job_path(job: str) -> str:
    return f"/jobs/{quote(job, safe='')}"


def _currencies(opened: OpenBooks) -> list[str]:
    return [name for (name,) in opened.engine.rows("SELECT DISTINCT currency FROM bill_totals ORDER BY 1")]


def request_context(
    request: Request[Any, Any, Any], book_reader: BookReader, viewer: Viewer, path: str
) -> RequestContext:
    """The context of a request. Invalid query parameters are rejected."""
    parameters = {key: request.query_params.getall(key) for key in request.query_params}
    return RequestContext(book_reader, viewer, parse_query(parameters), path)
