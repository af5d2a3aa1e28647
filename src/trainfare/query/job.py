"""One job of the open books: its cost by category, its attempts and its machines."""

from collections.abc import Sequence
from typing import Any

from trainfare.engine.duckdb import quoted
from trainfare.query import cost, job_names, usage
from trainfare.query.cost import Question
from trainfare.query.estimates import estimated_sum
from trainfare.query.groups import Groups, counted, latest_attempts, selected_placements, selected_shares
from trainfare.query.open_books import OpenBooks
from trainfare.tables import BASES, LABELS


def facts(opened: OpenBooks, name: str) -> dict[str, Any] | None:
    """Return what the job log states about the job that is called `name`; None if the books do not have it."""
    grains, job_id = opened.grains, job_names.find(opened, name)
    if job_id is None:
        return None
    labels = ", ".join(f"a.{name}" for name in (*LABELS, "labels"))
    same_set = grains.same("a", "j", '"set"')
    found = opened.engine.records(
        f"SELECT j.job_id AS job, j.attempts, j.state, {labels} FROM {grains.table('jobs')} j "
        f"JOIN {grains.table('sets')} a ON {same_set} WHERE j.job_id = {quoted(job_id)}"
    )
    return found[0] if found else None


def by_category(opened: OpenBooks, question: Question) -> list[dict[str, Any]]:
    """Return cost per category and rule, highest cost first."""
    return opened.engine.records(
        f"SELECT s.category, s.rule, sum(s.{question.basis}) AS cost, {estimated_sum(question.basis)} AS estimated "
        f"FROM {selected_shares(opened, question.selection, ['category', 'rule'])} GROUP BY s.category, s.rule "
        "ORDER BY abs(sum(cost) OVER (PARTITION BY s.category)) DESC, s.category, abs(cost) DESC, s.rule"
    )


def gpu_models(opened: OpenBooks, question: Question) -> list[str]:
    """Return the GPU models that the job held, as far as they are known."""
    held = selected_placements(opened, question.selection, ["gpu_model"])
    found = opened.engine.rows(f"SELECT DISTINCT m.gpu_model FROM {held} WHERE m.gpu_model IS NOT NULL ORDER BY 1")
    return [name for (name,) in found]


def rates(opened: OpenBooks, question: Question) -> list[dict[str, Any]]:
    """Return the job's cost on each basis, and per wall hour of days billed in full and per billed GPU hour.

    Null on a basis that the bill does not state.
    """
    (held,) = cost.rows(opened, question, [])
    wall = held.wall_seconds - held.unbilled_wall_seconds
    gpu = None if held.gpu_seconds is None else held.gpu_seconds - (held.unbilled_gpu_seconds or 0)
    micros = {"wall": wall * 1_000_000, "gpu": "NULL" if gpu is None else int(gpu * 1_000_000)}
    per = ", ".join(f"per_hour({name}_cost, CAST({time} AS HUGEINT)) AS {name}" for name, time in micros.items())
    known = opened.known_bases(question.currency)
    is_counted = counted(opened, question.selection, "own", "own.day")
    sums = " UNION ALL ".join(
        f"SELECT '{basis}' AS basis, {_money(known, basis, is_counted)} AS cost, "
        f"coalesce(sum({basis}) FILTER (estimated AND {is_counted}), 0) AS estimated, "
        f"{_money(known, basis, 'in_wall')} AS wall_cost, {_money(known, basis, 'in_gpu')} AS gpu_cost FROM own"
        for basis in BASES
    )
    return opened.engine.records(
        f"WITH own AS (SELECT s.* FROM {selected_shares(opened, question.selection, [], with_rates=True)} "
        "WHERE s.payer_kind IN ('attempt', 'label')) "
        f"SELECT basis, cost, estimated, {per} FROM ({sums})"
    )


def _money(known: Sequence[str], basis: str, condition: str) -> str:
    amount = f"sum({basis}) FILTER ({condition})" if basis in known else "NULL"
    return f"CAST({amount} AS DECIMAL(38,12))"


def attempts(opened: OpenBooks, question: Question) -> list[dict[str, Any]]:
    """Return each attempt with its time queued and held, what it held and its cost.

    An attempt without placements in the selected time has only its cost. The time queued is given only if the selection
    includes the attempt's start and the log states when it was submitted.
    """
    waited = "CASE WHEN t.queued_to = h.starts THEN {0} END"
    hours = Groups(question.basis, question.selection, ["attempt"], "gpu").facts(opened)
    return opened.engine.records(
        f"SELECT t.attempt, t.state, {waited.format('make_timestamp(t.queued_from * 1000000)')} AS submitted, "
        f"{waited.format('t.queued_to - t.queued_from')} AS queued_seconds, "
        "make_timestamp(h.starts * 1000000) AS started, make_timestamp(h.ends * 1000000) AS ended, h.machines, "
        "h.gpu_seconds, f.cost, CASE WHEN f.cost IS NOT NULL THEN coalesce(f.estimated, 0) END AS estimated, "
        "per_hour(f.rate_cost, f.billed_gpu) AS rate "
        f"FROM {latest_attempts(opened.grains)} t LEFT JOIN ("
        "  SELECT t.attempt, min(p.starts) AS starts, max(p.ends) AS ends, "
        "  count(DISTINCT p.machine) + count(DISTINCT p.unknown_machine) AS machines, "
        "  sum(CAST(p.ends - p.starts AS HUGEINT) * p.gpu_micros) * 0.000001 AS gpu_seconds "
        f"  FROM {selected_placements(opened, question.selection, ['attempt'])} GROUP BY t.attempt) h "
        f"ON h.attempt = t.attempt LEFT JOIN ({hours}) f ON f.k0 = t.job_id || '#' || t.attempt "
        f"WHERE t.job_id = {quoted(_job(question))} ORDER BY t.attempt"
    )


def machines(opened: OpenBooks, question: Question) -> list[dict[str, Any]]:
    """Return the machines that the job held: GPU time held, GPU time busy if it was measured, and the cost of each."""
    measured = usage.job_gpu_usage(opened, _job(question))
    busy = (
        f"SELECT machine_id, sum(busy) AS busy, sum(held) AS held FROM {measured} GROUP BY machine_id"
        if measured
        else ""
    )
    held = selected_placements(opened, question.selection, ["attempt", "machine", "pool"])
    paid = selected_shares(opened, question.selection, ["machine"])
    return opened.engine.records(
        "SELECT coalesce(h.machine_id, c.machine_id) AS machine, h.gpu_model, h.pool, h.region, "
        "h.attempts, h.gpu_seconds, "
        f"{'u.busy * 0.000001' if measured else 'NULL'} AS busy_seconds, "
        f"{'u.held * 0.000001' if measured else 'NULL'} AS measured_seconds, "
        "c.cost, c.estimated "
        "FROM (SELECT coalesce(x.machine_id, p.unknown_machine) AS machine_id, max(m.gpu_model) AS gpu_model, "
        "  max(m.pool) AS pool, max(m.region) AS region, count(DISTINCT t.attempt) AS attempts, "
        "  sum(CAST(p.ends - p.starts AS HUGEINT) * p.gpu_micros) * 0.000001 AS gpu_seconds "
        f"  FROM {held} GROUP BY 1) h "
        f"FULL JOIN (SELECT x.machine_id, sum(s.{question.basis}) AS cost, "
        f"{estimated_sum(question.basis)} AS estimated FROM {paid} GROUP BY x.machine_id) c "
        f"ON c.machine_id = h.machine_id {f'LEFT JOIN ({busy}) u ON u.machine_id = h.machine_id' if measured else ''} "
        "ORDER BY c.cost DESC NULLS LAST, machine LIMIT 500"
    )


def spans(opened: OpenBooks, question: Question) -> list[dict[str, Any]]:
    """Return every placement of the job, for a timeline: which attempt held which machine, from when to when."""
    return opened.engine.records(
        "SELECT t.attempt, coalesce(x.machine_id, p.unknown_machine) AS machine, t.state, "
        "make_timestamp(p.starts * 1000000) AS started, make_timestamp(p.ends * 1000000) AS ended "
        f"FROM {selected_placements(opened, question.selection, ['attempt', 'machine'])} "
        "ORDER BY t.attempt, p.starts, machine LIMIT 2000"
    )


def phases(opened: OpenBooks, question: Question) -> list[dict[str, Any]]:
    """Return the time of each attempt that was not useful work: starting, writing a checkpoint, lost.

    It is cut to the selected time, in order. Every book has the time of its own month.
    """
    if not usage.is_measured(opened, "book_work"):
        return []
    phases_of_job = (
        f"SELECT DISTINCT attempt, starts, ends, phase, how FROM {opened.grains.table('phases')} "
        f"WHERE job_id = {quoted(_job(question))}"
    )
    held = (
        "SELECT t.attempt, min(p.starts) AS starts, max(p.ends) AS ends "
        f"FROM {selected_placements(opened, question.selection, ['attempt'])} GROUP BY t.attempt"
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
