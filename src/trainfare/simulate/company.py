"""One invented month of a company: its machines and what ran on them."""

from dataclasses import dataclass
from itertools import count
from random import Random

from trainfare.period import Month
from trainfare.simulate.clock import span_of
from trainfare.simulate.fleet import POOLS, SERVERS, Machine, cloud_machines, horizon, servers
from trainfare.simulate.schedule import Attempt, fill, gangs


@dataclass(frozen=True)
class Work:
    """The machines that existed in a month and the attempts that ran in it, complete."""

    month: Month
    scale: float
    machines: tuple[Machine, ...]
    attempts: tuple[Attempt, ...]


def stream(seed: int, name: str) -> Random:
    """Random numbers for one part of the story, so that changing one part leaves the others as they were."""
    return Random(f"{seed} {name}")


def work(seed: int, month: Month, scale: float, jobs_before: int = 0) -> Work:
    """Invent machines and jobs. Attempts are kept if they ran at some time in the month, as a job log would.

    With `jobs_before` the month stands before others: its jobs are numbered on, and those that ran across its ends are left out. What
    is owned is there in the next month too, whose first jobs may have started before it: those have it to themselves.
    """
    start, end = span_of(month)
    numbers = count(jobs_before + 1)
    machines, attempts = gangs(stream(seed, "gangs"), month, scale, numbers)
    for pool in (*POOLS, SERVERS):
        rng = stream(seed, pool.name)
        members = servers(month, scale) if pool is SERVERS else cloud_machines(rng, pool, month, scale)
        machines += members
        attempts += fill(rng, pool, members, month, numbers)
    ran = [attempt for attempt in attempts if attempt.started < end and attempt.ended > start]
    if jobs_before:
        next_begins, _ = horizon(month.next())
        ran = [
            attempt
            for attempt in ran
            if start <= attempt.started
            and attempt.ended <= (next_begins if attempt.machines[0].pool is SERVERS else end)
        ]
    held = {machine for attempt in ran for machine in attempt.machines}
    there = [m for m in machines if (m.existed[0] < end and m.existed[1] > start) or m in held]
    return Work(
        month,
        scale,
        tuple(sorted(there, key=lambda machine: machine.machine_id)),
        tuple(sorted(ran, key=lambda attempt: (attempt.started, attempt.job.job_id, attempt.number))),
    )
