"""What of an attempt's time and money was kept, lost or overhead: a slow model in plain Python, second by second.

It shares no code with the account. Seconds count from the start of October. An attempt is identified by its place in
the order of all attempts, which is the order in which ties are settled.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from .books import DAY, MONTH

KEPT, UNSAVED, RESTART, START, CHECKPOINT = range(5)
PARTS = {UNSAVED: "lost", RESTART: "lost", START: "overhead", CHECKPOINT: "overhead"}
INTERRUPTED = ("preempted", "failed", "node_failed", "requeued", "timeout")
IDLE, NOBODY = 10**9, 10**9 + 1
SCALE = 10**6
"""Weights of a currency unit of spend."""
Span = tuple[int, int]
PayerDay = tuple[int, int]
Phases = dict[int, int]


@dataclass(frozen=True)
class Hold:
    machine: str
    span: Span
    gpus: int


@dataclass
class Attempt:
    """One attempt of a job: what it held, the checkpoints and steps measured in it, with their spans."""

    job: str
    number: int
    state: str
    holds: list[Hold] = field(default_factory=list)
    checkpoints: list[tuple[Span, int]] = field(default_factory=list)
    steps: list[tuple[Span, int]] = field(default_factory=list)

    @property
    def span(self) -> Span:
        return min(hold.span[0] for hold in self.holds), max(hold.span[1] for hold in self.holds)

    @property
    def finished(self) -> list[tuple[Span, int]]:
        """Its finished checkpoints, cut to its time; clocks may differ by a minute."""
        first, last = self.span
        within = [one for one in self.checkpoints if one[0][0] >= first - 60 and one[0][1] <= last + 60]
        return sorted(((min(max(s, first), last), max(min(e, last), first)), step) for (s, e), step in within)


@dataclass(frozen=True)
class Charge:
    """A bill line: for a machine, for a job by its tag, for everyone evenly, or by spend (tax)."""

    scope: str
    name: str
    span: Span
    units: int


@dataclass(frozen=True)
class World:
    """Jobs with their attempts in order, machines with their GPUs, and a bill."""

    jobs: Mapping[str, Sequence[Attempt]]
    machines: Mapping[str, int]
    charges: Sequence[Charge]

    @property
    def attempts(self) -> list[Attempt]:
        return [attempt for job in sorted(self.jobs) for attempt in self.jobs[job]]


def saves(attempt: Attempt) -> list[tuple[Span, int]]:
    """Its checkpoints, where those of one step that overlap or touch are one, in the order of their starts."""
    found: list[tuple[Span, int]] = []
    for step in {step for _, step in attempt.finished}:
        own: list[Span] = []
        for first, last in sorted(span for span, one in attempt.finished if one == step):
            if own and first <= own[-1][1]:
                own[-1] = own[-1][0], max(own[-1][1], last)
            else:
                own.append((first, last))
        found += [(span, step) for span in own]
    return sorted(found)


def pace(job: Sequence[Attempt]) -> Span | None:
    """Seconds between checkpoints, and the steps made in them."""
    seconds = steps = 0
    for attempt in job:
        ordered = saves(attempt)
        for index in range(1, len(ordered)):
            more = ordered[index][1] - ordered[index - 1][1]
            if more > 0:
                seconds += max(ordered[index][0][0] - max(span[1] for span, _ in ordered[:index]), 0)
                steps += more
    return (seconds, steps) if steps else None


def resumed(job: Sequence[Attempt], index: int) -> tuple[int, int, int] | None:
    """The checkpoint an attempt resumed from: who wrote it, when it was finished, and its step; None: none."""
    saved = [(by, span[1], step) for by in range(index) for span, step in job[by].finished]
    if job[index].steps:
        first = min(step for _, step in job[index].steps)
        below = [one for one in saved if one[2] < first]
        return max(below, key=lambda one: (one[2], one[0], one[1]), default=None)
    return max(saved, default=None)


def training_start(job: Sequence[Attempt], index: int) -> int:
    attempt = job[index]
    first, last = attempt.span
    saved = saves(attempt)
    found, pace_of_job = first, pace(job)
    if attempt.steps:
        found = min(span[0] for span, _ in attempt.steps)
    elif saved and pace_of_job:
        before = resumed(job, index) if index else None
        steps = max(saved[0][1] - (before[2] if before else 0), 0)
        found = saved[0][0][0] - pace_of_job[0] * steps // pace_of_job[1]
    return min(max(found, first), last, saved[0][0][0] if saved else last)


def phase_at(job: Sequence[Attempt], index: int) -> Callable[[int], int]:
    """Return the phase of each second in an attempt. Lost takes precedence over overhead."""
    attempt = job[index]
    is_last = index == len(job) - 1
    interrupted = attempt.state in INTERRUPTED or (attempt.state in ("canceled", "unknown") and not is_last)
    if not any(one.finished for one in job):
        return lambda second: UNSAVED if interrupted else KEPT
    started = training_start(job, index)
    last_saved = max((span[1] for span, _ in attempt.finished), default=started)

    def is_unsaved(second: int) -> bool:
        if not interrupted or second < started:
            return False
        later = [resumed(job, other) for other in range(index + 1, len(job))]
        return (
            second >= last_saved
            if is_last
            else any(back is None or back[0] < index or (back[0] == index and second >= back[1]) for back in later)
        )

    def phase(second: int) -> int:
        if is_unsaved(second):
            return UNSAVED
        if second < started:
            return RESTART if index else START
        is_writing = any(first <= second < last for (first, last), _ in attempt.finished)
        return CHECKPOINT if is_writing else KEPT

    return phase


def spans_by_phase(job: Sequence[Attempt], index: int) -> list[tuple[Span, int]]:
    """The time of an attempt from its first to its last second, cut wherever its phase may change, and at midnight."""
    first, last = job[index].span
    cuts = {first, last, training_start(job, index), *range(first // DAY * DAY, last, DAY)}
    cuts |= {moment for one in job for span, _ in one.finished for moment in span}
    cuts |= {moment for hold in job[index].holds for moment in hold.span}
    ordered = sorted(cut for cut in cuts if first <= cut <= last)
    phase = phase_at(job, index)
    return [((a, b), phase(a)) for a, b in pairwise(ordered)]


def overlap(*spans: Span) -> int:
    return max(0, min(span[1] for span in spans) - max(span[0] for span in spans))


class Model:
    """The account of a world."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.phases = [
            spans_by_phase(job, index)
            for job in (world.jobs[name] for name in sorted(world.jobs))
            for index in range(len(job))
        ]

    def seconds(self) -> dict[tuple[int, int, int], int]:
        """The GPU seconds held, by attempt, day and phase, within the month."""
        found: dict[tuple[int, int, int], int] = defaultdict(int)
        for number, attempt in enumerate(self.world.attempts):
            for span, phase in self.phases[number]:
                held = sum(overlap(span, hold.span, (0, MONTH)) * hold.gpus for hold in attempt.holds)
                found[number, span[0] // DAY, phase] += held
        return {key: value for key, value in found.items() if value}

    def held(self, charge: Charge, period: Span) -> dict[PayerDay, Phases]:
        """What each attempt and day weighs in a pot, by phase."""
        found: dict[PayerDay, Phases] = defaultdict(lambda: defaultdict(int))
        for number, attempt in enumerate(self.world.attempts):
            if charge.scope == "job" and attempt.job != charge.name:
                continue
            for span, phase in self.phases[number]:
                holds = [one for one in attempt.holds if charge.scope != "machine" or one.machine == charge.name]
                amounts = [(overlap(span, hold.span, period), hold.gpus) for hold in holds]
                weight = sum(seconds * gpus for seconds, gpus in amounts)
                if charge.scope == "evenly":  # every second once: spans are cut where holds begin and end
                    weight = max((seconds for seconds, _ in amounts), default=0)
                if weight:
                    found[number, span[0] // DAY][phase] += weight
        return found

    def weights(self, charge: Charge) -> tuple[dict[PayerDay, int], dict[PayerDay, Phases]]:
        """The weight of each payer and day in a pot, and how each attempt's is divided."""
        phases = self.held(charge, charge.span)
        if charge.scope == "job" and not phases:
            phases = self.held(charge, (0, MONTH))
        if charge.scope == "evenly":
            together: dict[PayerDay, Phases] = {}
            for number in sorted({number for number, _ in phases}):
                days = sorted(day for one, day in phases if one == number)
                together[number, days[0]] = _sum(phases[number, day] for day in days)
            return dict.fromkeys(together, 1), together
        weights = {key: sum(one.values()) for key, one in phases.items()}
        if charge.scope == "machine":
            for day in range(charge.span[0] // DAY, (charge.span[1] - 1) // DAY + 1):
                exists = overlap(charge.span, (day * DAY, (day + 1) * DAY)) * self.world.machines[charge.name]
                idle = exists - sum(weight for (_, on), weight in weights.items() if on == day)
                if idle:
                    weights[IDLE, day] = idle
        return weights, phases

    def money(self) -> tuple[dict[tuple, int], dict[tuple, int]]:
        """What attempts pay, by attempt, machine and day; and by phase too."""
        paid: dict[tuple, int] = defaultdict(int)
        parts: dict[tuple, int] = defaultdict(int)
        for charge in self.world.charges:
            if charge.scope != "spend":
                weights, phases = self.weights(charge)
                machine = charge.name if charge.scope == "machine" else None
                weights = weights or {(NOBODY, charge.span[0] // DAY): 1}
                _book(charge.units, weights, phases, machine, paid, parts)
        spent, spent_parts = dict(paid), dict(parts)
        for charge in self.world.charges:
            if charge.scope == "spend":
                self._book_spend(charge, spent, spent_parts, paid, parts)
        return dict(paid), dict(parts)

    def _book_spend(self, charge: Charge, spent: dict, spent_parts: dict, paid: dict, parts: dict) -> None:
        order = {None: 0} | {name: place for place, name in enumerate(sorted(self.world.machines), 1)}
        weights = {key: units * SCALE // 10**12 for key, units in spent.items() if units * SCALE >= 10**12}
        ordered = {(number, order[machine], day): weight for (number, machine, day), weight in weights.items()}
        names = {place: name for name, place in order.items()}
        for (number, place, day), units in _split(charge.units, ordered).items():
            key = number, names[place], day
            paid[key] += units
            phases = {phase: max(spent_parts.get((*key, phase), 0), 0) * SCALE // 10**12 for phase in PARTS}
            phases[KEPT] = max(weights[key] - sum(phases.values()), 0)
            for phase, part in _split(units, phases).items():
                parts[*key, phase] += part


def _book(units: int, weights: dict, phases: dict, machine: str | None, paid: dict, parts: dict) -> None:
    for (number, day), share in _split(units, weights).items():
        paid[number, machine, day] += share
        for phase, part in _split(share, phases.get((number, day), {KEPT: 1})).items():
            parts[number, machine, day, phase] += part


def _split(units: int, weights: Mapping) -> dict:
    """Integer parts, the heaviest gets the rest (ties: the smallest); a credit is a negated charge."""
    weighed = {key: weight for key, weight in weights.items() if weight}
    total, size, sign = sum(weighed.values()), abs(units), -1 if units < 0 else 1
    if not weighed:
        return {}
    heaviest = min(weighed, key=lambda key: (-weighed[key], key))
    found = {key: size * weight // total for key, weight in weighed.items() if key != heaviest}
    found[heaviest] = size - sum(found.values())
    return {key: sign * part for key, part in found.items()}


def _sum(many: Iterable[Phases]) -> Phases:
    found: Phases = defaultdict(int)
    for one in many:
        for phase, weight in one.items():
            found[phase] += weight
    return found
