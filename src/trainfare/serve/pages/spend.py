"""Spend by month and by day, the forecast, and the budget."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

from trainfare.money import decimal_text
from trainfare.period import Month
from trainfare.query import conversions, trend
from trainfare.query.conversions import Conversion
from trainfare.query.open_books import OpenBooks
from trainfare.query.selection import PAYER_KINDS, Selection
from trainfare.report import outlook
from trainfare.report.forecast import INTERVAL_PERCENT, METHOD_DESCRIPTIONS
from trainfare.report.outlook import EVERYTHING, Outlook
from trainfare.report.render import money
from trainfare.serve.pages.context import RequestContext
from trainfare.serve.pages.figures import TOTAL, Link, chart_link
from trainfare.serve.pages.panel import (
    Column,
    Panel,
    Record,
    SeriesField,
    Stat,
    billed_and_estimated,
    format_value,
    ratio,
)
from trainfare.store import Book

PAYER_NAMES = {
    "jobs": "Allocated",
    "idle": "Idle",
    "unallocated": "Unallocated",
    "outside": "Non-training",
}
MOST_MONTHS = 24
INTERVAL = f"{INTERVAL_PERCENT} % prediction interval"
LOW_COVERAGE = Decimal("0.5")
"""Below this part of past outcomes inside the interval, the forecast is marked as unreliable."""


def by_month(context: RequestContext) -> Panel:
    """Every month with a book, regardless of the window, and the next one: a trend needs its history."""
    question = replace(context.question, days=None)
    books = context.current_books[-MOST_MONTHS:]
    currency = (question.currency, question.basis)
    sums = [
        _sums(context.run(trend.by_origin, question, books=[book]))
        if context.run(_has, *currency, books=[book])
        else None
        for book in books
    ]
    forecasts = {one.month: one for one in context.outlooks if one.scope == EVERYTHING}
    rows: list[dict[str, Any]] = [
        {"month": str(book.month), "state": "closed" if context.closing(book) else "open"}
        | ({} if found is None else _by_payer_kind(found))
        | _interval(forecasts.get(book.month))
        for book, found in zip(books, sums, strict=True)
    ]
    rows += [
        {"month": str(one.month), "state": "forecast"} | _interval(one)
        for one in forecasts.values()
        if one.so_far is None and one.forecast.amount
    ]

    def month_link(row: Record) -> Link | None:
        """The overview of a month; a month that is only forecast has none."""
        days = {"from_": row["month"], "to": row["month"]}
        return context.drill("/", TOTAL, row.get("total"), **days, currency=context.currency)

    columns = [
        Column("month", "Month", "key", month_link),
        Column("state", "Status"),
        *_money_columns(context, lambda row: {"from_": row["month"], "to": row["month"], "currency": context.currency}),
        Column("forecast", "Forecast", "money"),
        Column("low", "Low", "money"),
        Column("high", "High", "money"),
    ]
    chart = _month_chart(context, rows, forecasts.values())
    chart |= bar_links([month_link(row) for row in rows])
    about = "Dashed: forecast. Click a month to open it."
    return Panel("by-month", "Spend by month and forecast", columns, rows, 5, about, chart)


def _has(opened: OpenBooks, currency: str, basis: str) -> bool:
    """Whether the bill states anything in this currency, on this cost basis."""
    return currency in opened.currencies and basis in opened.known_bases(currency)


def _month_chart(context: RequestContext, rows: Sequence[Record], forecasts: Collection[Outlook]) -> dict[str, Any]:
    built = [row for row in rows if row["state"] != "forecast"]
    budget = next((one.budget for one in forecasts), None)
    lines = [{"name": "Budget", "values": [decimal_text(budget)] * len(rows)}] if budget else []
    return {
        "kind": "bars",
        "unit": context.currency,
        "stacked": True,
        "labels": [f"{Month.parse(row['month']).start:%b %Y}" for row in rows],
        "series": [*payer_kind_series(built), *_forecast_series(rows)],
        "totals": [decimal_text(row.get("total")) for row in rows],
        "intervals": {
            "name": f"{INTERVAL}, unreliable" if any(_is_unreliable(one) for one in forecasts) else INTERVAL,
            "ranges": [
                [index, decimal_text(row["low"]), decimal_text(row["high"])]
                for index, row in enumerate(rows)
                if row["forecast"]
            ],
        },
        "lines": lines,
    }


def _interval(one: Outlook | None) -> dict[str, Any]:
    """The forecast of a month and its prediction interval."""
    found = one.forecast if one else None
    return {
        "forecast": found.amount if found else None,
        "low": found.low if found else None,
        "high": found.high if found else None,
    }


def _forecast_series(rows: Sequence[Record]) -> list[dict[str, Any]]:
    """What is still expected in each month: its forecast minus what is already in its book."""
    if not any(row["forecast"] for row in rows):
        return []
    rest = [decimal_text(row["forecast"] - (row.get("total") or 0)) if row["forecast"] else None for row in rows]
    return [{"name": "Forecast", "values": rest, "outlined": True}]


Sums = Mapping[tuple[str, bool], Decimal]


def _sums(found: Iterable[Record]) -> Sums:
    """Cost by payer kind and by whether it is estimated."""
    sums: dict[tuple[str, bool], Decimal] = {}
    for row in found:
        key = (row["payer"], row["is_estimated"])
        sums[key] = sums.get(key, Decimal(0)) + row["cost"]
    return sums


def _by_payer_kind(sums: Sums) -> dict[str, Decimal]:
    """A table row: the cost of each payer kind and the total, each with its estimated part."""
    row = {kind: sums.get((kind, False), Decimal(0)) + sums.get((kind, True), Decimal(0)) for kind in PAYER_KINDS}
    estimated = {f"{kind}_estimated": sums.get((kind, True), Decimal(0)) for kind in PAYER_KINDS}
    totals = {"total": sum(row.values(), Decimal(0)), "estimated": sum(estimated.values(), Decimal(0))}
    return row | estimated | totals


def _money_columns(context: RequestContext, period: Callable[[Record], dict[str, object]]) -> list[Column]:
    """The cost of each kind of payer and the total, each with the link to its cost trace."""

    def trace(kind: str) -> Callable[[Record], Link | None]:
        return lambda row: context.drill_kind("/cost-trace", TOTAL, row.get(kind), kind, **period(row))

    def total(row: Record) -> Link | None:
        return context.drill("/cost-trace", TOTAL, row.get("total"), **period(row))

    kinds = [
        Column(
            kind,
            PAYER_NAMES[kind],
            "money",
            trace(kind) if context.selects(kind) else None,
            estimated=f"{kind}_estimated",
        )
        for kind in PAYER_KINDS
    ]
    return [*kinds, Column("total", f"Total {context.currency}", "money", total, estimated="estimated")]


def bar_links(links: Sequence[Link | None]) -> dict[str, Any]:
    """The fields of a chart of bars: where each leads, and the question of its total."""
    found = [chart_link(link) for link in links]
    return {"links": [one["link"] for one in found], "questions": [one["question"] for one in found]}


def payer_kind_series(rows: Sequence[Record]) -> list[dict[str, Any]]:
    """Chart series of the cost of each payer kind, billed and estimated."""
    fields = [SeriesField(PAYER_NAMES[kind], kind, kind, f"{kind}_estimated") for kind in PAYER_KINDS]
    return billed_and_estimated(fields, rows)


def by_day(context: RequestContext) -> Panel:
    found = context.run(trend.by_origin, context.question)
    days = sorted({row["day"] for row in found})
    sums = [_sums(row for row in found if row["day"] == day) for day in days]
    rows: list[dict[str, Any]] = [{"day": day} | _by_payer_kind(one) for day, one in zip(days, sums, strict=True)]
    chart = {
        "kind": "bars",
        "unit": context.currency,
        "stacked": True,
        "labels": [f"{day:%-d %b}" for day in days],
        "long_labels": [f"{day:%A, %-d %B %Y}" for day in days],
        "days": [day.isoformat() for day in days],
        "series": payer_kind_series(rows),
        "totals": [decimal_text(row["total"]) for row in rows],
    }

    def day_link(row: Record) -> Link | None:
        return context.drill("/cost-trace", TOTAL, row["total"], day=row["day"])

    chart |= bar_links([day_link(row) for row in rows])
    columns = [Column("day", "Day", "day", day_link), *_money_columns(context, lambda row: {"day": row["day"]})]
    about = "Click a day to trace its cost, drag across days to zoom in. Click a legend entry to show it alone."
    note = "; ".join(conversions.describe(applied_rates(context, context.books)))
    note = note[:1].upper() + note[1:]
    return Panel("by-day", "Spend by day", columns, rows, 7, about, chart, foot=_by_payer_kind(_sums(found)), note=note)


def applied_rates(context: RequestContext, books: Sequence[Book]) -> list[Conversion]:
    """The exchange rates applied in these books. Bill lines have no team, so filters do not apply."""
    question = context.question
    charges = Selection(question.currency, question.scope).money
    return context.run(conversions.applied_conversions, charges, question.basis, books=books)


def forecast(context: RequestContext) -> Panel:
    """The newest month and the next, for everything and for everyone with a budget."""
    found = context.outlooks
    has_budget = any(one.budget for one in found)
    rows = [one.record() for one in found]
    for row in rows:
        row["scope"] = _scope(row["scope"])
        row["how"] = row["method"] or row["reason"]
        row["inside"] = _coverage(row["covered"], row["tested"])
    columns = [
        Column("scope", "Scope", "key"),
        Column("month", "Month", "key"),
        Column("so_far", f"To date {context.currency}", "money", estimated="estimated"),
        Column("forecast", f"Forecast {context.currency}", "money"),
        Column("low", "Low", "money"),
        Column("high", "High", "money"),
        *(_budget_columns() if has_budget else ()),
        Column("how", "Method", "wide"),
        Column("error", "Mean error", "percent"),
        Column("backtests", "Backtests", "count"),
        Column("inside", "Inside interval"),
    ]
    about = (
        f"Low to high is the {INTERVAL}. Every method is backtested on each past day; the one with the smallest mean "
        "error is used, and its errors determine the interval."
    )
    title = "Forecast and budget" if has_budget else "Forecast"
    used = [name for name in METHOD_DESCRIPTIONS if any(row["method"] == name for row in rows)]
    note = ". ".join(f"{name.capitalize()}: {METHOD_DESCRIPTIONS[name]}" for name in used)
    return Panel("forecast", title, columns, rows, 12, about, note=note)


def _coverage(covered: int | None, tested: int | None) -> str | None:
    """How many past outcomes were inside the interval that was predicted for them."""
    if covered is None or not tested:
        return None
    return f"{covered} of {tested}{', unreliable' if covered < LOW_COVERAGE * tested else ''}"


def _is_unreliable(one: Outlook) -> bool:
    """Whether the interval contained less than half of the past outcomes it was predicted for."""
    found = one.forecast
    return found.covered is not None and bool(found.tested) and found.covered < LOW_COVERAGE * (found.tested or 0)


def _budget_columns() -> list[Column]:
    return [
        Column("budget", "Budget", "money"),
        Column("used", "Used", "used"),
        Column("expected", "Expected", "used"),
    ]


def _scope(of: str) -> str:
    return "Everything" if of == EVERYTHING else of.replace("cost_center:", "Cost center ").replace("team:", "Team ")


def budget_stats(context: RequestContext, spent: Decimal) -> list[Stat]:
    """How much of the budget is used in the selected month; empty without a budget that covers all of it."""
    budgets = outlook.applicable_budgets(
        context.book_reader.config.budgets(context.currency), context.question, context.viewer.visibility
    )
    amount = budgets.get(EVERYTHING)
    if amount is None or len(context.books) != 1 or not context.window.of_books:
        return []
    newest = next(one for one in context.outlooks if one.scope == EVERYTHING)
    detail = f"of {money(amount)} {context.currency}"
    if newest.month == context.book.month and newest.forecast.amount is not None:
        detail += f", {format_value('percent', newest.budget_fraction(newest.end))} expected"
    used = format_value("percent", ratio(spent, amount))
    return [Stat("Budget used", used, "", detail, decimal_text(amount))]
