"""The scheduler of the invented company: which attempt held which machines, and when.

A machine is a row of half-GPU slots, each free from some moment on. An attempt takes slots that are free and
moves that moment to its own end; so no machine is ever held beyond what it has.
"""

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from heapq import heappop, heappush
from random import Random

from trainfare.period import Month
from trainfare.simulate.clock import DAY, HOUR, Span, span_of, weekend
from trainfare.simulate.fleet import H100, Machine, Pool, horizon, launch
from trainfare.simulate.people import Job, ask

MICRO = 10**6
SLOT_MICRO_GPUS = MICRO // 2
SHORTEST = 15 * 60
LONGEST = 96 * HOUR
MOST_ATTEMPTS = 6


@dataclass(frozen=True, slots=True)
class Attempt:
    """One try of a job. It holds `micro_gpus` millionths of a GPU on each of its machines while it runs."""

    job: Job
    number: int
    started: int
    ended: int
    state: str
    machines: tuple[Machine, ...]
    micro_gpus: int


@dataclass(frozen=True)
class Demand:
    """What the jobs of a pool ask for: whose they are, their shapes (machines, slots on each) and their hours."""

    teams: dict[str, int]
    shapes: dict[tuple[int, int], int]
    median_hours: float


SMALL = {(1, 1): 9, (1, 2): 14, (1, 4): 16, (1, 8): 15}
DEMANDS = {
    "h100": Demand({"nlp": 84, "vision": 12, "speech": 4}, {**SMALL, (1, 16): 30, (2, 16): 12, (4, 16): 4}, 12.0),
    "a100-spot-us": Demand(
        {"vision": 78, "nlp": 14, "speech": 8}, {**SMALL, (1, 16): 34, (2, 16): 9, (3, 16): 3}, 12.0
    ),
    "a100-spot-eu": Demand({"vision": 64, "speech": 36}, {**SMALL, (1, 16): 34, (2, 16): 6}, 12.0),
    "a10g-spot-eu": Demand(
        {"speech": 82, "vision": 18}, {(1, 1): 15, (1, 2): 30, (1, 4): 25, (1, 8): 30, (2, 8): 8}, 14.0
    ),
    "owned-a100": Demand({"speech": 72, "vision": 16, "nlp": 12}, {**SMALL, (1, 16): 24, (2, 16): 5}, 10.0),
}


@dataclass(frozen=True, slots=True)
class Task:
    """What is left to do of a job: the next attempt and how many seconds it still needs."""

    job: Job
    attempt: int
    machines: int
    slots: int
    seconds: int
    works_weekends: bool


@dataclass(slots=True)
class Slots:
    """One machine's half GPUs, sorted by the moment from which each is free."""

    machine: Machine
    free: list[int]

    def ready(self, slots: int, wanted: int) -> int:
        """The first moment from `wanted` on at which `slots` of them are free."""
        return max(wanted, self.free[slots - 1])

    def idle_slots(self, moment: int) -> int:
        return bisect_right(self.free, moment)

    def hold(self, slots: int, start: int, end: int) -> None:
        """Take the slots that were freed last, so that long-idle ones stay together for larger jobs."""
        idle = self.idle_slots(start)
        self.free[idle - slots : idle] = [end] * slots
        self.free.sort()

    @property
    def leaves(self) -> int:
        return self.machine.existed[1]


@dataclass
class Scheduler:
    """Fills one pool through the month, job after job."""

    rng: Random
    pool: Pool
    month: Month
    numbers: Iterator[int]
    """Gives the next job its number; shared by all pools."""
    open: list[Slots]
    quiet: Span
    attempts: list[Attempt] = field(default_factory=list)
    retries: list[tuple[int, int, Task]] = field(default_factory=list)

    def run(self) -> list[Attempt]:
        """Give every slot work as it falls free, with a short gap, until the month is over."""
        _, end = span_of(self.month)
        while True:
            self.open = [slots for slots in self.open if slots.leaves - self._awake(slots.free[0]) > SHORTEST]
            now = min((self._awake(slots.free[0]) for slots in self.open), default=end)
            if now >= end:
                return self.attempts
            if self.retries and self.retries[0][0] <= now + HOUR:
                wanted, _, task = heappop(self.retries)
                self.place(task, max(wanted, now))
            else:
                self.place(self.new_task(), now + int(self.rng.expovariate(1 / 1500)))

    def _awake(self, moment: int) -> int:
        """`moment`, or the Monday after the quiet weekend where nobody starts anything then."""
        saturday, monday = self.quiet
        return monday if saturday - 2 * HOUR < moment < monday else moment

    def new_task(self) -> Task:
        demand, rng = DEMANDS[self.pool.name], self.rng
        team = rng.choices(list(demand.teams), list(demand.teams.values()))[0]
        machines, slots = rng.choices(list(demand.shapes), list(demand.shapes.values()))[0]
        hours = demand.median_hours * rng.lognormvariate(0, 0.8) * (0.5 if slots < 3 else 1)
        duration = min(LONGEST, SHORTEST + int(hours * HOUR))
        return Task(ask(rng, team, next(self.numbers)), 1, machines, slots, duration, rng.random() < 0.02)

    def place(self, task: Task, wanted: int) -> None:
        """Run the next attempt of `task` on the machines that are free first, at `wanted` or later."""
        chosen, start = self._choose(task, wanted)
        if not task.works_weekends:
            if self._awake(start) > start:
                chosen, start = self._choose(task, self._awake(start) + self.rng.randint(0, 6 * HOUR))
            rest = self.quiet[0] - start
            if 0 < rest < task.seconds:
                task = replace(task, seconds=rest - self.rng.randint(0, HOUR))
        if not chosen:
            return
        end, state = self._outcome(task, start, min(slots.leaves for slots in chosen))
        for slots in chosen:
            slots.hold(task.slots, start, end)
        machines = tuple(sorted((slots.machine for slots in chosen), key=lambda machine: machine.machine_id))
        gpus = task.slots * SLOT_MICRO_GPUS
        self.attempts.append(Attempt(task.job, task.attempt, start, end, state, machines, gpus))
        self._try_again(task, start, end, state)

    def _choose(self, task: Task, wanted: int) -> tuple[list[Slots], int]:
        """The machines that are ready first (of equals, the fullest), and when all of them are."""
        near = [slots for slots in self.open if slots.free[0] < wanted + DAY]
        offers = [(slots.ready(task.slots, wanted), slots) for slots in near]
        offers.sort(key=lambda offer: (offer[0], offer[1].idle_slots(offer[0]), offer[1].machine.machine_id))
        while offers:
            taken = offers[: task.machines]
            start = max(moment for moment, _ in taken)
            lasting = [offer for offer in taken if offer[1].leaves > start + SHORTEST]
            if len(lasting) == len(taken):
                return [slots for _, slots in taken], start
            offers = lasting + offers[task.machines :]
        return [], wanted

    def _outcome(self, task: Task, start: int, leaves: int) -> tuple[int, str]:
        """When the attempt ends and how. A spot machine takes it down; an on-demand one waits for it to finish."""
        rng = self.rng
        if start + task.seconds > leaves:
            return (leaves, "preempted") if self.pool.spot else (leaves - rng.randint(60, 600), "completed")
        luck = rng.random()
        if luck < 0.88:
            return start + task.seconds, "completed"
        state = "failed" if luck < 0.95 else "cancelled" if luck < 0.98 else "timeout"
        if state == "failed" and not self.pool.spot and luck > 0.94:
            state = "node_failed"
        return start + max(SHORTEST // 2, int(task.seconds * rng.uniform(0.1, 0.9))), state

    def _try_again(self, task: Task, start: int, end: int, state: str) -> None:
        """Queue another attempt after a preemption, or after every other failure. A tenth of the work is lost."""
        again = state in ("preempted", "node_failed") or (state == "failed" and self.rng.random() < 0.5)
        left = task.seconds - int((end - start) * 0.9)
        if again and left > SHORTEST and task.attempt < MOST_ATTEMPTS:
            following = replace(task, attempt=task.attempt + 1, seconds=left)
            heappush(self.retries, (end + self.rng.randint(300, 3000), len(self.attempts), following))


def fill(rng: Random, pool: Pool, machines: list[Machine], month: Month, numbers: Iterator[int]) -> list[Attempt]:
    """Everything that ran on the machines of one pool."""
    start, _ = horizon(month)
    rows = [Slots(m, [max(start, m.existed[0])] * (MICRO // SLOT_MICRO_GPUS * m.kind.gpus)) for m in machines]
    return Scheduler(rng, pool, month, numbers, rows, weekend(month, 3)).run()


def gangs(rng: Random, month: Month, scale: float, numbers: Iterator[int]) -> tuple[list[Machine], list[Attempt]]:
    """The large runs: 8 to 16 machines are started for each, and go away after it. One of them fails and resumes."""
    start, end = span_of(month)
    quiet = weekend(month, 3)
    machines: list[Machine] = []
    attempts: list[Attempt] = []
    for number, size in enumerate((8, 16, 10, 12, 16, 8)[: max(1, round(6 * scale))]):
        duration = rng.randint(18 * HOUR, 36 * HOUR)
        began = start + (2 + 5 * number) * DAY + rng.randint(0, 12 * HOUR)
        if _meets((began - HOUR, began + duration + 4 * HOUR), quiet):
            began = quiet[1] + rng.randint(0, 6 * HOUR)
        job = ask(rng, "nlp", next(numbers))
        failed = began + duration // 3 if number == 1 else None
        resumed = failed + 25 * 60 if failed else began
        ended = resumed + (duration * 3 // 4 if failed else duration)
        existed = (began - rng.randint(500, 900), ended + rng.randint(300, 700))
        gang = tuple(sorted((launch(rng, H100, existed) for _ in range(size)), key=lambda machine: machine.machine_id))
        machines += gang
        if failed:
            attempts.append(Attempt(job, 1, began, failed, "failed", gang, H100.kind.gpus * MICRO))
        attempts.append(Attempt(job, 2 if failed else 1, resumed, ended, "completed", gang, H100.kind.gpus * MICRO))
    return machines, [attempt for attempt in attempts if attempt.started < end]


def _meets(first: Span, second: Span) -> bool:
    return first[0] < second[1] and second[0] < first[1]
