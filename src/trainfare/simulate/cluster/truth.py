"""What truly happened on a game day, in a database of its own: machines, attempts, prices and every line of money.

It shares nothing with the account. What a job costs is what it held times the price of the moment, a whole number of units.
"""

import csv
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

HOURS, RATE = 2, 95
"""What a person enters on a day, and what an hour costs."""
LICENCE = 4200
Piece = tuple[str, int, int]
"""An attempt of a job on a day."""
PRICE_STEP = 100
"""Prices are multiples of this, so that a line of a bill has at most ten decimals."""


class Truth:
    """The events of a cluster as tables. `lines` has every line of the bills as it is in truth."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.connection = duckdb.connect()
        self.connection.execute("SET TimeZone = 'UTC'; SET enable_progress_bar = false")
        self.given = {"start": str(cluster.start), "end": str(cluster.end), "disk_price": str(DISK_PRICE)}
        self.run(self.text("happened"))

    @classmethod
    @contextmanager
    def of(cls, cluster: Cluster) -> Iterator["Truth"]:
        truth = cls(cluster)
        try:
            truth._load()
            for step in ("machine_hours", "held_hours", "lines"):
                truth.step(step)
            yield truth
        finally:
            truth.connection.close()

    def run(self, sql: str) -> None:
        self.connection.execute(sql)

    def rows(self, sql: str) -> list[tuple[object, ...]]:
        return self.connection.execute(sql).fetchall()

    def units(self, sql: str) -> int:
        """One whole number; none is 0."""
        found = self.connection.execute(sql).fetchone()
        return int(found[0] or 0) if found else 0

    def text(self, name: str, **given: str) -> str:
        """The text of a query of this package."""
        text = resources.files("trainfare.simulate.cluster").joinpath(f"{name}.sql").read_text(encoding="utf-8")
        for key, value in {**self.given, **given}.items():
            text = text.replace("{{" + key + "}}", value)
        return text

    def step(self, name: str) -> None:
        self.run(f"CREATE OR REPLACE TABLE {name} AS {self.text(name)}")

    def costs(self) -> dict[str, int]:
        """What each job truly costs, in whole units."""
        self._divide_shared()
        return {str(job): int(str(units)) for job, units in self.rows(self.text("job_costs"))}

    def lost(self) -> dict[str, tuple[int, int]]:
        """What the machine time cost that each job lost, in whole units: all of it, and what spot machines took."""
        rows = self.connection.execute(self.text("lost_costs")).fetchall()
        return {str(job): (int(units), int(taken)) for job, units, taken in rows}

    def counts(self) -> dict[str, int]:
        tables = {"machines": "machines", "jobs": "jobs", "attempts": "attempts", "lines": "written"}
        return {name: self.units(f"SELECT count(*) FROM {table}") for name, table in tables.items()}

    def _load(self) -> None:
        """Bring the events into tables: every attempt of the jobs that ran in the month, and their machines."""
        cluster = self.cluster
        ran = {a.task.job.job_id for a in cluster.attempts if a.started < cluster.end and a.ended > cluster.start}
        attempts = [one for one in cluster.attempts if one.task.job.job_id in ran]
        held = {machine for attempt in attempts for machine in attempt.machines}
        there = [m for m in cluster.machines if (m.since < cluster.end and m.until > cluster.start) or m in held]
        self._fill("machines", map(_machine_row, there))
        self._fill("attempts", (_attempt_row(number, one) for number, one in enumerate(attempts)))
        self._fill("placed", ((number, m.name) for number, one in enumerate(attempts) for m in one.machines))
        self._fill("jobs", map(_job_row, {one.task.job.job_id: one.task for one in attempts}.values()))
        self._fill("pools", (_pool_row(pool, cluster.lots[pool.name].places) for pool in POOLS))
        self._fill("prices", self._prices())
        self._fill("services", self._services())
        self._fill("labour", self._labour())
        self._fill("licences", [("Compiler suite", LICENCE, cluster.start)])

    def _fill(self, name: str, rows: Iterable[Sequence[object]]) -> None:
        """Put rows into a table, through a file: that is many times faster than row by row."""
        with tempfile.NamedTemporaryFile("w", suffix=".csv", newline="", encoding="utf-8", delete=False) as opened:
            csv.writer(opened).writerows(rows)
        try:
            if Path(opened.name).stat().st_size:
                self.run(f"COPY {name} FROM '{opened.name}' (FORMAT csv, HEADER false)")
        finally:
            Path(opened.name).unlink()

    def _prices(self) -> Iterator[tuple[str, int, int]]:
        """The price of a GPU second in each pool and hour: that of the market wanders, the others stand."""
        rng = Random(f"{self.cluster.seed} market")
        for pool in POOLS:
            level = 1.0
            for hour in range(self.cluster.start, self.cluster.end, HOUR):
                if pool.market == SPOT:
                    level += rng.uniform(-0.015, 0.015) - 0.03 * (level - 1)
                yield pool.name, hour, int(pool.price * level) // PRICE_STEP * PRICE_STEP

    def _services(self) -> Iterator[tuple[object, ...]]:
        """What is billed by the day beside machines and jobs: data sets of teams, gateways, and a shop that trains nothing."""
        daily = sum(lot.places * p.price * 8 * 86400 for p in POOLS for lot in [self.cluster.lots[p.name]])
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

    def _labour(self) -> Iterator[tuple[object, ...]]:
        """Everybody enters two hours on every working day, each day on another project of the team."""
        for team in TEAMS.values():
            for place, person in enumerate(team.owners):
                for day in range(self.cluster.start, self.cluster.end, DAY):
                    if (day // DAY + EPOCH_WEEKDAY) % 7 < SATURDAY:
                        project = team.projects[(day // DAY + place) % len(team.projects)].name
                        yield day, person, HOURS, RATE, project, HOURS, project

    def _divide_shared(self) -> None:
        """Share what belongs to a team, a project or everybody among the attempts of its time, by GPU time held."""
        held: dict[tuple[str, int], dict[Piece, int]] = {}
        for team, project, day, job, attempt, seconds in self.connection.execute(
            "SELECT j.team, j.project, h.hour // 86400 * 86400 AS day, h.job_id, h.attempt, sum(h.gpu_seconds) FROM held_hours h "
            "JOIN jobs j ON j.job_id = h.job_id GROUP BY ALL"
        ).fetchall():
            for whose in (f"team {team}", f"project {project}", "all"):
                held.setdefault((whose, day), {})[job, attempt, day] = int(seconds)
        parts: dict[str, int] = {}
        for whose, first, last, whole in self.connection.execute(self.text("shared_pots")).fetchall():
            weights = {p: w for day in range(first, last, DAY) for p, w in held.get((whose, day), {}).items()}
            for (job, _, _), part in split(int(whole), weights).items() if weights else ():
                parts[job] = parts.get(job, 0) + part
        self.run("DELETE FROM shared_parts")
        self._fill("shared_parts", parts.items())


def _machine_row(machine: Machine) -> tuple[object, ...]:
    pool = machine.pool
    resource = f"arn:aws:ec2:{pool.region}:{pool.account}:instance/{machine.name}"
    times = (machine.since, machine.until, machine.is_surplus)
    return (machine.name, resource, pool.name, pool.kind.gpus, *times)


def _job_row(task: Task) -> tuple[object, ...]:
    job, pool = task.job, task.pool
    home = (US if pool.region == EU else EU) if task.is_far else pool.region
    who = (job.job_id, job.owner, job.team, job.project, job.experiment, job.cost_center)
    return (*who, pool.bill, pool.account, pool.region, home, task.is_far)


def _pool_row(pool: Pool, places: int) -> tuple[object, ...]:
    kind, prices = pool.kind, (pool.list_price, pool.price)
    where = (pool.name, pool.bill, pool.account, pool.region, pool.market)
    return (*where, kind.name, kind.gpus, places, *prices, pool.cluster, kind.gpu_model, kind.cpus, kind.memory_gb)


def _attempt_row(number: int, one: Attempt) -> tuple[object, ...]:
    task, saved = one.task, one.saved()
    worked = one.ended - one.started - task.load - saved * task.saving
    reached = task.work if one.state == "completed" else task.done + min(max(worked, 0), (saved + 1) * task.interval)
    nodes = ",".join(sorted(machine.name for machine in one.machines))
    held = (number, task.job.job_id, task.attempt, task.pool.name, task.gpus, one.started, one.ended, one.state)
    return (*held, task.load, task.interval, task.saving, task.done, task.work, saved, reached, nodes)
