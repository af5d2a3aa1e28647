"""Measurements of attempts: data sent between regions, storage requests, how busy GPUs were, and checkpoints."""

from datetime import date
from typing import Any

from trainfare.engine.duckdb import quoted, step_text
from trainfare.query import keys
from trainfare.query.cost import PACKAGE, Question
from trainfare.query.groups import Groups
from trainfare.query.open_books import OpenBooks, common_tables
from trainfare.query.selection import has_value
from trainfare.tables import LABELS

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
        f"SELECT t.day, {keys.attempt_sql(key)} AS {key}, sum(t.value) AS value "
        f"FROM {_rows(opened, question, 'usage', 'book_usage')} "
        f"AND t.measure = {quoted(measure)} GROUP BY ALL ORDER BY ALL"
    )


def by_route(opened: OpenBooks, question: Question) -> list[dict[str, Any]]:
    """Return bytes sent from region to region and their network cost, most bytes first.

    Within a region there is no cost.
    """
    if not is_measured(opened, "book_usage") or not is_measured(opened, "egress"):
        return []
    sent = _rows(opened, question, "usage", "book_usage")
    paid = _rows(opened, question, "egress", "egress")
    return opened.engine.records(
        "SELECT s.from_region, s.to_region, s.bytes, p.cost FROM ("
        f"SELECT t.from_region, t.to_region, sum(t.value) AS bytes FROM {sent} "
        "AND t.measure = 'bytes_sent' GROUP BY ALL) s "
        f"LEFT JOIN (SELECT t.from_region, t.to_region, sum(t.{question.basis}) AS cost FROM {paid} AND t.currency = "
        f"{quoted(question.currency)} GROUP BY ALL) p ON p.from_region IS NOT DISTINCT FROM s.from_region "
        "AND p.to_region IS NOT DISTINCT FROM s.to_region ORDER BY s.bytes DESC, s.from_region, s.to_region"
    )


def attempts_on_idle_machines(opened: OpenBooks, question: Question, machines: int) -> list[dict[str, Any]]:
    """Return the attempts on the machines with most GPU time held but not busy, and how busy their GPUs were.

    The machine with most unused time comes first.
    """
    if not is_measured(opened, "book_usage"):
        return []
    rows = _rows(opened, question, "uses", f"({step_text(PACKAGE, 'gpu_usage', BOOK_TABLES)})")
    return opened.engine.records(
        f"WITH used AS (SELECT t.* FROM {rows}), "
        "unused AS (SELECT resource_id, sum(held - busy) AS unused FROM used GROUP BY resource_id "
        f"ORDER BY unused DESC, resource_id LIMIT {machines}) "
        "SELECT coalesce(m.machine_id, t.machine_id) AS machine, m.pool, m.gpus, t.job_id AS job, t.attempt, "
        "make_timestamp(t.starts * 1000000) AS started, make_timestamp(t.ends * 1000000) AS ended, "
        "t.held * 0.000001 AS held_seconds, t.busy * 0.000001 AS busy_seconds "
        "FROM used t JOIN unused n ON n.resource_id = t.resource_id "
        "LEFT JOIN machines m ON m.resource_id = t.resource_id "
        f"QUALIFY row_number() OVER (ORDER BY t.held DESC, t.job_id, t.attempt, t.resource_id) <= {MAX_PLACEMENTS} "
        "ORDER BY n.unused DESC, machine, t.starts, t.job_id, t.attempt"
    )


BOOK_TABLES = {"placements": "book_placements", "usage": "book_usage"}


def job_gpu_usage(opened: OpenBooks, job_id: str) -> str | None:
    """Return a FROM item: how busy the GPUs were that one job held; None if the books have no measurements."""
    if opened.is_one_job:
        return "gpu_usage"
    if not is_measured(opened, "book_usage"):
        return None
    return f"(SELECT * FROM ({step_text(PACKAGE, 'gpu_usage', BOOK_TABLES)}) WHERE job_id = {quoted(job_id)})"


def checkpoints(opened: OpenBooks, question: Question, limit: int) -> list[dict[str, Any]]:
    """Return how often the most expensive jobs write checkpoints, how long it takes, and the best interval."""
    if not is_measured(opened, "checkpointing"):
        return []
    filters = _conditions(question, "c")
    wanted = " AND ".join(["a.job_id = c.job_id", *filters])
    matches = f" AND EXISTS (SELECT 1 FROM attempts a WHERE {wanted})" if filters else ""
    return opened.engine.records(
        f"WITH top AS (SELECT c.* FROM checkpointing c WHERE c.currency = {quoted(question.currency)}{matches} "
        f"ORDER BY c.spent DESC NULLS LAST, c.job_id LIMIT {limit}), "
        "named AS (SELECT a.job_id, max(a.team) AS team FROM attempts a SEMI JOIN top d ON d.job_id = a.job_id "
        "GROUP BY a.job_id) "
        "SELECT d.job_id AS job, n.team, d.checkpoints, d.interval_seconds, d.writing_seconds, d.best_seconds, "
        "d.interruptions, d.spent, d.saving FROM top d LEFT JOIN named n ON n.job_id = d.job_id "
        "ORDER BY d.spent DESC NULLS LAST, d.job_id"
    )


def _rows(opened: OpenBooks, question: Question, digest_table: str, book_table: str) -> str:
    """Return the FROM and WHERE of the selected rows t, with the labels of their attempts in a."""
    where = " AND ".join(["true", *_conditions(question, "t"), *_days(question.days, digest_table)])
    in_digest = digest_table != "uses" or len(opened.books) == 1
    grouped = Groups(question.basis, question.selection, ())
    if in_digest and grouped.digest_fragments(opened, {*LABELS, *unknown_filters(question)}):
        return f'digest_{digest_table} t JOIN digest_sets a ON a.book = t.book AND a."set" = t."set" WHERE {where}'
    return f"{book_table} t JOIN attempts a ON a.job_id = t.job_id AND a.attempt = t.attempt WHERE {where}"


def _conditions(question: Question, rows: str) -> list[str]:
    known = [(key, values) for key, values in question.filters if key not in unknown_filters(question)]
    return [has_value(keys.attempt_sql(key).replace("t.", f"{rows}."), values) for key, values in known]


def _days(days: tuple[date, date] | None, digest_table: str) -> list[str]:
    if days is None:
        return []
    if digest_table != "uses":
        return [f"t.day >= DATE '{days[0]}' AND t.day < DATE '{days[1]}'"]
    first, last = ((day - date(1970, 1, 1)).days * 86400 for day in days)
    return [f"t.starts < {last} AND t.ends > {first}"]
