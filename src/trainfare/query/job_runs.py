"""How jobs ran: states, retries, runtimes, and how much of the machines was held."""

from typing import Any

from trainfare.query import keys, machine_groups
from trainfare.query.cost import Question
from trainfare.query.estimates import estimated_sum
from trainfare.query.groups import Groups
from trainfare.query.machines import in_digest
from trainfare.query.open_books import OpenBooks
from trainfare.tables import LABELS

ATTEMPTS = """
WITH ran AS (
  SELECT job_id, attempt, max(ends) - min(starts) AS seconds,
    sum(CAST(ends - starts AS HUGEINT) * gpu_micros) * 0.000001 AS gpu_seconds
  FROM {placements} GROUP BY job_id, attempt),
paid AS (
  SELECT s.job_id, s.attempt, sum(s.{basis}) AS cost, {estimated} AS estimated
  FROM {shares} s WHERE payer_kind = 'attempt' GROUP BY job_id, attempt),
attempt_runs AS (
  SELECT r.job_id AS job, r.attempt, a.state, max(r.attempt) OVER (PARTITION BY r.job_id) AS last,
    r.seconds, r.gpu_seconds, p.cost, p.estimated, {key} AS k
  FROM ran r JOIN attempts a ON a.job_id = r.job_id AND a.attempt = r.attempt
  LEFT JOIN paid p ON p.job_id = r.job_id AND p.attempt = r.attempt)
"""
"""Every attempt that held anything in the selected time."""
DIGEST_ATTEMPTS = """
WITH attempt_runs AS (
  SELECT j.job, j.attempt, j.state, j.last, j.seconds, j.gpu_seconds, j.cost, j.estimated, {key} AS k
  FROM ({attempts}) j JOIN digest_sets a ON a.book = j.book AND a."set" = j."set")
"""
"""The same from a digest: of one book, by labels, and by machine groups for viewers who see all machines."""


def states(opened: OpenBooks, question: Question) -> list[dict[str, Any]]:
    """Return attempts by how they ended: their number, the number of jobs, runtimes and cost."""
    return opened.engine.records(
        _attempts(opened, question, "team") + "SELECT state, count(*) AS attempts, count(DISTINCT job) AS jobs, "
        "quantile_disc(seconds, 0.5) AS runtime_median, quantile_disc(seconds, 0.95) AS runtime_p95, "
        "sum(gpu_seconds) AS gpu_seconds, sum(cost) AS cost, coalesce(sum(estimated), 0) AS estimated "
        "FROM attempt_runs GROUP BY state ORDER BY attempts DESC, state"
    )


def retries(opened: OpenBooks, question: Question, key: str) -> list[dict[str, Any]]:
    """Return, per value of a label, retried jobs, preemptions, failures, and the cost of all but the last attempt."""
    return opened.engine.records(
        _attempts(opened, question, key) + f"SELECT k AS {key}, count(DISTINCT job) AS jobs, count(*) AS attempts, "
        "count(DISTINCT job) FILTER (last > 1) AS jobs_retried, "
        "count(*) FILTER (state = 'preempted') AS preemptions, "
        "count(*) FILTER (state IN ('failed', 'node_failed', 'timeout')) AS failures, "
        "sum(cost) AS cost, coalesce(sum(cost) FILTER (attempt < last), 0) AS cost_of_retries, "
        "coalesce(sum(estimated) FILTER (attempt < last), 0) AS estimated "
        "FROM attempt_runs GROUP BY ALL ORDER BY cost DESC NULLS LAST, k NULLS LAST"
    )


def _attempts(opened: OpenBooks, question: Question, key: str) -> str:
    selection = question.selection
    by_machine_group = any(one in keys.MACHINE_GROUP_KEYS for one, _ in selection.filters)
    known = (*LABELS, *keys.MACHINE_GROUP_KEYS)
    digest = Groups(question.basis, selection, [key]).digest_fragments(opened, known)
    is_entire_book = not by_machine_group and opened.has_only(selection.days)
    if digest and len(opened.books) == 1 and (is_entire_book or machine_groups.are_available(opened)):
        chosen = machine_groups.digest_selection(opened, selection).fragments
        by_site = str(by_machine_group).lower()
        attempts = digest.step("digest_some_tries", ("basis", "cost", "currency"), by_site=by_site, **chosen)
        return DIGEST_ATTEMPTS.format(key=keys.placement_sql(key), attempts=attempts)
    return ATTEMPTS.format(
        key=keys.placement_sql(key),
        placements=selection.placements,
        shares=selection.shares,
        basis=question.basis,
        estimated=estimated_sum(question.basis),
    )


OCCUPANCY = """
SELECT m.machine_id AS machine, m.pool, m.gpus, d.idle, d.idle_estimated, d.cost, d.estimated, h.day,
  CAST(h.gpu // (86400 * m.gpus * 1000) AS INTEGER) AS held_thousandths, h.jobs
FROM ({costs} ORDER BY idle DESC NULLS LAST, cost DESC, machine LIMIT {limit}) d
JOIN {machines} m ON m.{number} = d.machine
LEFT JOIN ({held}) h ON h.machine = d.machine
WHERE m.gpus > 0
ORDER BY d.idle DESC NULLS LAST, m.machine_id, h.day
"""


def occupancy(opened: OpenBooks, question: Question, limit: int = 40) -> list[dict[str, Any]]:
    """Return, per machine and day, the part of its GPUs that was held, in thousandths.

    Only the machines with most idle cost are included. Above 1000, more was held than exists. Days on which nobody
    held the machine have no row.
    """
    basis = question.basis
    if digest := in_digest(opened, question):
        cost = digest.cost
        costs = (
            f"SELECT machine, sum({cost}) FILTER (payer_kind = 'idle') AS idle, sum({cost}) AS cost, "
            f"sum(estimated_{basis}) FILTER (payer_kind = 'idle') AS idle_estimated, "
            f"sum(estimated_{basis}) AS estimated FROM digest_machine_costs h "
            f"WHERE h.currency = {digest.currency} AND {digest.condition} GROUP BY machine"
        )
        held = f"SELECT h.machine, h.day, h.gpu, h.jobs FROM digest_machine_hours h WHERE {digest.condition}"
        return opened.engine.records(
            OCCUPANCY.format(costs=costs, held=held, machines="digest_machines", number="machine", limit=limit)
        )
    costs = (
        f"SELECT resource_id AS machine, sum({basis}) FILTER (payer_kind = 'idle') AS idle, sum({basis}) AS cost, "
        f"sum({basis}) FILTER (payer_kind = 'idle' AND origin = 'estimate') AS idle_estimated, "
        f"sum({basis}) FILTER (origin = 'estimate') AS estimated "
        f"FROM {question.selection.shares} WHERE resource_id IS NOT NULL GROUP BY resource_id"
    )
    held = (
        "SELECT resource_id AS machine, DATE '1970-01-01' + CAST(number AS INTEGER) AS day, "
        "count(DISTINCT job_id) AS jobs, sum(CAST(least(ends, number * 86400 + 86400) "
        "- greatest(starts, number * 86400) AS HUGEINT) * gpu_micros) AS gpu "
        "FROM (SELECT *, unnest(range(starts // 86400, (ends + 86399) // 86400)) AS number "
        f"FROM {question.selection.placements}) GROUP BY resource_id, number"
    )
    return opened.engine.records(
        OCCUPANCY.format(costs=costs, held=held, machines="machines", number="resource_id", limit=limit)
    )
