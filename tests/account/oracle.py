"""Who pays for machines, worked out second by second in plain Python: what the SQL is measured against.

Knows only rules for machines: held time is weighed by GPUs, what nobody held is idle's; where use is asked for and was
measured in a pot's time, that is weighed instead. Whole numbers only; every pot is divided by `money.split`. What is
weighed is a payer's day, as in the shares.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from trainfare.money import split

DAY = 86400
MICRO = 10**6
SECOND = 720_720_000
"""Parts of a second of a machine that cannot be weighed against its size: unknown, or held beyond it."""
EVER = 10**11


class Piece(NamedTuple):
    """A payer's day. Attempts come before idle, by job and number: of equals the first keeps what does not divide."""

    is_idle: bool
    job: str
    attempt: int
    day: int

    @property
    def payer(self) -> str:
        return "__idle__" if self.is_idle else f"{self.job}#{self.attempt}"


@dataclass(frozen=True)
class Machine:
    name: str
    gpu_micros: int | None = None
    existed: tuple[int, int] = (-EVER, EVER)


class Placement(NamedTuple):
    """`ended` is None while the job runs, `gpu_micros` where the log does not say."""

    job: str
    attempt: int
    machine: str
    started: int
    ended: int | None
    gpu_micros: int | None


class Use(NamedTuple):
    """Something measured about an attempt on a machine, from `started` to `ended`."""

    job: str
    attempt: int
    machine: str
    started: int
    ended: int
    used: int


class Charge(NamedTuple):
    """Amounts in whole units, one per basis. Charges of one category and period are one pot."""

    machine: str
    period: tuple[int, int]
    category: str
    amounts: tuple[int, ...]


class Hold(NamedTuple):
    job: str
    attempt: int
    start: int
    end: int
    grip: int


Owed = dict[tuple[str, str, int], list[int]]
"""Whole units per basis, by machine, payer and day."""


def settle(
    machines: Sequence[Machine], placements: Iterable[Placement], charges: Sequence[Charge], uses: Iterable[Use] = ()
) -> Owed:
    """What everybody owes for the machines. Adds up to the charges exactly."""
    measured = list(dict.fromkeys(uses))
    told = _once(placements)
    window = min(c.period[0] for c in charges), max(c.period[1] for c in charges)
    pots: dict[tuple[str, tuple[int, int], str], list[int]] = {}
    for charge in charges:
        pot = pots.setdefault((charge.machine, charge.period, charge.category), [0] * len(charge.amounts))
        pots[charge.machine, charge.period, charge.category] = [a + b for a, b in zip(pot, charge.amounts, strict=True)]
    known = {machine.name: Held.of(machine, told, window) for machine in machines}
    owed: Owed = defaultdict(lambda: [0] * len(charges[0].amounts))
    for (machine, period, _), amounts in pots.items():
        weights = _measured([use for use in measured if use.machine == machine], period) or known[machine].weights(
            period
        )
        for basis, whole in enumerate(amounts):
            for piece, part in split(whole, weights).items():
                owed[machine, piece.payer, piece.day][basis] += part
    return owed


def _once(placements: Iterable[Placement]) -> list[Placement]:
    """Every row once; one without an end gives way to one of the same hold that has it."""
    told = list(dict.fromkeys(placements))
    ended = {placement[:4] for placement in told if placement.ended is not None}
    return [placement for placement in told if placement.ended is not None or placement[:4] not in ended]


@dataclass(frozen=True)
class Held:
    """One machine within the time the bill speaks of: its holds and the size they are weighed against."""

    machine: Machine
    holds: tuple[Hold, ...]
    capacity: int | None

    @classmethod
    def of(cls, machine: Machine, placements: Iterable[Placement], window: tuple[int, int]) -> "Held":
        mine = [p for p in placements if p.machine == machine.name and _meet(p, machine.existed)]
        has_gpus = (machine.gpu_micros or 0) > 0 or any((placement.gpu_micros or 0) > 0 for placement in mine)
        capacity = machine.gpu_micros if has_gpus else 1
        holds = []
        for placement in mine:
            start = max(placement.started, machine.existed[0], window[0])
            end = min(EVER if placement.ended is None else placement.ended, machine.existed[1], window[1])
            untold = MICRO if capacity is None else capacity
            grip = (untold if placement.gpu_micros is None else placement.gpu_micros) if has_gpus else 1
            if start < end and grip:
                holds.append(Hold(placement.job, placement.attempt, start, end, grip))
        return cls(machine, tuple(sorted(holds)), capacity)

    def during(self, start: int) -> list[Hold]:
        return [hold for hold in self.holds if hold.start <= start < hold.end]

    @property
    def is_uneven(self) -> bool:
        """Whether time has to be cut: the size is not known, or at some second more was held than there is."""
        if self.capacity is None:
            return bool(self.holds)
        return any(sum(hold.grip for hold in self.during(start)) > self.capacity for _, _, start, _, _ in self.holds)

    def weights(self, period: tuple[int, int]) -> Mapping[Piece, int]:
        """What each payer's day weighs in a period; where nothing weighs anything, all of it is idle."""
        weights: dict[Piece, int] = defaultdict(int)
        uneven = self.is_uneven
        for start, end in self._stretches(period):
            held = self.during(start)
            whole = SECOND if uneven else 1 if self.capacity is None else self.capacity
            parts = _parts_of_a_second(held, self.capacity) if uneven else [hold.grip for hold in held]
            for hold, part in zip(held, parts, strict=True):
                weights[Piece(False, hold.job, hold.attempt, start // DAY)] += part * (end - start)
            weights[Piece(True, "", 0, start // DAY)] += (whole - sum(parts)) * (end - start)
        if not any(weights.values()):
            return {Piece(True, "", 0, period[0] // DAY): 1}
        return weights

    def _stretches(self, period: tuple[int, int]) -> list[tuple[int, int]]:
        """The period, as far as the machine existed, cut wherever a day or a hold begins or ends."""
        first, last = max(period[0], self.machine.existed[0]), min(period[1], self.machine.existed[1])
        if first >= last:
            return []
        moments = {first, last, *range((first // DAY + 1) * DAY, last, DAY)}
        moments |= {moment for hold in self.holds for moment in hold[2:4] if first < moment < last}
        cuts = sorted(moments)
        return list(pairwise(cuts))


def _measured(uses: Iterable[Use], period: tuple[int, int]) -> Mapping[Piece, int]:
    """What each payer's day weighs by measurement: each use spread evenly over its span, whole parts so far handed out."""
    weights: dict[Piece, int] = defaultdict(int)
    for use in uses:
        end = max(use.ended, use.started + 1)
        first, last = max(use.started, period[0]), min(end, period[1])
        cuts = [first, *range((first // DAY + 1) * DAY, last, DAY), last] if first < last else []
        for start, stop in pairwise(cuts):
            before, after = (use.used * (moment - use.started) // (end - use.started) for moment in (start, stop))
            weights[Piece(False, use.job, use.attempt, start // DAY)] += after - before
    return {piece: weight for piece, weight in weights.items() if weight}


def _meet(placement: Placement, span: tuple[int, int]) -> bool:
    return placement.started < span[1] and (placement.ended is None or placement.ended > span[0])


def _parts_of_a_second(held: Sequence[Hold], capacity: int | None) -> list[int]:
    """A second's parts, handed out one holder after another so that what does not divide is lost nowhere."""
    whole = max(sum(hold.grip for hold in held), capacity or 0)
    ends, upto = [0], 0
    for hold in held:
        upto += hold.grip
        ends.append(SECOND * upto // whole)
    return [after - before for before, after in pairwise(ends)]
