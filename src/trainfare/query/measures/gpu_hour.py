"""Cost per GPU hour of a job.

Formula: cost of the group's jobs / GPUs they held times hours, as far as these are billed. On a day on which only a
part of what an attempt held is billed, cost that is not for machine time counts in the same proportion.

Example: half a machine for four hours is eight GPU hours. The other half is idle, and not part of any job's cost.

    machine  n1  4 gpus  4 h  8.00 USD
    attempt  a   2 gpus  4 h
    =>
    a  4.00 / 8 = 0.50 USD per GPU hour
"""

from trainfare.query.measures.metric_value import MetricQuery, MetricValue, billed_gpu_hours

CODE, NAME = "M2", "cost per GPU hour"


def values(query: MetricQuery) -> list[MetricValue]:
    unit = f"{query.currency} per GPU hour"
    found = []
    for row in query.listed(per="gpu"):
        covered = billed_gpu_hours(row)
        note = "its number of GPUs is unknown" if covered is None else ""
        if covered == 0:
            note = "the bill covers none of its GPU hours"
        found.append(MetricValue(CODE, row.group, "", row.rate_cost, covered, unit, note))
    return found
