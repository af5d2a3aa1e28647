"""The cost of machines, allocated second by second in plain Python: the reference model for the SQL.

Covers only rules for machines: held time is weighed by GPUs, and what no job held is idle. If a rule goes by use and
use was measured in a pot's time, that is weighed instead. Integers only; every pot is split by `money.split`. The unit
that has a weight is a payer's day, as in the shares.
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
"""Parts of a second of a machine that is overcommitted or of unknown size."""
EVER = 10**11


class PayerDay(NamedTuple):
    """A payer's day. Attempts sort before idle, by job and number: of equals the first gets what does not divide."""

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
    """`ended` is None while the job runs; `gpu_micros` is None if the log does not state it."""

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
    held_amount: int


Owed = dict[tuple[str, str, int], list[int]]
"""Whole units per basis, by machine, payer and day."""


def allocate(
    machines: Sequence[Machine], placements: Iterable[Placement], charges: Sequence[Charge], uses: Iterable[Use] = ()
) -> Owed:
    """Return what every payer owes for the machines. It adds up to the charges exactly."""
    measured = list(dict.fromkeys(uses))
    held = _once(placements)
    window = min(c.period[0] for c in charges), max(c.period[1] for c in charges)
    pots: dict[tuple[str, tuple[int, int], str], list[int]] = {}
    for charge in charges:
        pot = pots.setdefault((charge.machine, charge.period, charge.category), [0] * len(charge.amounts))
        pots[charge.machine, charge.period, charge.category] = [a + b for a, b in zip(pot, charge.amounts, strict=True)]
    known = {machine.name: Held.of(machine, held, window) for machine in machines}
    owed: Owed = defaultdict(lambda: [0] * len(charges[0].amounts))
    for (machine, period, _), amounts in pots.items():
        weights = _measured([use for use in measured if use.machine == machine], period) or known[machine].weights(
            period
        )
        for basis, total in enumerate(amounts):
            for payer_day, part in split(total, weights).items():
                owed[machine, payer_day.payer, payer_day.day][basis] += part
    return owed


def _once(placements: Iterable[Placement]) -> list[Placement]:
    """Return every row once; a row without an end is dropped if another row of the same hold has one."""
    distinct = list(dict.fromkeys(placements))
    ended = {placement[:4] for placement in distinct if placement.ended is not None}
    return [placement for placement in distinct if placement.ended is not None or placement[:4] not in ended]


@dataclass(frozen=True)
class Held:
    """One machine within the time that the bill covers: its holds and the capacity they are weighed against."""

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
            unstated = MICRO if capacity is None else capacity
            held_amount = (unstated if placement.gpu_micros is None else placement.gpu_micros) if has_gpus else 1
            if start < end and held_amount:
                holds.append(Hold(placement.job, placement.attempt, start, end, held_amount))
        return cls(machine, tuple(sorted(holds)), capacity)

    def during(self, start: int) -> list[Hold]:
        return [hold for hold in self.holds if hold.start <= start < hold.end]

    def is_overcommitted(self, period: tuple[int, int]) -> bool:
        """Whether a period has to be cut: the size is unknown, or more was held at some second of it than there is."""
        starts = [max(hold.start, period[0]) for hold in self.holds if hold.start < period[1] and hold.end > period[0]]
        if self.capacity is None:
            return bool(starts)
        return any(sum(hold.held_amount for hold in self.during(start)) > self.capacity for start in starts)

    def weights(self, period: tuple[int, int]) -> Mapping[PayerDay, int]:
        """Return the weight of each payer's day in a period; without any weight, all of it is idle."""
        weights: dict[PayerDay, int] = defaultdict(int)
        is_overcommitted = self.is_overcommitted(period)
        for start, end in self._intervals(period):
            held = self.during(start)
            total = SECOND if is_overcommitted else 1 if self.capacity is None else self.capacity
            parts = _second_parts(held, self.capacity) if is_overcommitted else [hold.held_amount for hold in held]
            for hold, part in zip(held, parts, strict=True):
                weights[PayerDay(False, hold.job, hold.attempt, start // DAY)] += part * (end - start)
            weights[PayerDay(True, "", 0, start // DAY)] += (total - sum(parts)) * (end - start)
        if not any(weights.values()):
            return {PayerDay(True, "", 0, period[0] // DAY): 1}
        return weights

    def _intervals(self, period: tuple[int, int]) -> list[tuple[int, int]]:
        """Return the part of the period in which the machine existed, cut wherever a day or a hold begins or ends."""
        first, last = max(period[0], self.machine.existed[0]), min(period[1], self.machine.existed[1])
        if first >= last:
            return []
        moments = {first, last, *range((first // DAY + 1) * DAY, last, DAY)}
        moments |= {moment for hold in self.holds for moment in hold[2:4] if first < moment < last}
        cuts = sorted(moments)
        return list(pairwise(cuts))


def _measured(uses: Iterable[Use], period: tuple[int, int]) -> Mapping[PayerDay, int]:
    """Return the weight of each payer's day by measurement: each use spread evenly over its time span, in integers."""
    weights: dict[PayerDay, int] = defaultdict(int)
    for use in uses:
        end = max(use.ended, use.started + 1)
        first, last = max(use.started, period[0]), min(end, period[1])
        cuts = [first, *range((first // DAY + 1) * DAY, last, DAY), last] if first < last else []
        for start, stop in pairwise(cuts):
            before, after = (use.used * (moment - use.started) // (end - use.started) for moment in (start, stop))
            weights[PayerDay(False, use.job, use.attempt, start // DAY)] += after - before
    return {payer_day: weight for payer_day, weight in weights.items() if weight}


def _meet(placement: Placement, span: tuple[int, int]) -> bool:
    return placement.started < span[1] and (placement.ended is None or placement.ended > span[0])


def _second_parts(held: Sequence[Hold], capacity: int | None) -> list[int]:
    """Return the parts of a second by holder, as growth of a running sum, so that nothing is lost in rounding."""
    total = max(sum(hold.held_amount for hold in held), capacity or 0)
    ends, upto = [0], 0
    for hold in held:
        upto += hold.held_amount
        ends.append(SECOND * upto // total)
    return [after - before for before, after in pairwise(ends)]
