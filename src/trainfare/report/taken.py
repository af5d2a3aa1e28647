"""The rules of a published book, with what each took and where it went."""

from typing import Any

from trainfare.engine.duckdb import quoted
from trainfare.report.estimated import part
from trainfare.report.groups import every
from trainfare.report.opened import Opened
from trainfare.report.slice import KINDS


def taken(opened: Opened, basis: str, currency: str) -> list[dict[str, Any]]:
    """Each rule in the order it was asked: its lines and money, and how much of that jobs, idle and the others pay."""
    sums = ", ".join(
        f"coalesce(sum({basis}) FILTER (payer_kind IN ({kinds})), 0) AS {name}" for name, kinds in KINDS.items()
    )
    sums += "".join(
        f", coalesce(sum({basis}) FILTER (origin = 'estimate' AND payer_kind IN ({kinds})), 0) AS {name}_estimated"
        for name, kinds in KINDS.items()
    )
    where = f"WHERE currency = {quoted(currency)}"
    return opened.engine.records(
        "SELECT r.name AS rule, CASE WHEN r.among <> '' THEN 'among ' || r.among || ' by ' || "
        "coalesce(nullif(r.\"by\", ''), 'gpu_seconds') ELSE coalesce(r.goes_to, '') END AS goes_to, "
        f"b.lines, b.taken, b.estimated, {', '.join(f's.{name}, s.{name}_estimated' for name in KINDS)} "
        'FROM (SELECT name, among, "by", goes_to, min(rule) AS number FROM rules_in_force GROUP BY ALL) r '
        f"LEFT JOIN (SELECT rule, sum(lines) AS lines, sum({basis}) AS taken, {part(basis, 't')} AS estimated FROM bill_totals t {where} "
        "GROUP BY rule) b ON b.rule = r.name "
        f"LEFT JOIN (SELECT rule, {sums} FROM {every(opened)} {where} GROUP BY rule) s ON s.rule = r.name ORDER BY r.number"
    )
