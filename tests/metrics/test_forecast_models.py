"""The statsforecast models are backtested like the plain methods, and chosen where their error was smaller."""

import math
from decimal import Decimal

import pytest

from trainfare.report import forecast_models
from trainfare.report.forecast import CENT, METHOD_DESCRIPTIONS, METHODS, MIN_DAYS, Costs, Method, backtests, forecast
from trainfare.report.forecast_models import MODELS, REFIT_DAYS

from .test_forecast import days

HALF_YEAR = 182
MONTH = 31
EACH = pytest.mark.parametrize("method", MODELS.values(), ids=MODELS)


def test_every_model_has_a_description():
    assert set(METHOD_DESCRIPTIONS) == {*METHODS, *MODELS}


def test_a_model_is_chosen_where_it_fits():
    """Rising weeks, for which drift ignores the weekdays; and weeks that differ only by noise."""
    rising, noisy = days(HALF_YEAR, weekend="0.3", growth="5"), days(HALF_YEAR, weekend="0.3", noise=0.2)
    assert forecast(rising, 0, MONTH).method == "theta"
    assert forecast(noisy, 0, MONTH).method == "exponential smoothing"
    for costs in (rising, noisy):
        found = forecast(costs, 0, MONTH)
        assert [name for name, _ in found.method_errors] == [*METHODS, *MODELS]
        assert found.error == min(error for _, error in found.method_errors)
        assert found.backtests == len(backtests(METHODS["run rate"], costs, 0, MONTH))


def test_a_month_that_fits_a_model_is_forecast_closely():
    outcome = sum(days(HALF_YEAR + MONTH, weekend="0.3", growth="5")[HALF_YEAR:])
    found = forecast(days(HALF_YEAR, weekend="0.3", growth="5"), 0, MONTH)
    assert found.amount is not None
    assert abs(found.amount / outcome - 1) < Decimal("0.01")
    assert found.amount == found.amount.quantize(CENT)


def test_no_model_is_tried_where_a_plain_method_has_no_error():
    found = forecast(days(150, weekend="0.2"), 0, MONTH)
    assert (found.method, [name for name, _ in found.method_errors]) == ("seasonal naive", list(METHODS))


@EACH
@pytest.mark.parametrize("known", [60, 69, 70, 71, 90])
def test_no_backtest_of_a_model_uses_later_days(method: Method, known: int):
    """Days after the end of a backtest can be anything: the backtest stays the same."""
    costs = days(120, weekend="0.5", growth="3", noise=0.2)
    before = backtests(method, costs[:known], 3, 20)
    forecast_models._fitted.cache_clear()
    higher = [*costs[:known], *(100 * cost for cost in costs[known:])]
    after = backtests(method, higher, 3, 20)
    assert len(before) == known - MIN_DAYS - 23 + 1
    assert after[: len(before)] == before
    assert after[known - MIN_DAYS].error < -Decimal("0.9"), "the one that knows none of the higher days"


@EACH
def test_a_model_gives_the_same_forecast_whether_fitted_before_or_now(method: Method):
    costs = days(100, weekend="0.5", noise=0.2)
    first = [method(costs[:known], 0, MONTH) for known in range(70, 100)]
    forecast_models._fitted.cache_clear()
    assert [method(costs[:known], 0, MONTH) for known in range(99, 69, -1)] == first[::-1]


@EACH
def test_a_model_is_refitted_on_some_days_and_continues_from_every_day(method: Method):
    costs = days(HALF_YEAR, weekend="0.5", noise=0.2)
    forecast_models._fitted.cache_clear()
    assert len({backtest.error for backtest in backtests(method, costs, 0, MONTH)}) == HALF_YEAR - MONTH - MIN_DAYS + 1
    fitted = forecast_models._fitted.cache_info().misses
    assert fitted == (HALF_YEAR - MONTH - MIN_DAYS) // REFIT_DAYS + 1
    backtests(method, costs, 14, 30)
    assert forecast_models._fitted.cache_info().misses == fitted, "the following month uses the same fits"


def irregular(day: int) -> Decimal:
    return Decimal((day * 7919) % 101)


HISTORIES: dict[str, Costs] = {
    "noise": days(120, noise=1),
    "constant": [Decimal(5)] * 120,
    "constant at first": [Decimal(5)] * 30 + [irregular(day) for day in range(90)],
    "zero at first": [Decimal(0)] * 30 + [irregular(day) for day in range(90)],
    "zero at last": [irregular(day) for day in range(100)] + [Decimal(0)] * 20,
    "all zero": [Decimal(0)] * 120,
    "one day": [Decimal(0)] * 60 + [Decimal(1000)] + [Decimal(0)] * 59,
    "credits": [irregular(day) - 50 for day in range(120)],
    "tiny": [irregular(day) / 10**12 for day in range(120)],
    "huge": [irregular(day) * 10**15 for day in range(120)],
    "falling to zero": [Decimal(max(0, 900 - 10 * day)) for day in range(120)],
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("history", HISTORIES.values(), ids=HISTORIES)
def test_any_history_gives_a_figure_or_a_reason(history: Costs):
    found = forecast(history, 5, 20)
    assert (found.amount is None) == (found.reason is not None)
    if found.amount is not None:
        assert found.low is not None
        assert found.high is not None
        assert 0 < found.low <= found.amount <= found.high


class Broken:
    """A model that is fitted, and then fails or diverges."""

    def __init__(self, value: float | None) -> None:
        self.value = value

    def fit(self, known: object) -> "Broken":
        return self

    def forward(self, known: object, h: int) -> dict[str, list[float]]:
        if self.value is None:
            raise Exception("no model able to be fitted")
        return {"mean": [self.value] * h}


@pytest.mark.parametrize("value", [None, math.nan, math.inf, 1e300])
def test_a_model_that_fails_has_no_backtests(monkeypatch: pytest.MonkeyPatch, value: float | None):
    """No series is known on which the real models always fail, so these are artificial."""
    monkeypatch.setitem(forecast_models.MODEL_FACTORIES, "theta", lambda: Broken(value))
    forecast_models._fitted.cache_clear()
    costs = days(120, weekend="0.5", noise=0.2)
    assert backtests(MODELS["theta"], costs, 0, MONTH) == []
    assert "theta" not in dict(forecast(costs, 0, MONTH).method_errors)
    forecast_models._fitted.cache_clear()


def test_a_model_that_expects_nothing_has_an_error_of_one(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(forecast_models.MODEL_FACTORIES, "theta", lambda: Broken(-3))
    forecast_models._fitted.cache_clear()
    found = dict(forecast(days(120, weekend="0.5", noise=0.2), 0, MONTH).method_errors)
    assert round(found["theta"], 4) == 1
    forecast_models._fitted.cache_clear()
