"""Forecasts of the newest month and the next, in total and by label, compared with budgets."""

import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

from trainfare.period import Month
from trainfare.query import groups, keys
from trainfare.query.cost import Question
from trainfare.query.open_books import OpenBooks
from trainfare.report.forecast import CENT, MAX_DAYS, METHOD_DESCRIPTIONS, Forecast, forecast

EVERYTHING = "all"
HISTORY_MONTHS = MAX_DAYS // 28 + 1
"""The number of books that forecasts use."""
BUDGET_LABELS = ("team", "cost_center")
"""The labels that budgets can be for, besides everything."""


@dataclass(frozen=True)
class PayerSpend:
    """The cost of one payer in one book: billed cost by day, and the estimated cost of the month."""

    billed: Mapping[date, Decimal]
    estimated: Decimal = Decimal(0)


NO_SPEND = PayerSpend({})


@dataclass(frozen=True)
class BookSpend:
    """The input of forecasts from one book. `by` has the cost of each payer, and the total under `all`."""

    month: Month
    through: datetime | None
    by: Mapping[str, PayerSpend]


@dataclass(frozen=True)
class Outlook:
    """The newest month or the next, for everything or one payer.

    `forecast` covers the entire month; a month that is fully billed has none. A month without a book has no cost so
    far.
    """

    scope: str
    month: Month
    is_complete: bool
    so_far: Decimal | None
    estimated: Decimal | None
    forecast: Forecast
    budget: Decimal | None = None

    @property
    def end(self) -> Decimal | None:
        """Return the total of the month: its actual cost, or the forecast; None without either."""
        return self.so_far if self.is_complete else self.forecast.amount

    def budget_fraction(self, amount: Decimal | None) -> Decimal | None:
        """Return an amount as a fraction of the budget; None without either."""
        return None if amount is None or not self.budget else amount / self.budget

    @property
    def explanation(self) -> str:
        """Return how the forecast was made, or why there is none."""
        found = self.forecast
        if found.method is None:
            return found.reason or ""
        inside = "" if found.covered is None else f", {found.covered} of {found.tested} outcomes inside the interval"
        others = ", ".join(f"{name} {error:.1%}" for name, error in found.method_errors if name != found.method)
        return (
            f"{found.method} ({METHOD_DESCRIPTIONS[found.method]}); mean error {found.error:.1%} "
            f"in {found.backtests} backtests{inside}" + (f"; other methods: {others}" if others else "")
        )

    def record(self) -> dict[str, Any]:
        found = self.forecast
        return {
            "scope": self.scope,
            "month": str(self.month),
            "state": "complete" if self.is_complete else "forecast" if found.amount is not None else "unknown",
            "so_far": self.so_far,
            "estimated": self.estimated,
            "forecast": found.amount,
            "low": found.low,
            "high": found.high,
            "method": found.method,
            "error": _part(found.error),
            "backtests": found.backtests or None,
            "covered": found.covered,
            "tested": found.tested or None,
            "budget": self.budget,
            "used": _part(self.budget_fraction(self.so_far)),
            "expected": _part(self.budget_fraction(self.end)),
            "reason": found.reason,
        }


def _part(value: Decimal | None) -> Decimal | None:
    return None if value is None else value.quantize(Decimal("0.0001"))


def book_spend(opened: OpenBooks, question: Question, labels: Sequence[str] = ()) -> BookSpend:
    """Return the cost of one open book, in total and for every value of these labels."""
    (book,) = opened.books
    by = {EVERYTHING: _spent(opened, question, None).get(None, NO_SPEND)}
    for label in labels:
        found = _spent(opened, question, label)
        by |= {f"{label}:{value}": spent for value, spent in found.items() if value is not None}
    return BookSpend(book.month, book.complete_through, by)


def _spent(opened: OpenBooks, question: Question, label: str | None) -> dict[str | None, PayerSpend]:
    value = keys.share_sql(label) if label else "CAST(NULL AS VARCHAR)"
    rows = opened.engine.rows(
        f"SELECT {value} AS value, s.day, s.estimated AS is_estimated, "
        f"sum(s.{question.basis}) "
        f"FROM {groups.selected_shares(opened, question.selection, [label] if label else [])} GROUP BY ALL ORDER BY ALL"
    )
    billed: dict[str | None, dict[date, Decimal]] = {}
    estimated: dict[str | None, Decimal] = {}
    for name, day, is_estimated, cost in rows:
        billed.setdefault(name, {})
        if is_estimated:
            estimated[name] = estimated.get(name, Decimal(0)) + cost
        else:
            billed[name][day] = cost
    return {name: PayerSpend(days, estimated.get(name, Decimal(0))) for name, days in billed.items()}


def outlooks(books: Sequence[BookSpend], budgets: Mapping[str, Decimal], others: Sequence[str] = ()) -> list[Outlook]:
    """Return the newest month and the next: for everything, for every payer with a budget, and for these others."""
    known = list(_consecutive(books))
    payers = dict.fromkeys([EVERYTHING, *budgets, *others])
    return [one for payer in payers for one in _payer_outlooks(known, known[-1], payer, budgets.get(payer))]


def applicable_budgets(
    budgets: Mapping[str, Decimal], question: Question, visibility: Sequence[str] | None = None
) -> dict[str, Decimal]:
    """Return the budgets that apply to a question, for a viewer who sees these labels, or everything.

    If the question covers a single label, the budget of that label is the budget of `all`. Budgets are for the full
    scope.
    """
    if question.scope != "full":
        return {}
    own = {payer: amount for payer, amount in budgets.items() if visibility is None or payer in visibility}
    requested = [f"{key}:{value}" for key, values in question.filters for value in values]
    if requested:
        return {EVERYTHING: own[requested[0]]} if len(requested) == 1 and requested[0] in own else {}
    if visibility is not None and len(visibility) == 1 and visibility[0] in own:
        return {EVERYTHING: own[visibility[0]]}
    return own


def unmatched_budgets(books: Sequence[BookSpend], budgets: Mapping[str, Decimal]) -> dict[str, str]:
    """Return the budgets of names that no book has, each with the closest name that one has, or an empty text."""
    names = {name for book in books for name in book.by}
    unmatched = {}
    for payer in budgets.keys() - names - {EVERYTHING}:
        label, _, value = payer.partition(":")
        values = sorted(name.removeprefix(f"{label}:") for name in names if name.startswith(f"{label}:"))
        unmatched[payer] = next(iter(difflib.get_close_matches(value, values, 1)), "")
    return dict(sorted(unmatched.items()))


def label_payers(books: Sequence[BookSpend], label: str) -> list[str]:
    """Return the values of a label in the newest book as payers, highest cost first."""
    found = {name: sum(spent.billed.values(), spent.estimated) for name, spent in books[-1].by.items()}
    return sorted((name for name in found if name.startswith(f"{label}:")), key=lambda name: (-found[name], name))


def _consecutive(books: Sequence[BookSpend]) -> Iterator[BookSpend]:
    """Yield the last books without a missing month between them."""
    start = len(books) - 1
    while start > 0 and books[start - 1].month.next() == books[start].month:
        start -= 1
    yield from books[start:]


def _payer_outlooks(
    books: Sequence[BookSpend], newest: BookSpend, payer: str, budget: Decimal | None
) -> Iterator[Outlook]:
    spent = newest.by.get(payer, NO_SPEND)
    so_far = sum(spent.billed.values(), spent.estimated)
    last = _last_complete_day(newest)
    end, following = newest.month.end.date(), newest.month.next()
    if last is None:
        none = Forecast(reason=f"the bill of {newest.month} does not state how far it is complete")
        yield Outlook(payer, newest.month, False, so_far, spent.estimated, none, budget)
        yield Outlook(payer, following, False, None, None, none, budget)
        return
    costs = _history(books, payer, last)
    left = (end - last).days - 1
    month_forecast = Forecast(reason="the month is fully billed")
    if left:
        base = sum((cost for day, cost in spent.billed.items() if day <= last or day >= end), Decimal(0))
        month_forecast = _entire_month(forecast(costs, 0, left), base, so_far - spent.estimated)
    yield Outlook(payer, newest.month, not left, so_far, spent.estimated, month_forecast, budget)
    days = (following.end - following.start).days
    yield Outlook(payer, following, False, None, None, forecast(costs, left, days), budget)


def _last_complete_day(book: BookSpend) -> date | None:
    """Return the last day that the bill covers, at the earliest the day before the month; None if unknown."""
    if book.through is None:
        return None
    return min(max(book.through, book.month.start), book.month.end).date() - timedelta(days=1)


def _history(books: Sequence[BookSpend], payer: str, last: date) -> list[Decimal]:
    """Return the cost of each day, from the first with any cost. Days of a book outside its month are left out."""
    found: dict[date, Decimal] = {}
    for book in books:
        billed = book.by.get(payer, NO_SPEND).billed
        found |= {day: cost for day, cost in billed.items() if Month.of(day) == book.month and day <= last}
    if not found:
        return []
    first = min(found)
    return [found.get(first + timedelta(days=number), Decimal(0)) for number in range((last - first).days + 1)]


def _entire_month(rest: Forecast, base: Decimal, billed: Decimal) -> Forecast:
    """Return the forecast of an entire month from that of its rest. It is never less than what is already billed."""
    if rest.amount is None or rest.low is None or rest.high is None:
        return rest
    amount, low, high = (max(base + part, billed).quantize(CENT) for part in (rest.amount, rest.low, rest.high))
    return replace(rest, amount=amount, low=low, high=high)
