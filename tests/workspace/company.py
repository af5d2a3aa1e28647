"""A small company in files: four GPU machines, three teams, about thirty jobs and two hundred bill lines a month."""

import csv
import io
import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal

from trainfare.period import Month

OCTOBER = Month(2026, 10)
NOVEMBER = Month(2026, 11)
DECEMBER = Month(2026, 12)

MACHINES = ("gpu-1", "gpu-2", "gpu-3", "gpu-4")
TEAMS = ("nlp", "speech", "vision")
ALONE = "alone"
"""This job holds all of gpu-4 on the first day of every month: the charge of that day is its own, to the last unit."""

MACHINE_PRICE = Decimal("1170.912345678901")
STORAGE_PRICE = Decimal("7.310000000007")


@dataclass(frozen=True)
class Line:
    """One line of the bill, for one day."""

    day: datetime
    cost: Decimal
    machine: str = ""
    team: str = ""
    service: str = "Compute"

    def row(self, month: Month) -> list[str]:
        tags = f'{{"team": "{self.team}"}}' if self.team else ""
        price = '{"InstanceType": "p5.48xlarge"}' if self.machine else ""
        times = [_time(self.day), _time(self.day + timedelta(days=1)), _time(month.start), _time(month.end)]
        costs = [f"{self.cost:f}", f"{2 * self.cost:f}", f"{3 * self.cost:f}"]
        return ["USD", *times, *costs, "Usage", self.service, f"{self.service} service", self.machine, price, tags]


COLUMNS = (
    *("BillingCurrency", "ChargePeriodStart", "ChargePeriodEnd", "BillingPeriodStart", "BillingPeriodEnd"),
    *("EffectiveCost", "BilledCost", "ListCost", "ChargeCategory", "ServiceCategory", "ServiceName"),
    *("ResourceId", "SkuPriceDetails", "Tags"),
)
JOB_COLUMNS = ("job_id", "attempt", "machine_id", "started", "ended", "gpus", "state", "team")


def lines(month: Month) -> list[Line]:
    """The lines of a month: each machine and the storage of each team, day by day."""
    days = [month.start + timedelta(days=n) for n in range((month.end - month.start).days)]
    machines = [Line(day, MACHINE_PRICE, machine=machine) for day in days for machine in MACHINES]
    storage = [Line(day, STORAGE_PRICE, team=team, service="Storage") for day in days for team in TEAMS]
    return machines + storage


def support(month: Month, cost: str) -> Line:
    """A fee that is split by spend, so that it changes with every other charge."""
    return Line(month.start, Decimal(cost), service="Support")


def restated(original: Sequence[Line], machine: str, by: str) -> list[Line]:
    """The same month, except that the first day of one machine costs `by` more."""
    at = next(n for n, line in enumerate(original) if line.machine == machine)
    changed = replace(original[at], cost=original[at].cost + Decimal(by))
    return [*original[:at], changed, *original[at + 1 :]]


def bill(month: Month, lines: Iterable[Line]) -> str:
    return _csv(COLUMNS, (line.row(month) for line in lines))


def total(lines: Iterable[Line]) -> Decimal:
    return sum((line.cost for line in lines), Decimal())


def jobs(month: Month, seed: int = 1) -> str:
    """Jobs that hold two, four or eight GPUs for some hours, one after the other on each machine."""
    chance = random.Random(f"{month} {seed}")
    rows: list[Sequence[object]] = [_job(ALONE, month, "gpu-4", (month.start, timedelta(days=1)), 8, "nlp")]
    for machine in MACHINES:
        at = month.start + timedelta(days=1)
        for number in range(8):
            length = timedelta(seconds=chance.randrange(3600, 60 * 3600))
            gpus, team = chance.choice((2, 4, 8)), chance.choice(TEAMS)
            rows.append(_job(f"{machine}-{number}", month, machine, (at, length), gpus, team))
            at += length + timedelta(seconds=chance.randrange(3600))
    return _csv(JOB_COLUMNS, rows)


def _job(
    name: str, month: Month, machine: str, held: tuple[datetime, timedelta], gpus: int, team: str
) -> Sequence[object]:
    started, length = held
    return (f"{name}-{month}", 1, machine, _time(started), _time(started + length), gpus, "completed", team)


def measurements(month: Month) -> str:
    """Measurements of the month's jobs: by machine for one team, by attempt for the others; one team sends data out."""
    rows: list[Sequence[object]] = []
    for job in csv.DictReader(io.StringIO(jobs(month))):
        started, ended = job["started"], min(job["ended"], _time(month.end))
        seconds = (datetime.fromisoformat(ended) - datetime.fromisoformat(started)).total_seconds()
        named = (job["job_id"], job["attempt"], job["machine_id"] if job["team"] == "nlp" else "", started, ended)
        rows.append((*named, "gpu_busy_seconds", int(seconds * int(job["gpus"]) * 0.7), "", ""))
        rows.append((*named, "storage_requests", int(seconds) * 3, "", ""))
        if job["team"] == "vision":
            rows.append((*named, "bytes_sent", int(seconds) * 1_000_000, "eu-central-1", "us-east-1"))
        for number in range(1, 1 + int(seconds) // 3600):
            at = datetime.fromisoformat(started) + timedelta(hours=number)
            saved = (_time(at - timedelta(seconds=60)), _time(at))
            rows.append((job["job_id"], job["attempt"], "", *saved, "checkpoint", 100 * number, "", ""))
    columns = ("job_id", "attempt", "machine_id", "started", "ended", "measure", "value", "from_region", "to_region")
    return _csv(columns, rows)


def machines() -> str:
    return _csv(("machine_id", "gpus", "cluster"), ((name, 8, "main") for name in MACHINES))


def settings(**options: str) -> str:
    """Settings that read bills, jobs and machines from folders next to them."""
    tables = '[[source]]\nname = "cloud"\npath = "bills/*.csv"\n\n'
    tables += "".join(f'[[source]]\npath = "{path}"\n\n' for path in ("jobs/*.csv", "machines.csv"))
    return "".join(f"{name} = {value}\n" for name, value in options.items()) + tables


def _time(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"


def _csv(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    return out.getvalue()
