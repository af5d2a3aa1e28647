"""F2 from the input rows alone: what preemptions of spot machines cost."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from .findings_records import DAY, Amounts, Hold, Line, Paid, Records


def spot_churn(records: Records, paid: Iterable[Paid]) -> Amounts:
    """F2: the lost end of attempts preempted on a machine while it is billed as spot, and the startups after them."""
    spot: dict[str, list[Line]] = defaultdict(list)
    for line in records.lines:
        if line.pricing == "Dynamic":
            spot[line.resource].append(line)

    def is_preempted(hold: Hold) -> bool:
        lines = spot[hold.machine]
        return (
            hold.state == "preempted"
            and bool(lines)
            and hold.span[0] < max(line.period[1] for line in lines)
            and hold.span[1] > min(line.period[0] for line in lines)
        )

    jobs: dict[str, list[Hold]] = defaultdict(list)
    for hold in sorted(records.holds, key=lambda hold: (hold.job, hold.attempt)):
        jobs[hold.job].append(hold)
    days: dict[tuple[str, int], list[Paid]] = defaultdict(list)
    for one in paid:
        days[one.payer, one.day].append(one)
    for attempts in jobs.values():
        for index, hold in enumerate(attempts):
            own, follows = is_preempted(hold), index > 0 and is_preempted(attempts[index - 1])
            if own or follows:
                yield from _churn_of(records, attempts, index, days, (own, follows))


def _churn_of(
    records: Records,
    attempts: Sequence[Hold],
    index: int,
    days: Mapping[tuple[str, int], list[Paid]],
    caused: tuple[bool, bool],
) -> Amounts:
    """Yield the part of one attempt's cost that its own preemption, and that of the attempt before it, caused."""
    hold = attempts[index]
    startup, end, overhead = _lost_spans(records, attempts, index)
    own, follows = caused
    for day in range(hold.span[0] // DAY, (hold.span[1] - 1) // DAY + 1):
        seconds = [_on(day, end), _on(day, startup), *(_on(day, span) for span in overhead)]
        # Each phase gets the integer part, the heaviest (ties: kept work, then in this order) what does not divide.
        phases = [_on(day, hold.span) - sum(seconds), *seconds[:2], *_start_and_saves(seconds[2:], index)]
        heaviest = phases.index(max(phases))
        for one in days.get((f"{hold.job}#{hold.attempt}", day), ()):
            units = [one.units * phase // sum(phases) for phase in phases]
            units[heaviest] += one.units - sum(units)
            yield one.currency, (units[1] if own else 0) + (units[2] if follows else 0)


def _start_and_saves(overhead: Sequence[int], index: int) -> tuple[int, int]:
    """The seconds of the first start, and of writing checkpoints."""
    return (0, sum(overhead)) if index or not overhead else (overhead[0], sum(overhead[1:]))


def _lost_spans(
    records: Records, attempts: Sequence[Hold], index: int
) -> tuple[tuple[int, int], tuple[int, int], list[tuple[int, int]]]:
    """Return the lost startup, the lost end, and the overhead of one attempt."""
    hold = attempts[index]
    job = {(one.attempt, one.measure, one.span) for one in records.measured if one.job == hold.job}
    is_last = index == len(attempts) - 1
    interrupted = hold.state in ("preempted", "failed") or (hold.state == "canceled" and not is_last)
    if not any(measure == "checkpoint" for _, measure, _ in job):
        return (0, 0), hold.span if interrupted else (0, 0), []
    trained = [span[0] for attempt, measure, span in job if (attempt, measure) == (hold.attempt, "step")]
    saved = sorted(span for attempt, measure, span in job if (attempt, measure) == (hold.attempt, "checkpoint"))
    started = min(trained, default=hold.span[0])
    startup = (hold.span[0], started)
    end = (max((span[1] for span in saved), default=started), hold.span[1]) if interrupted else (0, 0)
    saved = [(first, min(last, end[0]) if interrupted else last) for first, last in saved]
    return ((0, 0), end, [startup, *saved]) if index == 0 else (startup, end, saved)


def _on(day: int, span: tuple[int, int]) -> int:
    return max(0, min(span[1], (day + 1) * DAY) - max(span[0], day * DAY))
