"""The cost of machines, and who pays for them."""

from dataclasses import dataclass, replace
from typing import Any

from trainfare.query import keys, machine_groups
from trainfare.query.cost import Question
from trainfare.query.groups import Groups
from trainfare.query.open_books import OpenBooks

MACHINES = """
SELECT m.machine_id AS machine, m.pool, m.cluster, m.region, m.gpu_model, m.gpus, s.cost, s.jobs, s.idle, s.days
FROM (
  SELECT {number} AS number, sum({cost}) AS cost, count(DISTINCT day) AS days,
    coalesce(sum({cost}) FILTER (payer_kind IN ('attempt', 'label')), 0) AS jobs,
    coalesce(sum({cost}) FILTER (payer_kind = 'idle'), 0) AS idle
  FROM {shares} GROUP BY {number}) s
JOIN {machines} m ON m.{number} = s.number
ORDER BY s.cost DESC, machine LIMIT {limit} OFFSET {offset}
"""


@dataclass(frozen=True)
class DigestMachines:
    """How a digest gives the cost and hours of machines h: a cost column, a currency, and a condition."""

    cost: str
    currency: str
    condition: str


def in_digest(opened: OpenBooks, question: Question) -> DigestMachines | None:
    """Return how a digest answers for all of one book, some of its days, or machine groups.

    None for any other question.
    """
    others = tuple(one for one in question.filters if one[0] not in keys.MACHINE_GROUP_KEYS)
    selection = replace(question.selection, filters=others)
    digest = Groups(question.basis, selection, ()).digest_fragments(opened, ())
    if digest is None or others or not machine_groups.are_available(opened):
        return None
    condition = digest.only_holds
    if question.filters:
        groups = machine_groups.machine_condition(question.selection)
        condition += f" AND h.machine IN (SELECT m.machine FROM digest_machines m WHERE {groups})"
    return DigestMachines(digest.cost, digest.currency, condition)


def machines(opened: OpenBooks, question: Question, limit: int, offset: int) -> list[dict[str, Any]]:
    """Return each machine with its cost and the part that jobs pay, highest cost first."""
    if digest := in_digest(opened, question):
        where = f"h.currency = {digest.currency} AND {digest.condition}"
        shares = f"(SELECT h.* FROM digest_machine_costs h WHERE {where})"
        tables = {"number": "machine", "cost": digest.cost, "shares": shares, "machines": "digest_machines"}
    else:
        shares = f"(SELECT * FROM {question.selection.shares} WHERE resource_id IS NOT NULL)"
        tables = {"number": "resource_id", "cost": question.basis, "shares": shares, "machines": "machines"}
    return opened.engine.records(MACHINES.format(limit=limit, offset=offset, **tables))
