"""What was spent by month and by day, how the month may end, and the budget beside it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

from trainfare.period import Month
from trainfare.report import converted, outlook, trend
from trainfare.report.converted import Converted
from trainfare.report.forecast import BAND, MEANINGS
from trainfare.report.outlook import EVERYTHING, Outlook
from trainfare.report.render import exact, money
from trainfare.report.slice import KINDS, Slice
from trainfare.store import Book
from trainfare.web.pages.desk import Desk
from trainfare.web.pages.panel import Column, Figure, Panel, Record, apart, ratio, shown

NAMES = {"jobs": "Jobs", "idle": "Idle", "unallocated": "Unallocated", "outside": "Outside training"}
TONES = {"idle": "idle", "unallocated": "unallocated", "outside": "outside"}
MOST_MONTHS = 24
BAND_NAME = f"{BAND} % band"


def by_month(desk: Desk) -> Panel:
    """Every month there is, whatever the window, and the next: a trend needs its past."""
    whole = replace(desk.question, days=None)
    books = desk.shelved[-MOST_MONTHS:]
    sums = [_sums(desk.ask(trend.by_origin, whole, books=[book])) for book in books]
    rows: list[dict[str, Any]] = [
        {"month": str(book.month), "state": "closed" if desk.closing(book) else "open"} | _added(found)
        for book, found in zip(books, sums, strict=True)
    ]
    expected = {one.month: one for one in desk.ahead if one.of == EVERYTHING}
    for row in rows:
        row |= _told(expected.get(Month.parse(row["month"])))
    rows += [
        {"month": str(one.month), "state": "to come"} | _told(one)
        for one in expected.values()
        if one.so_far is None and one.forecast.amount
    ]
    months = [Month.parse(row["month"]) for row in rows]
    chart = {
        "kind": "bars",
        "unit": desk.currency,
        "stacked": True,
        "labels": [f"{month.start:%b %Y}" for month in months],
        "series": [*kinds_apart(rows[: len(books)]), *_expected(rows)],
        "sums": [exact(row.get("total")) for row in rows],
        "links": [desk.link("/", from_=str(book.month), to=str(book.month)) for book in books],
        "bands": {
            "name": BAND_NAME,
            "ranges": [[at, exact(row["low"]), exact(row["high"])] for at, row in enumerate(rows) if row["forecast"]],
        },
        "lines_over": _budget_line(next(iter(expected.values())), len(rows)),
    }
    columns = [
        Column("month", "Month", "key", lambda row: desk.link("/", from_=row["month"], to=row["month"])),
        Column("state", "Book"),
        *_money(desk),
        Column("forecast", "Forecast", "money"),
        Column("low", "At least", "money"),
        Column("high", "At most", "money"),
    ]
    return Panel("by-month", "Spend by month, and forecast", columns, rows, 5, chart=chart)


def _told(one: Outlook | None) -> dict[str, Any]:
    """What a row of the trend says of what is to come."""
    found = one.forecast if one else None
    return {name: getattr(found, name, None) for name in ("low", "high")} | {
        "forecast": found.amount if found else None
    }


def _expected(rows: Sequence[Record]) -> list[dict[str, Any]]:
    """The series of what is still to come: a forecast less what is there already."""
    if not any(row["forecast"] for row in rows):
        return []
    rest = [exact(row["forecast"] - (row.get("total") or 0)) if row["forecast"] else None for row in rows]
    return [{"name": "Forecast", "values": rest, "outlined": True}]


def _budget_line(one: Outlook, length: int) -> list[dict[str, Any]]:
    return [{"name": "Budget", "values": [exact(one.budget)] * length}] if one.budget else []


Sums = Mapping[tuple[str, bool], Decimal]


def _sums(found: Iterable[Record]) -> Sums:
    """Money by who pays it and whether it is estimated."""
    sums: dict[tuple[str, bool], Decimal] = {}
    for row in found:
        key = (row["payer"], row["is_estimated"])
        sums[key] = sums.get(key, Decimal(0)) + row["cost"]
    return sums


def _added(sums: Sums) -> dict[str, Decimal]:
    """A row of a table: what each kind of payer pays, the total, and what of each is estimated."""
    row = {kind: sums.get((kind, False), Decimal(0)) + sums.get((kind, True), Decimal(0)) for kind in KINDS}
    estimated = {f"{kind}_estimated": sums.get((kind, True), Decimal(0)) for kind in KINDS}
    totals = {"total": sum(row.values(), Decimal(0)), "estimated": sum(estimated.values(), Decimal(0))}
    return row | estimated | totals


def _money(desk: Desk) -> list[Column]:
    """What each kind of payer pays, and the total."""
    kinds = [Column(kind, NAMES[kind], "money", estimated=f"{kind}_estimated") for kind in KINDS]
    return [*kinds, Column("total", f"Total {desk.currency}", "money", estimated="estimated")]


def kinds_apart(rows: Sequence[Record]) -> list[dict[str, Any]]:
    """Series of what each kind of payer pays, billed and estimated."""
    return apart([(NAMES[kind], TONES.get(kind, "jobs"), kind, f"{kind}_estimated") for kind in KINDS], rows)


def by_day(desk: Desk) -> Panel:
    found = desk.ask(trend.by_origin, desk.question)
    days = sorted({row["day"] for row in found})
    sums = [_sums(row for row in found if row["day"] == day) for day in days]
    rows: list[dict[str, Any]] = [{"day": day} | _added(one) for day, one in zip(days, sums, strict=True)]
    chart = {
        "kind": "bars",
        "unit": desk.currency,
        "stacked": True,
        "labels": [f"{day:%-d %b}" for day in days],
        "long": [f"{day:%A, %-d %B %Y}" for day in days],
        "days": [day.isoformat() for day in days],
        "series": kinds_apart(rows),
        "sums": [exact(row["total"]) for row in rows],
    }
    columns = [
        Column("day", "Day", "day"),
        *_money(desk),
    ]
    foot = _added(_sums(found))
    about = "Drag over days to look at just those. Click a name to see it alone."
    note = "; ".join(converted.told(rates(desk, desk.books)))
    return Panel("by-day", "Spend by day", columns, rows, 7, about, chart, foot=foot, note=note[:1].upper() + note[1:])


def rates(desk: Desk, books: Sequence[Book]) -> list[Converted]:
    """Every rate by which these books were converted; a bill has no teams, so filters do not narrow it."""
    question = desk.question
    whole = Slice(question.currency, question.scope).money
    return desk.ask(converted.conversions, whole, question.basis, books=books)


def forecast(desk: Desk) -> Panel:
    """The newest month and the next, of everything and of everybody who has a budget."""
    found = desk.ahead
    rows = [one.record() | {"of": _name(one.of)} for one in found]
    for row in rows:
        row["how"] = row["method"] or row["reason"]
        row["within"] = f"{row['covered']} of {row['tested']}" if row["covered"] is not None else None
    columns = [
        Column("of", "Of", "key"),
        Column("month", "Month", "key"),
        Column("so_far", f"So far {desk.currency}", "money", estimated="estimated"),
        Column("forecast", f"Forecast {desk.currency}", "money"),
        Column("low", "At least", "money"),
        Column("high", "At most", "money"),
        *(_budgets() if any(one.budget for one in found) else ()),
        Column("how", "How", "wide"),
        Column("error", "Error before", "percent"),
        Column("trials", "In trials", "count"),
        Column("within", "Within band"),
    ]
    about = (
        f"{BAND} of 100 outcomes should lie between at least and at most. Each method was tried at every day of the past; the one that was "
        "least wrong is taken, and its errors make the band."
    )
    title = "Forecast and budget" if any(one.budget for one in found) else "Forecast"
    used = [name for name in MEANINGS if any(row["method"] == name for row in rows)]
    note = ". ".join(f"{name.capitalize()}: {MEANINGS[name]}" for name in used)
    return Panel("forecast", title, columns, rows, 12, about, note=note)


def _budgets() -> list[Column]:
    return [
        Column("budget", "Budget", "money"),
        Column("used", "Used", "used"),
        Column("expected", "Expected", "used"),
    ]


def _name(of: str) -> str:
    return "everything" if of == EVERYTHING else of.replace("cost_center:", "cost centre ").replace("team:", "team ")


def budget(desk: Desk, spent: Decimal) -> list[Figure]:
    """What of the budget is used in the one month that is looked at; none without a budget for all of it."""
    told = outlook.allowed(desk.shelf.config.budgets(desk.currency), desk.question, desk.viewer.sees)
    amount = told.get(EVERYTHING)
    if amount is None or len(desk.books) != 1 or not desk.window.is_months:
        return []
    newest = next(one for one in desk.ahead if one.of == EVERYTHING)
    beside = f"of {money(amount)} {desk.currency}"
    if newest.month == desk.book.month and newest.forecast.amount is not None:
        beside += f", {shown('percent', newest.of_budget(newest.end))} expected"
    return [Figure("Budget used", shown("percent", ratio(spent, amount)), "", beside, exact(amount), "#forecast")]
