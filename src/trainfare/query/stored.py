"""The tables of one book as they are stored, and with names instead of numbers."""

from collections.abc import Mapping, Sequence
from datetime import date

from trainfare.engine.duckdb import DuckDB, parquet
from trainfare.store import book_views
from trainfare.store.records import BookFiles
from trainfare.tables import (
    CHECKPOINTING,
    CONVERSIONS,
    ESTIMATE_ERRORS,
    ESTIMATES,
    FAILURE_MODES,
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


def cost_days(engine: DuckDB, book: BookFiles) -> frozenset[date]:
    """Return the days that a book has cost for."""
    found = engine.rows(f"SELECT DISTINCT DATE '1970-01-01' + day FROM {stored_table(book, 'shares')}")
    return frozenset(day for (day,) in found)


def common_tables(books: Sequence[BookFiles]) -> list[str]:
    """Return the tables that all of these books have."""
    named = {numbered: name for name, numbered in book_views.NUMBERED.items()}
    return sorted(
        set.intersection(*({CONVERSIONS.name, *(named.get(file, file) for file in book.files)} for book in books))
    )
