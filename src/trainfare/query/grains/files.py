"""The grains of one open book: read from their files, or made in memory."""

import threading
from collections.abc import Iterable
from dataclasses import replace

from trainfare.engine.duckdb import DuckDB, quoted
from trainfare.query.grains.making import Maker
from trainfare.query.grains.memory import memory_maker
from trainfare.query.grains.opened import Grains
from trainfare.query.grains.parts import LABELS, PART_OF, PARTS, GrainFolder
from trainfare.query.open_books import OpenBooks
from trainfare.store.records import BookFiles


class StoredGrains:
    """The grains of a published book: each file is opened when a question needs it first, and made if necessary.

    Whatever cannot be stored, or is in no file, is made in memory.
    """

    def __init__(self, engine: DuckDB, book: BookFiles, folder: GrainFolder) -> None:
        self._engine = engine
        self._book = book
        self._folder = folder
        self._lock = threading.Lock()
        self._tables: dict[str, str] = {}
        self._tried: set[str] = set()
        self._maker: Maker | None = None

    def table(self, name: str) -> str:
        with self._lock:
            if name not in self._tables:
                self._open(PART_OF.get(name, ""))
            if name not in self._tables:
                self._tables[name] = self._in_memory().make(name)
            return self._tables[name]

    def _open(self, part: str) -> None:
        """Attach the file of a part, if it can be stored, once."""
        if part not in PARTS or part in self._tried:
            return
        self._tried.add(part)
        path = self._folder.open(part)
        if path is None:
            return
        alias = f"{path.parent.name}-{path.stem}"
        self._engine.run(f'ATTACH {quoted(path)} AS "{alias}" (READ_ONLY)')
        for name in PARTS[part]:
            self._tables[name] = f'"{alias}".main.grain_{name}'
            if self._maker:
                self._maker.take(name, self._tables[name])

    def _in_memory(self) -> Maker:
        if self._maker is None:
            self._open(LABELS)  # others are numbered by these
            self._maker = memory_maker(self._engine, self._book)
            for name, table in self._tables.items():
                self._maker.take(name, table)
        return self._maker


def with_files(opened: OpenBooks, folders: Iterable[GrainFolder]) -> OpenBooks:
    """Return open books with the files of their grains: the same answers, sooner."""
    of_month = {folder.book.month: folder for folder in folders}
    grains = [StoredGrains(opened.engine, book, of_month[book.month]) for book in opened.books]
    return replace(opened, grains=Grains(opened.engine, grains))
