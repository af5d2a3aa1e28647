"""The scheduler of the simulated company: which attempt held which machines, and when.

A machine is a list of half GPUs, each free from some moment on. An attempt takes half GPUs that are free and moves that
moment to its own end, so no machine is ever held beyond its capacity.
"""

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from heapq import heappop, heappush
from random import Random

from trainfare.period import Month
from trainfare.simulate.clock import DAY, HOUR, Span, span_of, weekend
from trainfare.simulate.fleet import H100, Machine, Pool, horizon, launch
from trainfare.simulate.people import Job, random_job

MICRO = 10**6
HALF_GPU_MICRO = MICRO // 2
SHORTEST = 15 * 60
LONGEST = 96 * HOUR
MAX_ATTEMPTS = 6


@dataclass(frozen=True)
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
    """What the jobs of a pool request: weights of teams and shapes (machines, half GPUs on each), and median hours."""

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


@dataclass(frozen=True)
class Task:
    """The remaining work of a job: its next attempt and the seconds it still needs."""

    job: Job
    attempt: int
    machines: int
    half_gpus: int
    seconds: int
    works_weekends: bool


@dataclass
class MachineSchedule:
    """One machine's half GPUs, sorted by the moment each becomes free."""

    machine: Machine
    free_from: list[int]

    def ready(self, half_gpus: int, wanted: int) -> int:
        """Return the first moment, `wanted` or later, at which `half_gpus` are free."""
        return max(wanted, self.free_from[half_gpus - 1])

    def idle_count(self, moment: int) -> int:
        return bisect_right(self.free_from, moment)

    def hold(self, half_gpus: int, start: int, end: int) -> None:
        """Take the half GPUs that were freed last, so that long-idle ones stay together for larger jobs."""
        idle = self.idle_count(start)
        self.free_from[idle - half_gpus : idle] = [end] * half_gpus
        self.free_from.sort()

    @property
    def machine_end(self) -> int:
        return self.machine.existed[1]


@dataclass
class Scheduler:
    """Fills one pool through the month, job after job."""

    rng: Random
    pool: Pool
    month: Month
    numbers: Iterator[int]
    """The number of the next job; shared by all pools."""
    schedules: list[MachineSchedule]
    quiet: Span
    attempts: list[Attempt] = field(default_factory=list)
    retries: list[tuple[int, int, Task]] = field(default_factory=list)

    def run(self) -> list[Attempt]:
        """Give every half GPU work as it becomes free, after a short gap, until the month is over."""
        _, end = span_of(self.month)
        while True:
            self.schedules = [one for one in self.schedules if one.machine_end - self._next_start(one) > SHORTEST]
            now = min(map(self._next_start, self.schedules), default=end)
            if now >= end:
                return self.attempts
            if self.retries and self.retries[0][0] <= now + HOUR:
                wanted, _, task = heappop(self.retries)
                self.place(task, max(wanted, now))
            else:
                self.place(self.new_task(), now + int(self.rng.expovariate(1 / 1500)))

    def _next_start(self, schedule: MachineSchedule) -> int:
        return self._after_quiet_weekend(schedule.free_from[0])

    def _after_quiet_weekend(self, moment: int) -> int:
        """Return `moment`, or the following Monday if it falls on the quiet weekend, when no job is started."""
        saturday, monday = self.quiet
        return monday if saturday - 2 * HOUR < moment < monday else moment

    def new_task(self) -> Task:
        demand, rng = DEMANDS[self.pool.name], self.rng
        team = rng.choices(list(demand.teams), list(demand.teams.values()))[0]
        machines, half_gpus = rng.choices(list(demand.shapes), list(demand.shapes.values()))[0]
        hours = demand.median_hours * rng.lognormvariate(0, 0.8) * (0.5 if half_gpus < 3 else 1)
        duration = min(LONGEST, SHORTEST + int(hours * HOUR))
        return Task(random_job(rng, team, next(self.numbers)), 1, machines, half_gpus, duration, rng.random() < 0.02)

    def place(self, task: Task, wanted: int) -> None:
        """Run the next attempt of `task` on the machines that become free first, at `wanted` or later."""
        chosen, start = self._choose(task, wanted)
        if not task.works_weekends:
            if self._after_quiet_weekend(start) > start:
                chosen, start = self._choose(task, self._after_quiet_weekend(start) + self.rng.randint(0, 6 * HOUR))
            rest = self.quiet[0] - start
            if 0 < rest < task.seconds:
                task = replace(task, seconds=rest - self.rng.randint(0, HOUR))
        if not chosen:
            return
        end, state = self._end_and_state(task, start, min(schedule.machine_end for schedule in chosen))
        for schedule in chosen:
            schedule.hold(task.half_gpus, start, end)
        machines = tuple(sorted((schedule.machine for schedule in chosen), key=lambda machine: machine.machine_id))
        gpus = task.half_gpus * HALF_GPU_MICRO
        self.attempts.append(Attempt(task.job, task.attempt, start, end, state, machines, gpus))
        self._retry(task, start, end, state)

    def _choose(self, task: Task, wanted: int) -> tuple[list[MachineSchedule], int]:
        """Return the machines that are ready first (ties: the fullest), and when all of them are ready."""
        near = [schedule for schedule in self.schedules if schedule.free_from[0] < wanted + DAY]
        options = [(schedule.ready(task.half_gpus, wanted), schedule) for schedule in near]
        options.sort(key=lambda option: (option[0], option[1].idle_count(option[0]), option[1].machine.machine_id))
        while options:
            candidates = options[: task.machines]
            start = max(moment for moment, _ in candidates)
            long_enough = [option for option in candidates if option[1].machine_end > start + SHORTEST]
            if len(long_enough) == len(candidates):
                return [schedule for _, schedule in candidates], start
            options = long_enough + options[task.machines :]
        return [], wanted

    def _end_and_state(self, task: Task, start: int, machine_end: int) -> tuple[int, str]:
        """Return when and how the attempt ends. A spot machine preempts it; an on-demand one waits for it to finish."""
        rng = self.rng
        if start + task.seconds > machine_end:
            return (machine_end, "preempted") if self.pool.spot else (machine_end - rng.randint(60, 600), "completed")
        luck = rng.random()
        if luck < 0.88:
            return start + task.seconds, "completed"
        state = "failed" if luck < 0.95 else "canceled" if luck < 0.98 else "timeout"
        if state == "failed" and not self.pool.spot and luck > 0.94:
            state = "node_failed"
        return start + max(SHORTEST // 2, int(task.seconds * rng.uniform(0.1, 0.9))), state

    def _retry(self, task: Task, start: int, end: int, state: str) -> None:
        """Queue another attempt after a preemption, or after every other failure. A tenth of the work is lost."""
        is_retried = state in ("preempted", "node_failed") or (state == "failed" and self.rng.random() < 0.5)
        left = task.seconds - int((end - start) * 0.9)
        if is_retried and left > SHORTEST and task.attempt < MAX_ATTEMPTS:
            retry = replace(task, attempt=task.attempt + 1, seconds=left)
            heappush(self.retries, (end + self.rng.randint(300, 3000), len(self.attempts), retry))


def fill_pool(rng: Random, pool: Pool, machines: list[Machine], month: Month, numbers: Iterator[int]) -> list[Attempt]:
    """Return all attempts that ran on the machines of one pool."""
    start, _ = horizon(month)
    schedules = [
        MachineSchedule(m, [max(start, m.existed[0])] * (MICRO // HALF_GPU_MICRO * m.kind.gpus)) for m in machines
    ]
    return Scheduler(rng, pool, month, numbers, schedules, weekend(month, 3)).run()


def gang_runs(rng: Random, month: Month, scale: float, numbers: Iterator[int]) -> tuple[list[Machine], list[Attempt]]:
    """Return the large runs: each gets 8 to 16 machines of its own, which stop after it. One run fails and resumes."""
    start, end = span_of(month)
    quiet = weekend(month, 3)
    machines: list[Machine] = []
    attempts: list[Attempt] = []
    for number, size in enumerate((8, 16, 10, 12, 16, 8)[: max(1, round(6 * scale))]):
        duration = rng.randint(18 * HOUR, 36 * HOUR)
        started = start + (2 + 5 * number) * DAY + rng.randint(0, 12 * HOUR)
        if _overlaps((started - HOUR, started + duration + 4 * HOUR), quiet):
            started = quiet[1] + rng.randint(0, 6 * HOUR)
        job = random_job(rng, "nlp", next(numbers))
        failed = started + duration // 3 if number == 1 else None
        resumed = failed + 25 * 60 if failed else started
        ended = resumed + (duration * 3 // 4 if failed else duration)
        existed = (started - rng.randint(500, 900), ended + rng.randint(300, 700))
        gang = tuple(sorted((launch(rng, H100, existed) for _ in range(size)), key=lambda machine: machine.machine_id))
        machines += gang
        if failed:
            attempts.append(Attempt(job, 1, started, failed, "failed", gang, H100.kind.gpus * MICRO))
        attempts.append(Attempt(job, 2 if failed else 1, resumed, ended, "completed", gang, H100.kind.gpus * MICRO))
    return machines, [attempt for attempt in attempts if attempt.started < end]


def _overlaps(first: Span, second: Span) -> bool:
    return first[0] < second[1] and second[0] < first[1]
