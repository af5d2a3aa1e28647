"""What is wrong with the records, what it may cost, and what to do about it."""

import json
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from trainfare.errors import IncompleteError
from trainfare.report import cost
from trainfare.report.check import ACCEPTED, GONE, KNOWN, Finding
from trainfare.report.opened import Opened
from trainfare.web import checked
from trainfare.web.pages.desk import Desk
from trainfare.web.pages.panel import Column, Panel, Sheet

SHOWN = 3


def sheet(desk: Desk) -> Sheet:
    return Sheet("Findings", [failures(desk), findings(desk)])


def depends(desk: Desk) -> object:
    """What the page depends on beside the books: what is remembered of findings."""
    return checked.mark(checked.life(desk.shelf))


def failures(desk: Desk) -> Panel:
    """The ways in which accounts of training go wrong, as far as the last of the books shows them."""
    columns = [
        Column("code", "Code", "id", minor=True),
        Column("what", "What goes wrong", "wide"),
        Column("standing", "Is"),
        Column("at_stake", "At stake", "money"),
        Column("currency", "", minor=True),
        Column("part", "Part", "percent"),
        Column("limit", "Limit", "percent", minor=True),
        Column("evidence", "First of all", "wide", minor=True),
        Column("remedy", "What to do", "wide"),
    ]
    title = f"What goes wrong, and how much may: {desk.book.month}"
    try:
        found = checked.findings(desk.shelf, desk.viewer, desk.book, checked.life(desk.shelf))
    except IncompleteError as error:
        return Panel("failures", title, columns, [], 12, empty=(error.what.capitalize(), error.do))
    rows = [_told(one) for one in found if one.limit is not None or one.state == GONE]
    empty = ("Nothing goes wrong", "None of the ways in which accounts of training fail shows in this book.")
    note = "Limits stand below [check] in the settings. To let one stand: trainfare check --accept CODE --reason ... --until DAY."
    return Panel("failures", title, columns, rows, 12, empty=empty, note=note)


def _told(one: Finding) -> dict[str, Any]:
    hundredth = Decimal("0.01")
    return {
        "code": one.code,
        "standing": _standing(one),
        "what": one.what,
        "at_stake": one.at_stake,
        "currency": one.currency,
        "part": None if one.percent is None else one.percent * hundredth,
        "limit": None if one.limit is None else one.limit * hundredth,
        "evidence": _shown(one.evidence, 1),
        "remedy": one.remedy,
    }


def _standing(one: Finding) -> str:
    if one.state == GONE:
        return "gone"
    if one.state == ACCEPTED:
        return f"accepted until {one.accepted_until}: {one.accepted_reason}"
    return f"{'beyond the limit' if one.breached else 'within'}{', seen before' if one.state == KNOWN else ''}"


def findings(desk: Desk) -> Panel:
    rows = [row | {"evidence": _first(row["evidence"])} for row in desk.ask(_found)]
    columns = [
        Column("code", "Code", "id", minor=True),
        Column("what", "What is wrong", "wide"),
        Column("rows", "Rows", "count", minor=True),
        Column("at_stake", "At stake", "money"),
        Column("currency", "", minor=True),
        Column("evidence", "For example", "wide", minor=True),
        Column("remedy", "What to do", "wide"),
    ]
    empty = ("Nothing is wrong", "No fault was found in the records of this time.")
    if not desk.viewer.sees_all:
        empty = ("Findings are told to those who see everything", "They name jobs of all teams. Ask finance for them.")
    return Panel("findings", "What is wrong with the records", columns, rows, 12, empty=empty)


def _found(opened: Opened) -> list[dict[str, Any]]:
    return opened.engine.records(cost.FINDINGS)


def _first(evidence: str) -> str:
    """The first rows that show a fault."""
    return _shown(json.loads(evidence), SHOWN)


def _shown(told: list[str], most: int) -> str:
    return "; ".join(str(one) for one in told[:most]) + (" ..." if len(told) > most else "")


PANELS: dict[str, Callable[[Desk], Panel]] = {"failures": failures, "findings": findings}
