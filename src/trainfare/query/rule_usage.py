"""The rules of published books, with the selected cost that each matched and who pays it."""

from typing import Any

from trainfare.query.cost import Question
from trainfare.query.estimates import estimated_sum
from trainfare.query.groups import selected_shares
from trainfare.query.open_books import OpenBooks
from trainfare.query.selection import PAYER_KINDS
from trainfare.query.stored import stored_table


def by_rule(opened: OpenBooks, question: Question) -> list[dict[str, Any]]:
    """Return each rule in evaluation order: its selected cost, and how much of it jobs, idle and the others pay.

    A rule of several months is described as in the last of them. `lines` are the bill lines that it matched in all of
    the books; null if the question asks for a part of them, because a bill line has no team.
    """
    paid = ", ".join(
        f"coalesce(sum(s.{question.basis}) FILTER (s.payer_kind IN ({kinds})), 0) AS {name}, "
        f"coalesce(sum(s.{question.basis}) FILTER (s.estimated AND s.payer_kind IN ({kinds})), 0) AS {name}_estimated"
        for name, kinds in PAYER_KINDS.items()
    )
    shares = selected_shares(opened, question.selection, ["rule"])
    is_part = question.filters or question.days
    lines = "CAST(NULL AS BIGINT)" if is_part else "CAST(sum(lines) AS BIGINT)"
    described = (
        "CASE WHEN r.among <> '' THEN 'split across ' || r.among || ' by ' || coalesce(nullif(r.\"by\", ''), "
        "'gpu_seconds') ELSE coalesce(r.goes_to, '') END"
    )
    return opened.engine.records(
        "SELECT coalesce(r.name, s.rule) AS rule, r.goes_to, b.lines, s.matched, s.estimated, "
        f"{', '.join(f's.{name}, s.{name}_estimated' for name in PAYER_KINDS)} "
        f"FROM (SELECT r.name, min(r.rule) AS number, max_by({described}, r.month) AS goes_to "
        f"FROM {_rules(opened)} r GROUP BY r.name) r "
        f"FULL JOIN (SELECT s.rule, sum(s.{question.basis}) AS matched, {estimated_sum(question.basis)} AS estimated, "
        f"{paid} FROM {shares} GROUP BY s.rule) s ON s.rule = r.name "
        f"LEFT JOIN (SELECT rule, {lines} AS lines FROM bill_totals WHERE {question.selection.money} GROUP BY rule) b "
        "ON b.rule = coalesce(r.name, s.rule) ORDER BY r.number NULLS LAST, rule"
    )


def _rules(opened: OpenBooks) -> str:
    """Return a FROM item with the rules in force of each book, and the number of its month."""
    selects = (
        f'SELECT rule, name, among, "by", goes_to, {number} AS month FROM {stored_table(book, "rules_in_force")}'
        for number, book in enumerate(opened.books)
    )
    return f"({' UNION ALL '.join(selects)})"
