"""Files of grains: each made once from a version, for the command line and the service alike."""

from dataclasses import replace
from pathlib import Path

import duckdb

from trainfare.engine.duckdb import DuckDB, quoted
from trainfare.errors import TrainfareError
from trainfare.query.grains.making import STORED, path_of
from trainfare.query.grains.opened import Grains, MemoryGrains
from trainfare.query.open_books import OpenBooks
from trainfare.store.records import BookFiles


class FileGrains:
    """The grains of an attached file. Those that it does not have are made in memory when they are needed first."""

    def __init__(self, engine: DuckDB, book: BookFiles, alias: str) -> None:
        self._alias = f'"{alias}"'
        self._others = MemoryGrains(engine, book)

    def database(self, *names: str) -> str:
        return self._alias if {*STORED}.issuperset(names) else self._others.database(*names)


def with_file(opened: OpenBooks, folder: Path) -> OpenBooks:
    """Return one open book with the file of its grains, if it exists: the same answers, sooner.

    A file that cannot be read is left alone.
    """
    (book,) = opened.books
    path = path_of(folder, book)
    if not path.exists():
        return opened
    try:
        opened.engine.run(f'ATTACH {quoted(path)} AS "{path.stem}" (READ_ONLY)')
        opened.engine.rows(f'SELECT 1 FROM "{path.stem}".grain_sets LIMIT 1')
    except (duckdb.Error, TrainfareError):
        return opened
    return replace(opened, grains=Grains(opened.engine, [FileGrains(opened.engine, book, path.stem)]))
