"""Money in whole units, and the only function that divides it.

A unit is 10^-12 of a currency. This is the reference that both engines are tested against: the SQL in `allocate/` does
the same in columns and must return the same digits.
"""

from collections.abc import Hashable, Mapping
from decimal import Decimal, localcontext
from typing import TypeVar

Payer = TypeVar("Payer", bound=Hashable)

PLACES = 12
UNITS = 10**PLACES


def units(amount: Decimal | str | int) -> int:
    """Convert an amount to whole units; raise for an amount finer than a unit instead of rounding it."""
    with localcontext() as exact:
        exact.prec = 60
        scaled = Decimal(amount) * UNITS
    whole = int(scaled)
    if whole != scaled:
        raise ValueError(f"{amount} is finer than 10^-{PLACES}")
    return whole


def amount(whole: int) -> Decimal:
    """Convert whole units to an amount, exactly."""
    with localcontext() as exact:
        exact.prec = 60
        return Decimal(whole).scaleb(-PLACES)


def decimal_text(value: Decimal | None) -> str | None:
    """Return a decimal as a plain string with all of its digits, at least two after the point."""
    if value is None:
        return None
    whole, _, places = f"{value:f}".partition(".")
    digits = places.rstrip("0")
    return f"{whole}.{digits:<02}" if len(digits) < 2 else f"{whole}.{digits}"


def split(total: int, weights: Mapping[Payer, int]) -> dict[Payer, int]:
    """Split `total` units in proportion to `weights`; the parts add up to it exactly.

    Every payer but the heaviest (ties: the smallest) gets the integer part of `total * weight / sum(weights)`. The
    heaviest gets the rest, including the few units that do not divide. A negative total is split by its absolute value
    and negated, so a credit undoes its charge.
    """
    weighted = {payer: weight for payer, weight in weights.items() if weight}
    if any(weight < 0 for weight in weighted.values()):
        raise ValueError("a weight is negative")
    if not weighted:
        raise ValueError("no payer has a weight above zero")
    total_weight = sum(weighted.values())
    heaviest = min(weighted, key=lambda payer: (-weighted[payer], payer))
    sign, size = (-1, -total) if total < 0 else (1, total)
    parts = {payer: sign * (size * weight // total_weight) for payer, weight in weighted.items() if payer != heaviest}
    parts[heaviest] = total - sum(parts.values())
    return parts
