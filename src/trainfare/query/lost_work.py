"""What jobs lost: the lost and overhead parts of their cost, as M5 counts them, under the filters of a question."""

from typing import Any

from trainfare.query import keys, usage
from trainfare.query.cost import Question
from trainfare.query.groups import joins
from trainfare.query.open_books import OpenBooks
from trainfare.query.selection import in_days, share_matches


def by_label(opened: OpenBooks, question: Question, key: str) -> list[dict[str, Any]]:
    """Return lost and overhead cost per value of a label, and whether the lost part is an upper bound.

    Books of a version that did not store it have none.
    """
    if not usage.is_measured(opened, "work"):
        return []
    selection, grains = question.selection, opened.grains
    matches = [share_matches(name, values) for name, values in selection.filters]
    # Only attempts lose work, so no row states its kind of payer or a reason.
    own = {"s.payer_kind": "'attempt'", "s.reason": "CAST(NULL AS VARCHAR)"}
    where = [selection.money, *(_replaced(one, own) for one in matches)]
    where += in_days(selection.days, "s.day")
    return opened.engine.records(
        f"SELECT {keys.attempt_sql(key)} AS {key}, coalesce(sum(s.{question.basis}) FILTER (s.part = 'lost'), 0) AS lost, "
        f"coalesce(sum(s.{question.basis}) FILTER (s.part = 'overhead'), 0) AS overhead, "
        f"coalesce(sum(s.{question.basis}) FILTER (s.part = 'lost' AND s.estimated), 0) AS lost_estimated, "
        "bool_or(s.how = 'at most') AS at_most "
        f"FROM {grains.table('work')} s{joins(grains, [key, *selection.filter_keys], 's')} "
        f"WHERE {' AND '.join(where)} GROUP BY ALL ORDER BY lost DESC, 1"
    )


def _replaced(text: str, own: dict[str, str]) -> str:
    for name, value in own.items():
        text = text.replace(name, value)
    return text
