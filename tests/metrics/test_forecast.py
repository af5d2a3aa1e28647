"""Forecasts are tested on the past they are made from, and say nothing where that is too short."""

import random
import sys
from collections.abc import Iterator
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainfare.report.forecast import BAND, FEWEST_DAYS, FEWEST_TRIALS, METHODS, coverage, forecast, trials

MONTH = 30
NEEDED = FEWEST_DAYS + MONTH + FEWEST_TRIALS - 1


@pytest.fixture(autouse=True, scope="module")
def plain() -> Iterator[None]:
    """Without the extra: what its models add is tested beside this."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setitem(sys.modules, "statsforecast.models", None)
        patched.delitem(sys.modules, "trainfare.report.forecast_models", raising=False)
        yield


amounts = st.decimals(min_value=1, max_value=10_000, places=2)


def days(count: int, weekend: str = "1", growth: str = "0", noise: float = 0, seed: int = 1) -> list[Decimal]:
    """Days of about 1,000, weekends a part of that, with so much more each day."""
    chance = random.Random(seed)
    return [
        (1000 + Decimal(growth) * day)
        * (Decimal(weekend) if day % 7 > 4 else 1)
        * (1 + Decimal(round(chance.uniform(-noise, noise), 4)))
        for day in range(count)
    ]


def test_each_method_is_taken_where_it_is_right():
    """A week that repeats, a steady rise, and chance alone: the method that knows each of them is least wrong there."""
    weekly, rising, chance = days(150, weekend="0.2"), days(150, growth="5"), days(150, noise=0.3)
    assert forecast(weekly, 0, 31).method == "seasonal naive"
    assert forecast(weekly, 0, 31).error == 0
    assert forecast(rising, 0, 31).method == "drift"
    assert forecast(rising, 0, 31).amount == sum(days(181, growth="5")[150:])
    assert forecast(chance, 0, 31).method == "run rate"


def test_the_first_day_may_be_further_away():
    """What is asked for can begin later than tomorrow: the month after the one that runs."""
    whole = days(160, weekend="0.5")
    assert forecast(whole[:100], 17, 31).amount == sum(whole[117:148])


def test_too_few_days_give_no_figure_and_say_how_many_are_needed():
    short = forecast(days(NEEDED - 1), 0, MONTH)
    assert (short.amount, short.low, short.high, short.method, short.error) == (None, None, None, None, None)
    assert short.reason == f"{NEEDED - 1} days are known; {NEEDED} are needed to test a forecast that far ahead"
    enough = forecast(days(NEEDED), 0, MONTH)
    assert (enough.amount, enough.trials, enough.reason) == (30_000, FEWEST_TRIALS, None)


def test_days_that_cost_nothing_give_no_figure():
    assert (
        forecast([Decimal(0)] * 120, 0, MONTH).reason == "too few days of the past cost anything to test a forecast on"
    )


def test_a_method_that_is_wrong_by_more_than_half_is_not_believed():
    """Ten dear days at the end of every second month: whoever asks just after them expects them to go on."""
    costs = [Decimal(1000 if day % 60 > 49 else 1) for day in range(150)]
    found = forecast(costs, 0, MONTH)
    assert (found.amount, found.method) == (None, None)
    assert str(found.reason).startswith("days differ too much: in the past even the best method was wrong by ")


def test_a_method_that_expects_next_to_nothing_is_not_believed(monkeypatch: pytest.MonkeyPatch):
    """It is never wrong by more than all of what comes, and the others are: no figure is better than that one."""
    costs = [Decimal(1000 if day % 60 > 49 else 1) for day in range(150)]
    monkeypatch.setitem(METHODS, "nothing", lambda known, skip, length: Decimal("0.01"))
    found = forecast(costs, 0, MONTH)
    assert found.amount is None
    assert found.reason == "days differ too much: in the past even the best method was wrong by 100%"


def test_errors_are_parts_of_what_came():
    """Two weeks of 10 a day, then 20: the first forecast of the next two weeks says 140 and 280 comes, so it is half off."""
    costs = [Decimal(10)] * 14 + [Decimal(20)] * 14
    (first,) = trials(METHODS["run rate"], costs, 0, 14)
    assert (first.known, first.error) == (14, Decimal("-0.5"))


@given(st.lists(amounts, min_size=60, max_size=90), st.integers(0, 10))
def test_no_forecast_of_the_past_knows_what_came_after_it(costs: list[Decimal], skip: int):
    """Days that lie after the end of what a trial forecasts can be anything: the trial stays the same."""
    kept = len(costs) - 20
    for method in METHODS.values():
        before = trials(method, costs[:kept], skip, 7)
        assert trials(method, [*costs[:kept], *(10 * cost for cost in costs[kept:])], skip, 7)[: len(before)] == before


@given(st.lists(amounts, min_size=NEEDED, max_size=100))
def test_the_band_holds_its_forecast(costs: list[Decimal]):
    found = forecast(costs, 0, MONTH)
    if found.amount is not None:
        assert found.low is not None
        assert found.high is not None
        assert 0 < found.low <= found.amount <= found.high


def test_about_as_many_outcomes_are_within_the_band_as_it_is_made_for():
    """120 invented half years, each with a month that the forecast did not see."""
    within = 0
    for seed in range(120):
        costs = days(212, weekend="0.6", growth="2", noise=0.4, seed=seed)
        found = forecast(costs[:182], 0, MONTH)
        assert found.low is not None
        assert found.high is not None
        within += found.low <= sum(costs[182:]) <= found.high
    assert abs(within / 120 - BAND / 100) < 0.12, within


def test_a_band_of_the_past_is_tested_only_with_errors_that_were_known():
    """Errors of forecasts 30 days ahead are known 30 days later: before the 14th of them there is no band to test."""
    found = trials(METHODS["run rate"], days(120, noise=0.2), 0, MONTH)
    covered, tested = coverage(found, MONTH)
    assert tested == len(found) - MONTH - FEWEST_TRIALS + 1
    assert 0 < covered <= tested
