"""One simulated month of a company: its machines and the attempts that ran on them."""

from dataclasses import dataclass
from itertools import count
from random import Random

from trainfare.period import Month
from trainfare.simulate.clock import span_of
from trainfare.simulate.fleet import POOLS, SERVERS, Machine, cloud_machines, horizon, owned_servers
from trainfare.simulate.schedule import Attempt, fill_pool, gang_runs


@dataclass(frozen=True)
class Workload:
    """All machines that existed in a month and all attempts that ran in it, uncut."""

    month: Month
    scale: float
    machines: tuple[Machine, ...]
    attempts: tuple[Attempt, ...]


def random_stream(seed: int, name: str) -> Random:
    """Return a random stream for one part of the simulation, so that changing one part leaves the others unchanged."""
    return Random(f"{seed} {name}")


def simulate_workload(seed: int, month: Month, scale: float, job_number_offset: int = 0) -> Workload:
    """Simulate machines and jobs. Attempts that ran at any time in the month are included, as in a job log.

    A `job_number_offset` marks a month that precedes others: its jobs are numbered from there, and attempts that cross
    its boundaries are left out. Owned servers also exist in the next month, whose first jobs may start early: attempts
    on them end before the next month's simulation begins.
    """
    start, end = span_of(month)
    numbers = count(job_number_offset + 1)
    machines, attempts = gang_runs(random_stream(seed, "gangs"), month, scale, numbers)
    for pool in (*POOLS, SERVERS):
        rng = random_stream(seed, pool.name)
        members = owned_servers(month, scale) if pool is SERVERS else cloud_machines(rng, pool, month, scale)
        machines += members
        attempts += fill_pool(rng, pool, members, month, numbers)
    ran = [attempt for attempt in attempts if attempt.started < end and attempt.ended > start]
    if job_number_offset:
        next_start, _ = horizon(month.next())
        ran = [
            attempt
            for attempt in ran
            if start <= attempt.started
            and attempt.ended <= (next_start if attempt.machines[0].pool is SERVERS else end)
        ]
    held = {machine for attempt in ran for machine in attempt.machines}
    existing = [m for m in machines if (m.existed[0] < end and m.existed[1] > start) or m in held]
    return Workload(
        month,
        scale,
        tuple(sorted(existing, key=lambda machine: machine.machine_id)),
        tuple(sorted(ran, key=lambda attempt: (attempt.started, attempt.job.job_id, attempt.number))),
    )
