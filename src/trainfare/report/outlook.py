"""How the newest month may end and what the next may cost, for everything and by label, and the budgets beside it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

from trainfare.period import Month
from trainfare.report import groups, keys
from trainfare.report.cost import Question
from trainfare.report.forecast import CENT, LONGEST_DAYS, MEANINGS, Forecast, forecast
from trainfare.report.opened import Opened

EVERYTHING = "all"
MONTHS = LONGEST_DAYS // 28 + 1
"""How many books are looked at."""
LABELS = ("team", "cost_center")
"""What budgets can be for, beside everything."""


@dataclass(frozen=True)
class Spent:
    """What one book says for one payer: billed money by day, and what of the month's money no bill says yet."""

    billed: Mapping[date, Decimal]
    estimated: Decimal = Decimal(0)


NOTHING = Spent({})


@dataclass(frozen=True)
class Seen:
    """A book as a forecast sees it. `by` has what each payer spent, everything under `all`."""

    month: Month
    through: datetime | None
    by: Mapping[str, Spent]


@dataclass(frozen=True)
class Outlook:
    """The newest month or the next, of one payer. `forecast` is of the whole month; a month that is billed to its end has none,
    because nothing is left to tell. Of a month without a book nothing is known so far.
    """

    of: str
    month: Month
    is_complete: bool
    so_far: Decimal | None
    estimated: Decimal | None
    forecast: Forecast
    budget: Decimal | None = None

    @property
    def end(self) -> Decimal | None:
        """What the month comes to: what it came to, or the forecast; null where there is none."""
        return self.so_far if self.is_complete else self.forecast.amount

    def of_budget(self, amount: Decimal | None) -> Decimal | None:
        """What part of the budget an amount is; null without either."""
        return None if amount is None or not self.budget else amount / self.budget

    @property
    def told(self) -> str:
        """How the forecast came about, or why there is none, in words."""
        found = self.forecast
        if found.method is None:
            return found.reason or ""
        bands = (
            f", {found.covered} of {found.tested} outcomes within the band told before them"
            if found.covered is not None
            else ""
        )
        others = ", ".join(f"{name} by {error:.1%}" for name, error in found.rivals if name != found.method)
        return (
            f"by {found.method} ({MEANINGS[found.method]}); over {found.trials} forecasts of the past it was wrong by "
            f"{found.error:.1%} on average{bands}" + (f"; {others}" if others else "")
        )

    def record(self) -> dict[str, Any]:
        told = self.forecast
        return {
            "of": self.of,
            "month": str(self.month),
            "state": "complete" if self.is_complete else "forecast" if told.amount is not None else "not known",
            "so_far": self.so_far,
            "estimated": self.estimated,
            "forecast": told.amount,
            "low": told.low,
            "high": told.high,
            "method": told.method,
            "error": _part(told.error),
            "trials": told.trials or None,
            "covered": told.covered,
            "tested": told.tested or None,
            "budget": self.budget,
            "used": _part(self.of_budget(self.so_far)),
            "expected": _part(self.of_budget(self.end)),
            "reason": told.reason,
        }


def _part(value: Decimal | None) -> Decimal | None:
    return None if value is None else value.quantize(Decimal("0.0001"))


def seen(opened: Opened, question: Question, labels: Sequence[str] = ()) -> Seen:
    """One opened book, with everything and with every value of these labels."""
    (book,) = opened.books
    by = {EVERYTHING: _spent(opened, question, None).get(None, NOTHING)}
    for label in labels:
        found = _spent(opened, question, label)
        by |= {f"{label}:{value}": spent for value, spent in found.items() if value is not None}
    return Seen(book.month, book.complete_through, by)


def _spent(opened: Opened, question: Question, label: str | None) -> dict[str | None, Spent]:
    value = keys.of_share(label) if label else "CAST(NULL AS VARCHAR)"
    rows = opened.engine.rows(
        f"SELECT {value} AS value, s.day, coalesce(s.origin = 'estimate', false) AS is_estimated, sum(s.{question.basis}) "
        f"FROM {groups.paid(opened, question.slice, [label] if label else [])} GROUP BY ALL ORDER BY ALL"
    )
    billed: dict[str | None, dict[date, Decimal]] = {}
    estimated: dict[str | None, Decimal] = {}
    for name, day, is_estimated, cost in rows:
        billed.setdefault(name, {})
        if is_estimated:
            estimated[name] = estimated.get(name, Decimal(0)) + cost
        else:
            billed[name][day] = cost
    return {name: Spent(days, estimated.get(name, Decimal(0))) for name, days in billed.items()}


def outlooks(books: Sequence[Seen], budgets: Mapping[str, Decimal], of: Sequence[str] = ()) -> list[Outlook]:
    """The newest month and the next: of everything, of everybody who has a budget for a month, and of these payers."""
    known = list(_in_a_row(books))
    payers = dict.fromkeys([EVERYTHING, *budgets, *of])
    return [one for payer in payers for one in _of_payer(known, known[-1], payer, budgets.get(payer))]


def allowed(
    budgets: Mapping[str, Decimal], question: Question, sees: Sequence[str] | None = None
) -> dict[str, Decimal]:
    """The budgets that can be held against what is asked about, by somebody who sees these labels, or everything.

    Where all that is asked about is one label's, its budget is that of `all`. Budgets are for the full scope.
    """
    if question.scope != "full":
        return {}
    own = {of: amount for of, amount in budgets.items() if sees is None or of in sees}
    asked = [f"{key}:{value}" for key, values in question.only for value in values]
    if asked:
        return {EVERYTHING: own[asked[0]]} if len(asked) == 1 and asked[0] in own else {}
    if sees is not None and len(sees) == 1 and sees[0] in own:
        return {EVERYTHING: own[sees[0]]}
    return own


def values(books: Sequence[Seen], label: str) -> list[str]:
    """The values of a label in the newest book, dearest first, as payers."""
    found = {name: sum(spent.billed.values(), spent.estimated) for name, spent in books[-1].by.items()}
    return sorted((name for name in found if name.startswith(f"{label}:")), key=lambda name: (-found[name], name))


def _in_a_row(books: Sequence[Seen]) -> Iterator[Seen]:
    """The last books without a month missing between them."""
    start = len(books) - 1
    while start > 0 and books[start - 1].month.next() == books[start].month:
        start -= 1
    yield from books[start:]


def _of_payer(books: Sequence[Seen], newest: Seen, payer: str, budget: Decimal | None) -> Iterator[Outlook]:
    spent = newest.by.get(payer, NOTHING)
    so_far = sum(spent.billed.values(), spent.estimated)
    last = _last_whole_day(newest)
    end, following = newest.month.end.date(), newest.month.next()
    if last is None:
        none = Forecast(reason=f"the bill of {newest.month} does not say up to when it is complete")
        yield Outlook(payer, newest.month, False, so_far, spent.estimated, none, budget)
        yield Outlook(payer, following, False, None, None, none, budget)
        return
    costs = _history(books, payer, last)
    left = (end - last).days - 1
    told = Forecast(reason="the month is billed to its end")
    if left:
        base = sum((cost for day, cost in spent.billed.items() if day <= last or day >= end), Decimal(0))
        told = _whole(forecast(costs, 0, left), base, so_far - spent.estimated)
    yield Outlook(payer, newest.month, not left, so_far, spent.estimated, told, budget)
    days = (following.end - following.start).days
    yield Outlook(payer, following, False, None, None, forecast(costs, left, days), budget)


def _last_whole_day(book: Seen) -> date | None:
    """The last day that the bill is complete for, at the earliest the one before the month; null if it does not say."""
    if book.through is None:
        return None
    return min(max(book.through, book.month.start), book.month.end).date() - timedelta(days=1)


def _history(books: Sequence[Seen], payer: str, last: date) -> list[Decimal]:
    """What each day cost, from the first that cost anything. Days of a book that are not in its month are left out."""
    found: dict[date, Decimal] = {}
    for book in books:
        billed = book.by.get(payer, NOTHING).billed
        found |= {day: cost for day, cost in billed.items() if Month.of(day) == book.month and day <= last}
    if not found:
        return []
    first = min(found)
    return [found.get(first + timedelta(days=number), Decimal(0)) for number in range((last - first).days + 1)]


def _whole(rest: Forecast, base: Decimal, billed: Decimal) -> Forecast:
    """The forecast of a whole month from that of its rest. It is never less than what is billed already."""
    if rest.amount is None or rest.low is None or rest.high is None:
        return rest
    amount, low, high = (max(base + part, billed).quantize(CENT) for part in (rest.amount, rest.low, rest.high))
    return replace(rest, amount=amount, low=low, high=high)
