"""Published books, opened for reading: one database for the whole process, and engines lent to one request at a time."""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace

from trainfare.config import Config
from trainfare.engine.duckdb import DuckDB
from trainfare.errors import IncompleteError
from trainfare.period import Month
from trainfare.reopened import Account
from trainfare.report import digest
from trainfare.report.opened import Opened, open_books, tables_of
from trainfare.report.sight import EVERY, restrict
from trainfare.store import Book, Store
from trainfare.web.answers import Answers
from trainfare.web.kept import Digest, Kept
from trainfare.web.logs import LOG
from trainfare.web.reader import Memory, Reader
from trainfare.web.standing import Published, Standing
from trainfare.web.viewer import Viewer

MEMORY = "400MB"
LENT_AT_ONCE = 8
KEPT_IDLE = 24

Key = tuple[tuple[int, ...], tuple[str, ...] | None, str | None]


@dataclass(frozen=True)
class Lent:
    """Books opened for one reader at a time, and what they were opened as."""

    key: Key
    reader: Reader
    opened: Opened


class Shelf:
    """The newest version of every month, readable by many threads. A version published meanwhile, by whatever process, is
    there with the next question; one that is being read stays as it is until its reader is done.
    """

    def __init__(self, store: Store, config: Config, memory_limit: str = MEMORY) -> None:
        self.store = store
        self.config = config
        self._database = DuckDB(memory_limit=memory_limit)
        self._lending = threading.BoundedSemaphore(LENT_AT_ONCE)
        self._lock = threading.Lock()
        self._kept = Kept(store, self._database)
        self._preparing: set[int] = set()
        self._memory = Memory()
        self._standing = Standing(store.catalog)
        self.answers = Answers()
        self._idle: list[Lent] = []
        self._is_closed = False

    @property
    def published(self) -> Published:
        """What the catalog says now."""
        return self._standing.now()

    def current(self) -> list[Book]:
        """The newest version of each month, in order."""
        return self.published.current

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
    def opened(self, viewer: Viewer, books: Sequence[Book], job: str | None = None) -> Iterator[Opened]:
        """These books, with nothing in them that the viewer may not see; with `job`, that job alone of them, to be asked nothing
        else about. Ask only within the block, and from one thread.
        """
        key = (tuple(book.id for book in books), viewer.sees, job)
        with self._lending:
            lent = (
                self._idle_one(lambda kept: kept == key) or self._turned(key, books) or self._open(key, viewer, books)
            )
            try:
                yield lent.opened
            except BaseException:
                lent.reader.close()
                raise
            self._keep(lent)

    @contextmanager
    def account(self, book: Book) -> Iterator[tuple[DuckDB, Account]]:
        """An engine to explain a book's jobs and lines in, and the account there."""
        account = self._kept.account(book)
        with self._lending, closing(self._database.another()) as engine:
            yield engine, account

    def prepare(self, first: Callable[[], None]) -> None:
        """Open the newest version of every month once, so that the first question need not wait for it. What is asked `first`,
        and accounts, which take longer, follow meanwhile.
        """
        books = self.current()
        for book in books:
            self._kept.digest(book)
        new = [book for book in reversed(books) if book.id not in self._preparing]
        self._preparing |= {book.id for book in new}
        if new:
            threading.Thread(target=self._follow, args=(first, new), daemon=True).start()

    def _follow(self, first: Callable[[], None], books: Sequence[Book]) -> None:
        try:
            first()
            for book in books:
                self._kept.account(book)
        except Exception:  # nobody waits for it: whoever asks is told, and what was closed meanwhile is no fault
            if not self._is_closed:
                LOG.exception("what is asked first could not be answered")

    def close(self) -> None:
        self._is_closed = True
        with self._lock:
            for lent in self._idle:
                lent.reader.close()
            self._idle.clear()
        self._database.close()

    def _open(self, key: Key, viewer: Viewer, books: Sequence[Book]) -> Lent:
        engine = Reader(self._database, self._memory, key)
        opened = open_books(engine, [self.store.files(book) for book in books])
        digests = self._digests(books)
        if viewer.sees is not None:
            restrict(engine, tables_of(opened.books), viewer.sees)
        *_, job = key
        if job is not None:
            self._turn(engine, key, digests)
        by_digest = job is None and all(one.is_uniform for one in digests)
        if by_digest:
            digest.attach(engine, [one.alias for one in digests], viewer.sees)
        spans = [one.days for one in digests if one.days]
        days = (min(first for first, _ in spans), max(last for _, last in spans)) if spans else None
        sees_all = by_digest and viewer.sees is None
        told = replace(opened, by_digest=by_digest, by_machine=sees_all, is_one_job=job is not None, days=days)
        return Lent(key, engine, told)

    def _turned(self, key: Key, books: Sequence[Book]) -> Lent | None:
        """Books that were opened for another job, turned to the one that is asked about: a few tables instead of all."""
        versions, sees, job = key
        if job is None:
            return None
        found = self._idle_one(lambda kept: kept[:2] == (versions, sees) and kept[2] is not None)
        if found:
            self._turn(found.reader, key, self._digests(books))
        return replace(found, key=key) if found else None

    def _turn(self, reader: Reader, key: Key, digests: Sequence[Digest]) -> None:
        _, sees, job = key
        reader.key = key
        digest.open_job(reader, [one.alias for one in digests], job or "", "" if sees is None else EVERY)

    def _digests(self, books: Sequence[Book]) -> list[Digest]:
        return [self._kept.digest(book) for book in sorted(books, key=lambda book: book.month)]

    def _idle_one(self, wanted: Callable[[Key], bool]) -> Lent | None:
        """The one that was used last, of those nobody uses now."""
        with self._lock:
            for place in range(len(self._idle) - 1, -1, -1):
                if wanted(self._idle[place].key):
                    return self._idle.pop(place)
        return None

    def _keep(self, lent: Lent) -> None:
        with self._lock:
            self._idle.append(lent)
            dropped = [self._idle.pop(0) for _ in range(len(self._idle) - KEPT_IDLE)]
        for old in dropped:
            old.reader.close()
