"""A book tied out to the bill: both sides, by source, account or rule, and what is between them."""

from typing import Any

from trainfare.engine.duckdb import quoted
from trainfare.report.estimated import part
from trainfare.report.groups import every
from trainfare.report.opened import Opened
from trainfare.tables import BASES

KEYS = ("source", "account", "category", "rule")


def reconcile(opened: Opened, by: str) -> list[dict[str, Any]]:
    """Per group and currency: lines, what the bill says and what was shared, on every basis."""
    sums = ", ".join(f"sum({basis}) AS {basis}" for basis in BASES)
    pairs = ", ".join(
        f"coalesce(b.{basis}, 0) AS {basis}_bill, coalesce(s.{basis}, 0) AS {basis}_shared, "
        f"coalesce(s.{basis}, 0) - coalesce(b.{basis}, 0) AS {basis}_difference"
        for basis in BASES
    )
    return opened.engine.records(
        f"SELECT coalesce(b.{by}, s.{by}) AS {by}, coalesce(b.currency, s.currency) AS currency, b.lines, {pairs} "
        f"FROM (SELECT {by}, currency, sum(lines) AS lines, {sums} FROM bill_totals GROUP BY {by}, currency) b "
        f"FULL JOIN (SELECT {by}, currency, {sums} FROM {every(opened)} GROUP BY {by}, currency) s "
        f"ON b.{by} IS NOT DISTINCT FROM s.{by} AND b.currency = s.currency ORDER BY ALL"
    )


def by_payer(opened: Opened, basis: str, currency: str) -> list[dict[str, Any]]:
    """Where the money went: attempts, idle, unallocated and outside, with their reasons."""
    return opened.engine.records(
        f"SELECT payer_kind, reason, sum({basis}) AS cost, {part(basis)} AS estimated "
        f"FROM {every(opened)} s WHERE currency = {quoted(currency)} "
        "GROUP BY payer_kind, reason ORDER BY payer_kind, abs(cost) DESC"
    )
