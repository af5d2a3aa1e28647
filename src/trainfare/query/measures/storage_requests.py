"""Cost of storage requests per hour of training.

Formula: cost that rules split by storage requests, as far as jobs pay it / wall-clock hours of the group's jobs, both
on days that are billed in full. Only a rule can say which charges are for requests: without a rule with `by =
"requests"` there is no value.

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

from trainfare.query.measures.metric_value import NO_DAY_IN_FULL, MetricQuery, MetricValue, billed_hours

CODE, NAME = "M6", "storage request cost per training hour"
RULES = "SELECT name FROM rules_in_force WHERE \"by\" = 'requests'"
NO_RULE = 'no rule has by = "requests"'


def values(query: MetricQuery) -> list[MetricValue]:
    unit = f"{query.currency} per hour"
    if not query.opened.engine.rows(RULES):
        return [MetricValue(CODE, {}, "", None, None, unit, NO_RULE)]
    where = f"s.payer_kind = 'attempt' AND s.in_wall AND s.rule IN ({RULES})"
    paid = query.sums(query.shares("rule", with_rates=True), query.question.basis, where)
    found = []
    for row in query.listed(per="wall"):
        amount = paid.get(tuple(row.group.values()), {}).get("", Decimal(0))
        covered = billed_hours(row)
        note = "" if covered else NO_DAY_IN_FULL
        found.append(MetricValue(CODE, row.group, "", amount, covered, unit, note))
    return found
