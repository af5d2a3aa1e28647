"""The published books and closings of the catalog, reread only after some process has published or closed a month."""

import threading
from dataclasses import dataclass

from trainfare.period import Month
from trainfare.store import Book
from trainfare.store.catalog import Catalog
from trainfare.store.records import Closing


@dataclass(frozen=True)
class Published:
    """Every version of every month, in order, and the closings, at one point in time."""

    mark: tuple[int, int, int]
    """Changes with each publication, closing and reopening."""
    books: list[Book]
    closings: dict[Month, Closing]

    @property
    def current(self) -> list[Book]:
        """The newest version of each month, in order, without withdrawn months."""
        newest = {book.month: book for book in self.books}
        return [newest[month] for month in sorted(newest) if not newest[month].is_withdrawn]


class PublishedBooks:
    """The current content of the catalog, safe to read from many threads."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._lock = threading.Lock()
        self._latest: Published | None = None

    def now(self) -> Published:
        mark = self._catalog.change_marker()
        with self._lock:
            latest = self._latest
        if latest is None or latest.mark != mark:
            # The mark was read first, so the books are as new as it says, or newer and reread next time.
            latest = Published(mark, self._catalog.books(), self._catalog.closings())
            with self._lock:
                self._latest = latest
        return latest
