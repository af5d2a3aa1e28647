"""What machines cost, and who pays for them."""

from dataclasses import replace
from typing import Any

from trainfare.report import keys, sites
from trainfare.report.cost import Question
from trainfare.report.groups import Groups
from trainfare.report.opened import Opened

MACHINES = """
SELECT m.machine_id AS machine, m.pool, m.cluster, m.region, m.gpu_model, m.gpus, s.cost, s.jobs, s.idle, s.days
FROM (
  SELECT {number} AS number, sum({cost}) AS cost, count(DISTINCT day) AS days,
    coalesce(sum({cost}) FILTER (payer_kind IN ('attempt', 'label')), 0) AS jobs,
    coalesce(sum({cost}) FILTER (payer_kind = 'idle'), 0) AS idle
  FROM {money} GROUP BY {number}) s
JOIN {machines} m ON m.{number} = s.number
ORDER BY s.cost DESC, machine LIMIT {limit} OFFSET {offset}
"""


def of_digest(opened: Opened, question: Question) -> dict[str, str] | None:
    """Fragments over what a digest knows of machines h: everything of one book, days of it, or sites; None for any other question."""
    slice_ = replace(question.slice, only=tuple(one for one in question.only if one[0] not in keys.OF_SITE))
    kept = Groups(question.basis, slice_, ()).of_digest(opened, ())
    if kept is None or slice_.only or not sites.are_known(opened):
        return None
    chosen = f"h.machine IN (SELECT m.machine FROM digest_machines m WHERE {sites.only(question.slice)})"
    return kept | {"only_holds": f"{kept['only_holds']} AND {chosen}"} if question.only else kept


def machines(opened: Opened, question: Question, limit: int, offset: int) -> list[dict[str, Any]]:
    """Each machine with its money and what of that jobs pay, dearest first."""
    if kept := of_digest(opened, question):
        money = (
            f"(SELECT h.* FROM digest_machine_costs h WHERE h.currency = {kept['currency']} AND {kept['only_holds']})"
        )
        told = {"number": "machine", "cost": kept["cost"], "money": money, "machines": "digest_machines"}
    else:
        money = f"(SELECT * FROM {question.slice.shares} WHERE resource_id IS NOT NULL)"
        told = {"number": "resource_id", "cost": question.basis, "money": money, "machines": "machines"}
    return opened.engine.records(MACHINES.format(limit=limit, offset=offset, **told))
