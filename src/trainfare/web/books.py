"""Published books, opened for reading: one database for the whole process, and engines lent to one request at a time."""

import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import date

from trainfare.config import Config
from trainfare.engine.duckdb import DuckDB, quoted
from trainfare.errors import IncompleteError
from trainfare.period import Month
from trainfare.report import digest
from trainfare.report.opened import Opened, open_books
from trainfare.report.sight import restrict
from trainfare.store import Book, BookFiles, Store
from trainfare.web.reader import Memory, Reader
from trainfare.web.viewer import Viewer

MEMORY = "400MB"
LENT_AT_ONCE = 8
KEPT_IDLE = 24

Key = tuple[tuple[int, ...], tuple[str, ...] | None]


@dataclass(frozen=True)
class Digest:
    """A digest that is attached to the process's database."""

    alias: str
    is_uniform: bool
    days: tuple[date, date] | None


class Shelf:
    """The newest version of every month, readable by many threads. A version published meanwhile, by whatever process, is
    there with the next question; one that is being read stays as it is until its reader is done.
    """

    def __init__(self, store: Store, config: Config, memory_limit: str = MEMORY) -> None:
        self.store = store
        self.config = config
        self.folder = store.lake.root.parent / "cache"
        self._database = DuckDB(memory_limit=memory_limit)
        self._lending = threading.BoundedSemaphore(LENT_AT_ONCE)
        self._lock = threading.Lock()
        self._digesting = threading.Lock()
        self._digests: dict[str, Digest] = {}
        self._memory = Memory()
        self._idle: OrderedDict[int, tuple[Key, Opened]] = OrderedDict()

    def current(self) -> list[Book]:
        """The newest version of each month, in order."""
        newest = {book.month: book for book in self.store.catalog.books()}
        return [newest[month] for month in sorted(newest)]

    def newest(self, month: Month | None = None) -> Book:
        """The newest version of a month, or of the newest month."""
        books = self.current()
        found = [book for book in books if month in (None, book.month)]
        if found:
            return found[-1]
        what = f"there is no book of {month}" if books else "nothing has been built yet"
        told = ", ".join(str(book.month) for book in books)
        raise IncompleteError("books", what, f"There are books of {told}." if books else "Run: trainfare build")

    @contextmanager
    def opened(self, viewer: Viewer, books: Sequence[Book]) -> Iterator[Opened]:
        """These books, with nothing in them that the viewer may not see. Ask only within the block, and from one thread."""
        key = (tuple(book.id for book in books), viewer.sees)
        with self._lending:
            opened = self._take(key) or self._open(key, viewer, books)
            try:
                yield opened
            except BaseException:
                opened.engine.close()
                raise
            self._keep(key, opened)

    def prepare(self) -> None:
        """Open the newest version of every month once, so that the first question need not wait for it."""
        for book in self.current():
            self._digest(self.store.files(book))

    def close(self) -> None:
        with self._lock:
            for _, opened in self._idle.values():
                opened.engine.close()
            self._idle.clear()
        self._database.close()

    def _open(self, key: Key, viewer: Viewer, books: Sequence[Book]) -> Opened:
        engine = Reader(self._database, self._memory, key)
        opened = open_books(engine, [self.store.files(book) for book in books])
        if viewer.sees is not None:
            restrict(engine, opened.books[0].files, viewer.sees)
        digests = [self._digest(book) for book in opened.books]
        by_digest = all(one.is_uniform for one in digests)
        if by_digest or viewer.sees is None:
            digest.attach(engine, [one.alias for one in digests], viewer.sees)
        else:
            digest.make_here(engine)
        spans = [one.days for one in digests if one.days]
        days = (min(first for first, _ in spans), max(last for _, last in spans)) if spans else None
        return replace(opened, by_digest=by_digest, days=days)

    def _digest(self, book: BookFiles) -> "Digest":
        """The digest of a book, made if it is not there yet."""
        path = digest.path_of(self.folder, book)
        with self._digesting:
            if path.name not in self._digests:
                if not path.exists():
                    digest.write(book, path, MEMORY)
                alias = path.stem
                self._database.run(f'ATTACH {quoted(path)} AS "{alias}" (READ_ONLY)')
                self._digests[path.name] = Digest(
                    alias, digest.is_uniform(self._database, alias), digest.days(self._database, alias)
                )
            return self._digests[path.name]

    def _take(self, key: Key) -> Opened | None:
        with self._lock:
            for number, (kept, opened) in reversed(self._idle.items()):
                if kept == key:
                    del self._idle[number]
                    return opened
        return None

    def _keep(self, key: Key, opened: Opened) -> None:
        with self._lock:
            self._idle[id(opened)] = (key, opened)
            dropped = [self._idle.popitem(last=False)[1] for _ in range(len(self._idle) - KEPT_IDLE)]
        for _, old in dropped:
            old.engine.close()
