"""What was measured of attempts: what they sent where, how often they asked storage, how busy their GPUs were, and how they saved
their work.
"""

from datetime import date
from typing import Any

from trainfare.engine.duckdb import quoted, step_text
from trainfare.report import keys
from trainfare.report.cost import PACKAGE, Question
from trainfare.report.groups import Groups
from trainfare.report.opened import Opened, tables_of
from trainfare.report.slice import among
from trainfare.tables import LABELS

MOST_PLACED = 1500


def is_measured(opened: Opened, table: str) -> bool:
    """Whether all of the books were built with this table; older ones were not."""
    return table in tables_of(opened.books)


def unknown_filters(question: Question) -> list[str]:
    """Keys that are asked for and that measurements do not have: these do not narrow them."""
    return [key for key, _ in question.only if key not in keys.OF_JOB and not key.startswith("label:")]


def by_day(opened: Opened, question: Question, measure: str, key: str) -> list[dict[str, Any]]:
    """How much was measured per day and value of a label, in order of days."""
    if not is_measured(opened, "book_usage"):
        return []
    return opened.engine.records(
        f"SELECT t.day, {keys.of_attempt(key)} AS {key}, sum(t.value) AS value FROM {_rows(opened, question, 'usage', 'book_usage')} "
        f"AND t.measure = {quoted(measure)} GROUP BY ALL ORDER BY ALL"
    )


def by_route(opened: Opened, question: Question) -> list[dict[str, Any]]:
    """Bytes sent from region to region, and the network cost they are given, most bytes first. Within a region nothing is charged."""
    if not is_measured(opened, "book_usage") or not is_measured(opened, "egress"):
        return []
    sent = _rows(opened, question, "usage", "book_usage")
    paid = _rows(opened, question, "egress", "egress")
    return opened.engine.records(
        "SELECT s.from_region, s.to_region, s.bytes, p.cost FROM ("
        f"SELECT t.from_region, t.to_region, sum(t.value) AS bytes FROM {sent} AND t.measure = 'bytes_sent' GROUP BY ALL) s "
        f"LEFT JOIN (SELECT t.from_region, t.to_region, sum(t.{question.basis}) AS cost FROM {paid} AND t.currency = "
        f"{quoted(question.currency)} GROUP BY ALL) p ON p.from_region IS NOT DISTINCT FROM s.from_region "
        "AND p.to_region IS NOT DISTINCT FROM s.to_region ORDER BY s.bytes DESC, s.from_region, s.to_region"
    )


def placed(opened: Opened, question: Question, machines: int) -> list[dict[str, Any]]:
    """Which attempts held the machines on which most GPU time was held and not busy, and how busy these GPUs were; in order of
    machines, those with most first.
    """
    if not is_measured(opened, "book_usage"):
        return []
    told = _rows(opened, question, "uses", f"({step_text(PACKAGE, 'uses', IN_BOOKS)})")
    return opened.engine.records(
        f"WITH used AS (SELECT t.* FROM {told}), "
        "unused AS (SELECT resource_id, sum(held - busy) AS unused FROM used GROUP BY resource_id "
        f"ORDER BY unused DESC, resource_id LIMIT {machines}) "
        "SELECT coalesce(m.machine_id, t.machine_id) AS machine, m.pool, m.gpus, t.job_id AS job, t.attempt, "
        "make_timestamp(t.starts * 1000000) AS started, make_timestamp(t.ends * 1000000) AS ended, "
        "t.held * 0.000001 AS held_seconds, t.busy * 0.000001 AS busy_seconds "
        "FROM used t JOIN unused n ON n.resource_id = t.resource_id LEFT JOIN machines m ON m.resource_id = t.resource_id "
        f"QUALIFY row_number() OVER (ORDER BY t.held DESC, t.job_id, t.attempt, t.resource_id) <= {MOST_PLACED} "
        "ORDER BY n.unused DESC, machine, t.starts, t.job_id, t.attempt"
    )


IN_BOOKS = {"placements": "book_placements", "usage": "book_usage"}


def of_job(opened: Opened, job_id: str) -> str | None:
    """A FROM item: how busy the GPUs were that one job held; None if the books were built without measurements."""
    if opened.is_one_job:
        return "uses"
    if not is_measured(opened, "book_usage"):
        return None
    return f"(SELECT * FROM ({step_text(PACKAGE, 'uses', IN_BOOKS)}) WHERE job_id = {quoted(job_id)})"


def checkpoints(opened: Opened, question: Question, most: int) -> list[dict[str, Any]]:
    """How often the dearest jobs save their work, how long that takes, and the interval that would lose least."""
    if not is_measured(opened, "checkpointing"):
        return []
    wanted = " AND ".join(["a.job_id = c.job_id", *_only(question, "c")])
    known = f" AND EXISTS (SELECT 1 FROM attempts a WHERE {wanted})" if _only(question, "c") else ""
    return opened.engine.records(
        f"WITH dearest AS (SELECT c.* FROM checkpointing c WHERE c.currency = {quoted(question.currency)}{known} "
        f"ORDER BY c.spent DESC NULLS LAST, c.job_id LIMIT {most}), "
        "named AS (SELECT a.job_id, max(a.team) AS team FROM attempts a SEMI JOIN dearest d ON d.job_id = a.job_id GROUP BY a.job_id) "
        "SELECT d.job_id AS job, n.team, d.checkpoints, d.interval_seconds, d.writing_seconds, d.best_seconds, d.interruptions, "
        "d.spent, d.saving FROM dearest d LEFT JOIN named n ON n.job_id = d.job_id ORDER BY d.spent DESC NULLS LAST, d.job_id"
    )


def _rows(opened: Opened, question: Question, kept: str, kept_in_books: str) -> str:
    """The FROM and WHERE of what is asked about: rows t, with the labels of their attempts in a."""
    told = " AND ".join(["true", *_only(question, "t"), *_days(question.days, kept)])
    one = kept != "uses" or len(opened.books) == 1
    if one and Groups(question.basis, question.slice, ()).of_digest(opened, {*LABELS, *unknown_filters(question)}):
        return f'digest_{kept} t JOIN digest_sets a ON a.book = t.book AND a."set" = t."set" WHERE {told}'
    return f"{kept_in_books} t JOIN attempts a ON a.job_id = t.job_id AND a.attempt = t.attempt WHERE {told}"


def _only(question: Question, rows: str) -> list[str]:
    known = [(key, values) for key, values in question.only if key not in unknown_filters(question)]
    return [among(keys.of_attempt(key).replace("t.", f"{rows}."), values) for key, values in known]


def _days(days: tuple[date, date] | None, kept: str) -> list[str]:
    if days is None:
        return []
    if kept != "uses":
        return [f"t.day >= DATE '{days[0]}' AND t.day < DATE '{days[1]}'"]
    first, last = ((day - date(1970, 1, 1)).days * 86400 for day in days)
    return [f"t.starts < {last} AND t.ends > {first}"]
