"""The median, defined once: the value in the middle, or the mean of the two in the middle."""

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import TypeVar

Number = TypeVar("Number", Fraction, Decimal)


def median(values: Sequence[Number]) -> Number:
    """Return the median of at least one value."""
    ordered = sorted(values)
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


def median_sql(column: str, type_: str) -> str:
    """Return SQL for the median of a column of numbers, rounded to a type, half away from zero. Nulls do not count."""
    return f"CAST((quantile_disc({column}, 0.5) + quantile_disc({column}, -0.5)) * 0.5 AS {type_})"
