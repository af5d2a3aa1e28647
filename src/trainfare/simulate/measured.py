"""What was measured of an invented month's attempts: busy GPUs, storage requests, bytes between regions, steps and checkpoints."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from random import Random

from trainfare.simulate.clock import HOUR, stamp
from trainfare.simulate.company import Work
from trainfare.simulate.fleet import EU, US
from trainfare.simulate.schedule import MICRO, Attempt

COLUMNS = ("job_id", "attempt", "machine_id", "started", "ended", "measure", "value", "from_region", "to_region")
STEP_SECONDS = 10
LOADING = (90, 600)
"""Least and most seconds from the start of an attempt to its first step."""
BYTES = 3_500_000
"""That a GPU reads in a second, where its data are in the other region."""


@dataclass(frozen=True)
class Habit:
    """How a team trains: percent of the time its GPUs are busy, requests of a GPU in a second, seconds between checkpoints and of
    writing one, and the region that has its data.
    """

    busy: int
    requests: int
    interval: int
    writing: int
    home: str


HABITS = {
    "nlp": Habit(82, 20, HOUR, 150, US),
    "vision": Habit(66, 60, 2 * HOUR, 40, US),
    "speech": Habit(44, 30, HOUR // 2, 25, EU),
}

Row = tuple[object, ...]


def rows(rng: Random, events: Work) -> Iterator[Row]:
    """One row per measurement. A job goes on from its last checkpoint."""
    saved: dict[str, int] = defaultdict(int)
    for attempt in events.attempts:
        habit = _of_job(rng, HABITS[attempt.job.team])
        begins = attempt.started + rng.randint(*LOADING)
        yield from _progress(attempt, habit, begins, saved)
        for machine in attempt.machines:
            gpu_seconds = (attempt.ended - attempt.started) * attempt.micro_gpus // MICRO
            of = (attempt.job.job_id, attempt.number, machine.machine_id, stamp(attempt.started), stamp(attempt.ended))
            yield (*of, "gpu_busy_seconds", gpu_seconds * habit.busy // 100, "", "")
            yield (*of, "storage_requests", gpu_seconds * habit.requests, "", "")
            if machine.pool.region in (US, EU) and machine.pool.region != habit.home:
                yield (*of, "bytes_sent", gpu_seconds * BYTES, habit.home, machine.pool.region)


def _of_job(rng: Random, usual: Habit) -> Habit:
    """Nobody does exactly as the team does."""
    interval, writing = (usual.interval * rng.randint(60, 160) // 100, usual.writing * rng.randint(70, 200) // 100)
    return replace(usual, busy=usual.busy + rng.randint(-12, 12), interval=interval, writing=writing)


def _progress(attempt: Attempt, habit: Habit, begins: int, saved: dict[str, int]) -> Iterator[Row]:
    """The steps of an attempt and its checkpoints; keeps in `saved` how many seconds of work the job has in its last one."""
    if attempt.ended <= begins:
        return
    job, of = attempt.job.job_id, (attempt.job.job_id, attempt.number, "")
    rounds, rest = divmod(attempt.ended - begins, habit.interval + habit.writing)
    reached = saved[job] + rounds * habit.interval + min(rest, habit.interval)
    yield (*of, stamp(begins), stamp(attempt.ended), "step", reached // STEP_SECONDS, "", "")
    for number in range(1, rounds + 1):
        ends = begins + number * (habit.interval + habit.writing)
        value = (saved[job] + number * habit.interval) // STEP_SECONDS
        yield (*of, stamp(ends - habit.writing), stamp(ends), "checkpoint", value, "", "")
    saved[job] += rounds * habit.interval
