"""The models of statsforecast, which come with the extra `forecast`, as further forecast methods.

Fitting a model takes some hundredths of a second; applying a fitted model to more days takes almost none. So a model is
fitted on some days only, and applied on every day. Money is a float here and nowhere else.
"""

import math
from collections.abc import Callable
from decimal import Decimal
from functools import lru_cache, partial
from typing import Any

import numpy as np
from statsforecast.models import AutoETS, AutoTheta

from trainfare.report.forecast import CENT, MIN_DAYS, WEEK, Costs, Method

REFIT_DAYS = 2 * WEEK
"""The number of days after which a model is fitted again."""
MAX_FITTED_MODELS = 512
"""The fitted models that are cached, about 10 MB: both months use the same ones, for about twenty payers."""

MODEL_FACTORIES: dict[str, Callable[[], Any]] = {
    # Only additive models: they accept days without cost, and are fitted in a third of the time.
    "exponential smoothing": lambda: AutoETS(season_length=WEEK, model="AZZ"),
    "theta": lambda: AutoTheta(season_length=WEEK),
}


def predict(name: str, costs: Costs, skip: int, length: int) -> Decimal:
    """Return the forecast of this model, with no day below zero; zero if it cannot be fitted or fails.

    The forecast is at least a cent: a model that expects nothing then has an error of 1, instead of being spared that
    backtest.
    """
    if min(costs) == max(costs):
        return costs[0] * length
    days = tuple(float(cost) for cost in costs)
    try:
        with np.errstate(all="ignore"):
            model = _fitted(name, days[: _fitted_days(len(days))])
            path = model.forward(np.array(days), h=skip + length)["mean"]
        total = Decimal(math.fsum(np.maximum(path[skip:], 0)))
        return max(total.quantize(CENT), CENT)
    except Exception:  # the library raises nothing narrower
        return Decimal(0)


def _fitted_days(known: int) -> int:
    """Return how many of the known days a model is fitted on."""
    return known - (known - MIN_DAYS) % REFIT_DAYS


@lru_cache(MAX_FITTED_MODELS)
def _fitted(name: str, days: tuple[float, ...]) -> Any:
    return MODEL_FACTORIES[name]().fit(np.array(days))


MODELS: dict[str, Method] = {name: partial(predict, name) for name in MODEL_FACTORIES}
