"""How jobs ran: states, retries, runtimes, and how full machines were."""

from typing import Any

from trainfare.report import keys
from trainfare.report.cost import Question
from trainfare.report.opened import Opened


def states(opened: Opened, question: Question) -> list[dict[str, Any]]:
    """Attempts by how they ended: how many, of how many jobs, how long they ran and what they cost."""
    return opened.engine.records(
        f"WITH ran AS (SELECT job_id, attempt, max(ends) - min(starts) AS seconds, "
        "  sum(CAST(ends - starts AS HUGEINT) * gpu_micros) * 0.000001 AS gpu_seconds "
        f"  FROM {question.slice.placements} GROUP BY job_id, attempt), "
        f"paid AS (SELECT job_id, attempt, sum({question.basis}) AS cost FROM {question.slice.shares} "
        "  WHERE payer_kind = 'attempt' GROUP BY job_id, attempt) "
        "SELECT a.state, count(*) AS attempts, count(DISTINCT a.job_id) AS jobs, "
        "quantile_disc(r.seconds, 0.5) AS runtime_median, quantile_disc(r.seconds, 0.95) AS runtime_p95, "
        "sum(r.gpu_seconds) AS gpu_seconds, sum(p.cost) AS cost "
        "FROM ran r JOIN attempts a ON a.job_id = r.job_id AND a.attempt = r.attempt "
        "LEFT JOIN paid p ON p.job_id = r.job_id AND p.attempt = r.attempt "
        "GROUP BY a.state ORDER BY attempts DESC, a.state"
    )


def retries(opened: Opened, question: Question, key: str) -> list[dict[str, Any]]:
    """Per value of a key: jobs that needed more than one attempt, preemptions, and what attempts before the last one cost."""
    return opened.engine.records(
        f"WITH held AS (SELECT DISTINCT job_id, attempt FROM {question.slice.placements}), "
        "tries AS (SELECT h.job_id, h.attempt, a.state, "
        f"  {keys.of_hold(key)!s} AS k, max(h.attempt) OVER (PARTITION BY h.job_id) AS last "
        "  FROM held h JOIN attempts a ON a.job_id = h.job_id AND a.attempt = h.attempt), "
        f"paid AS (SELECT job_id, attempt, sum({question.basis}) AS cost FROM {question.slice.shares} "
        "  WHERE payer_kind = 'attempt' GROUP BY job_id, attempt) "
        f"SELECT t.k AS {key}, count(DISTINCT t.job_id) AS jobs, count(*) AS attempts, "
        "count(DISTINCT t.job_id) FILTER (t.last > 1) AS jobs_retried, "
        "count(*) FILTER (t.state = 'preempted') AS preemptions, "
        "count(*) FILTER (t.state IN ('failed', 'node_failed', 'timeout')) AS failures, "
        "sum(p.cost) AS cost, coalesce(sum(p.cost) FILTER (t.attempt < t.last), 0) AS cost_of_retries "
        "FROM tries t LEFT JOIN paid p ON p.job_id = t.job_id AND p.attempt = t.attempt "
        "GROUP BY ALL ORDER BY cost DESC NULLS LAST"
    )


def occupancy(opened: Opened, question: Question, most: int = 40) -> list[dict[str, Any]]:
    """Per machine and day the part of its GPUs that was held, in thousandths; of the machines with the most idle money.

    Beyond 1000 more was held than there is. Days on which nobody held the machine are not there.
    """
    return opened.engine.records(
        "WITH dearest AS ("
        f"  SELECT resource_id, sum({question.basis}) FILTER (payer_kind = 'idle') AS idle, sum({question.basis}) AS cost "
        f"  FROM {question.slice.shares} WHERE resource_id IS NOT NULL GROUP BY resource_id "
        f"  ORDER BY idle DESC NULLS LAST, cost DESC, resource_id LIMIT {most}), "
        "cut AS ("
        "  SELECT *, unnest(range(starts // 86400, (ends + 86399) // 86400)) AS number "
        f"  FROM {question.slice.placements} WHERE resource_id IN (SELECT resource_id FROM dearest)) "
        "SELECT m.machine_id AS machine, m.pool, m.gpus, d.idle, d.cost, DATE '1970-01-01' + CAST(c.number AS INTEGER) AS day, "
        "CAST(sum(CAST(least(c.ends, c.number * 86400 + 86400) - greatest(c.starts, c.number * 86400) AS HUGEINT) * c.gpu_micros) "
        "  // (86400 * max(m.gpus) * 1000) AS INTEGER) AS held_thousandths, count(DISTINCT c.job_id) AS jobs "
        "FROM dearest d JOIN machines m ON m.resource_id = d.resource_id LEFT JOIN cut c ON c.resource_id = d.resource_id "
        "WHERE m.gpus > 0 GROUP BY ALL ORDER BY d.idle DESC NULLS LAST, machine, day"
    )
