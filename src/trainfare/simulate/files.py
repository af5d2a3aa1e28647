"""Write a simulated month as the files a company would have, and the true costs next to them."""

import csv
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from random import Random

from trainfare.money import amount
from trainfare.period import Month
from trainfare.simulate import measurements, overheads, services
from trainfare.simulate.charges import CLOUD_BILL, OWNED_BILL, Charge, machine_charges
from trainfare.simulate.clock import stamp
from trainfare.simulate.company import Workload, random_stream, simulate_workload
from trainfare.simulate.fleet import NO_END, SERVERS, Machine
from trainfare.simulate.focus import COLUMNS, Bill
from trainfare.simulate.schedule import Attempt
from trainfare.simulate.truth import true_shares
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
README = """A simulated month ({month}, seed {seed}) of a fictional company: two bills in FOCUS format, a job log, a
list of machines and measurements of the jobs. truth.csv states what every payer owes under every rule; it was not
computed from these files.
"""

QUEUE_SECONDS = 900
"""Mean time a job waits in the queue."""

Owed = dict[tuple[str, str], list[int]]


@dataclass(frozen=True)
class SimulatedMonth:
    """The files of a simulated month, and the workload, charges and true costs behind them."""

    folder: Path
    bills: tuple[Path, ...]
    jobs: Path
    machines: Path
    measurements: Path
    truth: Path
    workload: Workload
    charges: tuple[Charge, ...]
    owed: Owed
    """Whole units per (payer, rule), in the order of `tables.BASES`."""

    @property
    def summary(self) -> str:
        """The size of the month in one phrase."""
        jobs = {attempt.job.job_id for attempt in self.workload.attempts}
        return f"{len(self.charges):,} bill lines, {len(jobs):,} jobs, {len(self.workload.machines):,} machines"

    def total(self, basis: str) -> Decimal:
        """Return the sum of all charges on one basis."""
        return amount(sum(charge.costs[BASES.index(basis)] for charge in self.charges))


def simulate_month(
    seed: int, month: Month, scale: float = 1.0, job_number_offset: int = 0
) -> tuple[Workload, list[Charge]]:
    """Simulate the machines, attempts and charges of one month. A seed gives the same month on every machine."""
    workload = simulate_workload(seed, month, scale, job_number_offset)
    cloud = machine_charges(random_stream(seed, "machine charges"), workload)
    cloud += services.service_charges(random_stream(seed, "services"), workload)
    cloud += overheads.cloud_overheads(workload, cloud)
    return workload, [*cloud, *overheads.owned_server_charges(random_stream(seed, "servers"), workload)]


def write(
    folder: Path, seed: int, month: Month = DEFAULT_MONTH, scale: float = 1.0, job_number_offset: int = 0
) -> SimulatedMonth:
    """Write bills, job log, machines, measurements and the true costs into `folder`, which is created if missing."""
    workload, charges = simulate_month(seed, month, scale, job_number_offset)
    owed = true_shares(workload, charges)
    folder.mkdir(parents=True, exist_ok=True)
    bills = tuple(
        _write_bill(folder / f"bill-{source}.csv", source, month, charges) for source in (CLOUD_BILL, OWNED_BILL)
    )
    jobs = _write_table(folder / "jobs.csv", JOB_COLUMNS, _job_rows(workload, random_stream(seed, "queues")))
    # Owned servers persist from month to month, so only the last month lists them.
    listed = [machine for machine in workload.machines if not (job_number_offset and machine.pool is SERVERS)]
    machines = _write_table(folder / "machines.csv", MACHINE_COLUMNS, _machine_rows(listed))
    measurement_rows = measurements.rows(random_stream(seed, "measured"), workload)
    measured = _write_table(folder / "measurements.csv", measurements.COLUMNS, measurement_rows)
    truth = _write_table(folder / "truth.csv", ("payer", "rule", *BASES), _truth_rows(owed))
    simulated = SimulatedMonth(folder, bills, jobs, machines, measured, truth, workload, tuple(charges), owed)
    (folder / "truth.json").write_text(json.dumps(_summary(simulated, seed, scale), indent=1) + "\n", encoding="utf-8")
    (folder / "README.txt").write_text(README.format(month=month, seed=seed), encoding="utf-8")
    return simulated


def _write_table(path: Path, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(rows)
    return path


def _write_bill(path: Path, source: str, month: Month, charges: Iterable[Charge]) -> Path:
    """Write the lines of one provider ordered by charge period, as in an export."""
    bill = Bill.of(source, month)
    lines = sorted((charge for charge in charges if charge.source == source), key=lambda charge: charge.period)
    return _write_table(path, COLUMNS, (bill.row(charge) for charge in lines))


def _job_rows(workload: Workload, rng: Random) -> Iterator[Sequence[object]]:
    """Yield one row per placement: an attempt on four machines has four."""
    submitted = _submitted(workload.attempts, rng)
    for attempt in workload.attempts:
        job = attempt.job
        labels = (job.owner, job.team, job.project, job.experiment, job.cost_center, job.model_version)
        for machine in attempt.machines:
            gpus = Decimal(attempt.micro_gpus) / 10**6
            fraction = gpus / machine.kind.gpus
            amounts = (gpus, fraction * machine.kind.cpus, fraction * machine.kind.memory_gb)
            held = [f"{value.normalize():f}" for value in amounts]
            times = (stamp(attempt.started), stamp(attempt.ended))
            placement = (job.job_id, attempt.number, machine.machine_id)
            yield (
                *placement,
                *times,
                *held,
                attempt.state,
                *labels,
                job.priority,
                job.framework,
                stamp(submitted[job.job_id, attempt.number]),
            )


def _submitted(attempts: Iterable[Attempt], rng: Random) -> dict[tuple[str, int], int]:
    """Return when each attempt was submitted. A retry is queued the moment the previous attempt ended."""
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
        location = (pool.name, pool.team, pool.cluster, pool.region, pool.account)
        existed_to = "" if until == NO_END else stamp(until)
        yield (machine.machine_id, machine.resource_id, *size, *location, stamp(since), existed_to)


def _truth_rows(owed: Owed) -> Iterator[Sequence[object]]:
    for (payer, rule), amounts in sorted(owed.items()):
        yield (payer, rule, *(f"{amount(units):f}" for units in amounts))


def _summary(simulated: SimulatedMonth, seed: int, scale: float) -> dict[str, object]:
    """Return the month in a few figures; amounts are exact decimal strings."""
    by_rule: dict[str, list[int]] = {}
    for (_, rule), amounts in sorted(simulated.owed.items()):
        by_rule[rule] = [a + b for a, b in zip(by_rule.get(rule, [0] * len(BASES)), amounts, strict=True)]
    return {
        "month": str(simulated.workload.month),
        "seed": seed,
        "scale": scale,
        "currency": "USD",
        "charges": len(simulated.charges),
        "machines": len(simulated.workload.machines),
        "jobs": len({attempt.job.job_id for attempt in simulated.workload.attempts}),
        "attempts": len(simulated.workload.attempts),
        "total": {basis: f"{simulated.total(basis):f}" for basis in BASES},
        "by_rule": {
            rule: {basis: f"{amount(units):f}" for basis, units in zip(BASES, amounts, strict=True)}
            for rule, amounts in by_rule.items()
        },
    }
