"""How jobs ran: states, retries, runtimes, and how full machines were."""

from typing import Any

from trainfare.engine.duckdb import step_text
from trainfare.report import keys, sites
from trainfare.report.cost import PACKAGE, Question
from trainfare.report.estimated import part
from trainfare.report.groups import Groups
from trainfare.report.machines import of_digest
from trainfare.report.opened import Opened
from trainfare.tables import LABELS

RAN = """
WITH ran AS (
  SELECT job_id, attempt, max(ends) - min(starts) AS seconds, sum(CAST(ends - starts AS HUGEINT) * gpu_micros) * 0.000001 AS gpu_seconds
  FROM {placements} GROUP BY job_id, attempt),
paid AS (
  SELECT s.job_id, s.attempt, sum(s.{basis}) AS cost, {estimated} AS estimated
  FROM {shares} s WHERE payer_kind = 'attempt' GROUP BY job_id, attempt),
tries AS (
  SELECT r.job_id AS job, r.attempt, a.state, max(r.attempt) OVER (PARTITION BY r.job_id) AS last,
    r.seconds, r.gpu_seconds, p.cost, p.estimated, {key} AS k
  FROM ran r JOIN attempts a ON a.job_id = r.job_id AND a.attempt = r.attempt
  LEFT JOIN paid p ON p.job_id = r.job_id AND p.attempt = r.attempt)
"""
"""Every attempt that held anything in the time asked about."""
RAN_IN_DIGEST = """
WITH tries AS (
  SELECT j.job, j.attempt, j.state, j.last, j.seconds, j.gpu_seconds, j.cost, j.estimated, {key} AS k
  FROM ({tries}) j JOIN digest_sets a ON a.book = j.book AND a."set" = j."set")
"""
"""The same where it is kept: of one book, by labels, and by sites to those who see all machines."""


def states(opened: Opened, question: Question) -> list[dict[str, Any]]:
    """Attempts by how they ended: how many, of how many jobs, how long they ran and what they cost."""
    return opened.engine.records(
        _tries(opened, question, "team") + "SELECT state, count(*) AS attempts, count(DISTINCT job) AS jobs, "
        "quantile_disc(seconds, 0.5) AS runtime_median, quantile_disc(seconds, 0.95) AS runtime_p95, "
        "sum(gpu_seconds) AS gpu_seconds, sum(cost) AS cost, coalesce(sum(estimated), 0) AS estimated "
        "FROM tries GROUP BY state ORDER BY attempts DESC, state"
    )


def retries(opened: Opened, question: Question, key: str) -> list[dict[str, Any]]:
    """Per value of a label: jobs that needed more than one attempt, preemptions, and what attempts before the last one cost."""
    return opened.engine.records(
        _tries(opened, question, key) + f"SELECT k AS {key}, count(DISTINCT job) AS jobs, count(*) AS attempts, "
        "count(DISTINCT job) FILTER (last > 1) AS jobs_retried, "
        "count(*) FILTER (state = 'preempted') AS preemptions, "
        "count(*) FILTER (state IN ('failed', 'node_failed', 'timeout')) AS failures, "
        "sum(cost) AS cost, coalesce(sum(cost) FILTER (attempt < last), 0) AS cost_of_retries, "
        "coalesce(sum(estimated) FILTER (attempt < last), 0) AS estimated "
        "FROM tries GROUP BY ALL ORDER BY cost DESC NULLS LAST, k NULLS LAST"
    )


def _tries(opened: Opened, question: Question, key: str) -> str:
    slice_ = question.slice
    by_site = any(one in keys.OF_SITE for one, _ in slice_.only)
    kept = Groups(question.basis, slice_, [key]).of_digest(opened, (*LABELS, *keys.OF_SITE))
    is_whole = not by_site and opened.has_only(slice_.days)
    if kept and len(opened.books) == 1 and (is_whole or sites.are_known(opened)):
        told = kept | sites.chosen(opened, slice_) | {"by_site": str(by_site).lower()}
        return RAN_IN_DIGEST.format(key=keys.of_hold(key), tries=step_text(PACKAGE, "digest_some_tries", told))
    told = {"placements": slice_.placements, "shares": slice_.shares, "basis": question.basis}
    return RAN.format(key=keys.of_hold(key), estimated=part(question.basis), **told)


OCCUPIED = """
SELECT m.machine_id AS machine, m.pool, m.gpus, d.idle, d.idle_estimated, d.cost, d.estimated, h.day,
  CAST(h.gpu // (86400 * m.gpus * 1000) AS INTEGER) AS held_thousandths, h.jobs
FROM ({dearest} ORDER BY idle DESC NULLS LAST, cost DESC, machine LIMIT {most}) d
JOIN {machines} m ON m.{number} = d.machine
LEFT JOIN ({held}) h ON h.machine = d.machine
WHERE m.gpus > 0
ORDER BY d.idle DESC NULLS LAST, m.machine_id, h.day
"""


def occupancy(opened: Opened, question: Question, most: int = 40) -> list[dict[str, Any]]:
    """Per machine and day the part of its GPUs that was held, in thousandths; of the machines with the most idle money.

    Beyond 1000 more was held than there is. Days on which nobody held the machine are not there.
    """
    basis = question.basis
    if kept := of_digest(opened, question):
        cost, days = kept["cost"], kept["only_holds"]
        dearest = (
            f"SELECT machine, sum({cost}) FILTER (payer_kind = 'idle') AS idle, sum({cost}) AS cost, "
            f"sum(estimated_{basis}) FILTER (payer_kind = 'idle') AS idle_estimated, sum(estimated_{basis}) AS estimated "
            f"FROM digest_machine_costs h WHERE h.currency = {kept['currency']} AND {days} GROUP BY machine"
        )
        held = f"SELECT h.machine, h.day, h.gpu, h.jobs FROM digest_machine_hours h WHERE {days}"
        return opened.engine.records(
            OCCUPIED.format(dearest=dearest, held=held, machines="digest_machines", number="machine", most=most)
        )
    dearest = (
        f"SELECT resource_id AS machine, sum({basis}) FILTER (payer_kind = 'idle') AS idle, sum({basis}) AS cost, "
        f"sum({basis}) FILTER (payer_kind = 'idle' AND origin = 'estimate') AS idle_estimated, "
        f"sum({basis}) FILTER (origin = 'estimate') AS estimated "
        f"FROM {question.slice.shares} WHERE resource_id IS NOT NULL GROUP BY resource_id"
    )
    held = (
        "SELECT resource_id AS machine, DATE '1970-01-01' + CAST(number AS INTEGER) AS day, count(DISTINCT job_id) AS jobs, "
        "sum(CAST(least(ends, number * 86400 + 86400) - greatest(starts, number * 86400) AS HUGEINT) * gpu_micros) AS gpu "
        "FROM (SELECT *, unnest(range(starts // 86400, (ends + 86399) // 86400)) AS number "
        f"FROM {question.slice.placements}) GROUP BY resource_id, number"
    )
    return opened.engine.records(
        OCCUPIED.format(dearest=dearest, held=held, machines="machines", number="resource_id", most=most)
    )
