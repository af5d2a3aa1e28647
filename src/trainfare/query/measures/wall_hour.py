"""Cost per hour of training, as people wait for it.

Formula: cost of the group's jobs / hours in which they held anything, each second of a job once. Both count the days
on which everything that an attempt held is billed, in whichever book. If there is no such day, there is no value; the
note says what it is at least.

Example: a job on two machines for two hours takes two hours, not four.

    machine  n1  4 gpus  4 h  8.00 USD
    machine  n2  4 gpus  4 h  8.00 USD
    attempt  a   4 gpus  2 h  from 0 h  on n1
    attempt  a   4 gpus  2 h  from 0 h  on n2
    =>
    a  8.00 / 2 = 4.00 USD per hour
"""

from trainfare.query.measures.metric_value import MetricQuery, MetricValue, billed_hours, why_no_rate

CODE, NAME = "M1", "cost per wall-clock hour"


def values(query: MetricQuery) -> list[MetricValue]:
    unit = f"{query.currency} per hour"
    return [
        MetricValue(CODE, row.group, "", row.rate_cost, covered, unit, "" if covered else why_no_rate(row))
        for row in query.listed(per="wall")
        for covered in [billed_hours(row)]
    ]
