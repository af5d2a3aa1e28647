"""Grains in memory, for books that have no files of them."""

import itertools
import threading
from collections.abc import Sequence

from trainfare.engine.duckdb import DuckDB
from trainfare.query.grains.making import Maker
from trainfare.query.grains.opened import Grains
from trainfare.store.records import BookFiles

_NUMBERS = itertools.count()


class MemoryGrains:
    """The grains of a book that was never published: each is made in memory when it is needed first."""

    def __init__(self, engine: DuckDB, book: BookFiles) -> None:
        self._engine = engine
        self._book = book
        self._lock = threading.Lock()
        self._maker: Maker | None = None

    def table(self, name: str) -> str:
        with self._lock:
            if self._maker is None:
                self._maker = memory_maker(self._engine, self._book)
            return self._maker.make(name)


def memory_maker(engine: DuckDB, book: BookFiles) -> Maker:
    """Return a maker of grains in a database in memory, which all connections of the engine can read."""
    alias = f"grains_{next(_NUMBERS)}"
    connection = engine.new_connection()
    connection.run(f"ATTACH ':memory:' AS {alias}")
    return Maker(connection, book, memory=alias)


def in_memory(engine: DuckDB, books: Sequence[BookFiles]) -> Grains:
    """Return the grains of books of which no file exists."""
    return Grains(engine, [MemoryGrains(engine, book) for book in books])
