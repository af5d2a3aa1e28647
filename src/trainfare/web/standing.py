"""What stands in the catalog: read again only after something was published or closed, by whatever process."""

import threading
from dataclasses import dataclass

from trainfare.period import Month
from trainfare.store import Book
from trainfare.store.catalog import Catalog
from trainfare.store.records import Closing


@dataclass(frozen=True)
class Published:
    """Every version of every month in this order, and the closings, as of one moment."""

    mark: tuple[int, int]
    books: list[Book]
    closings: dict[Month, Closing]

    @property
    def current(self) -> list[Book]:
        """The newest version of each month, in order; months that were withdrawn are left out."""
        newest = {book.month: book for book in self.books}
        return [newest[month] for month in sorted(newest) if not newest[month].is_withdrawn]


class Standing:
    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._lock = threading.Lock()
        self._known: Published | None = None

    def now(self) -> Published:
        mark = self._catalog.mark()
        with self._lock:
            known = self._known
        if known is None or known.mark != mark:
            # The mark was asked first, so what is read is as new as it says, or newer and read again next time.
            known = Published(mark, self._catalog.books(), self._catalog.closings())
            with self._lock:
                self._known = known
        return known
