"""How much the hourly rate changes from day to day. A steady rate can be planned with; a jumping one hides a cause.

Formula: of the group's cost per wall-clock hour of each day: the median, the standard deviation (of all days, not of a sample), and the
median absolute deviation, which one odd day does not move. Days without billed hours have no rate and do not count.

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

from trainfare.report.measures.figure import MILLION, Asked, Figure, billed_hours

CODE, NAME = "M10", "spread of the hourly rate"


def figures(asked: Asked) -> list[Figure]:
    series: dict[tuple[object, ...], list[Fraction]] = {}
    by = [key for key in asked.question.by if key not in ("day", "month")]
    for row in asked.report(by=[*by, "day"]).rows:
        below = billed_hours(row)
        if below and row.cost is not None:
            series.setdefault(tuple(row.group.values())[:-1], []).append(Fraction(row.cost) / below)
    unit, names = f"{asked.currency} per hour", [name for name in asked.names if name not in ("day", "month")]
    found = []
    for key, rates in series.items():
        middle = median(rates)
        spreads = {
            "median": middle,
            "standard deviation": deviation(rates),
            "median absolute deviation": median([abs(rate - middle) for rate in rates]),
        }
        for name, value in spreads.items():
            told = f"{name} of {len(rates)} day{'s' * (len(rates) != 1)}"
            found.append(Figure(CODE, dict(zip(names, key, strict=True)), told, _money(value), Fraction(1), unit))
    return found


def median(values: list[Fraction]) -> Fraction:
    ordered = sorted(values)
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


def deviation(values: list[Fraction]) -> Fraction:
    """The root of the mean square distance from the mean, to 10^-12, rounded down."""
    mean = sum(values, Fraction(0)) / len(values)
    square = sum(((value - mean) * (value - mean) for value in values), Fraction(0)) / len(values)
    fine = MILLION**2
    return Fraction(isqrt(square.numerator * fine**2 // square.denominator), fine)


def _money(value: Fraction) -> Decimal:
    return Decimal(value.numerator * MILLION**2 // value.denominator).scaleb(-12)
