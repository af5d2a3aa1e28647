"""Books open for reading: the tables of one or more months as views in an engine."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime

from trainfare.engine.duckdb import DuckDB, parquet, quoted
from trainfare.errors import IncompleteError, TrainfareError
from trainfare.store import book_views
from trainfare.store.records import BookFiles
from trainfare.tables import (
    BASES,
    CHECKPOINTING,
    CONVERSIONS,
    ESTIMATE_ERRORS,
    ESTIMATES,
    FAILURE_MODES,
    LABELS,
    TEXT,
    WORK,
    Column,
)

QUEUE_COLUMNS = ("queued_from", "queued_to")
"""The seconds from and to which an attempt was queued; null if unknown."""
_ORIGIN, _CONVERTED = (Column(name, TEXT, "of the charge") for name in ("origin", "converted_from"))
ADDED_COLUMNS: dict[str, tuple[Column, ...]] = {
    "book_attempts": tuple(Column(name, "BIGINT", "of the attempt") for name in QUEUE_COLUMNS),
    "share_kinds": (_ORIGIN, _CONVERTED),
    "bill_totals": (_ORIGIN, _CONVERTED),
    **{table.name: table.columns for table in (WORK, CHECKPOINTING, ESTIMATES, ESTIMATE_ERRORS, FAILURE_MODES)},
}
"""Columns that an older book may lack, by table. A closed book never changes, and newer versions still read it."""


@dataclass(frozen=True)
class OpenBooks:
    """Books in an engine, ready for queries."""

    engine: DuckDB
    books: tuple[BookFiles, ...]
    by_digest: bool = False
    """Whether the engine has digests of these books, in which each job has one set of labels."""
    by_machine: bool = False
    """Whether these digests include machines, which only viewers who see everything may query."""
    is_one_job: bool = False
    """Whether the engine has a single job, with its measured GPU use in `gpu_usage`."""
    days: tuple[date, date] | None = None
    """The first day with any cost or time in the books, and the day after the last; known only with digests."""

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

    def has_only(self, days: tuple[date, date] | None) -> bool:
        """Return whether everything in the books lies within these days, as far as that is known."""
        return days is None or (self.days is not None and days[0] <= self.days[0] and self.days[1] <= days[1])

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

    def has_all_hours_in(self, currency: str) -> bool:
        """Return whether every machine with billed hours is on a bill in this currency."""
        if len(self.currencies) < 2:
            return True
        held = "SELECT DISTINCT resource_id FROM book_placements WHERE billed_starts IS NOT NULL"
        paid = (
            f"SELECT DISTINCT resource_id FROM shares WHERE currency = {quoted(currency)} AND resource_id IS NOT NULL"
        )
        return not self.engine.row(
            f"SELECT count(*) FROM ({held}) p LEFT JOIN ({paid}) s ON s.resource_id = p.resource_id "
            "WHERE s.resource_id IS NULL"
        )[0]

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


def _empty(columns: Sequence[Column]) -> str:
    return f"SELECT {', '.join(f'CAST(NULL AS {c.type}) AS {c.name}' for c in columns)} WHERE false"


def stored_table(book: BookFiles, name: str) -> str:
    """Return a FROM item: a table as the book stores it, with columns newer than the book as null (unknown)."""
    added, stored = ADDED_COLUMNS.get(name), parquet(book.files[name])
    return f"(SELECT * FROM {stored} UNION ALL BY NAME {_empty(added)})" if added else stored


def select_of(book: BookFiles, name: str) -> str:
    """Return a SELECT of one table of one book, with names instead of the stored numeric keys."""
    stored = {file: stored_table(book, file) for file in book.files}
    if name == "shares":
        return book_views.shares(
            stored[name], stored["share_kinds"], stored["payers"], stored["book_attempts"], stored["book_machines"]
        )
    if name == "book_placements":
        return book_views.placements(stored[name], stored["book_attempts"], stored["book_machines"])
    if name not in stored and name in book_views.NUMBERED:
        return _named(name, stored)
    if name == CONVERSIONS.name and name not in stored:  # an older book, without conversions
        return _empty(CONVERSIONS.columns)
    number = {"book_attempts": " EXCLUDE (attempt_key)", "book_machines": " EXCLUDE (machine)"}.get(name, "")
    return f"SELECT *{number} FROM {stored[name]}"


def _named(name: str, stored: Mapping[str, str]) -> str:
    numbered = stored[book_views.NUMBERED[name]]
    if name == "work":
        return book_views.work(numbered, stored["share_kinds"], stored["book_attempts"], stored["book_machines"])
    if name == "egress":
        return book_views.egress(numbered, stored["book_attempts"])
    return book_views.usage(numbered, stored["book_attempts"], stored["book_machines"])


def common_tables(books: Sequence[BookFiles]) -> list[str]:
    """Return the tables that all of these books have."""
    named = {numbered: name for name, numbered in book_views.NUMBERED.items()}
    return sorted(
        set.intersection(*({CONVERSIONS.name, *(named.get(file, file) for file in book.files)} for book in books))
    )


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
    return OpenBooks(engine, ordered)
