"""Figures for Prometheus: what the books say, and how the service does.

Amounts are in the currency that the settings name, or the only one; its code is part of the name, since amounts of different
currencies must not be added. Costs of all books are added up, so a counter falls only when a book says less than it did.
No figure carries a job's id.
"""

import threading
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Any

from prometheus_client import CollectorRegistry, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST

from trainfare import __version__
from trainfare.errors import TrainfareError
from trainfare.report import cost, groups
from trainfare.report.cost import Question
from trainfare.report.opened import Opened
from trainfare.store import Book
from trainfare.web.books import Shelf
from trainfare.web.viewer import Viewer

EVERYTHING = Viewer("metrics", "viewer")
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
    found = list(_families(shelf, books))

    class Collected:
        def collect(self) -> Iterator[Metric]:
            yield from found

    registry.register(Collected())
    return generate_latest(registry)


def _figure(amount: Decimal) -> Any:
    """An exact amount; the text format is where it becomes a figure of limited length."""
    return amount


def _families(shelf: Shelf, books: Sequence[Book]) -> Iterator[Metric]:
    build = GaugeMetricFamily("trainfare_build_info", "The version that runs.", labels=["version"])
    build.add_metric([__version__], 1)
    yield build
    yield from _sources(books)
    if not books:
        return
    with shelf.opened(EVERYTHING, books) as opened:
        try:
            currency = opened.currency(None, shelf.config.currency)
        except TrainfareError:
            return  # several currencies and none chosen: nothing can be added up
        yield from _costs(opened, currency)
        yield from _rates(opened, currency)
    yield from _differences(books, currency)


def _sources(books: Sequence[Book]) -> Iterator[Metric]:
    through = GaugeMetricFamily(
        "trainfare_source_complete_through_timestamp_seconds", "Up to when the bill is complete.", labels=["source"]
    )
    last = GaugeMetricFamily(
        "trainfare_book_built_timestamp_seconds", "When the newest version was built.", labels=["month"]
    )
    known: dict[str, float] = {}
    for book in books:
        last.add_metric([str(book.month)], book.built_at.timestamp())
        if book.complete_through:
            known |= {total.source: book.complete_through.timestamp() for total in book.totals}
    for source, moment in sorted(known.items()):
        through.add_metric([source], moment)
    yield from (through, last)


def _costs(opened: Opened, currency: str) -> Iterator[Metric]:
    code = currency.lower()
    slice_ = Question([], currency=currency).slice
    spent = CounterMetricFamily(
        f"trainfare_cost_{code}", f"Effective cost in {currency}.", labels=["project", "team", "category", "state"]
    )
    rows = opened.engine.rows(
        "SELECT CASE WHEN s.payer_kind IN ('idle', 'unallocated', 'outside') THEN s.payer ELSE coalesce(a.project, '') END AS project, "
        "coalesce(CASE WHEN s.payer LIKE 'team:%' THEN substr(s.payer, 6) ELSE a.team END, '') AS team, s.category, sum(s.effective) "
        f"FROM {groups.paid(opened, slice_, ['project', 'team'])} GROUP BY ALL ORDER BY ALL"
    )
    for project, team, category, amount in rows:
        spent.add_metric([project, team, category, "billed"], _figure(amount))
    yield spent
    total, lost = opened.engine.row(
        "SELECT coalesce(sum(s.effective), 0), coalesce(sum(s.effective) FILTER (s.payer_kind = 'unallocated'), 0) "
        f"FROM {groups.paid(opened, slice_, [])}"
    )
    if total:
        ratio = GaugeMetricFamily(
            "trainfare_unallocated_cost_ratio", "The part of all cost that nobody could be given."
        )
        ratio.add_metric([], _figure(lost / total))
        yield ratio


def _rates(opened: Opened, currency: str) -> Iterator[Metric]:
    seconds = CounterMetricFamily("trainfare_training_seconds", "Time trained.", labels=["project", "team", "basis"])
    rates = GaugeMetricFamily(
        f"trainfare_cost_per_training_hour_{currency.lower()}",
        "Spread of the jobs' cost per training hour.",
        labels=["project", "basis", "quantile"],
    )
    for row in cost.rows(opened, Question([], currency=currency), ["project", "team"]):
        named = [row.group["project"] or "", row.group["team"] or ""]
        seconds.add_metric([*named, "wall"], row.wall_seconds)
        if row.gpu_seconds is not None:
            seconds.add_metric([*named, "gpu"], _figure(row.gpu_seconds))
    for per in ("wall", "gpu"):
        for row in cost.rows(opened, Question([], per=per, currency=currency), ["project"]):
            for quantile, rate in (("0.5", row.rate_median), ("0.95", row.rate_p95)):
                if rate is not None:
                    rates.add_metric([row.group["project"] or "", per, quantile], _figure(rate))
    yield from (seconds, rates)


def _differences(books: Sequence[Book], currency: str) -> Iterator[Metric]:
    between = GaugeMetricFamily(
        f"trainfare_reconciliation_difference_{currency.lower()}",
        "What is between the bill and the shares.",
        labels=["source"],
    )
    sums: dict[str, Decimal] = {}
    for total in (total for book in books for total in book.totals):
        if total.currency == currency and total.basis == "effective":
            sums[total.source] = sums.get(total.source, Decimal(0)) + total.shares - total.charges
    for source, amount in sorted(sums.items()):
        between.add_metric([source], _figure(amount))
    yield between
