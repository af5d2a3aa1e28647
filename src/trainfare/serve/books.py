"""Reads published books: one database per process, with pooled connections that each serve one request at a time."""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import date

from trainfare.books.reopen import Account
from trainfare.engine.duckdb import DuckDB
from trainfare.errors import IncompleteError
from trainfare.period import Month
from trainfare.query.grains.named import named_tables
from trainfare.query.grains.opened import Grains
from trainfare.query.groups import all_shares
from trainfare.query.open_books import OpenBooks, open_books
from trainfare.query.stored import common_tables, cost_days
from trainfare.query.visibility import restrict_tables
from trainfare.query.window import Window
from trainfare.serve.admission import cancellation
from trainfare.serve.admission.cancellation import CanceledError
from trainfare.serve.admission.middleware import READERS
from trainfare.serve.auth.viewer import Viewer
from trainfare.serve.cache.connection import CachedConnection
from trainfare.serve.cache.results import ResultCache
from trainfare.serve.databases.attached import AttachedDatabases
from trainfare.serve.logs import LOG
from trainfare.serve.published import Published, PublishedBooks
from trainfare.settings.config import Config
from trainfare.store import Book, Store

MEMORY = "400MB"
MAX_CONNECTIONS = READERS + 2
"""One per reader, and some for work in the background."""
MAX_IDLE_CONNECTIONS = 24
CLOSE_SECONDS = 5
SEPARATOR = 0
"""No book has this id."""


@dataclass(frozen=True)
class PoolKey:
    """What a connection has open: these versions, and after `SEPARATOR` those their rates use, as labels allow."""

    versions: tuple[int, ...]
    visibility: tuple[str, ...] | None


@dataclass(frozen=True)
class PooledConnection:
    """A connection with books open in it, used by one thread at a time."""

    key: PoolKey
    connection: CachedConnection
    opened: OpenBooks


class BookReader:
    """The newest version of every month, readable by many threads.

    A version that any process publishes is visible to the next request. A request that is already reading keeps the
    version it started with.
    """

    def __init__(self, store: Store, config: Config, memory_limit: str = MEMORY) -> None:
        self.store = store
        self.config = config
        self.results = ResultCache()
        self._database = DuckDB(memory_limit=memory_limit)
        self._connection_limit = threading.BoundedSemaphore(MAX_CONNECTIONS)
        self._lock = threading.Lock()
        self._databases = AttachedDatabases(store, self._database)
        self._warmed_up: set[int] = set()
        self._published = PublishedBooks(store.catalog)
        self._idle: list[PooledConnection] = []
        self._engines_in_use: list[DuckDB] = []
        self._is_closed = False
        self._days: dict[int, frozenset[date]] = {}
        """The days that a book has cost for."""

    @property
    def published(self) -> Published:
        """The current content of the catalog."""
        return self._published.now()

    def current(self) -> list[Book]:
        """Return the newest version of each month, in order."""
        return self.published.current

    def newest(self, month: Month | None = None) -> Book:
        """Return the newest version of a month, or of the newest month."""
        books = self.current()
        found = [book for book in books if month in (None, book.month)]
        if found:
            return found[-1]
        if not books:
            raise IncompleteError("books", "nothing has been built yet", "Run: trainfare build")
        months = ", ".join(str(book.month) for book in books)
        raise IncompleteError("books", f"no book for {month}", f"Available months: {months}.")

    def books_in(self, window: Window, current: Sequence[Book] | None = None) -> list[Book]:
        """Return the books that a window is answered from; none if no month of the window has a book.

        Days are also in books of other months: in what these adjust, and in what was billed a month late.
        """
        books = self.current() if current is None else current
        found = [book for book in books if window.overlaps(book.month)]
        if window.of_books or not found:
            return found
        return [book for book in books if book in found or self._has_cost_in(book, window)]

    def _has_cost_in(self, book: Book, window: Window) -> bool:
        if book.id not in self._days:
            with closing(self._database.new_connection()) as engine:
                self._days[book.id] = cost_days(engine, self.store.files(book))
        return window.has_any(self._days[book.id])

    @contextmanager
    def open(self, viewer: Viewer, books: Sequence[Book]) -> Iterator[OpenBooks]:
        """Open these books, restricted to what the viewer may see.

        Query them only within the block, from one thread.
        """
        # What other books have for these months counts in their rates, so an answer depends on these versions, too.
        # The two are kept apart: October with November for its rates is not October and November.
        others = dict.fromkeys(other.id for one in books for other in self._others(one))
        key = PoolKey((*(book.id for book in books), SEPARATOR, *others), viewer.visibility)
        with self._connection_limit:
            self._require_open()
            pooled = self._take_idle(lambda idle: idle == key) or self._connect(key, books)
            try:
                with self._in_use(pooled.connection):
                    yield pooled.opened
            except BaseException:
                pooled.connection.close()
                raise
            self._release(pooled)

    def _others(self, book: Book) -> tuple[Book, ...]:
        return self.store.others_of(book, self.current())

    @contextmanager
    def account(self, book: Book) -> Iterator[tuple[DuckDB, Account]]:
        """Provide a book's account, and an engine in which to explain its jobs and bill lines."""
        account = self._databases.account(book)
        with (
            self._connection_limit,
            closing(self._database.new_connection()) as engine,
            cancellation.current().stops(engine),
        ):
            yield engine, account

    @contextmanager
    def _in_use(self, engine: DuckDB) -> Iterator[None]:
        """Let the request that uses an engine be canceled, and `close` interrupt it."""
        with cancellation.current().stops(engine):
            self._engines_in_use.append(engine)
            try:
                yield
            finally:
                self._engines_in_use.remove(engine)

    def _require_open(self) -> None:
        if self._is_closed:
            raise CanceledError("service", "it is stopping", "Send the request again in a moment.")

    def prepare(self, warm_up: Callable[[], None]) -> None:
        """Attach the grains of every current book, so that the first request does not wait for it.

        For books that are new, run `warm_up` and attach their accounts, which takes longer, in the background.
        """
        books = self.current()
        for book in books:
            self._databases.grains(book, self._others(book))
        new = [book for book in reversed(books) if book.id not in self._warmed_up]
        self._warmed_up |= {book.id for book in new}
        if new:
            threading.Thread(target=self._warm_up, args=(warm_up, new), daemon=True).start()

    def _warm_up(self, warm_up: Callable[[], None], books: Sequence[Book]) -> None:
        try:
            warm_up()
            for book in books:
                self._require_open()
                self._databases.account(book)
        except Exception:  # no request waits for this: the next one reports the error; after close() it is expected
            if not self._is_closed:
                LOG.exception("warm-up failed")

    def close(self) -> None:
        """Interrupt what still runs, wait for it to end, and close the database."""
        self._is_closed = True
        deadline = time.monotonic() + CLOSE_SECONDS
        while self._engines_in_use and time.monotonic() < deadline:
            for engine in [*self._engines_in_use]:
                engine.stop()
            time.sleep(0.02)
        with self._lock:
            connections = [pooled.connection for pooled in self._idle]
            self._idle.clear()
        for connection in (*connections, self._database):
            with suppress(Exception):  # a thread that still uses it ends with the process
                connection.close()

    def _connect(self, key: PoolKey, books: Sequence[Book]) -> PooledConnection:
        connection = CachedConnection(self._database, self.results, key.versions, key.visibility)
        with self._in_use(connection):
            return self._open(connection, key, books)

    def _open(self, connection: CachedConnection, key: PoolKey, books: Sequence[Book]) -> PooledConnection:
        opened = open_books(connection, [self.store.files(book) for book in books])
        ordered = sorted(books, key=lambda book: book.month)
        made = [self._databases.grains(book, self._others(book)) for book in ordered]
        grains = Grains(connection, made, key.visibility)
        opened = replace(opened, grains=grains)
        named = named_tables(grains)
        if key.visibility is None:
            for name, select in named.items():
                connection.view(name, select)
        else:
            restrict_tables(connection, common_tables(opened.books), named, all_shares(opened))
        return PooledConnection(key, connection, opened)

    def _take_idle(self, matches: Callable[[PoolKey], bool]) -> PooledConnection | None:
        """Remove and return the matching idle connection that was used last."""
        with self._lock:
            for position in range(len(self._idle) - 1, -1, -1):
                if matches(self._idle[position].key):
                    return self._idle.pop(position)
        return None

    def _release(self, pooled: PooledConnection) -> None:
        with self._lock:
            self._idle.append(pooled)
            excess = [self._idle.pop(0) for _ in range(len(self._idle) - MAX_IDLE_CONNECTIONS)]
        for oldest in excess:
            oldest.connection.close()
