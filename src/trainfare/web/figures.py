"""Figures for Prometheus: what the books say, and how the service does."""

import threading
from collections.abc import Iterator, Sequence

from prometheus_client import CollectorRegistry, Histogram, generate_latest
from prometheus_client.core import Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST

from trainfare.store import Book
from trainfare.web.books import Shelf
from trainfare.web.families import families

CONTENT_TYPE = CONTENT_TYPE_LATEST
BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.25, 0.5, 1, 2.5, 5, 10)


class Figures:
    """The figures of one process."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.requests = Histogram(
            "trainfare_http_request_duration_seconds",
            "How long answers took.",
            ("method", "route", "status"),
            buckets=BUCKETS,
            registry=self.registry,
        )
        self._lock = threading.Lock()
        self._known: tuple[tuple[int, ...], bytes] | None = None

    def text(self, shelf: Shelf) -> bytes:
        """All figures in Prometheus' text format. Those of books are made anew when a version is published."""
        books = shelf.current()
        key = tuple(book.id for book in books)
        with self._lock:
            if self._known is None or self._known[0] != key:
                self._known = (key, _of_books(shelf, books))
            return self._known[1] + generate_latest(self.registry)


def _of_books(shelf: Shelf, books: Sequence[Book]) -> bytes:
    registry = CollectorRegistry()
    found = list(families(shelf, books))

    class Collected:
        def collect(self) -> Iterator[Metric]:
            yield from found

    registry.register(Collected())
    return generate_latest(registry)
