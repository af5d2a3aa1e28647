"""Forecast the cost of future days with methods that are backtested on past days.

Every method forecasts each past day from the days before it, and is compared with the actual cost. The method with the
smallest mean error is used; its errors determine the prediction interval.
"""

from bisect import insort
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

CENT = Decimal("0.01")
WEEK = 7
MIN_DAYS = 2 * WEEK
"""The days that a method needs for a forecast."""
MIN_BACKTESTS = 2 * WEEK
"""The backtests that a method needs before it is used."""
MIN_INTERVALS = 5
"""The past intervals that must have been tested before their coverage is reported."""
MAX_DAYS = 26 * WEEK
"""Older days are ignored."""
RATE_DAYS = 4 * WEEK
DRIFT_DAYS = 8 * WEEK
MAX_ERROR = Decimal("0.5")
"""A method with a larger mean error, as a fraction of the actual cost, is not used. One that always forecasts almost
zero has an error of 1, and must not be used because others have larger errors.
"""
INTERVAL_PERCENT = 80
"""The percentage of outcomes that the prediction interval should contain: a tenth is below it, a tenth above."""

Costs = Sequence[Decimal]
Method = Callable[[Costs, int, int], Decimal]


def seasonal_naive(costs: Costs, skip: int, length: int) -> Decimal:
    """Assume that every day costs what the same weekday cost in the last week."""
    week = costs[-WEEK:]
    rounds, rest = divmod(length, WEEK)
    return sum(week, Decimal(0)) * rounds + sum((week[(skip + day) % WEEK] for day in range(rest)), Decimal(0))


def drift(costs: Costs, skip: int, length: int) -> Decimal:
    """Continue the last week, rising or falling each day as it did from the first to the last of eight weeks."""
    known = costs[-DRIFT_DAYS:]
    first, last = (sum(week, Decimal(0)) / WEEK for week in (known[:WEEK], known[-WEEK:]))
    slope = (last - first) / (len(known) - WEEK)
    middle = WEEK // 2  # the mean of a week is the trend at its middle day
    steps = length * (skip + middle) + length * (length + 1) // 2
    return last * length + slope * steps


def run_rate(costs: Costs, skip: int, length: int) -> Decimal:
    """Assume that every day costs the mean of the last four weeks."""
    known = costs[-RATE_DAYS:]
    return sum(known, Decimal(0)) / len(known) * length


METHODS: dict[str, Method] = {"seasonal naive": seasonal_naive, "drift": drift, "run rate": run_rate}
METHOD_DESCRIPTIONS = {
    "seasonal naive": "each day costs what the same weekday cost in the last week",
    "drift": "the last week continues, rising or falling as it did over the last eight weeks",
    "run rate": "each day costs the mean of the last four weeks",
    "exponential smoothing": "a level, weekdays and a trend, recent days weighted most (AutoETS of statsforecast)",
    "theta": "a smoothed level, part of the long-term trend, and weekdays (AutoTheta of statsforecast)",
}
"""What each method does, including those of the extra `forecast`."""


@dataclass(frozen=True)
class Backtest:
    """One forecast of the past: the number of known days, and the error as a fraction of the actual cost."""

    known: int
    error: Decimal


@dataclass(frozen=True)
class Forecast:
    """The forecast cost of future days, to the cent.

    Without enough past days there is no amount, and `reason` says why.
    `error` is the mean absolute error of `backtests` forecasts of the past; `method_errors` has that of every method.
    `covered` of `tested` outcomes were inside the interval predicted before them; null if too few could be tested.
    """

    amount: Decimal | None = None
    low: Decimal | None = None
    high: Decimal | None = None
    method: str | None = None
    error: Decimal | None = None
    backtests: int = 0
    covered: int | None = None
    tested: int = 0
    method_errors: tuple[tuple[str, Decimal], ...] = ()
    reason: str | None = None


def forecast(costs: Costs, skip: int, length: int) -> Forecast:
    """Forecast the total cost of `length` days that begin `skip` days after the last of `costs`."""
    known = costs[-MAX_DAYS:]
    needed = MIN_DAYS + skip + length + MIN_BACKTESTS - 1
    if len(known) < needed:
        what = f"{len(known)} days are known; {needed} are needed to backtest a forecast that far ahead"
        return Forecast(reason=what)
    methods, usable = METHODS, _backtested(METHODS, known, skip, length, MIN_BACKTESTS)
    if usable and all(map(_mean_error, usable.values())):
        methods = METHODS | _models()
        # A model that fails on some days would be spared the days on which it is worst.
        usable |= _backtested(_models(), known, skip, length, max(map(len, usable.values())))
    means = {name: _mean_error(found) for name, found in usable.items()}
    if means and min(means.values()) > MAX_ERROR:
        what = f"cost varies too much: even the best method had a mean error of {min(means.values()):.0%}"
        return Forecast(reason=what)
    for name in sorted(usable, key=lambda one: means[one]):
        amount = methods[name](known, skip, length)
        if amount > CENT:
            found = _with_interval(amount, usable[name], skip + length)
            return replace(found, method=name, method_errors=tuple(means.items()))
    return Forecast(reason="too few past days have any cost to backtest a forecast")


def _models() -> dict[str, Method]:
    """Return the methods of the extra `forecast`; none without it. Importing them takes seconds, so it happens here."""
    try:
        from trainfare.report.forecast_models import MODELS
    except ImportError:
        return {}
    return MODELS


def _backtested(
    methods: Mapping[str, Method], costs: Costs, skip: int, length: int, minimum: int
) -> dict[str, list[Backtest]]:
    """Return the backtests of every method that has at least `minimum` of them."""
    found = {name: backtests(method, costs, skip, length) for name, method in methods.items()}
    return {name: tested for name, tested in found.items() if len(tested) >= minimum}


def backtests(method: Method, costs: Costs, skip: int, length: int) -> list[Backtest]:
    """Return the forecast for each past day and its error. Days without cost have no relative error."""
    found = []
    for known in range(MIN_DAYS, len(costs) - skip - length + 1):
        actual = sum(costs[known + skip : known + skip + length], Decimal(0))
        predicted = method(costs[:known], skip, length)
        if actual > 0 and predicted > 0:
            found.append(Backtest(known, (predicted - actual) / actual))
    return found


def _mean_error(found: Sequence[Backtest]) -> Decimal:
    return sum((abs(test.error) for test in found), Decimal(0)) / len(found)


def _with_interval(amount: Decimal, found: Sequence[Backtest], ahead: int) -> Forecast:
    low, high = prediction_interval(amount, sorted(test.error for test in found))
    covered, tested = coverage(found, ahead)
    return Forecast(
        amount=amount.quantize(CENT),
        low=low.quantize(CENT),
        high=high.quantize(CENT),
        error=_mean_error(found),
        backtests=len(found),
        covered=covered if tested >= MIN_INTERVALS else None,
        tested=tested,
    )


def prediction_interval(amount: Decimal, errors: Sequence[Decimal]) -> tuple[Decimal, Decimal]:
    """Return the amounts between which the outcome lies if its error is among the middle ones of these sorted errors.

    forecast = (1 + error) x outcome, so the largest error gives the smallest outcome. The interval contains the amount.
    """
    tail = Decimal(100 - INTERVAL_PERCENT) / 200
    low, high = amount / (1 + _quantile(errors, 1 - tail)), amount / (1 + _quantile(errors, tail))
    return min(low, amount), max(high, amount)


def _quantile(ordered: Sequence[Decimal], part: Decimal) -> Decimal:
    """Return the value below which this fraction lies, as if one more were drawn; never outside the given values."""
    rank = part * (len(ordered) + 1) - 1
    below = min(max(int(rank), 0), len(ordered) - 1)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * min(max(rank - below, Decimal(0)), Decimal(1))


def coverage(found: Sequence[Backtest], ahead: int) -> tuple[int, int]:
    """Return how many outcomes were inside their interval, and of how many.

    An interval uses only errors known by then.
    """
    covered, tested = 0, 0
    ordered: list[Decimal] = []
    waiting = list(found)
    for test in found:
        while waiting and waiting[0].known + ahead <= test.known:
            insort(ordered, waiting.pop(0).error)
        if len(ordered) >= MIN_BACKTESTS:
            low, high = prediction_interval(1 + test.error, ordered)
            tested += 1
            covered += low <= 1 <= high
    return covered, tested
