"""Books opened for reading: their tables as views, whatever months they cover."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime

from trainfare import keyed
from trainfare.engine.duckdb import DuckDB, parquet, quoted
from trainfare.errors import IncompleteError, TrainfareError
from trainfare.store.records import BookFiles
from trainfare.tables import (
    BASES,
    CHECKPOINTING,
    CONVERSIONS,
    ESTIMATE_ERRORS,
    ESTIMATES,
    FAILURES,
    LABELS,
    TEXT,
    WORK,
    Column,
)

QUEUED = ("queued_from", "queued_to")
"""The seconds from and to which an attempt was in the queue; null where nobody says so."""
_ORIGIN, _CONVERTED = (Column(name, TEXT, "of the charge") for name in ("origin", "converted_from"))
LATER: dict[str, tuple[Column, ...]] = {
    "book_attempts": tuple(Column(name, "BIGINT", "of the attempt") for name in QUEUED),
    "ways": (_ORIGIN, _CONVERTED),
    "bill_totals": (_ORIGIN, _CONVERTED),
    **{table.name: table.columns for table in (WORK, CHECKPOINTING, ESTIMATES, ESTIMATE_ERRORS, FAILURES)},
}
"""Columns that a book may have been built without, by table: a closed book stays as it is, and is read by whatever came after it."""


@dataclass(frozen=True)
class Opened:
    """Books in an engine, ready to be asked."""

    engine: DuckDB
    books: tuple[BookFiles, ...]
    by_digest: bool = False
    """Whether the engine has digests of these books in which each job has one set of labels."""
    by_machine: bool = False
    """Whether these digests also tell about machines: to those who see everything."""
    is_one_job: bool = False
    """Whether the engine has one job alone, and what was measured of it in `uses`."""
    days: tuple[date, date] | None = None
    """The first day of any money or time in the books, and the one after the last; known where there are digests."""

    @property
    def start(self) -> datetime:
        return self.books[0].month.start

    @property
    def end(self) -> datetime:
        return self.books[-1].month.end

    @property
    def complete_through(self) -> datetime | None:
        told = [book.complete_through for book in self.books if book.complete_through]
        return max(told) if told else None

    def has_only(self, days: tuple[date, date] | None) -> bool:
        """Whether all that the books have is within these days, as far as that is known."""
        return days is None or (self.days is not None and days[0] <= self.days[0] and self.days[1] <= days[1])

    def currency(self, asked: str | None, usual: str | None = None, basis: str = "effective") -> str:
        """The one currency to report in; with several on the bill it is the usual one, or the user has to choose. A cost that
        the bill does not tell in this currency is refused.
        """
        chosen = self._currency(asked, usual)
        if basis != "effective" and basis not in (told := self.told(chosen)):
            raise IncompleteError("basis", f"the bill has no {basis} cost", f"Choose another: {', '.join(told)}.")
        return chosen

    def told(self, currency: str) -> list[str]:
        """The costs that the bill tells. Effective and billed cost stand on every line, also where all of it is 0, as in a month that
        commitments cover; where another has no amount at all and the effective one has, it is not known: that is not 0.
        """
        there = ", ".join(f"coalesce(bool_or({basis} <> 0), false)" for basis in BASES)
        (found,) = self.engine.rows(f"SELECT {there} FROM bill_totals WHERE currency = {quoted(currency)}")
        has = dict(zip(BASES, found, strict=True))
        return [basis for basis in BASES if basis in ("effective", "billed") or has[basis] or not has["effective"]]

    @property
    def currencies(self) -> list[str]:
        """The currencies of the bill."""
        return [name for (name,) in self.engine.rows("SELECT DISTINCT currency FROM bill_totals ORDER BY 1")]

    def has_all_hours_in(self, currency: str) -> bool:
        """Whether every machine whose hours are billed is on a bill in this currency; if not, some may be paid in another one."""
        if len(self.currencies) < 2:
            return True
        held = "SELECT DISTINCT resource_id FROM book_placements WHERE billed_starts IS NOT NULL"
        there = (
            f"SELECT DISTINCT resource_id FROM shares WHERE currency = {quoted(currency)} AND resource_id IS NOT NULL"
        )
        return not self.engine.row(
            f"SELECT count(*) FROM ({held}) p LEFT JOIN ({there}) s ON s.resource_id = p.resource_id WHERE s.resource_id IS NULL"
        )[0]

    def _currency(self, asked: str | None, usual: str | None) -> str:
        found = self.currencies
        if asked and asked not in found:
            raise TrainfareError("--currency", f"nothing is billed in {asked}", f"The bill is in {', '.join(found)}.")
        if not asked and usual in found:
            return str(usual)
        if not asked and len(found) > 1:
            raise TrainfareError(
                "bill",
                f"it is in {' and '.join(found)}, which are never added up",
                f"Choose one, for example: --currency {found[0]}",
            )
        return asked or (found[0] if found else "USD")


def _nothing(columns: Sequence[Column]) -> str:
    return f"SELECT {', '.join(f'CAST(NULL AS {c.type}) AS {c.name}' for c in columns)} WHERE false"


def kept_table(book: BookFiles, name: str) -> str:
    """A FROM item: a table as the book keeps it, with columns that came after the book as null. What it does not say is not known."""
    later, kept = LATER.get(name), parquet(book.files[name])
    return f"(SELECT * FROM {kept} UNION ALL BY NAME {_nothing(later)})" if later else kept


def select_of(book: BookFiles, name: str) -> str:
    """A SELECT of one table of one book, with names instead of the numbers that are kept."""
    kept = {file: kept_table(book, file) for file in book.files}
    if name == "shares":
        return keyed.shares(kept[name], kept["ways"], kept["payers"], kept["book_attempts"], kept["book_machines"])
    if name == "book_placements":
        return keyed.placements(kept[name], kept["book_attempts"], kept["book_machines"])
    if name not in kept and name in keyed.NUMBERED:
        return _named(name, kept)
    if name == CONVERSIONS.name and name not in kept:  # a book from before anything was converted
        return _nothing(CONVERSIONS.columns)
    number = {"book_attempts": " EXCLUDE (attempt_key)", "book_machines": " EXCLUDE (machine)"}.get(name, "")
    return f"SELECT *{number} FROM {kept[name]}"


def _named(name: str, kept: Mapping[str, str]) -> str:
    numbered = kept[keyed.NUMBERED[name]]
    if name == "work":
        return keyed.work(kept["shares"], numbered, kept["ways"], kept["book_attempts"])
    if name == "egress":
        return keyed.egress(numbered, kept["book_attempts"])
    return keyed.usage(numbered, kept["book_attempts"], kept["book_machines"])


def tables_of(books: Sequence[BookFiles]) -> list[str]:
    """The tables that can be read of all these books."""
    named = {numbered: name for name, numbered in keyed.NUMBERED.items()}
    return sorted(
        set.intersection(*({CONVERSIONS.name, *(named.get(file, file) for file in book.files)} for book in books))
    )


def open_books(engine: DuckDB, books: Sequence[BookFiles]) -> Opened:
    """Make the tables of these books readable in `engine`; a table that one of them was built without is left out."""
    ordered = tuple(sorted(books, key=lambda book: book.month))
    for name in tables_of(ordered):
        engine.view(name, " UNION ALL BY NAME ".join(select_of(book, name) for book in ordered))
    labels = ", ".join(f"max({name}) AS {name}" for name in ("state", *LABELS, "labels"))
    labels += "".join(f", min({name}) AS {name}" for name in QUEUED)
    attempts = f"SELECT job_id, attempt, {labels} FROM book_attempts GROUP BY job_id, attempt"
    engine.view("attempts", attempts if len(ordered) > 1 else "SELECT * FROM book_attempts")
    engine.view("machines", "SELECT * FROM book_machines QUALIFY row_number() OVER (PARTITION BY resource_id) = 1")
    return Opened(engine, ordered)
