"""Money in whole units, and the one way to divide it.

A unit is 10^-12 of a currency. This is the plain version that the engines are tested against: the
SQL in `attribute/` does the same in columns, and must give the same digits.
"""

from collections.abc import Hashable, Mapping
from decimal import Decimal, localcontext
from typing import TypeVar

Payer = TypeVar("Payer", bound=Hashable)

PLACES = 12
UNITS = 10**PLACES


def units(amount: Decimal | str | int) -> int:
    """Turn an amount into whole units; an amount finer than a unit is refused, not rounded."""
    with localcontext() as exact:
        exact.prec = 60
        scaled = Decimal(amount) * UNITS
    whole = int(scaled)
    if whole != scaled:
        raise ValueError(f"{amount} is finer than 10^-{PLACES}")
    return whole


def amount(whole: int) -> Decimal:
    """Turn whole units back into an amount, exactly."""
    with localcontext() as exact:
        exact.prec = 60
        return Decimal(whole).scaleb(-PLACES)


def split(total: int, weights: Mapping[Payer, int]) -> dict[Payer, int]:
    """Divide `total` units in proportion to `weights`, losing and making none.

    The heaviest payer (of equals, the smallest) holds everything at first and hands every other payer
    the whole part of `total * weight / sum(weights)`; so it keeps the few units that do not divide.
    A negative total is divided as its size and turned back, so a credit undoes its charge.
    """
    weighed = {payer: weight for payer, weight in weights.items() if weight}
    if any(weight < 0 for weight in weighed.values()):
        raise ValueError("a weight is negative")
    if not weighed:
        raise ValueError("nobody to divide among: no weight is above zero")
    whole_weight = sum(weighed.values())
    heaviest = min(weighed, key=lambda payer: (-weighed[payer], payer))
    sign, size = (-1, -total) if total < 0 else (1, total)
    parts = {payer: sign * (size * weight // whole_weight) for payer, weight in weighed.items() if payer != heaviest}
    parts[heaviest] = total - sum(parts.values())
    return parts
