"""Cost risks with their thresholds, and problems in the records: what they may cost and how to fix them."""

import json
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from trainfare.errors import IncompleteError
from trainfare.money import decimal_text
from trainfare.query import check as checking
from trainfare.query import cost
from trainfare.query.check import ACCEPTED, GONE, KNOWN, Finding
from trainfare.query.open_books import OpenBooks
from trainfare.report.render import money
from trainfare.serve import finding_states
from trainfare.serve.pages import labels
from trainfare.serve.pages.context import RequestContext
from trainfare.serve.pages.figures import AT_STAKE, Figure, FigureLink, Link
from trainfare.serve.pages.panel import Column, Page, Panel, Record, Stat
from trainfare.serve.problems import NotFoundError

MOST_EXAMPLES = 3
PERCENT = Decimal("0.01")


def page(context: RequestContext) -> Page:
    why = "Findings are about whole months"
    code = context.query.get("code")
    if not code:
        return Page("Findings", [cost_risks(context), record_problems(context)], ignored_filters=why)
    title, all_findings = f"{labels.finding(code)} ({code})", [("Findings", context.link("/findings"))]
    extra = {"panel_parameters": {"code": code}}
    return Page(title, [evidence(context)], _at_stake(context, code), all_findings, extra=extra, ignored_filters=why)


def _at_stake(context: RequestContext, code: str) -> list[Stat]:
    """What one finding is about, in each currency."""
    rows = [row for row in (*cost_risks(context).rows, *record_problems(context).rows) if row["code"] == code]
    if not rows:
        raise NotFoundError(f"finding {code}", "no such finding in this period", "See all findings: /findings")
    return [
        Stat(
            "At stake",
            money(row["at_stake"]),
            row["currency"] or "",
            row["what"],
            decimal_text(row["at_stake"]),
            answers=() if row["at_stake"] is None else (_figure(row),),
        )
        for row in rows
    ]


def _figure(row: Record) -> Figure:
    return Figure(AT_STAKE, row["at_stake"], row["currency"] or "", "effective")


def _code_link(context: RequestContext) -> Callable[[Record], Link]:
    """The link from what is at stake to all evidence of a finding."""

    def link(row: Record) -> Link:
        href = context.link("/findings", code=row["code"])
        return href if row["at_stake"] is None else FigureLink(href, _figure(row))

    return link


def evidence(context: RequestContext) -> Panel:
    """All stored evidence of one finding, the largest amount first."""
    code = context.query.get("code")
    rows = context.run(checking.evidence, code, books=[context.book])
    columns = [
        Column("evidence", "Evidence", "wide"),
        Column("at_stake", "At stake", "money"),
        Column("currency", "", minor=True),
    ]
    more = None
    if code == "F1":
        more = ("Its services, resources, tags and bill lines", context.link("/unallocated", payer=None))
    empty = ("No evidence is stored", f"The book of {context.book.month} has no rows for {code}.")
    return Panel("evidence", f"Evidence: {context.book.month}", columns, rows, 12, empty=empty, more=more)


def state(context: RequestContext) -> object:
    """What the page depends on besides the books: which findings were seen before or accepted."""
    return finding_states.cache_key(finding_states.load(context.book_reader))


def cost_risks(context: RequestContext) -> Panel:
    """The failure modes found in the last book of the window, compared with their thresholds."""
    columns = [
        Column("name", "Finding", "text", _code_link(context)),
        Column("code", "Code", "id", minor=True),
        Column("what", "Description", "wide"),
        Column("status", "Status"),
        Column("at_stake", "At stake", "money", _code_link(context)),
        Column("currency", "", minor=True),
        Column("part", "Part", "percent"),
        Column("limit", "Threshold", "percent", minor=True),
        Column("evidence", "Largest item", "wide", minor=True),
        Column("remedy", "Remedy", "wide"),
    ]
    title = f"Cost risks and thresholds: {context.book.month}"
    try:
        found = finding_states.findings(
            context.book_reader, context.viewer, context.book, finding_states.load(context.book_reader)
        )
    except IncompleteError as error:
        return Panel("cost-risks", title, columns, [], 12, empty=(error.what.capitalize(), error.do))
    rows = [_risk(one) for one in found if one.limit is not None or one.state == GONE]
    empty = ("No cost risks found", "None of the known failure modes occurs in this book.")
    note = "Set thresholds in [check]. To accept a finding: trainfare check --accept CODE --reason ... --until DAY."
    return Panel("cost-risks", title, columns, rows, 12, empty=empty, note=note)


def _risk(finding: Finding) -> dict[str, Any]:
    return {
        "name": labels.finding(finding.code),
        "code": finding.code,
        "what": finding.what,
        "status": _status(finding),
        "at_stake": finding.at_stake,
        "currency": finding.currency,
        "part": None if finding.percent is None else finding.percent * PERCENT,
        "limit": None if finding.limit is None else finding.limit * PERCENT,
        "evidence": _examples(finding.evidence, 1),
        "remedy": finding.remedy,
    }


def _status(finding: Finding) -> str:
    if finding.state == GONE:
        return "resolved"
    if finding.state == ACCEPTED:
        return f"accepted until {finding.accepted_until}: {finding.accepted_reason}"
    return f"{'over threshold' if finding.breached else 'OK'}{', seen before' if finding.state == KNOWN else ''}"


def record_problems(context: RequestContext) -> Panel:
    rows = [
        row
        | {
            "name": labels.finding(row["code"]),
            "evidence": _examples(json.loads(row["evidence"]), MOST_EXAMPLES),
        }
        for row in context.run(_record_problems)
    ]
    columns = [
        Column("name", "Problem", "text", _code_link(context)),
        Column("code", "Code", "id", minor=True),
        Column("what", "Description", "wide"),
        Column("rows", "Rows", "count", minor=True),
        Column("at_stake", "At stake", "money", _code_link(context)),
        Column("currency", "", minor=True),
        Column("evidence", "Examples", "wide", minor=True),
        Column("remedy", "Remedy", "wide"),
    ]
    empty = ("No problems found", "The records of this period have no known problem.")
    if not context.viewer.sees_all:
        empty = ("Findings need full visibility", "They name jobs of all teams. Ask finance for them.")
    return Panel("record-problems", "Problems in the records", columns, rows, 12, empty=empty)


def _record_problems(opened: OpenBooks) -> list[dict[str, Any]]:
    return opened.engine.records(cost.FINDINGS)


def _examples(evidence: list[str], most: int) -> str:
    return "; ".join(str(one) for one in evidence[:most]) + (" ..." if len(evidence) > most else "")


PANELS: dict[str, Callable[[RequestContext], Panel]] = {
    "cost-risks": cost_risks,
    "record-problems": record_problems,
    "evidence": evidence,
}
