"""A month that its provider states twice: first too high and with lines missing, later as it is.

Providers deliver this differently. Most write the whole month again; Google and Oracle only ever append, so they add
the difference to what they stated first.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from trainfare.simulate.charges import CLOUD_BILL, MICRO, Charge, cost

METERED_TWICE = 3
"""Every so many hours of spot machines are first stated twice as high."""
LATE = 40
"""Every so many lines of traffic come late."""


@dataclass(frozen=True)
class Restatement:
    """What a provider stated first, and what was missing in it. Both together are the month as it is."""

    first: tuple[Charge, ...]
    late: tuple[Charge, ...]
    """Lines that were missing at first."""
    corrections: tuple[tuple[Charge, Charge], ...]
    """A line of the first statement, and the difference that corrects it."""


def restate(charges: Sequence[Charge]) -> Restatement:
    """Return how a provider might have come to state these charges."""
    cloud = [charge for charge in charges if charge.source == CLOUD_BILL]
    spot = [charge for charge in cloud if charge.offer.pricing_category == "Dynamic"][::METERED_TWICE]
    traffic = [charge for charge in cloud if charge.offer.meter == "DataTransfer-Regional-Bytes"]
    late = traffic[::LATE]
    stated = {id(charge): _scaled(charge, 2) for charge in spot}
    missing = {id(charge) for charge in late}
    first = tuple(stated.get(id(charge), charge) for charge in charges if id(charge) not in missing)
    return Restatement(first, tuple(late), tuple((stated[id(charge)], _scaled(charge, -1)) for charge in spot))


def _scaled(charge: Charge, factor: int) -> Charge:
    """Return the line with a multiple of its quantity and costs."""
    assert charge.quantity is not None
    assert charge.prices is not None
    listed, paid = (cost(price, charge.quantity * factor) for price in charge.prices)
    assert paid * MICRO == charge.prices[1] * charge.quantity * factor, "prices and quantities have few decimals"
    return charge._replace(quantity=charge.quantity * factor, costs=(paid, paid, listed, paid))
