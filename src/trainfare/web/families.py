"""What the books say, as Prometheus reads it.

Amounts are in the currency that the settings name, or the only one; its code is part of the name, since amounts of different
currencies must not be added. Costs of all books are added up, so a counter falls only when a book says less than it did; what
no bill says yet has a state of its own. No figure carries a job's id.
"""

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from trainfare import __version__
from trainfare.errors import TrainfareError
from trainfare.report import cost, groups, outlook
from trainfare.report.cost import Question
from trainfare.report.measures import retry, spend_rate
from trainfare.report.measures.figure import Asked
from trainfare.report.metrics import NEEDED
from trainfare.report.opened import Opened, tables_of
from trainfare.store import Book
from trainfare.web.books import Shelf
from trainfare.web.viewer import Viewer

EVERYTHING = Viewer("metrics", "viewer")
WINDOWS = {"15 min": "15m", "1 h": "1h", "6 h": "6h", "24 h": "24h"}
"""Windows of the spend rate, and how Prometheus writes them."""
LOST = """
SELECT coalesce(a.project, ''), coalesce(a.team, ''),
  sum(CAST(greatest(least(w.ends, p.ends) - greatest(w.starts, p.starts), 0) AS HUGEINT) * p.gpu_micros) AS gpu_micros
FROM book_work w
JOIN book_placements p ON p.job_id = w.job_id AND p.attempt = w.attempt
JOIN attempts a ON a.job_id = w.job_id AND a.attempt = w.attempt
WHERE w.part = 'lost' GROUP BY ALL
"""
"""GPU time that was lost to interruptions and restarts."""


def families(shelf: Shelf, books: Sequence[Book]) -> Iterator[Metric]:
    """Every family of figures that these books have."""
    yield _gauge("build_info", "The version that runs.", {(__version__,): 1}, "version")
    yield from _sources(books)
    if not books:
        return
    with shelf.opened(EVERYTHING, books) as opened:
        try:
            currency = opened.currency(None, shelf.config.currency)
        except TrainfareError:
            return  # several currencies and none chosen: nothing can be added up
        yield from _costs(opened, currency)
        yield from _hours(opened, currency)
        yield from _measures(opened, currency)
    yield from _budgets(shelf, books[-1], currency)
    yield from _differences(books, currency)


def _gauge(name: str, about: str, values: Mapping[Any, Any], *labels: str) -> Metric:
    """A family of gauges, by the values of their labels. Amounts are exact; only the text format makes them shorter."""
    return _filled(GaugeMetricFamily(f"trainfare_{name}", about, labels=labels), values)


def _counter(name: str, about: str, values: Mapping[Any, Any], *labels: str) -> Metric:
    return _filled(CounterMetricFamily(f"trainfare_{name}", about, labels=labels), values)


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
    told = "Up to when the bill is complete."
    yield _gauge("source_complete_through_timestamp_seconds", told, dict(sorted(through.items())), "source")
    built = {(str(book.month),): book.built_at.timestamp() for book in books}
    yield _gauge("book_built_timestamp_seconds", "When the newest version was built.", built, "month")


def _costs(opened: Opened, currency: str) -> Iterator[Metric]:
    slice_ = Question([], currency=currency).slice
    rows = opened.engine.rows(
        "SELECT CASE WHEN s.payer_kind IN ('idle', 'unallocated', 'outside') THEN s.payer ELSE coalesce(a.project, '') END AS project, "
        "coalesce(CASE WHEN s.payer LIKE 'team:%' THEN substr(s.payer, 6) ELSE a.team END, '') AS team, s.category, "
        "CASE WHEN coalesce(s.origin = 'estimate', false) THEN 'estimated' ELSE 'billed' END AS state, sum(s.effective) "
        f"FROM {groups.paid(opened, slice_, ['project', 'team'])} GROUP BY ALL ORDER BY ALL"
    )
    labels = ("project", "team", "category", "state")
    costs = {tuple(key): amount for *key, amount in rows}
    yield _counter(f"cost_{currency.lower()}", f"Effective cost in {currency}.", costs, *labels)
    total, unallocated, jobs, owned = opened.engine.row(
        "SELECT coalesce(sum(s.effective), 0), coalesce(sum(s.effective) FILTER (s.payer_kind = 'unallocated'), 0), "
        "coalesce(sum(s.effective) FILTER (s.payer_kind = 'attempt'), 0), "
        "coalesce(sum(s.effective) FILTER (s.payer_kind = 'attempt' AND a.owner IS NOT NULL), 0) "
        f"FROM {groups.paid(opened, slice_, ['owner'])}"
    )
    if total:
        told = "The part of all cost that nobody could be given."
        yield _gauge("unallocated_cost_ratio", told, {(): unallocated / total})
    if jobs:
        yield _gauge("owner_coverage_ratio", "The part of what jobs cost that has an owner.", {(): owned / jobs})


def _hours(opened: Opened, currency: str) -> Iterator[Metric]:
    seconds: dict[tuple[str, ...], Any] = {}
    has_work = "book_work" in tables_of(opened.books)
    lost = {tuple(key): micros for *key, micros in opened.engine.rows(LOST)} if has_work else {}
    for row in cost.rows(opened, Question([], currency=currency), ["project", "team"]):
        named = (row.group["project"] or "", row.group["team"] or "")
        seconds[*named, "wall"] = row.wall_seconds
        if row.gpu_seconds is not None:
            seconds[*named, "gpu"] = row.gpu_seconds
            if has_work:
                seconds[*named, "productive_gpu"] = row.gpu_seconds - Decimal(lost.get(named) or 0).scaleb(-6)
    yield _counter("training_seconds", "Time trained.", seconds, "project", "team", "basis")
    rates = {
        (row.group["project"] or "", per, quantile): rate
        for per in ("wall", "gpu")
        for row in cost.rows(opened, Question([], per=per, currency=currency), ["project"])
        for quantile, rate in (("0.5", row.rate_median), ("0.95", row.rate_p95))
        if rate is not None
    }
    name, told = f"cost_per_training_hour_{currency.lower()}", "Spread of the jobs' cost per training hour."
    yield _gauge(name, told, rates, "project", "basis", "quantile")


def _measures(opened: Opened, currency: str) -> Iterator[Metric]:
    """How fast money is spent, and what of it was lost; books that were built before these were kept do not say."""
    if not set(NEEDED) <= set(tables_of(opened.books)):
        return
    spent = spend_rate.figures(Asked(opened, Question([], currency=currency)))
    rates = {(WINDOWS[one.of],): one.value for one in spent if one.value is not None}
    told = "Money spent on training per hour, up to where the bill is complete."
    yield _gauge(f"spend_rate_{currency.lower()}_per_hour", told, rates, "window")
    found = retry.figures(Asked(opened, Question(["project"], currency=currency)))
    lost = {(one.group["project"] or "",): one.value for one in found if one.of == "lost" and one.value is not None}
    told = "The part of what jobs cost whose work was lost."
    yield _gauge("retry_overhead_cost_ratio", told, lost, "project")


def _budgets(shelf: Shelf, newest: Book, currency: str) -> Iterator[Metric]:
    """What may be spent in a month, and what the newest month has spent of it, estimated money included."""
    budgets = shelf.config.budgets(currency)
    if not budgets:
        return
    with shelf.opened(EVERYTHING, [newest]) as opened:
        seen = outlook.seen(opened, Question([], currency=currency), outlook.LABELS)
    spent = {of: sum(told.billed.values(), told.estimated) for of, told in seen.by.items() if of in budgets}
    code = currency.lower()
    limits = {(of,): amount for of, amount in budgets.items()}
    yield _gauge(f"budget_limit_{code}", "What may be spent in a month.", limits, "budget")
    told = "What was spent of it in the newest month."
    yield _gauge(f"budget_spent_{code}", told, {(of,): spent.get(of, 0) for of in budgets}, "budget")


def _differences(books: Sequence[Book], currency: str) -> Iterator[Metric]:
    sums: dict[tuple[str, ...], Decimal] = {}
    for total in (total for book in books for total in book.totals):
        if total.currency == currency and total.basis == "effective":
            before = sums.get((total.source,), Decimal(0))
            sums[total.source,] = before + total.shares - total.charges
    name, told = f"reconciliation_difference_{currency.lower()}", "What is between the bill and the shares."
    yield _gauge(name, told, dict(sorted(sums.items())), "source")
