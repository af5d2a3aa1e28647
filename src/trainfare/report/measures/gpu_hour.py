"""What an hour of one GPU costs a job.

Formula: cost of the group's jobs / GPUs they held times hours, as far as the bill covers them.

Example: half a machine for four hours is eight GPU hours. The other half is idle, and no job's cost.

    machine  n1  4 gpus  4 h  8.00 USD
    attempt  a   2 gpus  4 h
    =>
    a  4.00 / 8 = 0.50 USD per GPU hour
"""

from trainfare.report.measures.figure import Asked, Figure, billed_gpu_hours

CODE, NAME = "M2", "cost per GPU hour"


def figures(asked: Asked) -> list[Figure]:
    unit = f"{asked.currency} per GPU hour"
    found = []
    for row in asked.report().rows:
        below = billed_gpu_hours(row)
        why = "its GPUs are not known" if below is None else "" if below else "the bill covers no GPU hour of it"
        found.append(Figure(CODE, row.group, "", row.cost, below, unit, why))
    return found
