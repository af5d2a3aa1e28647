"""What an hour of training costs, as people wait for it.

Formula: cost of the group's jobs / hours in which they held anything, each second of a job once, as far as the bill covers them.

Example: a job on two machines for two hours takes two hours, not four.

    machine  n1  4 gpus  4 h  8.00 USD
    machine  n2  4 gpus  4 h  8.00 USD
    attempt  a   4 gpus  2 h  from 0 h  on n1
    attempt  a   4 gpus  2 h  from 0 h  on n2
    =>
    a  8.00 / 2 = 4.00 USD per hour
"""

from trainfare.report.measures.figure import Asked, Figure, billed_hours

CODE, NAME = "M1", "cost per wall-clock hour"


def figures(asked: Asked) -> list[Figure]:
    unit = f"{asked.currency} per hour"
    return [
        Figure(CODE, row.group, "", row.cost, below, unit, "" if below else "the bill covers no hour of it")
        for row in asked.report().rows
        for below in [billed_hours(row)]
    ]
