"""How jobs ran: states, retries, runtimes, and how much of the machines was held."""

from typing import Any

from trainfare.engine.duckdb import step_text
from trainfare.query import keys
from trainfare.query.cost import PACKAGE, Question
from trainfare.query.groups import latest_attempts, selected_placements, selected_shares
from trainfare.query.medians import median_sql
from trainfare.query.open_books import OpenBooks

ATTEMPTS = """
WITH ran AS (
  SELECT p.job, t.attempt, max(p.ends) - min(p.starts) AS seconds,
    sum(CAST(p.ends - p.starts AS HUGEINT) * p.gpu_micros) * 0.000001 AS gpu_seconds
  FROM {placements} GROUP BY p.job, t.attempt),
paid AS (
  SELECT s.job, t.attempt, sum(s.{basis}) AS cost, sum(s.{basis}) FILTER (s.estimated) AS estimated
  FROM {shares} WHERE s.payer_kind = 'attempt' GROUP BY s.job, t.attempt),
attempt_runs AS (
  SELECT l.job, l.attempt, l.state, max(r.attempt) OVER (PARTITION BY l.job) AS last, r.attempt IS NOT NULL AS ran,
    r.seconds, r.gpu_seconds, p.cost, p.estimated, {key} AS k
  FROM ran r FULL JOIN paid p ON p.job = r.job AND p.attempt = r.attempt
  JOIN {attempts} l ON l.job = coalesce(r.job, p.job) AND l.attempt = coalesce(r.attempt, p.attempt)
  LEFT JOIN {sets} a ON {same_set})
"""
"""Every attempt that held or pays for anything in the selected time; `ran` says whether it held anything."""


def states(opened: OpenBooks, question: Question) -> list[dict[str, Any]]:
    """Return attempts by how they ended: their number, the number of jobs, runtimes and cost."""
    return opened.engine.records(
        _attempts(opened, question, "team")
        + "SELECT state, count(*) FILTER (ran) AS attempts, count(DISTINCT job) FILTER (ran) AS jobs, "
        f"{median_sql('seconds', 'BIGINT')} AS runtime_median, quantile_disc(seconds, 0.95) AS runtime_p95, "
        "sum(gpu_seconds) AS gpu_seconds, sum(cost) AS cost, coalesce(sum(estimated), 0) AS estimated "
        "FROM attempt_runs GROUP BY state ORDER BY attempts DESC, state"
    )


def retries(opened: OpenBooks, question: Question, key: str) -> list[dict[str, Any]]:
    """Return, per value of a label, retried jobs, preemptions, failures, and the cost of all but the last attempt."""
    return opened.engine.records(
        _attempts(opened, question, key) + f"SELECT k AS {key}, "
        "count(DISTINCT job) FILTER (ran) AS jobs, count(*) FILTER (ran) AS attempts, "
        "count(DISTINCT job) FILTER (last > 1) AS jobs_retried, "
        "count(*) FILTER (ran AND state = 'preempted') AS preemptions, "
        "count(*) FILTER (ran AND state IN ('failed', 'node_failed', 'timeout')) AS failures, "
        "sum(cost) AS cost, coalesce(sum(cost) FILTER (attempt < last), 0) AS cost_of_retries, "
        "coalesce(sum(estimated) FILTER (attempt < last), 0) AS estimated "
        "FROM attempt_runs GROUP BY ALL ORDER BY cost DESC NULLS LAST, k NULLS LAST"
    )


def _attempts(opened: OpenBooks, question: Question, key: str) -> str:
    grains, selection = opened.grains, question.selection
    return ATTEMPTS.format(
        key=keys.attempt_sql(key),
        placements=selected_placements(opened, selection, ["attempt"]),
        shares=selected_shares(opened, selection, ["attempt"]),
        attempts=latest_attempts(grains),
        sets=grains.table("sets"),
        same_set=grains.same("a", "l", '"set"'),
        basis=question.basis,
    )


OCCUPANCY = """
WITH paid AS (
  SELECT x.resource_id, max(x.machine_id) AS machine, max(m.pool) AS pool, max(x.gpus) AS gpus,
    sum(s.{basis}) FILTER (s.payer_kind = 'idle') AS idle, sum(s.{basis}) AS cost,
    sum(s.{basis}) FILTER (s.payer_kind = 'idle' AND s.estimated) AS idle_estimated,
    sum(s.{basis}) FILTER (s.estimated) AS estimated
  FROM {shares} WHERE s.machine IS NOT NULL
  GROUP BY x.resource_id ORDER BY idle DESC NULLS LAST, cost DESC, machine LIMIT {limit}),
held AS (
  SELECT h.resource_id, h.day, count(DISTINCT h.job) AS jobs, sum(CAST(h.ends - h.starts AS HUGEINT) * h.gpu_micros) AS gpu
  FROM ({days}) h GROUP BY h.resource_id, h.day)
SELECT d.resource_id AS resource, d.machine, d.pool, d.gpus, d.idle, d.idle_estimated, d.cost, d.estimated, h.day,
  CAST(h.gpu // (86400 * d.gpus * 1000) AS INTEGER) AS held_thousandths, h.jobs
FROM paid d LEFT JOIN held h ON h.resource_id = d.resource_id
WHERE d.gpus > 0
ORDER BY d.idle DESC NULLS LAST, d.machine, d.resource_id, h.day
"""


def occupancy(opened: OpenBooks, question: Question, limit: int = 40) -> list[dict[str, Any]]:
    """Return, per machine and day, the part of its GPUs that was held, in thousandths.

    Only the machines with most idle cost are included. Above 1000, more was held than exists. Days on which nobody
    held the machine have no row.
    """
    held = selected_placements(opened, question.selection, ["machine"])
    columns = "p.job, p.starts, p.ends, p.gpu_micros, x.resource_id"
    placements = f"(SELECT {columns} FROM {held} WHERE x.resource_id IN (SELECT resource_id FROM paid))"
    return opened.engine.records(
        OCCUPANCY.format(
            basis=question.basis,
            shares=selected_shares(opened, question.selection, ["machine", "pool"]),
            days=step_text(PACKAGE, "days_held", {"placements": placements}),
            limit=limit,
        )
    )
