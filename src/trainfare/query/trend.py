"""Cost over time: by day, and by kind of payer."""

from decimal import Decimal
from typing import Any

from trainfare.query import groups, keys
from trainfare.query.cost import Question
from trainfare.query.estimates import estimated_sum
from trainfare.query.open_books import OpenBooks
from trainfare.query.selection import PAYER_KINDS

PAYER_KIND_SUMS = ", ".join(
    f"coalesce(sum(s.{{basis}}) FILTER (s.payer_kind IN ({kinds})), 0) AS {name}" for name, kinds in PAYER_KINDS.items()
)


def by_payer_kind(opened: OpenBooks, question: Question) -> dict[str, Decimal]:
    """Return the cost of jobs, idle, unallocated and outside, the total, and its estimated part."""
    sums = PAYER_KIND_SUMS.format(basis=question.basis)
    (found,) = opened.engine.records(
        f"SELECT {sums}, coalesce(sum({question.basis}), 0) AS total, {estimated_sum(question.basis)} AS estimated "
        f"FROM {groups.selected_shares(opened, question.selection, [])}"
    )
    return found


def by_origin(opened: OpenBooks, question: Question) -> list[dict[str, Any]]:
    """Return cost per day and kind of payer, billed and estimated separately, in order of days."""
    return opened.engine.records(
        f"SELECT s.day, {_kind()} AS payer, s.estimated AS is_estimated, "
        f"sum(s.{question.basis}) AS cost "
        f"FROM {groups.selected_shares(opened, question.selection, [])} GROUP BY ALL HAVING cost <> 0 ORDER BY ALL"
    )


def by_day(opened: OpenBooks, question: Question, key: str) -> list[dict[str, Any]]:
    """Return cost per day and value of a key, with its estimated part, in order of days.

    Days without cost have no row.
    """
    value = {"payer": _kind()}.get(key) or keys.share_sql(key)
    return opened.engine.records(
        f"SELECT s.day, {value} AS {key}, sum(s.{question.basis}) AS cost, "
        f"{estimated_sum(question.basis)} AS estimated "
        f"FROM {groups.selected_shares(opened, question.selection, [key])} "
        f"GROUP BY ALL HAVING cost <> 0 ORDER BY s.day, {key}"
    )


def _kind() -> str:
    return (
        "CASE "
        + " ".join(f"WHEN s.payer_kind IN ({kinds}) THEN '{name}'" for name, kinds in PAYER_KINDS.items())
        + " END"
    )
