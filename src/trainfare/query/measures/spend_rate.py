"""The rate at which training spends money, whoever pays: over the last 15 minutes, hour, six hours and day (burn rate).

Formula: charges of the window / its hours. A window ends where the bill is complete. A charge is spread evenly over its
period. Non-training cost is excluded; idle and unallocated cost is included.

Example: a second machine exists for the last of four hours.

    machine  n1  4 gpus  4 h  8.00 USD
    attempt  a   4 gpus  4 h
    machine  n2  4 gpus  1 h  from 3 h  6.00 USD
    attempt  b   4 gpus  1 h  from 3 h
    =>
    15 min  2.00 / 0.25 = 8.00 USD per hour
    1 h  8.00 / 1 = 8.00 USD per hour
    6 h  14.00 / 6 = 2.333333 USD per hour
    24 h  14.00 / 24 = 0.583333 USD per hour
"""

from decimal import Decimal
from fractions import Fraction

from trainfare.query.measures.metric_value import MetricQuery, MetricValue
from trainfare.query.stored import select_of

CODE, NAME = "M4", "spend rate"
WHOLE_BILL = "it is that of the entire bill, at its end: it has no days and no filters"
WINDOWS = {900: "15 min", 3600: "1 h", 21600: "6 h", 86400: "24 h"}


def values(query: MetricQuery) -> list[MetricValue]:
    """Compute the rates of the last open book; an earlier one ends with its own last day.

    They cover the whole bill, so a viewer who may not see the table `spend_rates` gets no amounts.
    """
    last = query.opened.books[-1]
    unit = f"{query.currency} per hour"
    if query.is_part:
        return [MetricValue(CODE, {}, "", None, None, unit, WHOLE_BILL)]
    if last.complete_through is None:
        note = "the bill has no metered charge, so it is unknown how far it is complete"
        return [MetricValue(CODE, {}, name, None, None, unit, note) for name in WINDOWS.values()]
    found = dict(
        query.opened.engine.rows(
            f"SELECT window_seconds, sum({query.question.basis}) FROM ({select_of(last, 'spend_rates')}) "
            f"WHERE {query.question.selection.money} AND EXISTS (SELECT 1 FROM spend_rates) GROUP BY window_seconds"
        )
    )
    return [
        MetricValue(CODE, {}, name, found.get(seconds, Decimal(0)), Fraction(seconds, 3600), unit)
        for seconds, name in WINDOWS.items()
    ]
