"""A book reconciled with the bill: both amounts and their difference, by source, account, category or rule."""

from typing import Any

from trainfare.engine.duckdb import quoted
from trainfare.query.estimates import estimated_sum
from trainfare.query.groups import all_shares
from trainfare.query.open_books import OpenBooks
from trainfare.tables import BASES

KEYS = ("source", "account", "category", "rule")


def reconcile(opened: OpenBooks, by: str) -> list[dict[str, Any]]:
    """Return, per group and currency, the lines, the billed amount and the allocated amount on every cost basis."""
    sums = ", ".join(f"sum({basis}) AS {basis}" for basis in BASES)
    pairs = ", ".join(
        f"coalesce(b.{basis}, 0) AS {basis}_bill, coalesce(s.{basis}, 0) AS {basis}_shared, "
        f"coalesce(s.{basis}, 0) - coalesce(b.{basis}, 0) AS {basis}_difference"
        for basis in BASES
    )
    return opened.engine.records(
        f"SELECT coalesce(b.{by}, s.{by}) AS {by}, coalesce(b.currency, s.currency) AS currency, b.lines, {pairs} "
        f"FROM (SELECT {by}, currency, sum(lines) AS lines, {sums} FROM bill_totals GROUP BY {by}, currency) b "
        f"FULL JOIN (SELECT {by}, currency, {sums} FROM {all_shares(opened)} GROUP BY {by}, currency) s "
        f"ON b.{by} IS NOT DISTINCT FROM s.{by} AND b.currency = s.currency ORDER BY ALL"
    )


def by_payer(opened: OpenBooks, basis: str, currency: str) -> list[dict[str, Any]]:
    """Return the cost of attempts, labels, idle, unallocated and outside, with their reasons."""
    return opened.engine.records(
        f"SELECT payer_kind, reason, sum({basis}) AS cost, {estimated_sum(basis)} AS estimated "
        f"FROM {all_shares(opened)} s WHERE currency = {quoted(currency)} "
        "GROUP BY payer_kind, reason ORDER BY payer_kind, abs(cost) DESC"
    )
