"""How much of what training costs could be given to nobody, and why.

Formula: unallocated cost / (total of the bill - cost outside of training). One figure for all, and one for each reason.
It has no groups: what is unallocated is nobody's.

Example: two of ten dollars name no machine, job or tag. The database is not training.

    machine  n1  4 gpus  4 h  8.00 USD
    attempt  a   4 gpus  4 h
    charge   network  2.00 USD
    charge   database  5.00 USD
    =>
    -  2.00 / 10 = 0.20 of training cost
    network cost that names no machine, job or tag  2.00 / 10 = 0.20 of training cost
"""

from fractions import Fraction

from trainfare.report.measures.figure import Asked, Figure

CODE, NAME = "M3", "unallocated ratio"
UNIT = "of training cost"


def figures(asked: Asked) -> list[Figure]:
    answer = asked.report()
    training = Fraction(answer.total - answer.outside.cost)
    why = "" if training else "nothing was spent on training"
    parts = [("", answer.unallocated.cost), *answer.unallocated.reasons]
    return [Figure(CODE, {}, reason, money, training, UNIT, why) for reason, money in parts]
