"""Cost flow from sources to payers, for any part of the books: source, rule, category, payer."""

from typing import Any

from trainfare.query import groups, keys
from trainfare.query.cost import Question
from trainfare.query.estimates import estimated_sum
from trainfare.query.open_books import OpenBooks
from trainfare.query.selection import NONE


def flows(opened: OpenBooks, question: Question) -> list[dict[str, Any]]:
    """Return cost per source, rule, category and payer (a team, idle, unallocated, outside).

    Adds up to the selected cost.
    """
    team = f"coalesce({keys.share_sql('team')}, '{NONE}')"
    return opened.engine.records(
        "SELECT s.source, s.rule, s.category, "
        "CASE WHEN s.payer_kind IN ('idle', 'unallocated', 'outside') THEN '__' || s.payer_kind || '__' "
        f"ELSE {team} END AS payer, "
        f"sum(s.{question.basis}) AS cost, {estimated_sum(question.basis)} AS estimated "
        f"FROM {groups.selected_shares(opened, question.selection, ['source', 'rule', 'category', 'team', 'payer'])} "
        "GROUP BY ALL HAVING cost <> 0 ORDER BY abs(cost) DESC, s.source, s.rule, s.category, payer"
    )
