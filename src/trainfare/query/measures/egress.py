"""Network cost per hour of training, by the regions that data was sent from and to.

Formula: network cost of the group's jobs, split by the bytes they were measured to send from region to region /
wall-clock hours of these jobs, both on days that are billed in full. Network cost without measured bytes has no
regions.

Example: two thirds of the bytes went from eu to us, one third to ap.

    machine  n1  4 gpus  4 h  8.00 USD  region eu
    attempt  a   4 gpus  4 h
    measured a   bytes_sent 200  1 h  from_region eu  to_region us
    measured a   bytes_sent 100  1 h  from_region eu  to_region ap
    charge   network  6.00 USD  4 h  tag job_id=a
    =>
    a  eu -> ap  2.00 / 4 = 0.50 USD per hour
    a  eu -> us  4.00 / 4 = 1.00 USD per hour
"""

from decimal import Decimal

from trainfare.query.measures.metric_value import NO_DAY_IN_FULL, MetricQuery, MetricValue, billed_hours

CODE, NAME = "M7", "egress cost per training hour"
PAIR = "s.from_region || ' -> ' || coalesce(s.to_region, '?')"
NOT_MEASURED = "not measured"
NETWORK = "s.payer_kind = 'attempt' AND s.in_wall AND s.category = 'network'"


def values(query: MetricQuery) -> list[MetricValue]:
    unit = f"{query.currency} per hour"
    rows = query.rows(per="wall")
    where = f"s.currency = '{query.currency}'"
    found = []
    basis = query.question.basis
    by_pair = query.sums(query.measured_in_full("egress"), basis, f"{where} AND s.from_region IS NOT NULL", PAIR)
    for key, paid in query.sums(query.shares("category", currency_only=True, with_rates=True), basis, NETWORK).items():
        pairs = by_pair.get(key, {})
        if rest := paid[""] - sum(pairs.values(), Decimal(0)):
            pairs = pairs | {NOT_MEASURED: rest}
        covered = billed_hours(rows.get(key))
        note = "" if covered else NO_DAY_IN_FULL
        found += [
            MetricValue(CODE, query.group(key), pair, amount, covered, unit, note) for pair, amount in pairs.items()
        ]
    return found
