"""M1 to M10 of opened books: each metric is one file in `measures`, with its formula and an example that is run."""

from collections.abc import Sequence
from types import ModuleType
from typing import Any

from trainfare.errors import IncompleteError, TrainfareError
from trainfare.report import keys
from trainfare.report.cost import Question
from trainfare.report.measures import (
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
from trainfare.report.measures.figure import Asked, Figure
from trainfare.report.opened import Opened, tables_of

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
NEEDED = ("work", "book_work", "checkpointing", "book_usage", "book_quality", "egress", "spend_rates")


def figures(opened: Opened, question: Question, only: Sequence[str] = ()) -> list[Figure]:
    """The figures of all metrics, or of those asked for by their code, in their order."""
    require_kept(opened)
    codes = [metric.CODE for metric in METRICS]
    if unknown := [code for code in only if code.upper() not in codes]:
        raise TrainfareError("--metric", f"there is no metric {unknown[0]}", f"Known are {', '.join(codes)}.")
    wanted = {code.upper() for code in only}
    asked = Asked(opened, question)
    return [figure for metric in METRICS if not wanted or metric.CODE in wanted for figure in metric.figures(asked)]


def rows(opened: Opened, question: Question, only: Sequence[str] = ()) -> list[dict[str, Any]]:
    """The same as flat rows, all with the same columns."""
    found = figures(opened, question, only)
    names = list(dict.fromkeys([*map(keys.shown, question.by), *(name for one in found for name in one.group)]))
    return [figure.record(names) for figure in found]


def checkpoints(opened: Opened) -> list[dict[str, Any]]:
    """How each job saves its work, and how often it should; those who would save most come first."""
    require_kept(opened)
    return opened.engine.records("SELECT * FROM checkpointing ORDER BY saving DESC NULLS LAST, job_id, currency")


def require_kept(opened: Opened) -> None:
    """Refuse books that were built before they kept what metrics need."""
    if not set(NEEDED) <= set(tables_of(opened.books)):
        raise IncompleteError("book", "it was built before metrics were kept", "Build it again with: trainfare build")
