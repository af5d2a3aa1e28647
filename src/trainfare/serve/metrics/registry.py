"""The Prometheus metrics of one process: those of the books, and those of the service itself."""

from collections.abc import Iterator, Sequence

from prometheus_client import CollectorRegistry, Histogram, generate_latest
from prometheus_client.core import Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST

from trainfare.serve.books import BookReader
from trainfare.serve.cache.results import ResultKey
from trainfare.serve.metrics.books import METRICS_VIEWER, prometheus_metrics
from trainfare.store import Book

CONTENT_TYPE = CONTENT_TYPE_LATEST
BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.25, 0.5, 1, 2.5, 5, 10)


class MetricsRegistry:
    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.requests = Histogram(
            "trainfare_http_request_duration_seconds",
            "Duration of HTTP requests.",
            ("method", "route", "status"),
            buckets=BUCKETS,
            registry=self.registry,
        )

    def text(self, book_reader: BookReader) -> bytes:
        """Return all metrics in the Prometheus text format. Those of books are recomputed after a publication."""
        books = book_reader.current()
        key = ResultKey(tuple(book.id for book in books), "metrics", METRICS_VIEWER.visibility)
        return book_reader.results.get(key, lambda: _text(book_reader, books)) + generate_latest(self.registry)


def _text(book_reader: BookReader, books: Sequence[Book]) -> bytes:
    registry = CollectorRegistry()
    found = list(prometheus_metrics(book_reader, books))

    class BookMetrics:
        def collect(self) -> Iterator[Metric]:
            yield from found

    registry.register(BookMetrics())
    return generate_latest(registry)
