"""One job of the open books: its cost by category, its attempts and its machines."""

from typing import Any

from trainfare.engine.duckdb import quoted
from trainfare.query import cost, usage
from trainfare.query.cost import Question
from trainfare.query.estimates import estimated_sum
from trainfare.query.open_books import OpenBooks
from trainfare.tables import BASES, LABELS


def facts(opened: OpenBooks, job_id: str) -> dict[str, Any] | None:
    """Return what the job log states about a job; None if the books do not have it."""
    labels = ", ".join(f"max({name}) AS {name}" for name in LABELS)
    found = opened.engine.records(
        f"SELECT job_id AS job, count(*) AS attempts, arg_max(state, attempt) AS state, {labels}, "
        f"max(labels) AS labels FROM attempts WHERE job_id = {quoted(job_id)} GROUP BY job_id"
    )
    return found[0] if found else None


def by_category(opened: OpenBooks, question: Question) -> list[dict[str, Any]]:
    """Return cost per category and rule, highest cost first."""
    return opened.engine.records(
        f"SELECT category, rule, sum({question.basis}) AS cost, {estimated_sum(question.basis)} AS estimated "
        f"FROM {question.selection.shares} s GROUP BY category, rule "
        "ORDER BY abs(sum(cost) OVER (PARTITION BY category)) DESC, category, abs(cost) DESC, rule"
    )


def rates(opened: OpenBooks, question: Question) -> list[dict[str, Any]]:
    """Return the job's cost on each basis, and per billed wall and GPU hour.

    Null on a basis that the bill does not state.
    """
    (held,) = cost.rows(opened, question, [])
    wall = held.wall_seconds - held.unbilled_wall_seconds
    gpu = None if held.gpu_seconds is None else held.gpu_seconds - (held.unbilled_gpu_seconds or 0)
    micros = {"wall": wall * 1_000_000, "gpu": "NULL" if gpu is None else int(gpu * 1_000_000)}
    per = ", ".join(f"per_hour(cost, CAST({time} AS HUGEINT)) AS {name}" for name, time in micros.items())
    known = opened.known_bases(question.currency)
    sums = " UNION ALL ".join(
        f"SELECT '{basis}' AS basis, CAST(sum({basis if basis in known else 'NULL'}) AS DECIMAL(38,12)) AS cost, "
        f"{estimated_sum(basis, 'own')} AS estimated FROM own"
        for basis in BASES
    )
    return opened.engine.records(
        f"WITH own AS (SELECT * FROM {question.selection.shares} WHERE payer_kind IN ('attempt', 'label')) "
        f"SELECT basis, cost, estimated, {per} FROM ({sums})"
    )


def attempts(opened: OpenBooks, question: Question) -> list[dict[str, Any]]:
    """Return each attempt with its time queued and held, what it held and its cost.

    An attempt without placements in the selected time has only its cost. The time queued is given only if the selection
    includes the attempt's start and the log states when it was submitted.
    """
    waited = "CASE WHEN a.queued_to = h.starts THEN {0} END"
    return opened.engine.records(
        f"SELECT a.attempt, a.state, {waited.format('make_timestamp(a.queued_from * 1000000)')} AS submitted, "
        f"{waited.format('a.queued_to - a.queued_from')} AS queued_seconds, "
        "make_timestamp(h.starts * 1000000) AS started, make_timestamp(h.ends * 1000000) AS ended, h.machines, "
        "h.gpu_seconds, s.cost, s.estimated, per_hour(CAST(s.cost AS DECIMAL(38,12)), h.billed_micros) AS rate "
        "FROM attempts a LEFT JOIN ("
        "  SELECT attempt, min(starts) AS starts, max(ends) AS ends, count(DISTINCT machine_id) AS machines, "
        "  sum(CAST(ends - starts AS HUGEINT) * gpu_micros) * 0.000001 AS gpu_seconds, "
        "  CAST(sum(CAST(greatest(billed_ends - billed_starts, 0) AS HUGEINT) * gpu_micros) AS HUGEINT) "
        "  AS billed_micros "
        f"  FROM {cost.billed_selection(opened, question).placements} GROUP BY attempt) h ON h.attempt = a.attempt "
        f"LEFT JOIN (SELECT attempt, sum({question.basis}) AS cost, {estimated_sum(question.basis)} AS estimated "
        f"FROM {question.selection.shares} s GROUP BY attempt) s "
        f"ON s.attempt = a.attempt WHERE a.job_id = {quoted(_job(question))} ORDER BY a.attempt"
    )


def machines(opened: OpenBooks, question: Question) -> list[dict[str, Any]]:
    """Return the machines that the job held: GPU time held, GPU time busy if it was measured, and the cost of each."""
    measured = usage.job_gpu_usage(opened, _job(question))
    busy = (
        f"SELECT machine_id, sum(busy) AS busy, sum(held) AS held FROM {measured} GROUP BY machine_id"
        if measured
        else ""
    )
    return opened.engine.records(
        "SELECT coalesce(h.machine_id, s.machine_id) AS machine, m.gpu_model, m.pool, m.region, "
        "h.attempts, h.gpu_seconds, "
        f"{'u.busy * 0.000001' if measured else 'NULL'} AS busy_seconds, "
        f"{'u.held * 0.000001' if measured else 'NULL'} AS measured_seconds, "
        "s.cost, s.estimated "
        "FROM (SELECT machine_id, any_value(resource_id) AS resource_id, count(DISTINCT attempt) AS attempts, "
        "  sum(CAST(ends - starts AS HUGEINT) * gpu_micros) * 0.000001 AS gpu_seconds "
        f"  FROM {question.selection.placements} GROUP BY machine_id) h "
        f"FULL JOIN (SELECT machine_id, sum({question.basis}) AS cost, {estimated_sum(question.basis)} AS estimated "
        f"FROM {question.selection.shares} s GROUP BY machine_id) s "
        f"ON s.machine_id = h.machine_id {f'LEFT JOIN ({busy}) u ON u.machine_id = h.machine_id' if measured else ''} "
        "LEFT JOIN machines m ON m.resource_id = h.resource_id "
        "ORDER BY s.cost DESC NULLS LAST, machine LIMIT 500"
    )


def spans(opened: OpenBooks, question: Question) -> list[dict[str, Any]]:
    """Return every placement of the job, for a timeline: which attempt held which machine, from when to when."""
    return opened.engine.records(
        "SELECT h.attempt, h.machine_id AS machine, a.state, make_timestamp(h.starts * 1000000) AS started, "
        "make_timestamp(h.ends * 1000000) AS ended "
        f"FROM {question.selection.placements} h LEFT JOIN attempts a ON a.job_id = h.job_id AND a.attempt = h.attempt "
        "ORDER BY h.attempt, h.starts, h.machine_id LIMIT 2000"
    )


def phases(opened: OpenBooks, question: Question) -> list[dict[str, Any]]:
    """Return the time of each attempt that was not useful work: starting, writing a checkpoint, lost.

    It is cut to the selected time, in order. Every book has the time of its own month.
    """
    if not usage.is_measured(opened, "book_work"):
        return []
    phases_of_job = (
        f"SELECT DISTINCT attempt, starts, ends, phase, how FROM book_work WHERE job_id = {quoted(_job(question))}"
    )
    held = (
        "SELECT attempt, min(starts) AS starts, max(ends) AS ends "
        f"FROM {question.selection.placements} GROUP BY attempt"
    )
    return opened.engine.records(
        "SELECT w.attempt, make_timestamp(greatest(w.starts, h.starts) * 1000000) AS started, "
        "make_timestamp(least(w.ends, h.ends) * 1000000) AS ended, "
        "CASE w.phase WHEN 'unsaved' THEN 'lost' WHEN 'checkpoint' THEN 'checkpoint' ELSE 'starting' END AS phase, w.how "
        f"FROM ({phases_of_job}) w JOIN ({held}) h ON h.attempt = w.attempt "
        "WHERE w.ends > h.starts AND w.starts < h.ends ORDER BY w.attempt, started, ended"
    )


def _job(question: Question) -> str:
    (job,) = (values[0] for key, values in question.filters if key == "job")
    return job
