"""The cost of machines, and who pays for them."""

from typing import Any

from trainfare.query.cost import Question
from trainfare.query.groups import selected_shares
from trainfare.query.open_books import OpenBooks

SITE_COLUMNS = ("pool", "cluster", "region", "gpu_model")
MACHINES = """
SELECT max(x.machine_id) AS machine, {site}, max(x.gpus) AS gpus, sum(s.{basis}) AS cost,
  coalesce(sum(s.{basis}) FILTER (s.payer_kind IN ('attempt', 'label')), 0) AS jobs,
  coalesce(sum(s.{basis}) FILTER (s.payer_kind = 'idle'), 0) AS idle, count(DISTINCT s.day) AS days
FROM {shares} WHERE s.machine IS NOT NULL
GROUP BY x.resource_id ORDER BY cost DESC, machine LIMIT {limit} OFFSET {offset}
"""


def machines(opened: OpenBooks, question: Question, limit: int, offset: int) -> list[dict[str, Any]]:
    """Return each machine with its cost and the part that jobs pay, highest cost first."""
    return opened.engine.records(
        MACHINES.format(
            site=", ".join(f"max(m.{name}) AS {name}" for name in SITE_COLUMNS),
            basis=question.basis,
            shares=selected_shares(opened, question.selection, ["machine", "pool"]),
            limit=limit,
            offset=offset,
        )
    )
