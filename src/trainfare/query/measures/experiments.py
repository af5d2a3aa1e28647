"""Cost of an experiment with all of its jobs and attempts, cost per point of quality, and the Pareto front.

Formula: cost of the experiment's jobs / jobs; and per quality metric: cost of the experiment / best value of its
jobs, if higher is better. An experiment is on the Pareto front of a metric if no other one is as cheap and as good,
and better in one of the two. If lower is better, there is no number of points, and only the front is reported. Groups
are experiments, whatever keys are requested.

Example: a sweep of two jobs, and a more expensive experiment that is no better.

    machine  n1  4 gpus  8 h  8.00 USD
    attempt  a1  4 gpus  1 h  experiment small
    attempt  a2  4 gpus  1 h  experiment small
    attempt  b1  4 gpus  6 h  experiment large
    quality  a1  accuracy 70  better higher
    quality  a2  accuracy 80  better higher
    quality  b1  accuracy 75  better higher
    =>
    large  6.00 / 1 = 6.00 USD per job
    large  accuracy 75  6.00 / 75 = 0.08 USD per point
    small  2.00 / 2 = 1.00 USD per job
    small  accuracy 80, on the front  2.00 / 80 = 0.025 USD per point
"""

from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from typing import Any

from trainfare.query.cost import Row
from trainfare.query.measures.metric_value import MetricQuery, MetricValue

CODE, NAME = "M9", "cost per experiment and per point of quality"
LOWER = "lower is better, so there are no points"
RESULTS = """
SELECT q.metric, q.better, a.experiment, CASE q.better WHEN 'lower' THEN min(q.value) ELSE max(q.value) END
FROM book_quality q
JOIN (SELECT DISTINCT job_id, experiment FROM attempts WHERE experiment IS NOT NULL) a ON a.job_id = q.job_id
WHERE {jobs}
GROUP BY q.metric, q.better, a.experiment ORDER BY q.metric, q.better, a.experiment
"""


def values(query: MetricQuery) -> list[MetricValue]:
    rows = {row.group["experiment"]: row for row in query.listed(by=["experiment"])}
    found = [
        *(_per_job(name, row, query.currency) for name, row in rows.items() if name is not None),
        *_per_point(query, rows),
    ]
    return sorted(found, key=lambda value: (value.group["experiment"], value.detail))


def _per_job(name: str, row: Row, currency: str) -> MetricValue:
    note = "" if row.jobs else "no job"
    return MetricValue(CODE, {"experiment": name}, "", row.cost, Fraction(row.jobs), f"{currency} per job", note)


def _per_point(query: MetricQuery, rows: dict[Any, Row]) -> Iterator[MetricValue]:
    """Yield, per quality metric, the cost per point of each experiment that has a cost."""
    results: dict[tuple[str, str], dict[str, Decimal]] = {}
    chosen = f"q.job_id IN ({query.selected_jobs})" if query.is_part else "true"
    for metric, better, experiment, value in query.opened.engine.rows(RESULTS.format(jobs=chosen)):
        if experiment in rows and rows[experiment].cost is not None:
            results.setdefault((metric, better), {})[experiment] = value
    unit = f"{query.currency} per point"
    for (metric, better), qualities in results.items():
        costs = {name: rows[name].cost or Decimal(0) for name in qualities}
        front = on_the_front(costs, qualities, better)
        for name, value in qualities.items():
            detail = f"{metric} {plain(value)}" + (", on the front" if name in front else "")
            points = Fraction(value) if better == "higher" and value > 0 else None
            note = "" if points else LOWER if better == "lower" else "no points"
            yield MetricValue(CODE, {"experiment": name}, detail, costs[name], points, unit, note)


def on_the_front(costs: dict[str, Decimal], values: dict[str, Decimal], better: str) -> set[str]:
    """Return the experiments that no other one beats: none is as cheap and as good, and better in one of the two."""
    sign = -1 if better == "lower" else 1

    def beats(one: str, other: str) -> bool:
        cheaper, nicer = costs[other] - costs[one], sign * (values[one] - values[other])
        return cheaper >= 0 and nicer >= 0 and (cheaper > 0 or nicer > 0)

    return {name for name in values if not any(beats(other, name) for other in values)}


def plain(value: Any) -> str:
    return f"{value:f}".rstrip("0").rstrip(".") if "." in f"{value:f}" else f"{value:f}"
