"""The part of training cost that is allocated to nobody, and why.

Formula: unallocated cost / (all cost - non-training cost). One value for all of it, and one for each reason.
It has no groups, because unallocated cost belongs to nobody.

Example: two of ten dollars name no machine, job or tag. The database is not training.

    machine  n1  4 gpus  4 h  8.00 USD
    attempt  a   4 gpus  4 h
    charge   network  2.00 USD
    charge   database  5.00 USD
    =>
    -  2.00 / 10 = 0.20 of training cost
    network with no matching machine, job or mapped tag  2.00 / 10 = 0.20 of training cost
"""

from fractions import Fraction

from trainfare.query.measures.metric_value import MetricQuery, MetricValue

CODE, NAME = "M3", "unallocated ratio"
UNIT = "of training cost"


def values(query: MetricQuery) -> list[MetricValue]:
    report = query.report()
    training = Fraction(report.total - report.outside.cost)
    note = "" if training else "nothing was spent on training"
    parts = [("", report.unallocated.cost), *report.unallocated.reasons]
    return [MetricValue(CODE, {}, reason, amount, training, UNIT, note) for reason, amount in parts]
