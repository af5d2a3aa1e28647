"""Simulate a job that is interrupted at random and resumes from its last checkpoint, to find the best interval.

Uses no formula: it runs attempt after attempt. Each is a restart, then work and a checkpoint in turn, until the next
interruption; work that was not saved by then is repeated. Interruptions are random with a given mean time between them.
"""

import math
from random import Random

ATTEMPTS = 8_000
STEP = 1.03
"""Intervals are tried in steps of 3 %."""


def uptimes(mean_seconds: float, seed: int = 0, attempts: int = ATTEMPTS) -> list[float]:
    """Return how long each attempt runs until it is interrupted.

    Stratified: one draw from each of `attempts` equal parts of the distribution, so that intervals do not differ by
    chance.
    """
    rng = Random(seed)
    return [-mean_seconds * math.log(1 - (part + rng.random()) / attempts) for part in range(attempts)]


def useful_fraction(interval: float, writing: float, restart: float, ups: list[float]) -> float:
    """Return the fraction of all time that was work saved by a checkpoint."""
    saved = sum(int((up - restart) / (interval + writing)) for up in ups if up > restart)
    return saved * interval / sum(ups)


def best_interval(writing: float, restart: float, mean_seconds: float, seed: int = 0) -> float:
    """Return the interval with the most useful time, by trial: the middle of those that are as good as the best."""
    ups = uptimes(mean_seconds, seed)
    guess = math.sqrt(2 * writing * mean_seconds)
    tried = [guess * STEP**power for power in range(-40, 27)]
    gained = [useful_fraction(interval, writing, restart, ups) for interval in tried]
    close = [
        interval
        for interval, gain in zip(tried, gained, strict=True)
        if gain >= max(gained) * (1 - 1e-4 * writing / guess)
    ]
    return math.sqrt(close[0] * close[-1])
