"""What asking storage costs an hour of training.

Formula: cost that rules share by storage requests, as far as jobs pay it / wall-clock hours of the group's jobs that the bill covers.
Which charges are for requests only a rule can say: without a rule `by = "requests"` there is no figure.

Example: the job sent three quarters of the requests and ran two hours.

    machine  n1  4 gpus  4 h  8.00 USD
    attempt  a   2 gpus  2 h  from 0 h
    attempt  b   2 gpus  4 h  from 0 h
    measured a   storage_requests 300  2 h
    measured b   storage_requests 100  4 h
    charge   storage  4.00 USD  4 h
    rules
    [[rule]]
    name = "requests"
    match = { category = "storage" }
    among = "all"
    by = "requests"
    =>
    a  3.00 / 2 = 1.50 USD per hour
    b  1.00 / 4 = 0.25 USD per hour
"""

from decimal import Decimal

from trainfare.report.measures.figure import Asked, Figure, billed_hours

CODE, NAME = "M6", "storage request cost per training hour"
RULES = "SELECT name FROM rules_in_force WHERE \"by\" = 'requests'"
NO_RULE = 'no rule shares by = "requests"'


def figures(asked: Asked) -> list[Figure]:
    unit = f"{asked.currency} per hour"
    if not asked.opened.engine.rows(RULES):
        return [Figure(CODE, {}, "", None, None, unit, NO_RULE)]
    where = f"{asked.question.slice.money} AND payer_kind = 'attempt' AND rule IN ({RULES})"
    paid = asked.sums("shares", asked.question.basis, where)
    found = []
    for row in asked.report().rows:
        top = paid.get(tuple(row.group.values()), {}).get("", Decimal(0))
        below = billed_hours(row)
        why = "" if below else "the bill covers no hour of it"
        found.append(Figure(CODE, row.group, "", top, below, unit, why))
    return found
