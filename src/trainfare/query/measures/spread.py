"""How much the hourly rate varies from day to day. A steady rate can be planned with; an unsteady one has a cause.

Formula: over the group's cost per wall-clock hour of each day (M1 by day): the median, the standard deviation (of all
days, not of a sample), and the median absolute deviation, which a single outlier does not change. Days on which
nothing is billed in full have no rate and do not count.

Example: three days at 2, 2 and 5 USD an hour.

    machine  n1  4 gpus  72 h
    attempt  a   4 gpus  72 h
    charge   hours  48.00 USD  24 h  from 0 h  on n1
    charge   hours  48.00 USD  24 h  from 24 h  on n1
    charge   hours  120.00 USD  24 h  from 48 h  on n1
    =>
    a  median of 3 days  2.00 USD per hour
    a  standard deviation of 3 days  1.414214 USD per hour
    a  median absolute deviation of 3 days  0.00 USD per hour
"""

from decimal import Decimal
from fractions import Fraction
from math import isqrt

from trainfare.query.measures.metric_value import MILLION, MetricQuery, MetricValue, billed_hours
from trainfare.query.medians import median

CODE, NAME = "M10", "spread of the hourly rate"


def values(query: MetricQuery) -> list[MetricValue]:
    series: dict[tuple[object, ...], list[Fraction]] = {}
    by = [key for key in query.question.by if key not in ("day", "month")]
    for row in query.listed(by=[*by, "day"], per="wall"):
        covered = billed_hours(row)
        if covered and row.rate_cost is not None:
            series.setdefault(tuple(row.group.values())[:-1], []).append(Fraction(row.rate_cost) / covered)
    unit, names = f"{query.currency} per hour", [name for name in query.names if name not in ("day", "month")]
    found = []
    for key, rates in series.items():
        middle = median(rates)
        spreads = {
            "median": middle,
            "standard deviation": deviation(rates),
            "median absolute deviation": median([abs(rate - middle) for rate in rates]),
        }
        for name, value in spreads.items():
            detail = f"{name} of {len(rates)} day{'s' * (len(rates) != 1)}"
            found.append(
                MetricValue(CODE, dict(zip(names, key, strict=True)), detail, _money(value), Fraction(1), unit)
            )
    return found


def deviation(values: list[Fraction]) -> Fraction:
    """Return the population standard deviation, to 10^-12, rounded down."""
    mean = sum(values, Fraction(0)) / len(values)
    square = sum(((value - mean) * (value - mean) for value in values), Fraction(0)) / len(values)
    fine = MILLION**2
    return Fraction(isqrt(square.numerator * fine**2 // square.denominator), fine)


def _money(value: Fraction) -> Decimal:
    return Decimal(value.numerator * MILLION**2 // value.denominator).scaleb(-12)
