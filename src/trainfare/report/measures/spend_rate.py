"""How fast money is being spent on training, whoever pays: in the last quarter of an hour, hour, six hours and day.

Formula: charges of the window / its hours. A window ends where the bill is complete. A charge is spread evenly over its
period. What is not training is left out; idle and unallocated cost is not.

Example: a second machine is there for the last of four hours.

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

from trainfare.report.measures.figure import Asked, Figure
from trainfare.report.opened import select_of

CODE, NAME = "M4", "spend rate"
WINDOWS = {900: "15 min", 3600: "1 h", 21600: "6 h", 86400: "24 h"}


def figures(asked: Asked) -> list[Figure]:
    """Of the last month that is open in the books: an earlier one ended with its own last day. It is the whole bill's: who may not see
    the table of it is told nothing.
    """
    last = asked.opened.books[-1]
    unit = f"{asked.currency} per hour"
    if last.complete_through is None:
        why = "the bill has no metered charge, so nobody knows how far it goes"
        return [Figure(CODE, {}, name, None, None, unit, why) for name in WINDOWS.values()]
    found = dict(
        asked.opened.engine.rows(
            f"SELECT window_seconds, sum({asked.question.basis}) FROM ({select_of(last, 'spend_rates')}) "
            f"WHERE {asked.question.slice.money} AND EXISTS (SELECT 1 FROM spend_rates) GROUP BY window_seconds"
        )
    )
    return [
        Figure(CODE, {}, name, found.get(seconds, Decimal(0)), Fraction(seconds, 3600), unit)
        for seconds, name in WINDOWS.items()
    ]
