"""The currency conversions in a report: which rates, of which days, from which source."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from itertools import groupby

from trainfare.query.open_books import OpenBooks


@dataclass(frozen=True)
class Conversion:
    """Lines that were converted at one rate. Amounts are null for a viewer who may not see all of them."""

    converted_from: str
    currency: str
    rate: Decimal
    rate_day: date
    rate_source: str
    lines: int | None
    original: Decimal | None
    converted: Decimal | None


def applied_conversions(opened: OpenBooks, money: str, basis: str) -> list[Conversion]:
    """Return every rate at which charges of the books were converted; `money` is a SQL condition for the rows."""
    found = opened.engine.rows(
        "SELECT converted_from, currency, rate, rate_day, rate_source, CAST(sum(lines) AS BIGINT), "
        f"CAST(sum(original_{basis}) AS DECIMAL(38,12)), CAST(sum({basis}) AS DECIMAL(38,12)) FROM conversions "
        f"WHERE {money} GROUP BY ALL ORDER BY converted_from, rate_source, rate_day, rate"
    )
    return [Conversion(*row) for row in found]


def describe(rates: Sequence[Conversion]) -> list[str]:
    """Describe conversions in words, one line for each currency and source of rates."""
    lines = []
    for (origin, source), group in groupby(rates, lambda one: (one.converted_from, one.rate_source)):
        ones = list(group)
        at = _span([f"{rate.normalize():f}" for rate in sorted({one.rate for one in ones})])
        days = _span([f"{day}" for day in sorted({one.rate_day for one in ones})])
        amounts = ""
        if all(one.original is not None for one in ones):
            original, converted = (sum(getattr(one, name) for one in ones) for name in ("original", "converted"))
            amounts = f": {original:,.2f} {origin} = {converted:,.2f} {ones[0].currency}"
        lines.append(f"converted from {origin}{amounts}, at {at} of {days}, {source}")
    return lines


def _span(values: list[str]) -> str:
    return values[0] if len(values) == 1 else f"{values[0]} to {values[-1]}"
