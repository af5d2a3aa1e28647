"""The part of jobs' cost that went into lost work: whole attempts, and parts of attempts.

Formula: lost cost / cost of the group's jobs; and separately overhead / cost (writing checkpoints, and the first
start). Lost is what an interrupted attempt did since the checkpoint from which the next one resumed, and the start of
every attempt after the first; each second at the cost of the machines held in it. If no checkpoints are known, an
interrupted attempt counts in full, and the note says "at most".

Example: the attempt was preempted an hour after its checkpoint, which took an hour. The next one trains at once.

    machine  n1   4 gpus  8 h  8.00 USD
    attempt  a#1  4 gpus  4 h  state preempted
    measured a#1  step 1  1 h
    measured a#1  checkpoint 100  1 h  from 2 h
    attempt  a#2  4 gpus  4 h  from 4 h
    measured a#2  step 101  1 h  from 4 h
    =>
    a  lost  1.00 / 8 = 0.125 of cost
    a  overhead  1.00 / 8 = 0.125 of cost
"""

from decimal import Decimal
from fractions import Fraction

from trainfare.query.measures.metric_value import MetricQuery, MetricValue

CODE, NAME = "M5", "retry overhead"
UNIT = "of cost"
AT_MOST = "at most: the checkpoints of some jobs are unknown"


def values(query: MetricQuery) -> list[MetricValue]:
    basis, money = query.question.basis, query.question.selection.money
    work = query.measured("work")
    parts = query.sums(work, basis, money, "s.part")
    bounded = query.sums(work, basis, f"{money} AND s.how = 'at most'")
    found = []
    for row in query.listed():
        if row.cost is None:
            continue
        key = tuple(row.group.values())
        for part in ("lost", "overhead"):
            note = AT_MOST if part == "lost" and key in bounded else "" if row.cost else "the cost is zero"
            amount = parts.get(key, {}).get(part, Decimal(0))
            found.append(MetricValue(CODE, row.group, part, amount, Fraction(row.cost), UNIT, note))
    return found
