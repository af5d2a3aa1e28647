"""How money moves in time: by day, and by who pays."""

from decimal import Decimal
from typing import Any

from trainfare.report import groups, keys
from trainfare.report.cost import Question
from trainfare.report.estimated import part
from trainfare.report.opened import Opened
from trainfare.report.slice import KINDS

BY_KIND = ", ".join(
    f"coalesce(sum(s.{{basis}}) FILTER (s.payer_kind IN ({kinds})), 0) AS {name}" for name, kinds in KINDS.items()
)


def by_kind(opened: Opened, question: Question) -> dict[str, Decimal]:
    """What jobs, idle, unallocated and outside pay, the total of it, and what of that is estimated."""
    sums = BY_KIND.format(basis=question.basis)
    (found,) = opened.engine.records(
        f"SELECT {sums}, coalesce(sum({question.basis}), 0) AS total, {part(question.basis)} AS estimated "
        f"FROM {groups.paid(opened, question.slice, [])}"
    )
    return found


def by_origin(opened: Opened, question: Question) -> list[dict[str, Any]]:
    """Money per day and who pays, what bills say and what is estimated apart, in order of days."""
    return opened.engine.records(
        f"SELECT s.day, {_kind()} AS payer, coalesce(s.origin = 'estimate', false) AS is_estimated, sum(s.{question.basis}) AS cost "
        f"FROM {groups.paid(opened, question.slice, [])} GROUP BY ALL HAVING cost <> 0 ORDER BY ALL"
    )


def by_day(opened: Opened, question: Question, key: str) -> list[dict[str, Any]]:
    """Money per day and value of a key, and what of it is estimated, in order of days. Days without money are not there."""
    who = {"payer": _kind()}.get(key) or keys.of_share(key)
    return opened.engine.records(
        f"SELECT s.day, {who} AS {key}, sum(s.{question.basis}) AS cost, {part(question.basis)} AS estimated "
        f"FROM {groups.paid(opened, question.slice, [key])} GROUP BY ALL HAVING cost <> 0 ORDER BY s.day, {key}"
    )


def _kind() -> str:
    return "CASE " + " ".join(f"WHEN s.payer_kind IN ({kinds}) THEN '{name}'" for name, kinds in KINDS.items()) + " END"
