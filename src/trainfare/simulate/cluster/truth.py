"""The truth about a game day, in a database of its own: machines, attempts, prices and every bill line.

It shares no code with the account. The cost of a job is what it held times the current price, an integer of units.
"""

import csv
import re
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from importlib import resources
from pathlib import Path
from random import Random

import duckdb

from trainfare.money import split
from trainfare.simulate.clock import DAY, EPOCH_WEEKDAY, HOUR, SATURDAY
from trainfare.simulate.cluster.events import Attempt, Cluster, Machine, Task
from trainfare.simulate.cluster.pools import DISK_PRICE, POOLS, SPOT, Pool
from trainfare.simulate.fleet import EU, SHOP, TRAINING_EU, TRAINING_US, US
from trainfare.simulate.people import TEAMS

HOURS_PER_DAY, HOURLY_RATE = 2, 95
"""The hours a person enters per day, and their rate."""
LICENSE_PRICE = 4200
AttemptDay = tuple[str, int, int]
"""Job, attempt and day."""
PRICE_STEP = 100
"""Prices are multiples of this, so that a bill line has at most ten decimals."""


class Truth:
    """The events of a cluster as tables. `true_lines` holds every line of the correct bills."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.connection = duckdb.connect()
        self.connection.execute("SET TimeZone = 'UTC'; SET enable_progress_bar = false")
        self.parameters = {"start": str(cluster.start), "end": str(cluster.end), "disk_price": str(DISK_PRICE)}
        self.parameters |= {"requests_start": str(cluster.start), "requests_factor": "1"}
        self.resold_from: int | None = None
        """When a reseller's bill continues that of the provider; None: never."""
        self.logged_again_from: int | None = None
        """From when on a second job log has the same runs; None: there is only one."""
        self.run(self.query("event_tables"))

    @classmethod
    @contextmanager
    def of(cls, cluster: Cluster) -> Iterator["Truth"]:
        truth = cls(cluster)
        try:
            truth._load()
            for step in ("machine_hours", "held_hours", "true_lines"):
                truth.step(step)
            yield truth
        finally:
            truth.connection.close()

    def run(self, sql: str) -> None:
        self.connection.execute(sql)

    def rows(self, sql: str) -> list[tuple[object, ...]]:
        return self.connection.execute(sql).fetchall()

    def integer(self, sql: str) -> int:
        """Return the single integer that the query gives; null is 0."""
        found = self.connection.execute(sql).fetchone()
        return int(found[0] or 0) if found else 0

    def query(self, name: str, **parameters: str) -> str:
        """Return the text of a query of this package. An unfilled or unused name is an error."""
        text = resources.files("trainfare.simulate.cluster").joinpath(f"{name}.sql").read_text(encoding="utf-8")
        names = set(re.findall(r"\{\{(\w+)\}\}", text))
        if wrong := names - {*self.parameters, *parameters} | parameters.keys() - names:
            raise ValueError(f"{name}.sql: unfilled or unused: {', '.join(sorted(wrong))}")
        return re.sub(r"\{\{(\w+)\}\}", lambda match: (self.parameters | parameters)[match[1]], text)

    def step(self, name: str) -> None:
        self.run(f"CREATE OR REPLACE TABLE {name} AS {self.query(name)}")

    def costs(self) -> dict[str, int]:
        """Return the true cost of each job, in whole units."""
        self._split_shared_costs()
        return {str(job): int(str(units)) for job, units in self.rows(self.query("job_costs"))}

    def lost_costs(self) -> dict[str, tuple[int, int]]:
        """Return the cost of the machine time each job lost, in whole units: in total, and through spot preemption."""
        rows = self.connection.execute(self.query("lost_costs")).fetchall()
        return {str(job): (int(units), int(preempted)) for job, units, preempted in rows}

    def counts(self) -> dict[str, int]:
        tables = {"machines": "machines", "jobs": "jobs", "attempts": "attempts", "lines": "delivered_lines"}
        return {name: self.integer(f"SELECT count(*) FROM {table}") for name, table in tables.items()}

    def _load(self) -> None:
        """Load the events into tables: every attempt of the jobs that ran in the month, and their machines."""
        cluster = self.cluster
        ran = {a.task.job.job_id for a in cluster.attempts if a.started < cluster.end and a.ended > cluster.start}
        attempts = [one for one in cluster.attempts if one.task.job.job_id in ran]
        held = {machine for attempt in attempts for machine in attempt.machines}
        existing = [m for m in cluster.machines if (m.since < cluster.end and m.until > cluster.start) or m in held]
        self._insert("machines", map(_machine_row, existing))
        self._insert("attempts", (_attempt_row(number, one) for number, one in enumerate(attempts)))
        self._insert("placements", ((number, m.name) for number, one in enumerate(attempts) for m in one.machines))
        self._insert("jobs", map(_job_row, {one.task.job.job_id: one.task for one in attempts}.values()))
        self._insert("pools", (_pool_row(pool, cluster.pools[pool.name].capacity) for pool in POOLS))
        self._insert("prices", self._prices())
        self._insert("services", self._services())
        self._insert("labor", self._labor())
        self._insert("licenses", [("Compiler suite", LICENSE_PRICE, cluster.start, cluster.end)])

    def _insert(self, name: str, rows: Iterable[Sequence[object]]) -> None:
        """Insert rows into a table through a file, which is many times faster than row by row."""
        with tempfile.NamedTemporaryFile("w", suffix=".csv", newline="", encoding="utf-8", delete=False) as file:
            csv.writer(file).writerows(rows)
        try:
            if Path(file.name).stat().st_size:
                self.run(f"COPY {name} FROM '{file.name}' (FORMAT csv, HEADER false)")
        finally:
            Path(file.name).unlink()

    def _prices(self) -> Iterator[tuple[str, int, int]]:
        """Yield the price of a GPU second per pool and hour: a random walk for spot, constant otherwise."""
        rng = Random(f"{self.cluster.seed} market")
        for pool in POOLS:
            level = 1.0
            for hour in range(self.cluster.start, self.cluster.end, HOUR):
                if pool.market == SPOT:
                    level += rng.uniform(-0.015, 0.015) - 0.03 * (level - 1)
                yield pool.name, hour, int(pool.price * level) // PRICE_STEP * PRICE_STEP

    def _services(self) -> Iterator[tuple[object, ...]]:
        """Yield services billed by the day: datasets of teams, gateways, and a shop that does not train."""
        daily = sum(self.cluster.pools[pool.name].capacity * pool.price * 8 * 86400 for pool in POOLS)
        part = daily // 1000 // PRICE_STEP * PRICE_STEP
        for team, bill, account, region, parts in (
            ("nlp", "us", TRAINING_US, US, 24),
            ("vision", "us", TRAINING_US, US, 14),
            ("speech", "eu", TRAINING_EU, EU, 16),
        ):
            tags = f'{{"team":"{team}"}}'
            yield "datasets", bill, account, region, team, part * parts, "Storage", "Object Storage", tags
        yield "gateway", "us", TRAINING_US, US, "nat-us", part * 6, "Networking", "Gateway", ""
        yield "gateway", "eu", TRAINING_EU, EU, "nat-eu", part * 4, "Networking", "Gateway", ""
        yield "database", "us", SHOP, US, "shop", part * 30, "Databases", "Relational Database", ""

    def _labor(self) -> Iterator[tuple[object, ...]]:
        """Yield two hours per person and working day, rotating through the projects of the team."""
        for team in TEAMS.values():
            for index, person in enumerate(team.owners):
                for day in range(self.cluster.start, self.cluster.end, DAY):
                    if (day // DAY + EPOCH_WEEKDAY) % 7 < SATURDAY:
                        project = team.projects[(day // DAY + index) % len(team.projects)].name
                        yield day, person, HOURS_PER_DAY, HOURLY_RATE, project, HOURS_PER_DAY, project

    def _split_shared_costs(self) -> None:
        """Split the costs of a team, a project or everybody across the attempts of the period, by GPU time held."""
        held: dict[tuple[str, int], dict[AttemptDay, int]] = {}
        for team, project, day, job, attempt, seconds in self.connection.execute(
            "SELECT j.team, j.project, h.hour // 86400 * 86400 AS day, h.job_id, h.attempt, sum(h.gpu_seconds) "
            "FROM held_hours h JOIN jobs j ON j.job_id = h.job_id GROUP BY ALL"
        ).fetchall():
            for owner in (f"team {team}", f"project {project}", "all"):
                held.setdefault((owner, day), {})[job, attempt, day] = int(seconds)
        parts: dict[str, int] = {}
        for owner, first, last, total in self.connection.execute(self.query("shared_costs")).fetchall():
            weights = {p: w for day in range(first, last, DAY) for p, w in held.get((owner, day), {}).items()}
            for (job, _, _), part in split(int(total), weights).items() if weights else ():
                parts[job] = parts.get(job, 0) + part
        self.run("DELETE FROM shared_cost_parts")
        self._insert("shared_cost_parts", parts.items())


def _machine_row(machine: Machine) -> tuple[object, ...]:
    pool = machine.pool
    resource = f"arn:aws:ec2:{pool.region}:{pool.account}:instance/{machine.name}"
    times = (machine.since, machine.until, machine.is_surplus)
    return (machine.name, resource, pool.name, pool.kind.gpus, *times)


def _job_row(task: Task) -> tuple[object, ...]:
    job, pool = task.job, task.pool
    home = (US if pool.region == EU else EU) if task.reads_remotely else pool.region
    labels = (job.job_id, job.owner, job.team, job.project, job.experiment, job.cost_center)
    return (*labels, pool.bill, pool.account, pool.region, home, task.reads_remotely)


def _pool_row(pool: Pool, capacity: int) -> tuple[object, ...]:
    kind, prices = pool.kind, (pool.list_price, pool.price)
    where = (pool.name, pool.bill, pool.account, pool.region, pool.market)
    return (*where, kind.name, kind.gpus, capacity, *prices, pool.cluster, kind.gpu_model, kind.cpus, kind.memory_gb)


def _attempt_row(number: int, one: Attempt) -> tuple[object, ...]:
    task, saved = one.task, one.saved()
    worked = one.ended - one.started - task.load - saved * task.saving
    reached = task.work if one.state == "completed" else task.done + min(max(worked, 0), (saved + 1) * task.interval)
    nodes = ",".join(sorted(machine.name for machine in one.machines))
    held = (number, task.job.job_id, task.attempt, task.pool.name, task.gpus, one.started, one.ended, one.state)
    return (*held, task.load, task.interval, task.saving, task.done, task.work, saved, reached, nodes)
