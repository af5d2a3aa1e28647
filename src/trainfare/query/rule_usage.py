"""The rules of a published book, with the cost that each matched and who pays it."""

from typing import Any

from trainfare.engine.duckdb import quoted
from trainfare.query.groups import all_shares
from trainfare.query.open_books import OpenBooks
from trainfare.query.selection import PAYER_KINDS


def by_rule(opened: OpenBooks, basis: str, currency: str) -> list[dict[str, Any]]:
    """Return each rule in evaluation order: its lines and cost, and how much of it jobs, idle and the others pay."""
    sums = ", ".join(
        f"coalesce(sum({basis}) FILTER (payer_kind IN ({kinds})), 0) AS {name}" for name, kinds in PAYER_KINDS.items()
    )
    sums += "".join(
        f", coalesce(sum({basis}) FILTER (s.estimated AND payer_kind IN ({kinds})), 0) AS {name}_estimated"
        for name, kinds in PAYER_KINDS.items()
    )
    where = f"WHERE currency = {quoted(currency)}"
    return opened.engine.records(
        "SELECT r.name AS rule, CASE WHEN r.among <> '' THEN 'split across ' || r.among || ' by ' || "
        "coalesce(nullif(r.\"by\", ''), 'gpu_seconds') ELSE coalesce(r.goes_to, '') END AS goes_to, "
        f"b.lines, b.matched, b.estimated, {', '.join(f's.{name}, s.{name}_estimated' for name in PAYER_KINDS)} "
        'FROM (SELECT name, among, "by", goes_to, min(rule) AS number FROM rules_in_force GROUP BY ALL) r '
        f"LEFT JOIN (SELECT rule, sum(lines) AS lines, sum({basis}) AS matched, "
        f"coalesce(sum({basis}) FILTER (origin = 'estimate'), 0) AS estimated "
        f"FROM bill_totals {where} GROUP BY rule) b ON b.rule = r.name "
        f"LEFT JOIN (SELECT rule, {sums} FROM {all_shares(opened)} s {where} GROUP BY rule) s ON s.rule = r.name "
        "ORDER BY r.number"
    )
