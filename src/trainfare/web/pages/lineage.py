"""One job opened down to bill lines, and one bill line opened back to everyone who pays a part of it."""

from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from pathlib import PurePath
from typing import Any

from trainfare import reopened
from trainfare.report.explain import Explanation
from trainfare.report.line import LinePayers
from trainfare.report.render import exact, money
from trainfare.tables import ESTIMATED, NOT_INFRASTRUCTURE
from trainfare.web.api.lineage import explain
from trainfare.web.pages import dollar, river
from trainfare.web.pages.desk import Desk
from trainfare.web.pages.panel import Check, Column, Figure, Panel, Sheet
from trainfare.web.problems import NotThereError
from trainfare.web.rights import require_all

SHOWN = 150
BY_SPEND = "shared by spend"


def of_job(desk: Desk, job: str) -> Sheet:
    """A job's money: rules, pots with the arithmetic, and bill lines; with `rule` only what came by that rule."""
    found = explain(desk.shelf, desk.viewer, desk.book, job, desk.question.basis, desk.currency)
    if found is None:
        do = f"Find it among the jobs, or choose another time than {desk.window}."
        raise NotThereError(f"job {job}", f"there is no such job in the book of {desk.book.month}", do)
    rule = desk.asked.one("rule")
    left_out = NOT_INFRASTRUCTURE if desk.question.scope == "infra" else ()
    pots = [pot for pot in found.pots if rule in ("", pot["rule"]) and pot["category"] not in left_out]
    lines = [line for line in found.lines if rule in ("", line["rule"]) and line["category"] not in left_out]
    shown = sum((pot["part"] for pot in pots), Decimal(0))
    figures = [
        Figure("Cost" if not rule else f"By rule {rule}", money(shown), desk.currency, job, exact(shown)),
        Figure("Pots it has a part of", f"{len(pots):,}"),
        Figure("Bill lines", f"{len(lines):,}"),
    ]
    checks = [
        Check(f"It adds up: the parts are {exact(found.opened)}, the book says {exact(found.stored)}.", _same(found)),
        *dollar.of_books(desk),
    ]
    crumbs = [("Where from?", desk.link("/dollar", rule=None)), (job, desk.job(job))]
    panels = [_flow(desk, job, pots, lines), _pots(desk, pots), _lines(desk, lines)]
    return Sheet(dollar.TITLE, panels, figures, crumbs, checks=checks, extra={"data": {"job": job}})


def _same(found: Explanation) -> bool:
    return found.opened == found.stored


def _flow(desk: Desk, job: str, pots: list[dict[str, Any]], lines: list[dict[str, Any]]) -> Panel:
    ways: dict[tuple[str, ...], Decimal] = {}
    parts = [((_origin(line), line["rule"], line["category"], job), line["part"]) for line in lines]
    parts += [((BY_SPEND, p["rule"], p["category"], job), p["part"]) for p in pots if p["period_start"] is None]
    for way, part in parts:
        ways[way] = ways.get(way, Decimal(0)) + part
    rows: list[dict[str, Any]] = [
        {
            "file": way[0],
            "rule": way[1],
            "category": way[2],
            "part": part,
            "estimated": part if way[0] == ESTIMATED else None,
        }
        for way, part in sorted(ways.items(), key=lambda item: -abs(item[1]))
    ]
    columns = [
        Column("file", "File"),
        Column("rule", "Rule", "text", lambda row: desk.stay(rule=row["rule"])),
        Column("category", "Category"),
        Column("part", f"Part {desk.currency}", "money", estimated="estimated"),
    ]
    foot = {"file": job} | _sums(rows)
    chart = river.sankey(ways.items(), desk.currency)
    return Panel("flow", "From files through rules to the job", columns, rows, 12, "", chart, "", foot, keep=True)


def _origin(line: Mapping[str, Any]) -> str:
    return ESTIMATED if line["estimated"] else PurePath(line["file"]).name


def _pots(desk: Desk, pots: list[dict[str, Any]]) -> Panel:
    dearest = sorted(pots, key=lambda pot: -abs(pot["part"]))
    rows = [pot | {"when": _when(pot), "sum": _sum(pot["pot"], pot)} for pot in dearest[:SHOWN]]
    columns = [
        Column("when", "When", "id"),
        Column("attempt", "Attempt", "count", minor=True),
        Column("rule", "Rule", "id", minor=True),
        Column("scope", "Shared within", "id"),
        Column("category", "Category"),
        Column("weighed_by", "By", minor=True),
        Column("sum", "Pot × weight / whole weight", "sum"),
        Column("part", f"Part {desk.currency}", "money", estimated="estimated"),
    ]
    foot = {"when": "all"} | _sums(pots)
    about = (
        "All charges of one rule, scope, period and category are one pot. The job's part is the whole part of pot × weight / "
        "whole weight; the few units that do not divide stay with the heaviest payer."
    )
    return Panel("pots", _title("Pots", pots), columns, rows, 12, about, foot=foot)


def _lines(desk: Desk, lines: list[dict[str, Any]]) -> Panel:
    dearest = sorted(lines, key=lambda line: -abs(line["part"]))
    rows = [line | {"when": _when(line), "place": _place(line)} for line in dearest[:SHOWN]]
    columns = [
        Column("place", "File and line", "id", lambda row: _to_line(desk, row)),
        Column("when", "For", "id"),
        Column("rule", "Rule", "id", minor=True),
        Column("description", "Description", "wide", minor=True),
        Column("line_amount", "Line", "money"),
        Column("part", f"Part {desk.currency}", "money", estimated="estimated"),
    ]
    foot = {"place": "all"} | _sums(lines)
    note = "Costs that are shared by spend go over everybody, so they have pots but no lines here."
    empty = ("No bill line", "What is shared by spend goes over everybody: the pots above are its source.")
    about = "Open a line to see everyone who pays a part of it."
    return Panel("lines", _title("Bill lines", lines), columns, rows, 12, about, foot=foot, note=note, empty=empty)


def _sums(rows: list[dict[str, Any]]) -> dict[str, Decimal]:
    """The foot of pots or lines: the money, and what of it is estimated."""
    return {name: sum((row[name] or Decimal(0) for row in rows), Decimal(0)) for name in ("part", "estimated")}


def _title(name: str, rows: list[dict[str, Any]]) -> str:
    return f"{name}, the dearest {SHOWN} of {len(rows):,}" if len(rows) > SHOWN else name


def _to_line(desk: Desk, row: Mapping[str, Any]) -> str | None:
    if not desk.viewer.sees_all:
        return None
    return desk.link("/dollar/line", delivery=row["delivery"], line=row["line"], rule=None)


def of_line(desk: Desk, delivery: int, line: int) -> Sheet:
    """A bill line with everyone who pays a part of it. Only for those who see everything: it names everybody."""
    require_all(desk.viewer)
    with desk.shelf.account(desk.book) as (engine, account):
        found = reopened.payers_of_kept_line(engine, account, delivery, line)
    if found is None:
        do = "Open a job, and choose one of its bill lines."
        raise NotThereError("line", f"{desk.book.month} has no line {line} of delivery {delivery}", do)
    basis, currency = desk.question.basis, str(found.line["currency"])
    amount, parts = found.line[basis], found.parts[basis]
    place = _place({"file": found.file, "file_line": found.file_line})
    figures = [
        Figure("This line", money(amount), currency, place, exact(amount)),
        Figure("Paid by", f"{len({row['payer'] for row in found.payers}):,}", "payers"),
    ]
    checks = [
        Check(f"It adds up: the parts are {exact(parts)}, the line says {exact(amount)}.", parts == amount),
        *dollar.of_books(desk),
    ]
    facts = [
        (name.replace("_", " ").capitalize(), str(value), None)
        for name, value in found.line.items()
        if value is not None and name not in ("delivery", "line")
    ]
    crumbs = [("Where from?", desk.link("/dollar"))]
    data = {"delivery": delivery, "line": line}
    panels = [_payers(desk, found, basis, currency, place, f"/api/v1/lines/{delivery}/{line}")]
    return Sheet("Who pays this line?", panels, figures, crumbs, facts, checks, {"data": data})


def _payers(desk: Desk, found: LinePayers, basis: str, currency: str, place: str, address: str) -> Panel:
    amount = found.line[basis]
    dearest = sorted(found.payers, key=lambda row: -abs(row[basis]))
    is_estimated = found.line["source"] == ESTIMATED
    rows = [
        row | {"cost": row[basis], "estimated": row[basis] if is_estimated else None, "sum": _sum(amount, row)}
        for row in dearest[:SHOWN]
    ]
    chart = river.sankey(
        [((place, row["rule"], row["job"] or row["payer"]), row[basis]) for row in found.payers], currency, 16
    )
    columns = [
        Column("payer", "Payer", "key", lambda row: _to_job(desk, row)),
        Column("reason", "Why", minor=True),
        Column("rule", "Rule", "id", minor=True),
        Column("machine", "Machine", "id", minor=True),
        Column("day", "Day", "day", minor=True),
        Column("sum", "Line × weight / whole weight", "sum", minor=True),
        Column("cost", f"Part {currency}", "money", estimated="estimated"),
    ]
    foot = {"payer": "all", "cost": found.parts[basis], "estimated": found.parts[basis] if is_estimated else None}
    title, more = _title("Everyone who pays a part", found.payers), None
    if len(found.payers) > SHOWN:
        more = (f"All {len(found.payers):,} as CSV", f"{address}?month={desk.book.month}&format=csv")
    return Panel("payers", title, columns, rows, 12, "", chart, "", foot, keep=True, more=more)


def _to_job(desk: Desk, row: Mapping[str, Any]) -> str | None:
    return desk.link("/dollar/job", job=row["job"]) if row["job"] else None


def _place(line: Mapping[str, Any]) -> str:
    return f"{PurePath(line['file']).name}:{line['file_line']}"


def _when(row: Mapping[str, Any]) -> str:
    """The time a pot or line is for: its start and length; what is shared by spend is for the month, shown by day."""
    start, end = row["period_start"], row["period_end"]
    if not isinstance(start, datetime):
        return str(row["day"])
    hours = (end - start).total_seconds() / 3600
    return f"{start:%m-%d %H:%M} +{f'{hours:g} h' if hours < 24 else f'{hours / 24:g} d'}"


def _sum(whole: Decimal, row: Mapping[str, Any]) -> str | None:
    """The arithmetic, written out; nothing where nothing was weighed."""
    if row["weight"] is None or not row["whole"]:
        return None
    return f"{exact(whole)} × {row['weight']:,} / {row['whole']:,}"
