"""What is wrong with the records, what it may cost, and what to do about it."""

import json
from collections.abc import Callable
from typing import Any

from trainfare.report import cost
from trainfare.report.opened import Opened
from trainfare.web.pages.desk import Desk
from trainfare.web.pages.panel import Column, Panel, Sheet

SHOWN = 3


def sheet(desk: Desk) -> Sheet:
    return Sheet("Findings", [findings(desk)])


def findings(desk: Desk) -> Panel:
    rows = [row | {"evidence": _first(row["evidence"])} for row in desk.ask(_found)]
    columns = [
        Column("code", "Code", "id"),
        Column("what", "What is wrong", "wide"),
        Column("rows", "Rows", "count"),
        Column("at_stake", "At stake", "money"),
        Column("currency", "Currency"),
        Column("evidence", "For example", "wide"),
        Column("remedy", "What to do", "wide"),
    ]
    empty = ("Nothing is wrong", "No fault was found in the records of this time.")
    if not desk.viewer.sees_all:
        empty = ("Findings are told to those who see everything", "They name jobs of all teams. Ask finance for them.")
    return Panel("findings", "What is wrong with the records", columns, rows, 12, empty=empty)


def _found(opened: Opened) -> list[dict[str, Any]]:
    return opened.engine.records(cost.FINDINGS)


def _first(evidence: str) -> str:
    """The first rows that show a fault, on one line each."""
    told = json.loads(evidence)
    return "; ".join(str(one) for one in told[:SHOWN]) + (" ..." if len(told) > SHOWN else "")


PANELS: dict[str, Callable[[Desk], Panel]] = {"findings": findings}
