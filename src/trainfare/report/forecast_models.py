"""The models of statsforecast, which come with the extra `forecast`, as further methods of a forecast.

To learn from days takes a model some hundredth of a second, to go on from more days with what it has learned almost nothing. So it
learns at some days only, and is asked at every one. Money is a float in here and nowhere else.
"""

import math
from collections.abc import Callable
from decimal import Decimal
from functools import lru_cache, partial
from typing import Any

import numpy as np
from statsforecast.models import AutoETS, AutoTheta

from trainfare.report.forecast import CENT, FEWEST_DAYS, WEEK, Costs, Method

LEARNING_DAYS = 2 * WEEK
"""After how many days a model learns anew."""
MOST_LEARNED = 512
"""How many learned models are remembered, some 10 MB: the month and the next are asked of the same ones, for about twenty payers."""

LEARNERS: dict[str, Callable[[], Any]] = {
    # Additive ones alone: they can be told of days that cost nothing, and learn in a third of the time.
    "exponential smoothing": lambda: AutoETS(season_length=WEEK, model="AZZ"),
    "theta": lambda: AutoTheta(season_length=WEEK),
}


def said(name: str, costs: Costs, skip: int, length: int) -> Decimal:
    """What the model of this name says, no day below zero; zero where it cannot learn or loses its way.

    It says a cent at least: one that expects nothing is then wrong by all of what comes, and is not spared that trial.
    """
    if min(costs) == max(costs):
        return costs[0] * length
    days = tuple(float(cost) for cost in costs)
    try:
        with np.errstate(all="ignore"):
            model = _learned(name, days[: _learned_days(len(days))])
            path = model.forward(np.array(days), h=skip + length)["mean"]
        total = Decimal(math.fsum(np.maximum(path[skip:], 0)))
        return max(total.quantize(CENT), CENT)
    except Exception:  # the library raises nothing narrower
        return Decimal(0)


def _learned_days(known: int) -> int:
    """How many of the days that are known a model has learned from."""
    return known - (known - FEWEST_DAYS) % LEARNING_DAYS


@lru_cache(MOST_LEARNED)
def _learned(name: str, days: tuple[float, ...]) -> Any:
    return LEARNERS[name]().fit(np.array(days))


MODELS: dict[str, Method] = {name: partial(said, name) for name in LEARNERS}
