"""A job that is interrupted at random and goes on from its last checkpoint: how much of its time is work, by interval.

Knows no formula: it plays attempt after attempt. Each is a restart, then work and a checkpoint in turn, until the next
interruption; what was not saved by then is done again. Interruptions come at random with a given mean time between them.
"""

import math
from random import Random

ATTEMPTS = 8_000
FINENESS = 1.03
"""Intervals are tried in steps of 3 %."""


def uptimes(mean_seconds: float, seed: int = 0, attempts: int = ATTEMPTS) -> list[float]:
    """How long each attempt runs until it is interrupted.

    Drawn one from each of as many equal parts of the distribution, so that intervals differ by more than chance.
    """
    rng = Random(seed)
    return [-mean_seconds * math.log(1 - (part + rng.random()) / attempts) for part in range(attempts)]


def useful(interval: float, writing: float, restart: float, ups: list[float]) -> float:
    """The part of all time that was work which a checkpoint saved."""
    saved = sum(int((up - restart) / (interval + writing)) for up in ups if up > restart)
    return saved * interval / sum(ups)


def best_interval(writing: float, restart: float, mean_seconds: float, seed: int = 0) -> float:
    """The interval with the most useful time, found by trying them: the middle of those that are as good as the best."""
    ups = uptimes(mean_seconds, seed)
    guess = math.sqrt(2 * writing * mean_seconds)
    tried = [guess * FINENESS**power for power in range(-40, 27)]
    gained = [useful(interval, writing, restart, ups) for interval in tried]
    close = [
        interval
        for interval, gain in zip(tried, gained, strict=True)
        if gain >= max(gained) * (1 - 1e-4 * writing / guess)
    ]
    return math.sqrt(close[0] * close[-1])
