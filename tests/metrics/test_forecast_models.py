"""The models of statsforecast are tried as the plain methods are, and named where they were less wrong."""

import math
from decimal import Decimal

import pytest

from trainfare.report import forecast_models
from trainfare.report.forecast import CENT, FEWEST_DAYS, MEANINGS, METHODS, Costs, Method, forecast, trials
from trainfare.report.forecast_models import LEARNING_DAYS, MODELS

from .test_forecast import days

HALF_YEAR = 182
MONTH = 31
EACH = pytest.mark.parametrize("method", MODELS.values(), ids=MODELS)


def test_every_model_says_what_it_is():
    assert set(MEANINGS) == {*METHODS, *MODELS}


def test_a_model_is_taken_where_it_is_right():
    """Weeks that rise, which drift sees without their weekdays; and weeks that are alike but for chance."""
    rising, alike = days(HALF_YEAR, weekend="0.3", growth="5"), days(HALF_YEAR, weekend="0.3", noise=0.2)
    assert forecast(rising, 0, MONTH).method == "theta"
    assert forecast(alike, 0, MONTH).method == "exponential smoothing"
    for costs in (rising, alike):
        found = forecast(costs, 0, MONTH)
        assert [name for name, _ in found.rivals] == [*METHODS, *MODELS]
        assert found.error == min(error for _, error in found.rivals)
        assert found.trials == len(trials(METHODS["run rate"], costs, 0, MONTH))


def test_a_month_that_a_model_knows_is_told_closely():
    came = sum(days(HALF_YEAR + MONTH, weekend="0.3", growth="5")[HALF_YEAR:])
    found = forecast(days(HALF_YEAR, weekend="0.3", growth="5"), 0, MONTH)
    assert found.amount is not None
    assert abs(found.amount / came - 1) < Decimal("0.01")
    assert found.amount == found.amount.quantize(CENT)


def test_where_a_plain_method_was_never_wrong_no_model_is_asked():
    found = forecast(days(150, weekend="0.2"), 0, MONTH)
    assert (found.method, [name for name, _ in found.rivals]) == ("seasonal naive", list(METHODS))


@EACH
@pytest.mark.parametrize("known", [60, 69, 70, 71, 90])
def test_no_model_knows_what_came_after_its_trial(method: Method, known: int):
    """Days that lie after the end of what a trial forecasts can be anything: the trial stays the same."""
    costs = days(120, weekend="0.5", growth="3", noise=0.2)
    before = trials(method, costs[:known], 3, 20)
    forecast_models._learned.cache_clear()
    dearer = [*costs[:known], *(100 * cost for cost in costs[known:])]
    after = trials(method, dearer, 3, 20)
    assert len(before) == known - FEWEST_DAYS - 23 + 1
    assert after[: len(before)] == before
    assert after[known - FEWEST_DAYS].error < -Decimal("0.9"), "the one that knows none of the dearer days"


@EACH
def test_a_model_says_the_same_whether_it_has_learned_before_or_learns_now(method: Method):
    costs = days(100, weekend="0.5", noise=0.2)
    first = [method(costs[:known], 0, MONTH) for known in range(70, 100)]
    forecast_models._learned.cache_clear()
    assert [method(costs[:known], 0, MONTH) for known in range(99, 69, -1)] == first[::-1]


@EACH
def test_a_model_learns_at_some_days_and_goes_on_from_every_one(method: Method):
    costs = days(HALF_YEAR, weekend="0.5", noise=0.2)
    forecast_models._learned.cache_clear()
    assert len({trial.error for trial in trials(method, costs, 0, MONTH)}) == HALF_YEAR - MONTH - FEWEST_DAYS + 1
    learned = forecast_models._learned.cache_info().misses
    assert learned == (HALF_YEAR - MONTH - FEWEST_DAYS) // LEARNING_DAYS + 1
    trials(method, costs, 14, 30)
    assert forecast_models._learned.cache_info().misses == learned, "the month after is asked of the same"


def uneven(day: int) -> Decimal:
    return Decimal((day * 7919) % 101)


HISTORIES: dict[str, Costs] = {
    "chance": days(120, noise=1),
    "alike": [Decimal(5)] * 120,
    "alike at first": [Decimal(5)] * 30 + [uneven(day) for day in range(90)],
    "nothing at first": [Decimal(0)] * 30 + [uneven(day) for day in range(90)],
    "nothing at last": [uneven(day) for day in range(100)] + [Decimal(0)] * 20,
    "nothing at all": [Decimal(0)] * 120,
    "one day": [Decimal(0)] * 60 + [Decimal(1000)] + [Decimal(0)] * 59,
    "credits": [uneven(day) - 50 for day in range(120)],
    "tiny": [uneven(day) / 10**12 for day in range(120)],
    "huge": [uneven(day) * 10**15 for day in range(120)],
    "falling to nothing": [Decimal(max(0, 900 - 10 * day)) for day in range(120)],
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("history", HISTORIES.values(), ids=HISTORIES)
def test_whatever_the_days_were_there_is_a_figure_or_a_reason(history: Costs):
    found = forecast(history, 5, 20)
    assert (found.amount is None) == (found.reason is not None)
    if found.amount is not None:
        assert found.low is not None
        assert found.high is not None
        assert 0 < found.low <= found.amount <= found.high


class Broken:
    """A model that learns, and then fails or loses its way."""

    def __init__(self, said: float | None) -> None:
        self.said = said

    def fit(self, known: object) -> "Broken":
        return self

    def forward(self, known: object, h: int) -> dict[str, list[float]]:
        if self.said is None:
            raise Exception("no model able to be fitted")
        return {"mean": [self.said] * h}


@pytest.mark.parametrize("said", [None, math.nan, math.inf, 1e300])
def test_a_model_that_fails_has_no_trials(monkeypatch: pytest.MonkeyPatch, said: float | None):
    """No series is known on which the real ones fail every time, so these are made up."""
    monkeypatch.setitem(forecast_models.LEARNERS, "theta", lambda: Broken(said))
    forecast_models._learned.cache_clear()
    costs = days(120, weekend="0.5", noise=0.2)
    assert trials(MODELS["theta"], costs, 0, MONTH) == []
    assert "theta" not in dict(forecast(costs, 0, MONTH).rivals)
    forecast_models._learned.cache_clear()


def test_a_model_that_expects_nothing_is_wrong_by_all_that_came(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(forecast_models.LEARNERS, "theta", lambda: Broken(-3))
    forecast_models._learned.cache_clear()
    found = dict(forecast(days(120, weekend="0.5", noise=0.2), 0, MONTH).rivals)
    assert round(found["theta"], 4) == 1
    forecast_models._learned.cache_clear()
