"""Fill the result cache for a new version with what is usually requested first."""

from contextlib import suppress

from trainfare.errors import TrainfareError
from trainfare.query import cost
from trainfare.query.open_books import OpenBooks
from trainfare.serve.books import BookReader
from trainfare.serve.metrics.books import METRICS_VIEWER
from trainfare.serve.metrics.registry import MetricsRegistry
from trainfare.serve.pages import PAGES
from trainfare.serve.pages.context import RequestContext
from trainfare.serve.pages.query import parse_query

KEYS = ("team", "owner", "project", "cost_center", "pool", "gpu_model")
"""The keys that a month is grouped by most often."""


def warm_up(book_reader: BookReader, metrics_registry: MetricsRegistry) -> None:
    """Compute every page of the newest month, its costs by the usual keys and the metrics, with full visibility.

    Errors are ignored here; they are reported to the request that causes them again.
    """
    for page in PAGES.values():
        with suppress(TrainfareError):
            page.build(RequestContext(book_reader, METRICS_VIEWER, parse_query({}), page.path))
    with suppress(TrainfareError):
        metrics_registry.text(book_reader)
        context = RequestContext(book_reader, METRICS_VIEWER, parse_query({}))
        for key in KEYS:
            context.run(_costs_by, context, key)


def _costs_by(opened: OpenBooks, context: RequestContext, key: str) -> None:
    cost.rows(opened, context.question, [key])
