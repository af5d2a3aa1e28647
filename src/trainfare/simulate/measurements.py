"""Measurements of simulated attempts: busy GPUs, storage requests, bytes between regions, steps, checkpoints."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from random import Random

from trainfare.simulate.clock import HOUR, stamp
from trainfare.simulate.company import Workload
from trainfare.simulate.fleet import EU, US
from trainfare.simulate.schedule import MICRO, Attempt

COLUMNS = ("job_id", "attempt", "machine_id", "started", "ended", "measure", "value", "from_region", "to_region")
STEP_SECONDS = 10
LOADING = (90, 600)
"""Minimum and maximum seconds from the start of an attempt to its first step."""
BYTES_PER_GPU_SECOND = 3_500_000
"""What a GPU reads when its data is in the other region."""


@dataclass(frozen=True)
class TrainingProfile:
    """How a team trains: GPU utilization in percent, storage requests per GPU second, seconds between checkpoints and
    to write one, and the region that holds its data.
    """

    busy: int
    requests: int
    interval: int
    writing: int
    home: str


TRAINING_PROFILES = {
    "nlp": TrainingProfile(82, 20, HOUR, 150, US),
    "vision": TrainingProfile(66, 60, 2 * HOUR, 40, US),
    "speech": TrainingProfile(44, 30, HOUR // 2, 25, EU),
}

Row = tuple[object, ...]


def rows(rng: Random, workload: Workload) -> Iterator[Row]:
    """Yield one row per measurement. A job resumes from its last checkpoint."""
    saved: dict[str, int] = defaultdict(int)
    for attempt in workload.attempts:
        profile = _job_profile(rng, TRAINING_PROFILES[attempt.job.team])
        training_start = attempt.started + rng.randint(*LOADING)
        yield from _progress(attempt, profile, training_start, saved)
        for machine in attempt.machines:
            gpu_seconds = (attempt.ended - attempt.started) * attempt.micro_gpus // MICRO
            times = (stamp(attempt.started), stamp(attempt.ended))
            measured = (attempt.job.job_id, attempt.number, machine.machine_id, *times)
            yield (*measured, "gpu_busy_seconds", gpu_seconds * profile.busy // 100, "", "")
            yield (*measured, "storage_requests", gpu_seconds * profile.requests, "", "")
            if machine.pool.region in (US, EU) and machine.pool.region != profile.home:
                yield (*measured, "bytes_sent", gpu_seconds * BYTES_PER_GPU_SECOND, profile.home, machine.pool.region)


def _job_profile(rng: Random, team_profile: TrainingProfile) -> TrainingProfile:
    """Return a random variation of the team's profile."""
    interval, writing = (
        team_profile.interval * rng.randint(60, 160) // 100,
        team_profile.writing * rng.randint(70, 200) // 100,
    )
    return replace(team_profile, busy=team_profile.busy + rng.randint(-12, 12), interval=interval, writing=writing)


def _progress(attempt: Attempt, profile: TrainingProfile, training_start: int, saved: dict[str, int]) -> Iterator[Row]:
    """Yield the steps and checkpoints of an attempt; `saved` holds the seconds of work in each job's last one."""
    if attempt.ended <= training_start:
        return
    job, attempt_cells = attempt.job.job_id, (attempt.job.job_id, attempt.number, "")
    rounds, rest = divmod(attempt.ended - training_start, profile.interval + profile.writing)
    reached = saved[job] + rounds * profile.interval + min(rest, profile.interval)
    yield (*attempt_cells, stamp(training_start), stamp(attempt.ended), "step", reached // STEP_SECONDS, "", "")
    for number in range(1, rounds + 1):
        ends = training_start + number * (profile.interval + profile.writing)
        value = (saved[job] + number * profile.interval) // STEP_SECONDS
        yield (*attempt_cells, stamp(ends - profile.writing), stamp(ends), "checkpoint", value, "", "")
    saved[job] += rounds * profile.interval
