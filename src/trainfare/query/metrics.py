"""Metrics M1 to M10 of open books.

Each is one file in `measures`, with its formula and an example that the tests run.
"""

from collections.abc import Sequence
from types import ModuleType
from typing import Any

from trainfare.errors import IncompleteError, TrainfareError
from trainfare.query import keys
from trainfare.query.cost import Question
from trainfare.query.measures import (
    egress,
    experiments,
    gpu_hour,
    productive,
    retry,
    spend_rate,
    spread,
    storage_requests,
    unallocated,
    wall_hour,
)
from trainfare.query.measures.metric_value import MetricQuery, MetricValue
from trainfare.query.open_books import OpenBooks
from trainfare.query.stored import common_tables

METRICS: tuple[ModuleType, ...] = (
    wall_hour,
    gpu_hour,
    unallocated,
    spend_rate,
    retry,
    storage_requests,
    egress,
    productive,
    experiments,
    spread,
)
NAMES = {metric.CODE: metric.NAME for metric in METRICS}
NEEDED_TABLES = ("work", "book_work", "checkpointing", "book_usage", "book_quality", "egress", "spend_rates")


def metric_values(opened: OpenBooks, question: Question, codes: Sequence[str] = ()) -> list[MetricValue]:
    """Compute all metrics, or those with these codes, in order of their codes."""
    require_metric_tables(opened)
    if unknown := [code for code in codes if code.upper() not in NAMES]:
        raise TrainfareError("--metric", f"there is no metric {unknown[0]}", f"Use one of {', '.join(NAMES)}.")
    wanted = {code.upper() for code in codes} or {*NAMES}
    query = MetricQuery(opened, question)
    return [value for metric in METRICS if metric.CODE in wanted for value in metric.values(query)]


def rows(opened: OpenBooks, question: Question, codes: Sequence[str] = ()) -> list[dict[str, Any]]:
    """Return the metrics as flat rows with code and name, all with the same columns."""
    found = metric_values(opened, question, codes)
    groups = [*map(keys.display_name, question.by), *(name for one in found for name in one.group)]
    records = (value.record(list(dict.fromkeys(groups))) for value in found)
    return [{"metric": record["metric"], "metric_name": NAMES[record["metric"]], **record} for record in records]


def checkpoints(opened: OpenBooks) -> list[dict[str, Any]]:
    """Return how each job writes checkpoints and how often it should; the largest saving first."""
    require_metric_tables(opened)
    return opened.engine.records("SELECT * FROM checkpointing ORDER BY saving DESC NULLS LAST, job_id, currency")


def require_metric_tables(opened: OpenBooks) -> None:
    """Reject books that were built before the tables that metrics need existed."""
    if not set(NEEDED_TABLES) <= set(common_tables(opened.books)):
        raise IncompleteError("book", "it was built before metrics existed", "Rebuild it with: trainfare build")
