"""The Prometheus metrics of the published books.

Amounts are in the currency of the settings, or the only one billed. Its code is part of the metric name, because
amounts in different currencies must not be added. Costs are summed over all books, so a counter decreases only when a
new version of a book is lower. Estimated cost has its own state. No metric has a job's id as a label.
"""

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from trainfare import __version__
from trainfare.errors import TrainfareError
from trainfare.query import cost, groups, keys
from trainfare.query.cost import Question
from trainfare.query.measures import retry, spend_rate, unallocated
from trainfare.query.measures.metric_value import MetricQuery
from trainfare.query.metrics import NEEDED_TABLES
from trainfare.query.open_books import OpenBooks
from trainfare.query.stored import common_tables
from trainfare.report import outlook
from trainfare.serve.auth.viewer import Viewer
from trainfare.serve.books import BookReader
from trainfare.store import Book

METRICS_VIEWER = Viewer("metrics", "viewer")
WINDOWS = {"15 min": "15m", "1 h": "1h", "6 h": "6h", "24 h": "24h"}
"""Windows of the spend rate, and their values of the label `window`."""
LOST = """
SELECT coalesce(a.project, ''), coalesce(a.team, ''),
  sum(CAST(greatest(least(w.ends, p.ends) - greatest(w.starts, p.starts), 0) AS HUGEINT) * p.gpu_micros) AS gpu_micros
FROM book_work w
JOIN book_placements p ON p.job_id = w.job_id AND p.attempt = w.attempt
JOIN attempts a ON a.job_id = w.job_id AND a.attempt = w.attempt
WHERE w.part = 'lost' GROUP BY ALL
"""
"""GPU time that was lost to interruptions and restarts."""


def prometheus_metrics(book_reader: BookReader, books: Sequence[Book]) -> Iterator[Metric]:
    """Yield every metric of these books."""
    yield _gauge("build_info", "Version of the running service.", {(__version__,): 1}, "version")
    yield from _sources(books)
    if not books:
        return
    with book_reader.open(METRICS_VIEWER, books) as opened:
        try:
            currency = opened.currency(None, book_reader.config.currency)
        except TrainfareError:
            return  # several currencies and none configured: amounts cannot be added
        yield from _costs(opened, currency)
        yield from _hours(opened, currency)
        yield from _measures(opened, currency)
    yield from _budgets(book_reader, books[-1], currency)
    yield from _differences(books, currency)


def _gauge(name: str, help_text: str, values: Mapping[Any, Any], *labels: str) -> Metric:
    """Make a gauge from values by label values. Amounts are exact; only the text format rounds them."""
    return _filled(GaugeMetricFamily(f"trainfare_{name}", help_text, labels=labels), values)


def _counter(name: str, help_text: str, values: Mapping[Any, Any], *labels: str) -> Metric:
    return _filled(CounterMetricFamily(f"trainfare_{name}", help_text, labels=labels), values)


def _filled(family: GaugeMetricFamily | CounterMetricFamily, values: Mapping[Any, Any]) -> Metric:
    for key, value in values.items():
        family.add_metric(key, value)
    return family


def _sources(books: Sequence[Book]) -> Iterator[Metric]:
    through = {
        (total.source,): book.complete_through.timestamp()
        for book in books
        if book.complete_through
        for total in book.totals
    }
    help_text = "Time through which the bill is complete."
    yield _gauge("source_complete_through_timestamp_seconds", help_text, dict(sorted(through.items())), "source")
    built = {(str(book.month),): book.built_at.timestamp() for book in books}
    yield _gauge("book_built_timestamp_seconds", "Build time of the newest version.", built, "month")


def _costs(opened: OpenBooks, currency: str) -> Iterator[Metric]:
    selection = Question([], currency=currency).selection
    rows = opened.engine.rows(
        "SELECT CASE WHEN s.payer_kind IN ('idle', 'unallocated', 'outside') THEN s.payer "
        f"ELSE coalesce({keys.share_sql('project')}, '') END AS project, "
        f"coalesce({keys.share_sql('team')}, '') AS team, s.category, "
        "CASE WHEN s.estimated THEN 'estimated' ELSE 'billed' END AS state, "
        "sum(s.effective) "
        f"FROM {groups.selected_shares(opened, selection, ['project', 'team', 'category'])} GROUP BY ALL ORDER BY ALL"
    )
    labels = ("project", "team", "category", "state")
    costs = {tuple(key): amount for *key, amount in rows}
    yield _counter(f"cost_{currency.lower()}", f"Effective cost in {currency}.", costs, *labels)
    (ratio, *_) = unallocated.values(MetricQuery(opened, Question([], currency=currency)))
    if ratio.value is not None:
        yield _gauge(
            "unallocated_cost_ratio", "Unallocated cost as a fraction of training cost (M3).", {(): ratio.value}
        )
    jobs, owned = opened.engine.row(
        "SELECT coalesce(sum(s.effective) FILTER (s.payer_kind = 'attempt'), 0), "
        "coalesce(sum(s.effective) FILTER (s.payer_kind = 'attempt' AND a.owner IS NOT NULL), 0) "
        f"FROM {groups.selected_shares(opened, selection, ['owner'])}"
    )
    if jobs:
        help_text = "Cost of jobs that have an owner, as a fraction of the cost of all jobs."
        yield _gauge("owner_coverage_ratio", help_text, {(): owned / jobs})


def _hours(opened: OpenBooks, currency: str) -> Iterator[Metric]:
    seconds: dict[tuple[str, ...], Any] = {}
    has_work = "book_work" in common_tables(opened.books)
    lost = {tuple(key): micros for *key, micros in opened.engine.rows(LOST)} if has_work else {}
    for row in cost.rows(opened, Question([], currency=currency), ["project", "team"]):
        labels = (row.group["project"] or "", row.group["team"] or "")
        seconds[*labels, "wall"] = row.wall_seconds
        if row.gpu_seconds is not None:
            seconds[*labels, "gpu"] = row.gpu_seconds
            if has_work:
                seconds[*labels, "productive_gpu"] = row.gpu_seconds - Decimal(lost.get(labels) or 0).scaleb(-6)
    yield _counter("training_seconds", "Training time.", seconds, "project", "team", "basis")
    rates = {
        (row.group["project"] or "", per, quantile): rate
        for per in ("wall", "gpu")
        for row in cost.rows(opened, Question([], per=per, currency=currency), ["project"])
        for quantile, rate in (("0.5", row.rate_median), ("0.95", row.rate_p95))
        if rate is not None
    }
    name, help_text = f"cost_per_training_hour_{currency.lower()}", "Cost per training hour, as quantiles over jobs."
    yield _gauge(name, help_text, rates, "project", "basis", "quantile")


def _measures(opened: OpenBooks, currency: str) -> Iterator[Metric]:
    """Yield the spend rate and the cost of lost work, if the books store what they are computed from."""
    if not set(NEEDED_TABLES) <= set(common_tables(opened.books)):
        return
    spent = spend_rate.values(MetricQuery(opened, Question([], currency=currency)))
    rates = {(WINDOWS[one.detail],): one.value for one in spent if one.value is not None}
    help_text = "Training cost per hour, through the time the bill is complete."
    yield _gauge(f"spend_rate_{currency.lower()}_per_hour", help_text, rates, "window")
    found = retry.values(MetricQuery(opened, Question(["project"], currency=currency)))
    lost = {(one.group["project"] or "",): one.value for one in found if one.detail == "lost" and one.value is not None}
    help_text = "Cost of lost work as a fraction of the cost of all jobs."
    yield _gauge("retry_overhead_cost_ratio", help_text, lost, "project")


def _budgets(book_reader: BookReader, newest: Book, currency: str) -> Iterator[Metric]:
    """Yield the monthly budgets, and what the newest month has spent of them, including estimated cost."""
    budgets = book_reader.config.budgets(currency)
    if not budgets:
        return
    with book_reader.open(METRICS_VIEWER, [newest]) as opened:
        spend = outlook.book_spend(opened, Question([], currency=currency), outlook.BUDGET_LABELS)
    spent = {of: sum(spent.billed.values(), spent.estimated) for of, spent in spend.by.items() if of in budgets}
    code = currency.lower()
    limits = {(of,): amount for of, amount in budgets.items()}
    yield _gauge(f"budget_limit_{code}", "Monthly budget.", limits, "budget")
    help_text = "Amount of the budget spent in the newest month."
    yield _gauge(f"budget_spent_{code}", help_text, {(of,): spent.get(of, 0) for of in budgets}, "budget")


def _differences(books: Sequence[Book], currency: str) -> Iterator[Metric]:
    sums: dict[tuple[str, ...], Decimal] = {}
    for total in (total for book in books for total in book.totals):
        if total.currency == currency and total.basis == "effective":
            before = sums.get((total.source,), Decimal(0))
            sums[total.source,] = before + total.shares - total.charges
    name, help_text = f"reconciliation_difference_{currency.lower()}", "Allocated shares minus billed charges."
    yield _gauge(name, help_text, dict(sorted(sums.items())), "source")
