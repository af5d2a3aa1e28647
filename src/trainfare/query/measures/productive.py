"""Cost per productive GPU hour. The user chooses what counts as productive, and the value's detail names it.

Formula: cost of the group's jobs / their productive GPU hours, as far as the bill covers them. `held`: every GPU hour
held. `busy`: hours in which GPUs were busy, by telemetry, on days that are billed in full; jobs without this
measurement are left out of both the numerator and the denominator. `not_lost`: GPU hours held, without those lost to
an interruption or a restart.

Example: the GPUs were busy for six of eight hours; the last two hours before the attempt failed were lost.

    machine  n1   4 gpus  4 h  8.00 USD
    attempt  a#1  2 gpus  4 h  state failed
    measured a#1  step 1  1 h
    measured a#1  checkpoint 100  1 h  from 1 h
    measured a#1  gpu_busy_seconds 21600  4 h
    =>
    a  held  4.00 / 8 = 0.50 USD per productive GPU hour
    a  busy  4.00 / 6 = 0.666667 USD per productive GPU hour
    a  not_lost  4.00 / 4 = 1.00 USD per productive GPU hour
"""

from decimal import Decimal
from fractions import Fraction

from trainfare.query.cost import PRODUCTIVE
from trainfare.query.measures.metric_value import MetricQuery, MetricValue, billed_gpu_hours, hours

CODE, NAME = "M8", "cost per productive GPU hour"
NOT_MEASURED = "no busy GPU time was measured"
Parts = tuple[Decimal | None, Fraction | None, str]
"""Numerator, denominator and note."""


def values(query: MetricQuery) -> list[MetricValue]:
    unit = f"{query.currency} per productive GPU hour"
    found = []
    for row in query.listed(per="wall"):
        key = tuple(row.group.values())
        for name in PRODUCTIVE:
            numerator, denominator, note = _busy(query, key) if name == "busy" else _held(query, name, key)
            found.append(MetricValue(CODE, row.group, name, numerator, denominator, unit, note))
    return found


def _held(query: MetricQuery, name: str, key: tuple[object, ...]) -> Parts:
    row = query.rows(per="productive", productive=name).get(key)
    covered = billed_gpu_hours(row)
    return row.rate_cost if row else None, covered, "" if covered else "no such GPU hours are known"


def _busy(query: MetricQuery, key: tuple[object, ...]) -> Parts:
    """Use only measured attempts, in the numerator and in the denominator."""
    busy = "s.measure = 'gpu_busy_seconds'"
    if not query.sums(query.measured("usage"), "value", busy):
        return None, None, NOT_MEASURED
    rows, where = query.busy_cost()
    paid = query.sums(rows, query.question.basis, where).get(key, {}).get("")
    seconds = query.sums(query.measured_in_full("usage"), "value", busy).get(key, {}).get("")
    row = query.rows(per="wall").get(key)
    partly = "measured attempts only" if row and paid != row.rate_cost else ""
    return paid, hours(seconds), partly if seconds else NOT_MEASURED
