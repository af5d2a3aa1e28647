"""Measurements of attempts: data sent between regions, storage requests, how busy GPUs were, and checkpoints."""

from collections.abc import Sequence
from datetime import date
from typing import Any

from trainfare.engine.duckdb import quoted
from trainfare.query import keys
from trainfare.query.cost import Question
from trainfare.query.groups import joins, needed
from trainfare.query.open_books import OpenBooks
from trainfare.query.selection import has_value, in_days
from trainfare.query.stored import common_tables

MAX_PLACEMENTS = 1500


def is_measured(opened: OpenBooks, table: str) -> bool:
    """Return whether all of the books have this table; older ones do not."""
    return table in common_tables(opened.books)


def unknown_filters(question: Question) -> list[str]:
    """Return the filters that measurements do not have, and so do not narrow them."""
    return [key for key, _ in question.filters if key not in keys.JOB_KEYS and not key.startswith("label:")]


def by_day(opened: OpenBooks, question: Question, measure: str, key: str) -> list[dict[str, Any]]:
    """Return the sum of a measurement per day and value of a label, in order of days."""
    if not is_measured(opened, "book_usage"):
        return []
    return opened.engine.records(
        f"SELECT s.day, {keys.attempt_sql(key)} AS {key}, sum(s.value) AS value "
        f"FROM {_rows(opened, question, 'usage', [key])} "
        f"AND s.measure = {quoted(measure)} GROUP BY ALL ORDER BY ALL"
    )


def by_route(opened: OpenBooks, question: Question) -> list[dict[str, Any]]:
    """Return bytes sent from region to region and their network cost, most bytes first.

    Within a region there is no cost.
    """
    if not is_measured(opened, "book_usage") or not is_measured(opened, "egress"):
        return []
    sent, paid = _rows(opened, question, "usage"), _rows(opened, question, "egress")
    return opened.engine.records(
        "SELECT b.from_region, b.to_region, b.bytes, c.cost FROM ("
        f"SELECT s.from_region, s.to_region, sum(s.value) AS bytes FROM {sent} "
        "AND s.measure = 'bytes_sent' GROUP BY ALL) b "
        f"LEFT JOIN (SELECT s.from_region, s.to_region, sum(s.{question.basis}) AS cost FROM {paid} AND s.currency = "
        f"{quoted(question.currency)} GROUP BY ALL) c ON c.from_region IS NOT DISTINCT FROM b.from_region "
        "AND c.to_region IS NOT DISTINCT FROM b.to_region ORDER BY b.bytes DESC, b.from_region, b.to_region"
    )


def attempts_on_idle_machines(opened: OpenBooks, question: Question, machines: int) -> list[dict[str, Any]]:
    """Return the attempts on the machines with most GPU time held but not busy, and how busy their GPUs were.

    The machine with most unused time comes first.
    """
    if not is_measured(opened, "book_usage"):
        return []
    rows = _rows(opened, question, "uses")
    return opened.engine.records(
        f"WITH used AS (SELECT s.* FROM {rows}), "
        "unused AS (SELECT resource_id, CAST(sum(held - busy) AS DECIMAL(38,0)) AS unused FROM used GROUP BY resource_id "
        f"ORDER BY unused DESC, resource_id LIMIT {machines}) "
        "SELECT coalesce(m.machine_id, t.machine_id) AS machine, m.pool, m.gpus, t.job_id AS job, t.attempt, "
        "make_timestamp(t.starts * 1000000) AS started, make_timestamp(t.ends * 1000000) AS ended, "
        "t.held * 0.000001 AS held_seconds, t.busy * 0.000001 AS busy_seconds "
        "FROM used t JOIN unused n ON n.resource_id = t.resource_id "
        "LEFT JOIN machines m ON m.resource_id = t.resource_id "
        f"QUALIFY row_number() OVER (ORDER BY t.held DESC, t.job_id, t.attempt, t.resource_id) <= {MAX_PLACEMENTS} "
        "ORDER BY n.unused DESC, machine, t.starts, t.job_id, t.attempt"
    )


def job_gpu_usage(opened: OpenBooks, job_id: str) -> str | None:
    """Return a FROM item: how busy the GPUs were that one job held; None if the books have no measurements."""
    if not is_measured(opened, "book_usage"):
        return None
    return f"(SELECT * FROM {opened.grains.table('uses')} WHERE job_id = {quoted(job_id)})"


def checkpoints(opened: OpenBooks, question: Question, limit: int) -> list[dict[str, Any]]:
    """Return how often the most expensive jobs write checkpoints, how long it takes, and the best interval."""
    if not is_measured(opened, "checkpointing"):
        return []
    grains, known = opened.grains, [key for key, _ in question.filters if key not in unknown_filters(question)]
    wanted = " AND ".join(["j.job_id = c.job_id", *_conditions(question)])
    attempts = f"{grains.table('attempts')} s{joins(grains, [*known, 'job'], 's')}"
    matches = f" AND EXISTS (SELECT 1 FROM {attempts} WHERE {wanted})" if known else ""
    return opened.engine.records(
        f"WITH top AS (SELECT c.* FROM checkpointing c WHERE c.currency = {quoted(question.currency)}{matches} "
        f"ORDER BY c.spent DESC NULLS LAST, c.job_id LIMIT {limit}), "
        "named AS (SELECT a.job_id, max(a.team) AS team FROM attempts a SEMI JOIN top d ON d.job_id = a.job_id "
        "GROUP BY a.job_id) "
        "SELECT d.job_id AS job, n.team, d.checkpoints, d.interval_seconds, d.writing_seconds, d.best_seconds, "
        "d.interruptions, d.spent, d.saving FROM top d LEFT JOIN named n ON n.job_id = d.job_id "
        "ORDER BY d.spent DESC NULLS LAST, d.job_id"
    )


def _rows(opened: OpenBooks, question: Question, table: str, by: Sequence[str] = ()) -> str:
    """Return the FROM and WHERE of the selected measurements s, from the coarsest grain that has the keys."""
    grains = opened.grains
    known = [key for key in question.selection.filter_keys if key not in unknown_filters(question)]
    by_label = table != "uses" and all(needed(key) in ("set", "day") for key in (*by, *known))
    rows = grains.table(f"{table}_s" if by_label else table)
    where = _conditions(question) + _days(question.days, table)
    return f"{rows} s{joins(grains, (*by, *known), 's')} WHERE {' AND '.join(['true', *where])}"


def _conditions(question: Question) -> list[str]:
    known = [(key, values) for key, values in question.filters if key not in unknown_filters(question)]
    return [has_value(keys.attempt_sql(key), values) for key, values in known]


def _days(days: tuple[date, date] | None, table: str) -> list[str]:
    if days is None or table != "uses":
        return in_days(days, "s.day")
    first, last = ((day - date(1970, 1, 1)).days * 86400 for day in days)
    return [f"s.starts < {last} AND s.ends > {first}"]
