"""What days to come may cost, by methods that are tested on the days there were.

Every method is asked what it would have said at each day of the past, knowing only the days before it, and is held against what
then came. The one that was least wrong is taken; the band around it is as wide as it was wrong.
"""

from bisect import insort
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

CENT = Decimal("0.01")
WEEK = 7
FEWEST_DAYS = 2 * WEEK
"""What a method must know at least before it says anything."""
FEWEST_TRIALS = 2 * WEEK
"""How often a method must have been tried before it is believed."""
FEWEST_BANDS = 5
"""How many bands of the past must have been tested before their number is told."""
LONGEST_DAYS = 26 * WEEK
"""What lies further back is not looked at."""
RATE_DAYS = 4 * WEEK
DRIFT_DAYS = 8 * WEEK
WORST = Decimal("0.5")
"""A method that is wrong by more than half of what comes, on average, says nothing. One that always expects next to nothing is wrong by
all of it, and must not be taken because others are wrong by more."""
BAND = 80
"""The percentage of outcomes that the band is made for: a tenth is below it, a tenth above."""

Costs = Sequence[Decimal]
Method = Callable[[Costs, int, int], Decimal]


def seasonal_naive(costs: Costs, skip: int, length: int) -> Decimal:
    """Every day costs what the same weekday cost in the last week."""
    week = costs[-WEEK:]
    rounds, rest = divmod(length, WEEK)
    return sum(week, Decimal(0)) * rounds + sum((week[(skip + day) % WEEK] for day in range(rest)), Decimal(0))


def drift(costs: Costs, skip: int, length: int) -> Decimal:
    """The last week goes on, rising or falling each day as it did from the first week of the last eight to the last of them."""
    known = costs[-DRIFT_DAYS:]
    first, last = (sum(week, Decimal(0)) / WEEK for week in (known[:WEEK], known[-WEEK:]))
    slope = (last - first) / (len(known) - WEEK)
    middle = WEEK // 2  # the mean of a week is what its middle day was worth
    steps = length * (skip + middle) + length * (length + 1) // 2
    return last * length + slope * steps


def run_rate(costs: Costs, skip: int, length: int) -> Decimal:
    """Every day costs the mean of the last four weeks."""
    known = costs[-RATE_DAYS:]
    return sum(known, Decimal(0)) / len(known) * length


METHODS: dict[str, Method] = {"seasonal naive": seasonal_naive, "drift": drift, "run rate": run_rate}
MEANINGS = {
    "seasonal naive": "each day costs what the same weekday cost in the last week",
    "drift": "the last week goes on, rising or falling as it did over the last eight weeks",
    "run rate": "each day costs the mean of the last four weeks",
    "exponential smoothing": "a level, weekdays and a trend, learned with the newest days counting most (AutoETS of statsforecast)",
    "theta": "a smoothed level, a part of the long trend, and weekdays (AutoTheta of statsforecast)",
}
"""What each method does, those of the extra `forecast` too."""


@dataclass(frozen=True)
class Trial:
    """One forecast of the past: how many days were known, and its error as a part of what then came."""

    known: int
    error: Decimal


@dataclass(frozen=True)
class Forecast:
    """What the days to come may cost, to the cent. Without enough past there is no amount, and `reason` says why.

    `error` is the mean size of the errors of `trials` forecasts of the past; `rivals` has that of every method. `covered` of
    `tested` outcomes were within the band that could have been told before them; null where too few could be tested.
    """

    amount: Decimal | None = None
    low: Decimal | None = None
    high: Decimal | None = None
    method: str | None = None
    error: Decimal | None = None
    trials: int = 0
    covered: int | None = None
    tested: int = 0
    rivals: tuple[tuple[str, Decimal], ...] = ()
    reason: str | None = None


def forecast(costs: Costs, skip: int, length: int) -> Forecast:
    """What `length` days cost together, that begin `skip` days after the last of `costs`."""
    known = costs[-LONGEST_DAYS:]
    needed = FEWEST_DAYS + skip + length + FEWEST_TRIALS - 1
    if len(known) < needed:
        what = f"{len(known)} days are known; {needed} are needed to test a forecast that far ahead"
        return Forecast(reason=what)
    methods, usable = METHODS, _tried(METHODS, known, skip, length, FEWEST_TRIALS)
    if usable and all(map(_mean_size, usable.values())):
        methods = METHODS | _models()
        # A model that failed at some days would be spared those on which it is worst.
        usable |= _tried(_models(), known, skip, length, max(map(len, usable.values())))
    means = {name: _mean_size(found) for name, found in usable.items()}
    if means and min(means.values()) > WORST:
        what = f"days differ too much: in the past even the best method was wrong by {min(means.values()):.0%}"
        return Forecast(reason=what)
    for name in sorted(usable, key=lambda one: means[one]):
        amount = methods[name](known, skip, length)
        if amount > CENT:
            rivals = tuple(means.items())
            return _banded(amount, name, usable[name], skip + length, rivals)
    return Forecast(reason="too few days of the past cost anything to test a forecast on")


def _models() -> dict[str, Method]:
    """The methods that come with the extra `forecast`; none without it. They take seconds to import, so that waits until here."""
    try:
        from trainfare.report.forecast_models import MODELS
    except ImportError:
        return {}
    return MODELS


def _tried(methods: Mapping[str, Method], costs: Costs, skip: int, length: int, fewest: int) -> dict[str, list[Trial]]:
    """The trials of every method that has so many of them."""
    found = {name: trials(method, costs, skip, length) for name, method in methods.items()}
    return {name: tried for name, tried in found.items() if len(tried) >= fewest}


def trials(method: Method, costs: Costs, skip: int, length: int) -> list[Trial]:
    """What the method would have said at each day of the past, and how wrong. Days that cost nothing have no such error."""
    found = []
    for known in range(FEWEST_DAYS, len(costs) - skip - length + 1):
        came = sum(costs[known + skip : known + skip + length], Decimal(0))
        said = method(costs[:known], skip, length)
        if came > 0 and said > 0:
            found.append(Trial(known, (said - came) / came))
    return found


def _mean_size(found: Sequence[Trial]) -> Decimal:
    return sum((abs(trial.error) for trial in found), Decimal(0)) / len(found)


def _banded(
    amount: Decimal, name: str, found: Sequence[Trial], ahead: int, rivals: tuple[tuple[str, Decimal], ...]
) -> Forecast:
    low, high = band(amount, sorted(trial.error for trial in found))
    covered, tested = coverage(found, ahead)
    return Forecast(
        amount.quantize(CENT),
        low.quantize(CENT),
        high.quantize(CENT),
        name,
        _mean_size(found),
        len(found),
        covered if tested >= FEWEST_BANDS else None,
        tested,
        rivals,
    )


def band(amount: Decimal, errors: Sequence[Decimal]) -> tuple[Decimal, Decimal]:
    """Between which amounts the outcome would lie if the error is one of the middle ones of these, which are sorted.

    said = (1 + error) x outcome, so the largest error gives the smallest outcome. The amount itself is always within.
    """
    tail = Decimal(100 - BAND) / 200
    low, high = amount / (1 + _quantile(errors, 1 - tail)), amount / (1 + _quantile(errors, tail))
    return min(low, amount), max(high, amount)


def _quantile(ordered: Sequence[Decimal], part: Decimal) -> Decimal:
    """The value below which this part of them lies, as if one more were drawn; within the smallest and the largest."""
    place = part * (len(ordered) + 1) - 1
    below = min(max(int(place), 0), len(ordered) - 1)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * min(max(place - below, Decimal(0)), Decimal(1))


def coverage(found: Sequence[Trial], ahead: int) -> tuple[int, int]:
    """How many outcomes were within their band, and of how many. A band is made only of errors that were known by then."""
    covered, tested = 0, 0
    ordered: list[Decimal] = []
    waiting = list(found)
    for trial in found:
        while waiting and waiting[0].known + ahead <= trial.known:
            insort(ordered, waiting.pop(0).error)
        if len(ordered) >= FEWEST_TRIALS:
            low, high = band(1 + trial.error, ordered)
            tested += 1
            covered += low <= 1 <= high
    return covered, tested
