"""Lineage in both directions: a job's cost down to pots and bill lines, and a bill line back to all of its payers."""

import re
from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from pathlib import PurePath
from typing import Any

from trainfare.books import reopen
from trainfare.money import decimal_text
from trainfare.query.bill_line import LinePayers
from trainfare.query.open_books import OpenBooks
from trainfare.report.converted_rows import side_by_side
from trainfare.report.render import money
from trainfare.serve.api.lineage import explain
from trainfare.serve.auth.permissions import require_full_visibility
from trainfare.serve.pages import cost_trace, flow_chart
from trainfare.serve.pages.context import RequestContext, job_path
from trainfare.serve.pages.figures import TOTAL, Figure, FigureLink
from trainfare.serve.pages.panel import Check, Column, Page, Panel, Stat, add_up
from trainfare.serve.pages.query import FILTERS
from trainfare.serve.problems import NotFoundError
from trainfare.tables import ESTIMATED

MOST_ROWS = 150
NARROWED_BY = ("category", "rule")
"""Filters that links from a job's own page add."""
BY_SPEND = "allocated by spend"
ARITHMETIC = "Pot × weight / total weight"
OWN_ARITHMETIC = "Weight × price per unit"
PRICE_DIGITS = 8
NO_SPEND_LINES = "Cost allocated by spend is split across all jobs, so it has pots but no lines here."
NO_LINES = ("No bill lines", "Cost allocated by spend is split across all jobs; see the pots above.")

Rows = list[dict[str, Any]]


def job_page(context: RequestContext, job: str) -> Page:
    """A job's pots with their arithmetic, and its bill lines, as far as the filters and the period select them."""
    pots, lines, explained, stored = _explained(context, job)
    cost = add_up(pots, "part")["part"]
    stats = [
        Stat(
            "Cost",
            money(cost),
            context.currency,
            job,
            decimal_text(cost),
            answers=(context.figure(TOTAL, cost),),
        ),
        Stat("Pots", f"{len(pots):,}", "", "cost pools that this job has a share of"),
        *([Stat("Bill lines", f"{len(lines):,}")] if context.viewer.sees_all else []),
    ]
    checks = [
        Check(
            f"The shares add up to {money(explained)} {context.currency}; the book has {money(stored)}. "
            "Both are compared to the last digit.",
            explained == stored,
        ),
        *cost_trace.book_checks(context),
    ]
    others = dict.fromkeys(NARROWED_BY)
    breadcrumbs = [
        (cost_trace.TITLE, context.link("/cost-trace", **others)),
        (job, context.link(job_path(job), **others)),
    ]
    panels = [_flow(context, job, pots, lines), _pots(context, pots), _lines(context, lines)]
    extra = {"panel_parameters": {"job": job}}
    return Page("Cost trace of a job", panels, stats, breadcrumbs, checks=checks, extra=extra)


def _explained(context: RequestContext, job: str) -> tuple[Rows, Rows, Decimal, Decimal]:
    """The pots and lines of what is selected of a job in all months of the window, their sum, and that of the books."""
    question = context.job_question(job)
    is_part = len(question.filters) > 1 or question.days is not None or question.scope != "full"
    pots: Rows = []
    lines: Rows = []
    explained = stored = Decimal(0)
    is_known = False
    for book in context.books:
        basis, currency = question.basis, context.currency
        if currency not in context.run(_currencies, books=[book]):
            continue
        found = explain(context.book_reader, context.viewer, book, job, basis, currency, question if is_part else None)
        if found is None:
            continue
        is_known = True
        pots += found.pots
        lines += [line | {"month": str(book.month)} for line in found.lines]
        explained, stored = explained + found.explained, stored + found.stored
    if not is_known:
        do = f"Search the list of jobs, or choose another period than {context.window}."
        raise NotFoundError(f"job {job}", "no such job in this period", do)
    return pots, lines, explained, stored


def _currencies(opened: OpenBooks) -> list[str]:
    return opened.currencies


def _flow(context: RequestContext, job: str, pots: Rows, lines: Rows) -> Panel:
    flows: dict[tuple[str, ...], Decimal] = {}
    parts = [((_origin(line), line["rule"], line["category"], job), line["part"]) for line in lines]
    parts += [((BY_SPEND, p["rule"], p["category"], job), p["part"]) for p in pots if p["period_start"] is None]
    for names, part in parts:
        flows[names] = flows.get(names, Decimal(0)) + part
    rows: Rows = [
        {
            "file": names[0],
            "rule": names[1],
            "category": names[2],
            "part": part,
            "estimated": part if names[0] == ESTIMATED else None,
        }
        for names, part in sorted(flows.items(), key=lambda item: -abs(item[1]))
    ]
    columns = [
        Column("file", "File" if context.viewer.sees_all else "Source"),
        Column("rule", "Rule", "text", lambda row: context.link_here(rule=row["rule"]), plain_link=True),
        Column("category", "Category"),
        Column("part", f"Share {context.currency}", "money", estimated="estimated"),
    ]
    foot = {"file": job} | add_up(rows, "part", "estimated")
    chart = flow_chart.sankey(flows.items(), context.currency)
    title = f"Cost flow from {'files' if context.viewer.sees_all else 'sources'} through rules to the job"
    return Panel("flow", title, columns, rows, 12, "", chart, "", foot, table_open=True)


def _origin(line: Mapping[str, Any]) -> str:
    """The file of a line; its source, for viewers who may not know the files of a bill."""
    if line["estimated"]:
        return ESTIMATED
    return PurePath(line["file"]).name if line["file"] else str(line["source"])


def _pots(context: RequestContext, pots: Rows) -> Panel:
    largest = sorted(pots, key=lambda pot: -abs(pot["part"]))[:MOST_ROWS]
    arithmetic = _arithmetic_of_pot if context.viewer.sees_all else _own_arithmetic
    rows = [pot | {"period": period(pot), "arithmetic": arithmetic(pot)} for pot in largest]
    columns = [
        Column("period", "Period", "id"),
        Column("attempt", "Attempt", "count", minor=True),
        Column("rule", "Rule", "id", minor=True),
        Column("scope", "Split within", "id"),
        Column("category", "Category"),
        Column("weighed_by", "Weighed by", minor=True),
        Column("arithmetic", ARITHMETIC if context.viewer.sees_all else OWN_ARITHMETIC, "arithmetic"),
        Column("part", f"Share {context.currency}", "money", estimated="estimated"),
    ]
    foot = {"period": "Total"} | add_up(pots, "part", "estimated")
    about = "A pot is the sum of all charges of one rule, scope, period and category. " + (
        "The job's share is pot × weight / total weight, rounded down; the few units that remain go to the payer with "
        "the largest weight."
        if context.viewer.sees_all
        else "The job's share is its weight × the price of one unit of weight. The price is the same for everyone in the "
        "pot; how much the pot holds and what others weigh is not shown to you."
    )
    return Panel("pots", _title("Pots", pots), columns, rows, 12, about, foot=foot)


def _lines(context: RequestContext, lines: Rows) -> Panel:
    largest = sorted(lines, key=lambda line: -abs(line["part"]))[:MOST_ROWS]
    if not context.viewer.sees_all:
        return _own_lines(context, lines, largest)
    rows = [line | {"period": period(line), "location": location(line["file"], line["file_line"])} for line in largest]
    columns = [
        Column("location", "File and line", "id", lambda row: line_link(context, row)),
        Column("period", "Period", "id"),
        Column("rule", "Rule", "id", minor=True),
        Column("description", "Description", "wide", minor=True),
        Column("line_amount", f"Line {context.currency}", "money", lambda row: line_link(context, row)),
        Column("part", f"Share {context.currency}", "money", estimated="estimated"),
    ]
    foot = {"location": "Total"} | add_up(lines, "part", "estimated")
    about = "Open a line to see all of its payers."
    title = _title("Bill lines", lines)
    return Panel("lines", title, columns, rows, 12, about, foot=foot, note=NO_SPEND_LINES, empty=NO_LINES)


def _own_lines(context: RequestContext, lines: Rows, largest: Rows) -> Panel:
    """The job's part of the bill, without what a line is in total or where it is on the bill."""
    rows = [line | {"period": period(line), "arithmetic": _own_arithmetic(line)} for line in largest]
    columns = [
        Column("period", "Period", "id"),
        Column("rule", "Rule", "id", minor=True),
        Column("scope", "Split within", "id"),
        Column("description", "Description", "wide", minor=True),
        Column("arithmetic", OWN_ARITHMETIC, "arithmetic"),
        Column("part", f"Share {context.currency}", "money", estimated="estimated"),
    ]
    foot = {"period": "Total"} | add_up(lines, "part", "estimated")
    about = "The job's part of the bill. Descriptions are shown for machines that it held and charges that name it."
    title = _title("Parts of the bill", lines)
    return Panel("lines", title, columns, rows, 12, about, foot=foot, note=NO_SPEND_LINES, empty=NO_LINES)


def _title(name: str, rows: Rows) -> str:
    return f"{name}, top {MOST_ROWS} of {len(rows):,}" if len(rows) > MOST_ROWS else name


def line_link(context: RequestContext, row: Mapping[str, Any]) -> FigureLink | None:
    """The link from a bill line's amount to its payers: all of the line, whatever is selected of it."""
    if row["line"] < 0:  # the reversed line of a closed month
        return None
    place = {"delivery": row["delivery"], "line": row["line"], "from_": row["month"], "to": row["month"]}
    whole = dict.fromkeys((*FILTERS, "scope"))
    return context.drill("/cost-trace/line", TOTAL, row["line_amount"], **(whole | place))


def line_page(context: RequestContext, delivery: int, line: int) -> Page:
    """A bill line with all of its payers. It names jobs of all teams, so it requires full visibility."""
    require_full_visibility(context.viewer)
    with context.book_reader.account(context.book) as (engine, account):
        found = reopen.payers_of_stored_line(engine, account, delivery, line)
        converted = reopen.converted_lines(context.book_reader.store, engine, [(delivery, line)]) if found else []
    if found is None:
        do = "Open a job's cost trace and choose one of its bill lines."
        raise NotFoundError("line", f"{context.book.month} has no line {line} of delivery {delivery}", do)
    basis, currency = context.question.basis, str(found.line["currency"])
    amount, parts = found.line[basis], found.parts[basis]
    stats = [
        Stat(
            "Bill line",
            money(amount),
            currency,
            location(found.file, found.file_line),
            decimal_text(amount),
            answers=() if amount is None else (Figure(TOTAL, amount, currency, basis),),
        ),
        Stat("Payers", f"{len({row['payer'] for row in found.payers}):,}"),
    ]
    checks = [
        Check(
            f"The shares add up to {money(parts)} {currency}; the line has {money(amount)}. Both are compared to "
            "the last digit.",
            parts == amount,
        ),
        *cost_trace.book_checks(context),
    ]
    facts = [
        (name.replace("_", " ").capitalize(), str(value), None)
        for name, value in found.line.items()
        if value is not None and name not in ("delivery", "line")
    ]
    breadcrumbs = [(cost_trace.TITLE, context.link("/cost-trace"))]
    extra = {"panel_parameters": {"delivery": delivery, "line": line}}
    panels = [_payers(context, found, f"/api/v1/lines/{delivery}/{line}"), *map(_conversion, converted)]
    return Page("Payers of a bill line", panels, stats, breadcrumbs, facts, checks, extra)


def _payers(context: RequestContext, found: LinePayers, api_path: str) -> Panel:
    basis, currency = context.question.basis, str(found.line["currency"])
    is_estimated = found.line["source"] == ESTIMATED
    rows = [
        row
        | {
            "cost": row[basis],
            "estimated": row[basis] if is_estimated else None,
            "arithmetic": _arithmetic(found.line[basis], row),
        }
        for row in sorted(found.payers, key=lambda row: -abs(row[basis]))[:MOST_ROWS]
    ]
    columns = [
        Column("payer", "Payer", "payer", lambda row: _job_link(context, row)),
        Column("reason", "Reason", minor=True),
        Column("rule", "Rule", "id", minor=True),
        Column("machine", "Machine", "id", minor=True),
        Column("day", "Day", "day", minor=True),
        Column("arithmetic", "Line × weight / total weight", "arithmetic", minor=True),
        Column("cost", f"Share {currency}", "money", estimated="estimated"),
    ]
    place = location(found.file, found.file_line)
    flows = [((place, row["rule"], row["job"] or row["payer"]), row[basis]) for row in found.payers]
    chart = flow_chart.sankey(flows, currency, 16)
    total = found.parts[basis]
    foot = {"payer": "Total", "cost": total, "estimated": total if is_estimated else None}
    more = None
    if len(found.payers) > MOST_ROWS:
        more = (f"All {len(found.payers):,} as CSV", f"{api_path}?month={context.book.month}&format=csv")
    title = _title("Payers", found.payers)
    return Panel("payers", title, columns, rows, 12, "", chart, "", foot, table_open=True, more=more)


def _conversion(one: reopen.ConvertedLine) -> Panel:
    """The row of a native bill, the mapping and the FOCUS line side by side; below them what no mapping reads."""
    rows = side_by_side(one.conversion)
    named = {word for row in rows for word in re.findall(r"([^=, ]+)=", row["native_columns"])}
    rows += [
        {"native_columns": f"{name}={value}", "mapping": "", "focus_column": "", "focus_value": ""}
        for name, value in one.conversion.native.items()
        if value is not None and name not in named
    ]
    columns = [
        Column("native_columns", "Row on the bill", "wide"),
        Column("mapping", "Mapping", "wide", minor=True),
        Column("focus_column", "FOCUS column"),
        Column("focus_value", "FOCUS value", "wide"),
    ]
    title = f"From the row at {location(one.file, one.file_line)} to FOCUS"
    about = "The bill is in its provider's own format. Each FOCUS column is an expression over the row's columns."
    return Panel("conversion", title, columns, rows, 12, about)


def _job_link(context: RequestContext, row: Mapping[str, Any]) -> str | None:
    return context.link("/cost-trace/job", job=row["job"]) if row["job"] else None


def location(file: str, line: int) -> str:
    return f"{PurePath(file).name}:{line}"


def period(row: Mapping[str, Any]) -> str:
    """The start and length of the period of a pot or line; the day, for cost allocated by spend over the month."""
    start, end = row["period_start"], row["period_end"]
    if not isinstance(start, datetime):
        return str(row["day"])
    hours = (end - start).total_seconds() / 3600
    return f"{start:%m-%d %H:%M} +{f'{hours:g} h' if hours < 24 else f'{hours / 24:g} d'}"


def _arithmetic(amount: Decimal, row: Mapping[str, Any]) -> str | None:
    """The split of an amount, written out; None where no weights were used."""
    if row["weight"] is None or not row["total_weight"]:
        return None
    return f"{Decimal(decimal_text(amount) or 0):,} × {row['weight']:,} / {row['total_weight']:,}"


def _arithmetic_of_pot(pot: Mapping[str, Any]) -> str | None:
    return _arithmetic(pot["pot"], pot)


def _own_arithmetic(row: Mapping[str, Any]) -> str | None:
    """A share as its weight times the price of a unit of weight, which is shortened for reading."""
    if row["unit_price"] is None:
        return None
    price = Decimal(f"{row['unit_price']:.{PRICE_DIGITS - 1}e}").normalize()
    return f"{row['weight']:,} × {price:f}"
