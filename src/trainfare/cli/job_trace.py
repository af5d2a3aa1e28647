"""Find the books that have a job, and explain its cost there."""

import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING

from trainfare.cli import options, published
from trainfare.cli.period import Period
from trainfare.errors import IncompleteError, TrainfareError
from trainfare.period import Month
from trainfare.query.explain import Explanation, JobNotFoundError, booked_by_day
from trainfare.query.explained_period import filtered, merged, restricted_to
from trainfare.query.job_names import AmbiguousJobError, find_in
from trainfare.query.stored import stored_table
from trainfare.settings import scope
from trainfare.store import Book, Store

if TYPE_CHECKING:
    from trainfare.books.reopen import ConvertedLine

Times = tuple[datetime, datetime]
Booked = dict[Month, dict[str, dict[date, Decimal]]]
"""What the newest book of each month has for a job, by currency and day."""


@dataclass(frozen=True)
class Answer:
    """The explanation of a job in some books, and what other books have for it."""

    found: Explanation
    books: list[Book]
    others: dict[Month, Decimal]
    times: Times | None
    converted: "Sequence[ConvertedLine]" = ()


@dataclass(frozen=True)
class JobTrace:
    """A job of a workspace, and the cost that is traced."""

    store: Store
    job: str
    basis: str
    currency: str | None
    usual_currency: str | None

    def answer(
        self, wanted: Period, version: int | None, where: Sequence[str], progress: Callable[[str], None]
    ) -> Answer:
        """Explain the job in a month, by default the newest that has it, or in the books with cost of some days."""
        conditions = tuple(one for text in where for one in scope.parse(text, "--where"))
        months = published.charged_months(self.store) or [published.newest(self.store, None).month]
        booked = self._booked(months)
        times = wanted.times(months) if wanted.is_days else None
        found, books = [], self._books(wanted, version, booked, times)
        for book in books:
            progress(f"opening {book.month}")
            one = self._explain(book, booked)
            one = filtered(one, conditions) if conditions else one
            found.append(restricted_to(one, *times) if times else one)
        answer = merged(found) if len(found) > 1 else found[0]
        return Answer(answer, books, {} if times else _others(booked, books, answer.currency), times)

    def converted(self, lines: Sequence[tuple[int, int]]) -> "list[ConvertedLine]":
        """Return how these lines (delivery, line) of native bills became charges."""
        from trainfare.books import reopen
        from trainfare.engine.choice import embedded

        with embedded() as engine:
            return reopen.converted_lines(self.store, engine, lines)

    def _booked(self, months: Sequence[Month]) -> Booked:
        from trainfare.engine.choice import embedded

        with embedded() as engine:
            books = [published.latest(self.store, month) for month in months]
            files = [self.store.files(book) for book in books]
            ids = {book.month: find_in(engine, stored_table(book, "book_attempts"), self.job) for book in files}
            called = sorted({job for job in ids.values() if job})
            if len(called) > 1:
                raise AmbiguousJobError(self.job, called, len(called))
            return {book.month: booked_by_day(engine, book, called[0], self.basis) for book in files if ids[book.month]}

    def _books(self, wanted: Period, version: int | None, booked: Booked, times: Times | None) -> list[Book]:
        if times is None:
            newest = max(booked, default=None) if version is None else None
            return [published.latest(self.store, wanted.month or newest, version)]
        last = (times[1] - timedelta(microseconds=1)).date()
        chosen = [
            month
            for month, costs in booked.items()
            if any(times[0].date() <= day <= last for days in costs.values() for day in days)
        ]
        if not chosen:
            days = [day for costs in booked.values() for by_day in costs.values() for day in by_day]
            do = (
                f"It has cost from {min(days)} to {max(days)}."
                if days
                else "List the jobs with: trainfare report --by job"
            )
            raise IncompleteError("explain", f"the job '{self.job}' has no cost in this time", do)
        return [published.latest(self.store, month) for month in chosen]

    def _explain(self, book: Book, booked: Booked) -> Explanation:
        from trainfare.books import reopen
        from trainfare.engine.choice import embedded

        with embedded() as engine:
            try:
                found = reopen.explain(
                    self.store, book, engine, self.job, self.basis, self.currency, self.usual_currency
                )
            except JobNotFoundError as error:
                raise self._not_found(book, booked, error.suggestions) from None
        if found.explained != found.stored:
            what = f"the parts add up to {found.explained}, but the book says {found.stored}"
            raise TrainfareError(f"explain {self.job}", what, "Internal error; please report it.")
        return found

    def _not_found(self, book: Book, booked: Booked, suggestions: list[str]) -> TrainfareError:
        """Return the error for a job that is not in this book: name the months that have it, or how to list jobs."""
        list_command = options.command(f"report --by job --month {book.month}")
        error = JobNotFoundError(self.job, str(book.month), suggestions, list_command)
        if not booked:
            return error
        line = options.command(f"explain {shlex.quote(self.job)} --month {max(booked)}")
        return TrainfareError(error.where, error.what, f"It is in {', '.join(map(str, booked))}: {line}")


def _others(booked: Booked, books: Sequence[Book], currency: str) -> dict[Month, Decimal]:
    """Return what the books of other months have for the job, as far as it is not zero."""
    explained = {book.month for book in books}
    sums = {month: sum(costs.get(currency, {}).values(), Decimal(0)) for month, costs in booked.items()}
    return {month: cost for month, cost in sums.items() if cost and month not in explained}
