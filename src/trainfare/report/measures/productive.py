"""What an hour of one GPU costs, counting only hours that did something. The user says what that is; the figure names it.

Formula: cost of the group's jobs / their productive GPU hours, as far as the bill covers them. `held`: every GPU hour held. `busy`: hours
in which GPUs worked, by telemetry; jobs of which that was not measured are left out above and below. `not_lost`: GPU hours
held, without what was lost to an interruption or a restart.

Example: the GPUs worked six of eight hours; the last two hours before the attempt failed were lost.

    machine  n1   4 gpus  4 h  8.00 USD
    attempt  a#1  2 gpus  4 h  state failed
    measured a#1  step 1  1 h
    measured a#1  checkpoint 100  1 h  from 1 h
    measured a#1  gpu_busy_seconds 21600  4 h
    =>
    a  held  4.00 / 8 = 0.50 USD per productive GPU hour
    a  busy  4.00 / 6 = 0.666667 USD per productive GPU hour
    a  not_lost  4.00 / 4 = 1.00 USD per productive GPU hour
"""

from decimal import Decimal
from fractions import Fraction

from trainfare.report.cost import PRODUCTIVE
from trainfare.report.measures.figure import Asked, Figure, billed_gpu_hours, hours

CODE, NAME = "M8", "cost per productive GPU hour"


def figures(asked: Asked) -> list[Figure]:
    unit = f"{asked.currency} per productive GPU hour"
    found = []
    for row in asked.report().rows:
        key = tuple(row.group.values())
        for name in PRODUCTIVE:
            top, below, why = _busy(asked, key) if name == "busy" else _held(asked, name, key)
            found.append(Figure(CODE, row.group, name, top, below, unit, why))
    return found


def _held(asked: Asked, name: str, key: tuple[object, ...]) -> tuple[Decimal | None, Fraction | None, str]:
    row = asked.rows(per="productive", productive=name).get(key)
    below = billed_gpu_hours(row)
    return row.cost if row else None, below, "" if below else "no such GPU hour is known"


def _busy(asked: Asked, key: tuple[object, ...]) -> tuple[Decimal | None, Fraction | None, str]:
    """Above and below are of the attempts that were measured."""
    measured = "(SELECT DISTINCT job_id, attempt FROM book_usage WHERE measure = 'gpu_busy_seconds')"
    where = f"{asked.question.slice.money} AND payer_kind = 'attempt' AND (job_id, attempt) IN {measured}"
    paid = asked.sums("shares", asked.question.basis, where).get(key, {}).get("")
    seconds = asked.sums("book_usage", "value", "measure = 'gpu_busy_seconds'").get(key, {}).get("")
    row = asked.rows().get(key)
    partly = "only of its measured attempts" if row and paid != row.cost else ""
    return paid, hours(seconds), partly if seconds else "no busy GPU time was measured"
