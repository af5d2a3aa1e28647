"""Where money comes from and where it goes, for any part of the books: source, rule, category, payer."""

from typing import Any

from trainfare.report import groups, keys
from trainfare.report.cost import Question
from trainfare.report.estimated import part
from trainfare.report.opened import Opened
from trainfare.report.slice import NONE


def flows(opened: Opened, question: Question) -> list[dict[str, Any]]:
    """Money per source, rule, category and payer: a team, idle, unallocated or outside. Adds up to what is asked about."""
    team = f"coalesce({keys.of_share('team')}, '{NONE}')"
    return opened.engine.records(
        "SELECT s.source, s.rule, s.category, "
        f"CASE WHEN s.payer_kind IN ('idle', 'unallocated', 'outside') THEN '__' || s.payer_kind || '__' ELSE {team} END AS payer, "
        f"sum(s.{question.basis}) AS cost, {part(question.basis)} AS estimated "
        f"FROM {groups.paid(opened, question.slice, ['source', 'rule', 'category', 'team', 'payer'])} "
        "GROUP BY ALL HAVING cost <> 0 ORDER BY abs(cost) DESC, s.source, s.rule, s.category, payer"
    )
