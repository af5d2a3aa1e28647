"""Write an invented month as the files a company would have, and the truth beside them."""

import csv
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from random import Random

from trainfare.money import amount
from trainfare.period import Month
from trainfare.simulate import charges as machine_charges
from trainfare.simulate import measured, overheads, shared
from trainfare.simulate.charges import CLOUD_BILL, OWNED_BILL, Charge
from trainfare.simulate.clock import stamp
from trainfare.simulate.company import Work, stream, work
from trainfare.simulate.fleet import SERVERS, STILL_THERE, Machine
from trainfare.simulate.focus import COLUMNS, Bill
from trainfare.simulate.schedule import Attempt
from trainfare.simulate.truth import settle
from trainfare.tables import BASES

DEFAULT_MONTH = Month(2026, 10)
JOB_COLUMNS = (
    *("job_id", "attempt", "machine_id", "started", "ended", "gpus", "cpus", "memory_gb", "state", "owner", "team"),
    *("project", "experiment", "cost_center", "model_version", "priority", "framework", "submitted"),
)
MACHINE_COLUMNS = (
    *("machine_id", "resource_id", "gpus", "gpu_model", "cpus", "memory_gb", "pool", "team", "cluster", "region"),
    *("account", "existed_from", "existed_to"),
)
README = """An invented month ({month}, seed {seed}) of a company that does not exist: two bills in FOCUS form, a job
log, a list of machines and what was measured of the jobs. truth.csv says what every payer owes by every rule; it was not
taken from these files.
"""

QUEUE_SECONDS = 900
"""What a job waits in the queue, on average."""

Owed = dict[tuple[str, str], list[int]]


@dataclass(frozen=True)
class Simulated:
    """What was written where, and the events and the truth behind it."""

    folder: Path
    bills: tuple[Path, ...]
    jobs: Path
    machines: Path
    measurements: Path
    truth: Path
    work: Work
    charges: tuple[Charge, ...]
    owed: Owed
    """Whole units per (payer, rule), in the order of `tables.BASES`."""

    @property
    def summary(self) -> str:
        """The size of it, in a phrase."""
        jobs = {attempt.job.job_id for attempt in self.work.attempts}
        return f"{len(self.charges):,} bill lines, {len(jobs):,} jobs, {len(self.work.machines):,} machines"

    def total(self, basis: str) -> Decimal:
        """Everything charged, on one basis."""
        return amount(sum(charge.costs[BASES.index(basis)] for charge in self.charges))


def invent(seed: int, month: Month, scale: float = 1.0, jobs_before: int = 0) -> tuple[Work, list[Charge]]:
    """Machines, attempts and charges of one month. The same seed gives the same month, anywhere."""
    events = work(seed, month, scale, jobs_before)
    cloud = machine_charges.of_machines(stream(seed, "machine charges"), events)
    cloud += shared.of_services(stream(seed, "services"), events)
    cloud += overheads.of_cloud(events, cloud)
    return events, [*cloud, *overheads.of_servers(stream(seed, "servers"), events)]


def write(folder: Path, seed: int, month: Month = DEFAULT_MONTH, scale: float = 1.0, jobs_before: int = 0) -> Simulated:
    """Write both bills, the job log, the machines, the measurements and the truth into `folder`, which is made if need be."""
    events, charges = invent(seed, month, scale, jobs_before)
    owed = settle(events, charges)
    folder.mkdir(parents=True, exist_ok=True)
    bills = tuple(
        _write_bill(folder / f"bill-{source}.csv", source, month, charges) for source in (CLOUD_BILL, OWNED_BILL)
    )
    jobs = _write_table(folder / "jobs.csv", JOB_COLUMNS, _job_rows(events, stream(seed, "queues")))
    # Servers stay from month to month, so only the last month's list has them.
    listed = [machine for machine in events.machines if not (jobs_before and machine.pool is SERVERS)]
    machines = _write_table(folder / "machines.csv", MACHINE_COLUMNS, _machine_rows(listed))
    told = measured.rows(stream(seed, "measured"), events)
    measurements = _write_table(folder / "measurements.csv", measured.COLUMNS, told)
    truth = _write_table(folder / "truth.csv", ("payer", "rule", *BASES), _truth_rows(owed))
    simulated = Simulated(folder, bills, jobs, machines, measurements, truth, events, tuple(charges), owed)
    (folder / "truth.json").write_text(json.dumps(_summary(simulated, seed, scale), indent=1) + "\n", encoding="utf-8")
    (folder / "README.txt").write_text(README.format(month=month, seed=seed), encoding="utf-8")
    return simulated


def _write_table(path: Path, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> Path:
    with path.open("w", encoding="utf-8", newline="") as opened:
        writer = csv.writer(opened, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(rows)
    return path


def _write_bill(path: Path, source: str, month: Month, charges: Iterable[Charge]) -> Path:
    """The lines of one provider by charge period, as an export has them."""
    bill = Bill.of(source, month)
    lines = sorted((charge for charge in charges if charge.source == source), key=lambda charge: charge.period)
    return _write_table(path, COLUMNS, (bill.row(charge) for charge in lines))


def _job_rows(events: Work, rng: Random) -> Iterator[Sequence[object]]:
    """One row per placement: an attempt on four machines has four."""
    submitted = _submitted(events.attempts, rng)
    for attempt in events.attempts:
        job = attempt.job
        labels = (job.owner, job.team, job.project, job.experiment, job.cost_center, job.model_version)
        for machine in attempt.machines:
            gpus = Decimal(attempt.micro_gpus) / 10**6
            part = gpus / machine.kind.gpus
            amounts = (gpus, part * machine.kind.cpus, part * machine.kind.memory_gb)
            held = [f"{whole.normalize():f}" for whole in amounts]
            times = (stamp(attempt.started), stamp(attempt.ended))
            place = (job.job_id, attempt.number, machine.machine_id)
            yield (
                *place,
                *times,
                *held,
                attempt.state,
                *labels,
                job.priority,
                job.framework,
                stamp(submitted[job.job_id, attempt.number]),
            )


def _submitted(attempts: Iterable[Attempt], rng: Random) -> dict[tuple[str, int], int]:
    """When each attempt was put into the queue. Who tries again is there from when the try before ended."""
    found: dict[tuple[str, int], int] = {}
    ended: dict[str, int] = {}
    for attempt in sorted(attempts, key=lambda one: (one.job.job_id, one.number)):
        job_id, waited = attempt.job.job_id, int(rng.expovariate(1 / QUEUE_SECONDS))
        found[job_id, attempt.number] = ended.get(job_id, attempt.started - waited)
        ended[job_id] = attempt.ended
    return found


def _machine_rows(machines: Iterable[Machine]) -> Iterator[Sequence[object]]:
    for machine in machines:
        kind, pool, (since, until) = machine.kind, machine.pool, machine.existed
        size = (kind.gpus, kind.gpu_model, kind.cpus, kind.memory_gb)
        place = (pool.name, pool.team, pool.cluster, pool.region, pool.account)
        gone = "" if until == STILL_THERE else stamp(until)
        yield (machine.machine_id, machine.resource_id, *size, *place, stamp(since), gone)


def _truth_rows(owed: Owed) -> Iterator[Sequence[object]]:
    for (payer, rule), amounts in sorted(owed.items()):
        yield (payer, rule, *(f"{amount(whole):f}" for whole in amounts))


def _summary(simulated: Simulated, seed: int, scale: float) -> dict[str, object]:
    """The month in a few figures; amounts are exact decimal strings."""
    by_rule: dict[str, list[int]] = {}
    for (_, rule), amounts in sorted(simulated.owed.items()):
        by_rule[rule] = [a + b for a, b in zip(by_rule.get(rule, [0] * len(BASES)), amounts, strict=True)]
    return {
        "month": str(simulated.work.month),
        "seed": seed,
        "scale": scale,
        "currency": "USD",
        "charges": len(simulated.charges),
        "machines": len(simulated.work.machines),
        "jobs": len({attempt.job.job_id for attempt in simulated.work.attempts}),
        "attempts": len(simulated.work.attempts),
        "total": {basis: f"{simulated.total(basis):f}" for basis in BASES},
        "by_rule": {
            rule: {basis: f"{amount(whole):f}" for basis, whole in zip(BASES, amounts, strict=True)}
            for rule, amounts in by_rule.items()
        },
    }
