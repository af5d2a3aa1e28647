"""Books open for reading: the tables of one or more months as views in an engine."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime

from trainfare.engine.duckdb import DuckDB, quoted
from trainfare.errors import IncompleteError, TrainfareError
from trainfare.period import Month
from trainfare.query.grains import memory
from trainfare.query.grains.opened import Grains
from trainfare.query.stored import QUEUE_COLUMNS, common_tables, select_of
from trainfare.store.records import BookFiles
from trainfare.tables import BASES, LABELS


@dataclass(frozen=True)
class Covered:
    """What an answer covers: entire books, or the days from `start` up to but not including `end`."""

    start: datetime
    end: datetime
    complete_through: datetime | None
    is_days: bool
    months: tuple[Month, ...]
    """The months of the books that it was computed from."""


@dataclass(frozen=True)
class OpenBooks:
    """Books in an engine, ready for queries."""

    engine: DuckDB
    books: tuple[BookFiles, ...]
    grains: Grains
    """The tables of the books at every level of detail, with what the viewer may see."""

    @property
    def start(self) -> datetime:
        return self.books[0].month.start

    @property
    def end(self) -> datetime:
        return self.books[-1].month.end

    @property
    def complete_through(self) -> datetime | None:
        known = [book.complete_through for book in self.books if book.complete_through]
        return max(known) if known else None

    def covered(self, days: tuple[date, date] | None) -> Covered:
        """Return what a question about these days covers; without days, the entire books."""
        months = tuple(book.month for book in self.books)
        if days is None:
            return Covered(self.start, self.end, self.complete_through, False, months)
        start, end = (datetime(day.year, day.month, day.day, tzinfo=UTC) for day in days)
        return Covered(start, end, self.complete_through, True, months)

    def has_only(self, days: tuple[date, date] | None) -> bool:
        """Return whether everything in the books lies within these days."""
        if days is None:
            return True
        known = self.grains.days()
        return known is None or (days[0] <= known[0] and known[1] <= days[1])

    def currency(self, requested: str | None, default: str | None = None, basis: str = "effective") -> str:
        """Choose the currency to report in. If the bill has several, it is the default, or the user has to choose.

        A cost basis that the bill does not state in this currency is an error.
        """
        chosen = self._currency(requested, default)
        if basis != "effective" and basis not in (known := self.known_bases(chosen)):
            raise IncompleteError("basis", f"the bill has no {basis} cost", f"Choose another: {', '.join(known)}.")
        return chosen

    def known_bases(self, currency: str) -> list[str]:
        """Return the cost bases that the bill states.

        Every line has effective and billed cost, even if all of it is 0, as in a month that commitments cover. Another
        basis without any amount, while effective cost has one, is unknown, which is not 0.
        """
        non_zero = ", ".join(f"coalesce(bool_or({basis} <> 0), false)" for basis in BASES)
        (found,) = self.engine.rows(f"SELECT {non_zero} FROM bill_totals WHERE currency = {quoted(currency)}")
        has = dict(zip(BASES, found, strict=True))
        return [basis for basis in BASES if basis in ("effective", "billed") or has[basis] or not has["effective"]]

    @property
    def currencies(self) -> list[str]:
        """Return the currencies of the bill."""
        return [name for (name,) in self.engine.rows("SELECT DISTINCT currency FROM bill_totals ORDER BY 1")]

    def _currency(self, requested: str | None, default: str | None) -> str:
        found = self.currencies
        if requested and requested not in found:
            raise TrainfareError(
                "--currency", f"nothing is billed in {requested}", f"The bill is in {', '.join(found)}."
            )
        if not requested and default in found:
            return str(default)
        if not requested and len(found) > 1:
            raise TrainfareError(
                "bill",
                f"it is in {' and '.join(found)}, which are never added together",
                f"Choose one, for example: --currency {found[0]}",
            )
        return requested or (found[0] if found else "USD")


def open_books(engine: DuckDB, books: Sequence[BookFiles]) -> OpenBooks:
    """Create views of these books' tables in `engine`; a table that one of them lacks is left out."""
    ordered = tuple(sorted(books, key=lambda book: book.month))
    for name in common_tables(ordered):
        engine.view(name, " UNION ALL BY NAME ".join(select_of(book, name) for book in ordered))
    labels = ", ".join(f"max({name}) AS {name}" for name in ("state", *LABELS, "labels"))
    labels += "".join(f", min({name}) AS {name}" for name in QUEUE_COLUMNS)
    attempts = f"SELECT job_id, attempt, {labels} FROM book_attempts GROUP BY job_id, attempt"
    engine.view("attempts", attempts if len(ordered) > 1 else "SELECT * FROM book_attempts")
    engine.view("machines", "SELECT * FROM book_machines QUALIFY row_number() OVER (PARTITION BY resource_id) = 1")
    return OpenBooks(engine, ordered, memory.in_memory(engine, ordered))
