"""Which published books have shares for the days of another month, or bill hours of it.

A bill may come late, its months may begin in another time zone, and adjustments of a closed month are booked later.
"""

from collections.abc import Iterable
from datetime import date
from functools import lru_cache
from typing import TYPE_CHECKING

from trainfare.engine.duckdb import DuckDB
from trainfare.engine.sql import parquet
from trainfare.files.locations import Location
from trainfare.period import Month
from trainfare.store.records import Book
from trainfare.tables import OTHER_MONTHS

if TYPE_CHECKING:
    from trainfare.store import Store

_OF_SHARES = "SELECT DISTINCT CAST(date_trunc('month', DATE '1970-01-01' + day) AS DATE) FROM {0}"


def others(store: "Store", month: Month, published: Iterable[Book]) -> tuple[Book, ...]:
    """Return the newest versions of other months that have shares for this one or bill its hours; the last comes first.

    Most books have none, which the catalog knows: no file is read for these.
    """
    newest = {book.month: book for book in published if book.month != month}
    found = [book for book in newest.values() if not book.is_withdrawn and month in _months(store, book)]
    return tuple(sorted(found, key=lambda book: book.month, reverse=True))


def _months(store: "Store", book: Book) -> frozenset[Month]:
    """Return all months for which a book has shares or bills hours, except perhaps its own."""
    name = OTHER_MONTHS.name
    if name in book.files:
        return _listed(store.lake.path(book.files[name]), name) if book.rows[name] else frozenset()
    # A book of an older version, which stays as it is once its month is closed.
    return _listed(store.lake.path(book.files["shares"]), "shares") if "shares" in book.files else frozenset()


@lru_cache(maxsize=1000)
def _listed(path: Location, table: str) -> frozenset[Month]:
    """Read the months of a file; files never change."""
    select = "SELECT month FROM {0}" if table == OTHER_MONTHS.name else _OF_SHARES
    engine = DuckDB()
    try:
        days: list[tuple[date]] = engine.rows(select.format(parquet(path)))
    finally:
        engine.close()
    return frozenset(Month.of(day) for (day,) in days)
