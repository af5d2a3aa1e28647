"""Event simulation of a cluster: jobs are submitted, wait, run, are interrupted, and resume from their last checkpoint.

Machines of a reserved pool always exist. Those of other pools are started when jobs wait, take minutes to boot, and
stop when they are idle; spot machines are also reclaimed by the provider. All times are whole seconds.
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
from trainfare.simulate.cluster.pools import POOLS, RESERVED, SPOT, Pool, pool_capacity
from trainfare.simulate.people import Job, random_job

WARM_UP = 36 * HOUR
IDLE_TIMEOUT = 20 * 60
LOOKAHEAD = 24
SHAPES = {(1, 1): 10, (1, 2): 15, (1, 4): 20, (1, 8): 30, (2, 8): 15, (4, 8): 10}
MEDIAN_WORK_SECONDS = 5 * HOUR
SPREAD = 0.9
MIN_WORK_SECONDS, MAX_WORK_SECONDS = 20 * 60, 60 * HOUR
SPOT_LIFETIME = 70 * HOUR
FAILURE_RATE = 0.03
USUAL_REMOTE_FRACTION = 0.04
"""The fraction of jobs whose data is in another region."""
BURST_SECONDS = 30 * HOUR
NO_END = 2**40


@dataclass(eq=False)
class Machine:
    """One machine: when it existed, and how many of its GPUs are free."""

    name: str
    pool: Pool
    since: int
    until: int = NO_END
    free: int = 0
    idle_since: int = 0
    running: dict["Attempt", None] = field(default_factory=dict)
    is_surplus: bool = False
    """Started by a runaway autoscaler; no job ever runs on it."""


@dataclass(frozen=True, eq=False)
class Task:
    """A submitted job and its behavior. Work is in seconds of all its GPUs together."""

    job: Job
    pool: Pool
    machines: int
    gpus: int
    work: int
    load: int
    interval: int
    saving: int
    reads_remotely: bool
    """Its data is in another region."""
    attempt: int = 1
    done: int = 0
    """Seconds of work saved in a checkpoint."""


@dataclass(eq=False)
class Attempt:
    """One attempt: it loads, works, and saves a checkpoint after each interval of work."""

    task: Task
    machines: tuple[Machine, ...]
    started: int
    ended: int = 0
    state: str = "running"

    def saved(self) -> int:
        """Return how many checkpoints were complete when the attempt ended."""
        task, worked = self.task, self.ended - self.started - self.task.load
        if self.state == "completed":
            return (task.work - task.done - 1) // task.interval
        return max(0, worked) // (task.interval + task.saving)


@dataclass
class PoolState:
    """The state of a pool: its machines by number of free GPUs, and the waiting tasks."""

    pool: Pool
    capacity: int
    free: list[dict[Machine, None]]
    waiting: list[Task] = field(default_factory=list)
    alive: int = 0
    booting: int = 0

    def find(self, machines: int, gpus: int) -> list[Machine] | None:
        """Return the fullest machines with this many free GPUs, or None if there are not enough of them."""
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
    """Runs a month, some hours before it, and after it until every job has ended."""

    def __init__(self, seed: int, month: Month, machines: int, faults: Faults) -> None:
        self.seed, self.month, self.faults = seed, month, faults
        self.rng = Random(f"{seed} events")
        self.start, self.end = span_of(month)
        self.machines: list[Machine] = []
        self.attempts: list[Attempt] = []
        self.numbers: Iterator[int] = count(1)
        self.order: Iterator[int] = count()
        self.heap: list[tuple[int, int, str, object]] = []
        self.pools = {pool.name: self._open_pool(pool, pool_capacity(pool, machines)) for pool in POOLS}

    def run(self) -> None:
        for pool_state in self.pools.values():
            self._schedule_arrival(pool_state, self.start - WARM_UP)
        pool_state = self.pools["a100-us"]
        for code, machines in (("F7", max(4, self._times("F7", pool_state.capacity))), ("N7", self._times("N7", 1))):
            if fault := self.faults.get(code):
                self._schedule(fault.starts(self.month) + 9 * HOUR, "burst", (pool_state, machines))
        while self.heap:
            now, _, kind, payload = heappop(self.heap)
            getattr(self, f"_on_{kind}")(now, payload)

    def _times(self, code: str, number: int) -> int:
        fault = self.faults.get(code)
        return fault.times(number) if fault else 0

    def _open_pool(self, pool: Pool, size: int) -> PoolState:
        pool_state = PoolState(pool, size, [{} for _ in range(pool.kind.gpus + 1)])
        if pool.market == RESERVED:
            for number in range(size):
                # The last machine starts late, so that part of the commitment is unused before.
                since = self.start + 2 * DAY + 7 * HOUR if number == size - 1 else self.start - 60 * DAY
                self._schedule(max(since, self.start - WARM_UP), "ready", (pool_state, self._launch(pool_state, since)))
        return pool_state

    def _schedule(self, when: int, kind: str, payload: object) -> None:
        heappush(self.heap, (when, next(self.order), kind, payload))

    def _launch(self, pool_state: PoolState, now: int) -> Machine:
        machine = Machine(f"{pool_state.pool.name}-{len(self.machines) + 1:05d}", pool_state.pool, now)
        self.machines.append(machine)
        pool_state.alive += 1
        pool_state.booting += 1
        return machine

    # Jobs

    def _schedule_arrival(self, pool_state: PoolState, now: int) -> None:
        """Schedule the next job of a pool: many by day, few by night and on weekends."""
        mean_work = MEDIAN_WORK_SECONDS * math.exp(SPREAD**2 / 2)
        mean_gpus = sum(m * g * weight for (m, g), weight in SHAPES.items()) / sum(SHAPES.values())
        rate = pool_state.capacity * pool_state.pool.kind.gpus * pool_state.pool.busy / 100 / (mean_work * mean_gpus)
        moment = now
        while moment < self.end:
            moment += 1 + int(self.rng.expovariate(rate * 1.4))
            hour, weekday = moment // HOUR % 24, (moment // DAY + 3) % 7
            arrival_weight = (1.4 if 8 <= hour < 20 else 0.7) * (0.7 if weekday >= 5 else 1.0)
            if self.rng.random() < arrival_weight / 1.4:
                self._schedule(moment, "submitted", pool_state)
                return

    def _on_submitted(self, now: int, pool_state: PoolState) -> None:
        if now < self.end:
            pool_state.waiting.append(self._random_task(pool_state.pool, now))
            self._start_waiting_tasks(pool_state, now)
            self._schedule_arrival(pool_state, now)

    def _random_task(self, pool: Pool, now: int) -> Task:
        rng, number = self.rng, next(self.numbers)
        machines, gpus = rng.choices(list(SHAPES), list(SHAPES.values()))[0]
        work = min(MAX_WORK_SECONDS, max(MIN_WORK_SECONDS, int(MEDIAN_WORK_SECONDS * rng.lognormvariate(0, SPREAD))))
        name = str(100_000 + number) if pool.bill == "us" else f"eu-{number:06d}"
        job = replace(random_job(rng, rng.choice(pool.teams), number), job_id=name)
        interval, saving, load = rng.randrange(1200, 4800, 60), rng.randrange(20, 150), rng.randrange(60, 400)
        fault = self.faults.get("F3")
        remote_fraction = fault.size if fault and now >= fault.starts(self.month) else USUAL_REMOTE_FRACTION
        return Task(job, pool, machines, gpus, work, load, interval, saving, rng.random() < remote_fraction)

    def _start_waiting_tasks(self, pool_state: PoolState, now: int) -> None:
        """Start tasks that fit, in order, with backfilling; then request machines for the rest."""
        still_waiting: list[Task] = []
        for position, task in enumerate(pool_state.waiting):
            found = pool_state.find(task.machines, task.gpus) if position < LOOKAHEAD else None
            if found is None:
                still_waiting.append(task)
            else:
                self._start(pool_state, task, tuple(found), now)
        pool_state.waiting = still_waiting
        if pool_state.pool.market != RESERVED:
            wanted = sum(task.machines for task in still_waiting[:LOOKAHEAD]) - pool_state.booting
            for _ in range(max(0, min(wanted, pool_state.capacity - pool_state.alive))):
                machine = self._launch(pool_state, now)
                self._schedule(now + self.rng.randint(180, 600), "ready", (pool_state, machine))
                if pool_state.pool.market == SPOT:
                    self._schedule(now + self._spot_lifetime(now), "reclaimed", (pool_state, machine))

    def _spot_lifetime(self, now: int) -> int:
        """Return the seconds until the provider reclaims a spot machine."""
        fault = self.faults.get("F2")
        is_churning = fault is not None and fault.starts(self.month) <= now < self.end
        mean = SPOT_LIFETIME / fault.size if fault and is_churning else SPOT_LIFETIME
        return 600 + int(self.rng.expovariate(1 / int(mean)))

    def _start(self, pool_state: PoolState, task: Task, machines: tuple[Machine, ...], now: int) -> None:
        attempt = Attempt(task, machines, now)
        for machine in machines:
            pool_state.move(machine, machine.free - task.gpus)
            machine.running[attempt] = None
        self.attempts.append(attempt)
        left = task.work - task.done
        run_seconds = task.load + left + (left - 1) // task.interval * task.saving
        fault = self.faults.get("N2")
        is_yielding = fault and pool_state.pool.market != SPOT and fault.starts(self.month) <= now < self.end
        rate, state = (fault.size, "preempted") if fault and is_yielding else (FAILURE_RATE, "failed")
        if self.rng.random() < rate:
            self._schedule(now + self.rng.randint(60, run_seconds), "finished", (pool_state, attempt, state))
        else:
            self._schedule(now + run_seconds, "finished", (pool_state, attempt, "completed"))

    def _on_finished(self, now: int, payload: tuple[PoolState, Attempt, str]) -> None:
        pool_state, attempt, state = payload
        if attempt.state == "running":
            self._finish(pool_state, attempt, now, state)
            self._start_waiting_tasks(pool_state, now)

    def _finish(self, pool_state: PoolState, attempt: Attempt, now: int, state: str) -> None:
        """End an attempt, free what it held, and requeue the remaining work of its job."""
        attempt.ended, attempt.state = now, state
        task = attempt.task
        for machine in attempt.machines:
            del machine.running[attempt]
            if machine.until > now:
                pool_state.move(machine, machine.free + task.gpus)
                self._schedule_idle_check(pool_state, machine, now)
        if state == "preempted" or (state == "failed" and task.attempt < 4):
            done = task.done + attempt.saved() * task.interval
            pool_state.waiting.insert(0, replace(task, attempt=task.attempt + 1, done=done))

    # Machines

    def _on_ready(self, now: int, payload: tuple[PoolState, Machine]) -> None:
        pool_state, machine = payload
        pool_state.booting -= 1
        if machine.until > now:
            machine.free = machine.pool.kind.gpus
            pool_state.free[machine.free][machine] = None
            self._schedule_idle_check(pool_state, machine, now)
            self._start_waiting_tasks(pool_state, now)

    def _schedule_idle_check(self, pool_state: PoolState, machine: Machine, now: int) -> None:
        if machine.free == machine.pool.kind.gpus and machine.pool.market != RESERVED:
            machine.idle_since = now
            self._schedule(now + IDLE_TIMEOUT, "idle", (pool_state, machine, now))

    def _on_idle(self, now: int, payload: tuple[PoolState, Machine, int]) -> None:
        pool_state, machine, since = payload
        if machine.until > now and not machine.running and machine.idle_since == since:
            self._remove(pool_state, machine, now)

    def _on_reclaimed(self, now: int, payload: tuple[PoolState, Machine]) -> None:
        """The provider reclaims a machine: its attempts are preempted, on all of their machines."""
        pool_state, machine = payload
        if machine.until > now:
            self._remove(pool_state, machine, now)
            for attempt in list(machine.running):
                self._finish(pool_state, attempt, now, "preempted")
            self._start_waiting_tasks(pool_state, now)

    def _remove(self, pool_state: PoolState, machine: Machine, now: int) -> None:
        machine.until = now
        pool_state.alive -= 1
        pool_state.free[machine.free].pop(machine, None)

    def _on_burst(self, now: int, payload: tuple[PoolState, int]) -> None:
        """An autoscaler without a limit starts machines that no job can use."""
        pool_state, number = payload
        for _ in range(number):
            name = f"{pool_state.pool.name}-{len(self.machines) + 1:05d}"
            machine = Machine(name, pool_state.pool, now + self.rng.randint(0, 900))
            machine.until = machine.since + BURST_SECONDS + self.rng.randint(0, HOUR)
            machine.is_surplus = True
            self.machines.append(machine)
