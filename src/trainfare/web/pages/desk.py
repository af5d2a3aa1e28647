"""One request at work: who asks, what is asked, and the books that answer it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar
from urllib.parse import quote

from litestar import Request

from trainfare.errors import IncompleteError
from trainfare.period import Month
from trainfare.report import window
from trainfare.report.cost import Question
from trainfare.report.opened import Opened
from trainfare.report.outlook import Outlook
from trainfare.report.window import Window
from trainfare.store import Book
from trainfare.store.records import Closing
from trainfare.web.ahead import ahead
from trainfare.web.books import Shelf
from trainfare.web.pages import asked
from trainfare.web.pages.asked import Asked
from trainfare.web.standing import Published
from trainfare.web.viewer import Viewer

Answer = TypeVar("Answer")


@dataclass(frozen=True)
class Desk:
    shelf: Shelf
    viewer: Viewer
    asked: Asked
    path: str = ""

    @cached_property
    def published(self) -> Published:
        """What the catalog said when the request came: the whole page speaks of that."""
        return self.shelf.published

    @cached_property
    def shelved(self) -> list[Book]:
        """The newest version of every month."""
        return self.published.current

    def closing(self, book: Book) -> Closing | None:
        """When and by whom the book's month was closed, if it was."""
        return self.published.closings.get(book.month)

    @cached_property
    def window(self) -> Window:
        """What is asked about; without a word of it, the newest month."""
        if not self.shelved:
            raise IncompleteError("books", "nothing has been built yet", "Build a month with: trainfare build")
        return self.asked.window or window.of_month(self.shelved[-1].month)

    @cached_property
    def books(self) -> list[Book]:
        """The books that the window touches, each in its newest version; there is at least one."""
        found = self.within(self.window)
        if found:
            return found
        told = ", ".join(str(book.month) for book in self.shelved[-6:])
        raise IncompleteError(str(self.window), "there is no book of this time", f"There are books of {told}.")

    @property
    def book(self) -> Book:
        """The last of the books: the one to speak of where there can be only one."""
        return self.books[-1]

    @cached_property
    def books_before(self) -> list[Book]:
        """The books of the period before, if all of it is there."""
        before = self.window.before()
        found = self.within(before)
        is_whole = found and found[0].month == Month.of(before.first) and found[-1].month.end >= before.end
        return found if is_whole else []

    def within(self, window_: Window) -> list[Book]:
        return [book for book in self.shelved if window_.has(book.month)]

    @cached_property
    def currency(self) -> str:
        wanted, usual = self.asked.one("currency") or None, self.shelf.config.currency
        return self.ask(Opened.currency, wanted, usual, self.asked.one("basis", "effective"))

    @cached_property
    def currencies(self) -> list[str]:
        found: list[tuple[str]] = self.ask(_currencies)
        return [name for (name,) in found]

    @cached_property
    def question(self) -> Question:
        given = self.asked
        return Question(
            [],
            given.one("basis", "effective"),
            given.one("per", "wall"),
            given.one("scope", "full"),
            self.currency,
            self.window.days,
            given.only,
        )

    @property
    def question_before(self) -> Question:
        return replace(self.question, days=self.window.before().days)

    @cached_property
    def ahead(self) -> list[Outlook]:
        """The newest month and the next, whatever the window."""
        return ahead(self.shelf, self.viewer, self.shelved, self.question)

    def of_job(self, job: str) -> Question:
        """The question about one job alone: other filters say nothing about it."""
        return replace(self.question, only=(("job", (job,)),))

    def ask(self, find: Callable[..., Answer], *told: Any, books: Sequence[Book] | None = None) -> Answer:
        """What `find` says of the books: those of the window, if none are named."""
        with self.shelf.opened(self.viewer, self.books if books is None else books) as opened:
            return find(opened, *told)

    def ask_of(self, job: str, find: Callable[..., Answer], *told: Any, books: Sequence[Book] | None = None) -> Answer:
        """The same of one job alone, which is quicker: everybody else's money is not read."""
        with self.shelf.opened(self.viewer, self.books if books is None else books, job) as opened:
            return find(opened, *told)

    def link(self, path: str, **changed: object) -> str:
        return self.asked.link(path, **changed)

    def job(self, job: str) -> str:
        """The address of a job's page, whatever marks its id has."""
        return self.link(f"/jobs/{quote(job, safe='')}")

    def stay(self, **changed: object) -> str:
        return self.asked.stay(self.path, **changed)


def _currencies(opened: Opened) -> list[tuple[str]]:
    return [(name,) for (name,) in opened.engine.rows("SELECT DISTINCT currency FROM bill_totals ORDER BY 1")]


def sit_down(request: Request[Any, Any, Any], shelf: Shelf, viewer: Viewer, path: str) -> Desk:
    """The desk for what an address asks; an address that cannot be is refused."""
    return Desk(
        shelf, viewer, asked.read({key: request.query_params.getall(key) for key in request.query_params}), path
    )
