"""What sending data costs an hour of training, by where it came from and went to.

Formula: network cost of the group's jobs, cut by the bytes they were measured to send from region to region / wall-clock hours of
these jobs that the bill covers. Network cost of jobs of which no bytes were measured has no regions.

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

from trainfare.report.measures.figure import Asked, Figure, billed_hours

CODE, NAME = "M7", "egress cost per training hour"
PAIR = "from_region || ' -> ' || coalesce(to_region, '?')"
NOT_MEASURED = "not measured"
NETWORK = "payer_kind = 'attempt' AND category = 'network'"


def figures(asked: Asked) -> list[Figure]:
    unit = f"{asked.currency} per hour"
    rows = asked.rows()
    where = f"currency = '{asked.currency}'"
    found = []
    basis = asked.question.basis
    by_pair = asked.sums("egress", basis, f"{where} AND from_region IS NOT NULL", PAIR)
    for key, paid in asked.sums("shares", basis, f"{where} AND {NETWORK}").items():
        pairs = by_pair.get(key, {})
        if rest := paid[""] - sum(pairs.values(), Decimal(0)):
            pairs = pairs | {NOT_MEASURED: rest}
        below = billed_hours(rows.get(key))
        why = "" if below else "the bill covers no hour of it"
        found += [Figure(CODE, asked.group(key), pair, top, below, unit, why) for pair, top in pairs.items()]
    return found
