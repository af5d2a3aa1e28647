"""What the time of a machine costs whom, exactly.

A full UTC hour is split as the account of a book splits its estimate: every unit goes to one payer. A part of an hour
is split by the second, as a fraction, and rounded only where it is shown.
"""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from trainfare.allocate.weights import SECOND_PARTS
from trainfare.money import split

HOUR = 3600
IDLE: tuple[Any, ...] = (1,)
"""The payer of what nobody held. It is ordered after every attempt, as in an account."""
Payer = tuple[Any, ...]


def attempt_payer(job_id: str, attempt: int) -> Payer:
    """An attempt as a payer. Of equal weights, the first by job and attempt gets what does not divide."""
    return (0, job_id, attempt)


@dataclass(frozen=True)
class Hold:
    """How much of a machine a payer held per second, and when."""

    payer: Payer
    amount: int
    starts: int
    ends: int


@dataclass(frozen=True)
class Charge:
    """One price of a machine, for the seconds of a period in which it existed."""

    units: int
    rated_seconds: int
    seconds: int
    starts: int
    ends: int

    @property
    def integer_part(self) -> int:
        """The whole units that it comes to, as a book has them."""
        size = abs(self.units) * self.seconds // self.rated_seconds
        return -size if self.units < 0 else size

    @property
    def rate(self) -> Fraction:
        """Units per second."""
        return Fraction(self.units, self.rated_seconds)


def split_hour(charges: Sequence[Charge], weights: Mapping[Payer, int], total_weight: int) -> dict[Payer, int]:
    """Split the charges of one period of an hour, as the account does; `total_weight` is what there was to hold."""
    total = sum(one.integer_part for one in charges)
    held = sum(weights.values())
    return split(total, {**weights, IDLE: max(total_weight - held, 0)}) if held else {IDLE: total}


def crowded_weights(holds: Iterable[Hold], capacity: int | None, starts: int, ends: int) -> dict[Payer, int]:
    """Weigh the holders of a machine in a period in which more was held than there is: each second has fixed parts."""
    weights: dict[Payer, int] = {}
    for seconds, held in _constant(holds, starts, ends):
        total = max(sum(one.amount for one in held), capacity or 0)
        running = 0
        for one in sorted(held, key=lambda one: one.payer):
            before, running = running, running + one.amount
            parts = SECOND_PARTS * running // total - SECOND_PARTS * before // total
            weights[one.payer] = weights.get(one.payer, 0) + parts * seconds
    return {payer: weight for payer, weight in weights.items() if weight}


def is_crowded(holds: Iterable[Hold], capacity: int | None, starts: int, ends: int) -> bool:
    """Return whether at any time of a period more was held than there is, or than is known."""
    held = (sum(one.amount for one in together) for _, together in _constant(holds, starts, ends))
    return any(capacity is None or amount > capacity for amount in held)


def plain_weights(holds: Iterable[Hold], starts: int, ends: int) -> dict[Payer, int]:
    """Weigh the holders of a machine in a period by amounts times seconds."""
    weights: dict[Payer, int] = {}
    for one in _within(holds, starts, ends):
        weights[one.payer] = weights.get(one.payer, 0) + one.amount * (one.ends - one.starts)
    return weights


def held_seconds(holds: Iterable[Hold], capacity: int | None, starts: int, ends: int) -> dict[Payer, Fraction]:
    """Return for how many seconds each payer held the machine, where holding all of it for one counts as one."""
    found: dict[Payer, Fraction] = {}
    for seconds, held in _constant(holds, starts, ends):
        total = max(sum(one.amount for one in held), capacity or 0)
        for one in held:
            found[one.payer] = found.get(one.payer, Fraction(0)) + Fraction(one.amount * seconds, total)
    return found


def split_part(charges: Iterable[Charge], seconds: Mapping[Payer, Fraction]) -> dict[Payer, Fraction]:
    """Split the charges of one part of an hour by the second; what nobody held is idle."""
    found: dict[Payer, Fraction] = {}
    held = sum(seconds.values(), Fraction(0))
    for one in charges:
        for payer, count in {**seconds, IDLE: one.seconds - held}.items():
            if count:
                found[payer] = found.get(payer, Fraction(0)) + one.rate * count
    return found


def _constant(holds: Iterable[Hold], starts: int, ends: int) -> Iterable[tuple[int, list[Hold]]]:
    """Yield how long each set of holds lasted within a period; those of nobody are left out."""
    within = _within(holds, starts, ends)
    cuts = sorted({moment for one in within for moment in (one.starts, one.ends)})
    for first, last in itertools.pairwise(cuts):
        held = [one for one in within if one.starts <= first and one.ends >= last]
        if held:
            yield last - first, held


def _within(holds: Iterable[Hold], starts: int, ends: int) -> list[Hold]:
    cut = (Hold(one.payer, one.amount, max(one.starts, starts), min(one.ends, ends)) for one in holds)
    return [one for one in cut if one.ends > one.starts and one.amount > 0]
