"""Forecasts are backtested on the past they are made from, and give no figure where it is too short."""

import random
import sys
from collections.abc import Iterator
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainfare.report.forecast import INTERVAL_PERCENT, METHODS, MIN_BACKTESTS, MIN_DAYS, backtests, coverage, forecast

MONTH = 30
NEEDED = MIN_DAYS + MONTH + MIN_BACKTESTS - 1


@pytest.fixture(autouse=True, scope="module")
def plain() -> Iterator[None]:
    """Without the optional extra; its models have their own tests."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setitem(sys.modules, "statsforecast.models", None)
        patched.delitem(sys.modules, "trainfare.report.forecast_models", raising=False)
        yield


amounts = st.decimals(min_value=1, max_value=10_000, places=2)


def days(count: int, weekend: str = "1", growth: str = "0", noise: float = 0, seed: int = 1) -> list[Decimal]:
    """Return days of about 1,000, with lower weekends and constant growth per day."""
    chance = random.Random(seed)
    return [
        (1000 + Decimal(growth) * day)
        * (Decimal(weekend) if day % 7 > 4 else 1)
        * (1 + Decimal(round(chance.uniform(-noise, noise), 4)))
        for day in range(count)
    ]


def test_each_method_is_chosen_where_it_fits():
    """A repeating week, a steady rise and noise: the method made for each has the smallest error there."""
    weekly, rising, chance = days(150, weekend="0.2"), days(150, growth="5"), days(150, noise=0.3)
    assert forecast(weekly, 0, 31).method == "seasonal naive"
    assert forecast(weekly, 0, 31).error == 0
    assert forecast(rising, 0, 31).method == "drift"
    assert forecast(rising, 0, 31).amount == sum(days(181, growth="5")[150:])
    assert forecast(chance, 0, 31).method == "run rate"


def test_the_first_day_may_be_further_away():
    """The forecast period can start later than tomorrow: the month after the current one."""
    series = days(160, weekend="0.5")
    assert forecast(series[:100], 17, 31).amount == sum(series[117:148])


def test_too_few_days_give_no_figure_but_the_number_needed():
    short = forecast(days(NEEDED - 1), 0, MONTH)
    assert (short.amount, short.low, short.high, short.method, short.error) == (None, None, None, None, None)
    assert short.reason == f"{NEEDED - 1} days are known; {NEEDED} are needed to backtest a forecast that far ahead"
    enough = forecast(days(NEEDED), 0, MONTH)
    assert (enough.amount, enough.backtests, enough.reason) == (30_000, MIN_BACKTESTS, None)


def test_days_that_cost_nothing_give_no_figure():
    assert forecast([Decimal(0)] * 120, 0, MONTH).reason == "too few past days have any cost to backtest a forecast"


def test_a_method_with_more_than_half_mean_error_is_rejected():
    """Ten expensive days at the end of every second month: right after them, a forecast expects them to continue."""
    costs = [Decimal(1000 if day % 60 > 49 else 1) for day in range(150)]
    found = forecast(costs, 0, MONTH)
    assert (found.amount, found.method) == (None, None)
    assert str(found.reason).startswith("cost varies too much: even the best method had a mean error of ")


def test_a_method_that_expects_almost_nothing_is_rejected(monkeypatch: pytest.MonkeyPatch):
    """Its error never exceeds 100%, unlike that of the others: no figure is better than this one."""
    costs = [Decimal(1000 if day % 60 > 49 else 1) for day in range(150)]
    monkeypatch.setitem(METHODS, "nothing", lambda known, skip, length: Decimal("0.01"))
    found = forecast(costs, 0, MONTH)
    assert found.amount is None
    assert found.reason == "cost varies too much: even the best method had a mean error of 100%"


def test_errors_are_relative_to_the_outcome():
    """Two weeks of 10 a day, then 20: the first forecast of the next two weeks is 140 and the outcome 280, so the error
    is a half.
    """
    costs = [Decimal(10)] * 14 + [Decimal(20)] * 14
    (first,) = backtests(METHODS["run rate"], costs, 0, 14)
    assert (first.known, first.error) == (14, Decimal("-0.5"))


@given(st.lists(amounts, min_size=60, max_size=90), st.integers(0, 10))
def test_no_backtest_uses_later_days(costs: list[Decimal], skip: int):
    """Days after the end of a backtest can be anything: the backtest stays the same."""
    kept = len(costs) - 20
    for method in METHODS.values():
        before = backtests(method, costs[:kept], skip, 7)
        assert (
            backtests(method, [*costs[:kept], *(10 * cost for cost in costs[kept:])], skip, 7)[: len(before)] == before
        )


@given(st.lists(amounts, min_size=NEEDED, max_size=100))
def test_the_interval_contains_its_forecast(costs: list[Decimal]):
    found = forecast(costs, 0, MONTH)
    if found.amount is not None:
        assert found.low is not None
        assert found.high is not None
        assert 0 < found.low <= found.amount <= found.high


def test_the_interval_contains_about_its_nominal_part_of_outcomes():
    """120 generated half years, each with a month that the forecast did not see."""
    within = 0
    for seed in range(120):
        costs = days(212, weekend="0.6", growth="2", noise=0.4, seed=seed)
        found = forecast(costs[:182], 0, MONTH)
        assert found.low is not None
        assert found.high is not None
        within += found.low <= sum(costs[182:]) <= found.high
    assert abs(within / 120 - INTERVAL_PERCENT / 100) < 0.12, within


def test_a_past_interval_is_tested_only_with_errors_known_then():
    """Errors of forecasts 30 days ahead are known 30 days later: before the 14th, there is no interval to test."""
    found = backtests(METHODS["run rate"], days(120, noise=0.2), 0, MONTH)
    covered, tested = coverage(found, MONTH)
    assert tested == len(found) - MONTH - MIN_BACKTESTS + 1
    assert 0 < covered <= tested
