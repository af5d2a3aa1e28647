"""The cluster, event by event: jobs come, wait, run on what is free, are interrupted, and start again from their last checkpoint.

Machines of a reserved pool are always there. Those of the others are started when jobs wait, take minutes to come up, and go when
nobody needs them; spot machines are also taken away. All times are whole seconds.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from heapq import heappop, heappush
from itertools import count
from random import Random

from trainfare.period import Month
from trainfare.simulate.clock import DAY, HOUR, span_of
from trainfare.simulate.cluster.faults import Faults
from trainfare.simulate.cluster.pools import POOLS, RESERVED, SPOT, Pool, places
from trainfare.simulate.people import Job, ask

WARM_UP = 36 * HOUR
PATIENCE = 20 * 60
LOOKAHEAD = 24
SHAPES = {(1, 1): 10, (1, 2): 15, (1, 4): 20, (1, 8): 30, (2, 8): 15, (4, 8): 10}
MEDIAN_WORK = 5 * HOUR
SPREAD = 0.9
SHORTEST, LONGEST = 20 * 60, 60 * HOUR
LIFE_OF_SPOT = 70 * HOUR
FAILURES = 0.03
USUALLY_FAR = 0.04
"""The part of the jobs whose data is in another region."""
BURST_LASTS = 30 * HOUR
STILL_THERE = 2**40


@dataclass(slots=True, eq=False)
class Machine:
    """One machine: since when and until when it existed, and which of its GPUs are free."""

    name: str
    pool: Pool
    since: int
    until: int = STILL_THERE
    free: int = 0
    idle_since: int = 0
    running: dict["Attempt", None] = field(default_factory=dict)
    is_surplus: bool = False
    """Started by an autoscaler that ran away; no job ever gets it."""


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """What a person asked for, and how it behaves. Work is in seconds of all its GPUs together."""

    job: Job
    pool: Pool
    machines: int
    gpus: int
    work: int
    load: int
    interval: int
    saving: int
    is_far: bool
    """Its data is in another region."""
    attempt: int = 1
    done: int = 0
    """Seconds of work that are safe in a checkpoint."""


@dataclass(slots=True, eq=False)
class Attempt:
    """One try: it loads, works, and saves after each interval of work."""

    task: Task
    machines: tuple[Machine, ...]
    started: int
    ended: int = 0
    state: str = "running"

    def saved(self) -> int:
        """How many checkpoints were finished when it ended."""
        task, worked = self.task, self.ended - self.started - self.task.load
        if self.state == "completed":
            return (task.work - task.done - 1) // task.interval
        return max(0, worked) // (task.interval + task.saving)


@dataclass
class Lot:
    """A pool at work: its machines by how many GPUs are free, and who waits."""

    pool: Pool
    places: int
    free: list[dict[Machine, None]]
    waiting: list[Task] = field(default_factory=list)
    alive: int = 0
    booting: int = 0

    def find(self, machines: int, gpus: int) -> list[Machine] | None:
        """The fullest machines on which so many GPUs are free, or none if there are not enough of them."""
        found: list[Machine] = []
        for level in range(gpus, len(self.free)):
            for machine in self.free[level]:
                found.append(machine)
                if len(found) == machines:
                    return found
        return None

    def move(self, machine: Machine, free: int) -> None:
        del self.free[machine.free][machine]
        machine.free = free
        self.free[free][machine] = None


class Cluster:
    """Runs a month, some hours before it, and after it until everybody is done."""

    def __init__(self, seed: int, month: Month, machines: int, faults: Faults) -> None:
        self.seed, self.month, self.faults = seed, month, faults
        self.rng = Random(f"{seed} events")
        self.start, self.end = span_of(month)
        self.machines: list[Machine] = []
        self.attempts: list[Attempt] = []
        self.numbers: Iterator[int] = count(1)
        self.order: Iterator[int] = count()
        self.heap: list[tuple[int, int, str, object]] = []
        self.lots = {pool.name: self._open(pool, places(pool, machines)) for pool in POOLS}

    def run(self) -> None:
        for lot in self.lots.values():
            self._expect_next(lot, self.start - WARM_UP)
        if fault := self.faults.get("F7"):
            lot = self.lots["a100-us"]
            self._at(fault.starts(self.month) + 9 * HOUR, "burst", (lot, max(4, fault.times(lot.places))))
        while self.heap:
            now, _, kind, what = heappop(self.heap)
            getattr(self, f"_on_{kind}")(now, what)

    def _open(self, pool: Pool, size: int) -> Lot:
        lot = Lot(pool, size, [{} for _ in range(pool.kind.gpus + 1)])
        if pool.market == RESERVED:
            for number in range(size):
                # The last one came late, so that some of the commitment is unused before.
                since = self.start + 2 * DAY + 7 * HOUR if number == size - 1 else self.start - 60 * DAY
                self._at(max(since, self.start - WARM_UP), "ready", (lot, self._launch(lot, since)))
        return lot

    def _at(self, when: int, kind: str, what: object) -> None:
        heappush(self.heap, (when, next(self.order), kind, what))

    def _launch(self, lot: Lot, now: int) -> Machine:
        machine = Machine(f"{lot.pool.name}-{len(self.machines) + 1:05d}", lot.pool, now)
        self.machines.append(machine)
        lot.alive += 1
        lot.booting += 1
        return machine

    # Jobs

    def _expect_next(self, lot: Lot, now: int) -> None:
        """The next job of a pool: many by day, few by night and on weekends."""
        mean_work = MEDIAN_WORK * math.exp(SPREAD**2 / 2)
        mean_gpus = sum(m * g * weight for (m, g), weight in SHAPES.items()) / sum(SHAPES.values())
        rate = lot.places * lot.pool.kind.gpus * lot.pool.busy / 100 / (mean_work * mean_gpus)
        moment = now
        while moment < self.end:
            moment += 1 + int(self.rng.expovariate(rate * 1.4))
            hour, weekday = moment // HOUR % 24, (moment // DAY + 3) % 7
            likely = (1.4 if 8 <= hour < 20 else 0.7) * (0.7 if weekday >= 5 else 1.0)
            if self.rng.random() < likely / 1.4:
                self._at(moment, "asked", lot)
                return

    def _on_asked(self, now: int, lot: Lot) -> None:
        if now < self.end:
            lot.waiting.append(self._invent(lot.pool, now))
            self._start_waiting(lot, now)
            self._expect_next(lot, now)

    def _invent(self, pool: Pool, now: int) -> Task:
        rng, number = self.rng, next(self.numbers)
        machines, gpus = rng.choices(list(SHAPES), list(SHAPES.values()))[0]
        work = min(LONGEST, max(SHORTEST, int(MEDIAN_WORK * rng.lognormvariate(0, SPREAD))))
        name = str(100_000 + number) if pool.bill == "us" else f"eu-{number:06d}"
        job = replace(ask(rng, rng.choice(pool.teams), number), job_id=name)
        interval, saving, load = rng.randrange(1200, 4800, 60), rng.randrange(20, 150), rng.randrange(60, 400)
        fault = self.faults.get("F3")
        far = fault.size if fault and now >= fault.starts(self.month) else USUALLY_FAR
        return Task(job, pool, machines, gpus, work, load, interval, saving, rng.random() < far)

    def _start_waiting(self, lot: Lot, now: int) -> None:
        """Start who fits, in order, and let smaller ones pass those who do not; then ask for machines."""
        kept: list[Task] = []
        for place, task in enumerate(lot.waiting):
            found = lot.find(task.machines, task.gpus) if place < LOOKAHEAD else None
            if found is None:
                kept.append(task)
            else:
                self._begin(lot, task, tuple(found), now)
        lot.waiting = kept
        if lot.pool.market != RESERVED:
            wanted = sum(task.machines for task in kept[:LOOKAHEAD]) - lot.booting
            for _ in range(max(0, min(wanted, lot.places - lot.alive))):
                machine = self._launch(lot, now)
                self._at(now + self.rng.randint(180, 600), "ready", (lot, machine))
                if lot.pool.market == SPOT:
                    self._at(now + self._life(now), "taken", (lot, machine))

    def _life(self, now: int) -> int:
        """Seconds until the market takes a spot machine back."""
        fault = self.faults.get("F2")
        churns = fault is not None and fault.starts(self.month) <= now < self.end
        mean = LIFE_OF_SPOT / fault.size if fault and churns else LIFE_OF_SPOT
        return 600 + int(self.rng.expovariate(1 / int(mean)))

    def _begin(self, lot: Lot, task: Task, machines: tuple[Machine, ...], now: int) -> None:
        attempt = Attempt(task, machines, now)
        for machine in machines:
            lot.move(machine, machine.free - task.gpus)
            machine.running[attempt] = None
        self.attempts.append(attempt)
        left = task.work - task.done
        needed = task.load + left + (left - 1) // task.interval * task.saving
        if self.rng.random() < FAILURES:
            self._at(now + self.rng.randint(60, needed), "over", (lot, attempt, "failed"))
        else:
            self._at(now + needed, "over", (lot, attempt, "completed"))

    def _on_over(self, now: int, what: tuple[Lot, Attempt, str]) -> None:
        lot, attempt, state = what
        if attempt.state == "running":
            self._finish(lot, attempt, now, state)
            self._start_waiting(lot, now)

    def _finish(self, lot: Lot, attempt: Attempt, now: int, state: str) -> None:
        """End an attempt, free what it held, and put what is left of its job back into the queue."""
        attempt.ended, attempt.state = now, state
        task = attempt.task
        for machine in attempt.machines:
            del machine.running[attempt]
            if machine.until > now:
                lot.move(machine, machine.free + task.gpus)
                self._watch_idle(lot, machine, now)
        if state == "preempted" or (state == "failed" and task.attempt < 4):
            done = task.done + attempt.saved() * task.interval
            lot.waiting.insert(0, replace(task, attempt=task.attempt + 1, done=done))

    # Machines

    def _on_ready(self, now: int, what: tuple[Lot, Machine]) -> None:
        lot, machine = what
        lot.booting -= 1
        if machine.until > now:
            machine.free = machine.pool.kind.gpus
            lot.free[machine.free][machine] = None
            self._watch_idle(lot, machine, now)
            self._start_waiting(lot, now)

    def _watch_idle(self, lot: Lot, machine: Machine, now: int) -> None:
        if machine.free == machine.pool.kind.gpus and machine.pool.market != RESERVED:
            machine.idle_since = now
            self._at(now + PATIENCE, "idle", (lot, machine, now))

    def _on_idle(self, now: int, what: tuple[Lot, Machine, int]) -> None:
        lot, machine, since = what
        if machine.until > now and not machine.running and machine.idle_since == since:
            self._remove(lot, machine, now)

    def _on_taken(self, now: int, what: tuple[Lot, Machine]) -> None:
        """The market takes a machine: whoever is on it is interrupted, on all of its machines."""
        lot, machine = what
        if machine.until > now:
            self._remove(lot, machine, now)
            for attempt in list(machine.running):
                self._finish(lot, attempt, now, "preempted")
            self._start_waiting(lot, now)

    def _remove(self, lot: Lot, machine: Machine, now: int) -> None:
        machine.until = now
        lot.alive -= 1
        lot.free[machine.free].pop(machine, None)

    def _on_burst(self, now: int, what: tuple[Lot, int]) -> None:
        """An autoscaler without a bound: machines for jobs that cannot start."""
        lot, number = what
        for _ in range(number):
            machine = Machine(f"{lot.pool.name}-{len(self.machines) + 1:05d}", lot.pool, now + self.rng.randint(0, 900))
            machine.until = machine.since + BURST_LASTS + self.rng.randint(0, HOUR)
            machine.is_surplus = True
            self.machines.append(machine)
