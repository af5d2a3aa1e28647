"""Random companies with something of every failure mode, and with near misses of it, written as files.

Every company has its own currency, so that many of them fit into one book and each keeps its own figures.
"""

from collections.abc import Callable, Iterable
from decimal import Decimal
from itertools import product
from pathlib import Path
from random import Random
from string import ascii_uppercase

from trainfare.money import amount

from .books import BILL, JOBS, MACHINES, MEASURED, stamp, with_settings, write_rows
from .findings_records import DAY, HOUR, MICRO, MONTH, Hold, Labor, License, Line, Machine, Measured, Records

UNITS = 10**12
CATEGORIES = {"compute": "Compute", "storage": "Storage", "network": "Networking"}
LABOR_COLUMNS = ("day", "person", "role", "hours", "rate", "currency", "project")
LICENSE_COLUMNS = ("license", "per", "price", "every", "currency", "started", "ended", "team")


class Company:
    """Adds the rows of one company to the records, in its own currency and with its own names."""

    def __init__(self, records: Records, rng: Random, number: int) -> None:
        self.records, self.rng = records, rng
        self.currency = "".join([*product(ascii_uppercase, repeat=3)][700 + number])
        self.name = self.currency.lower()

    def money(self, most: int = 900) -> int:
        """Return an amount in whole units, with cents or with thirds of cents."""
        cents = self.rng.randint(1, most) * UNITS // 100
        return cents if self.rng.random() < 0.7 else cents // 3

    def machine(self, name: str, gpus: int = 8, **columns: object) -> Machine:
        made = Machine(
            f"{self.name}-{name}",
            gpus * MICRO,
            str(columns.pop("account", f"{self.name}-{name}")),
            str(columns.pop("pool", f"{self.name}-{name}")),
            **columns,  # type: ignore[arg-type]
        )
        self.records.machines.append(made)
        return made

    def days(self, machine: Machine, days: Iterable[int], units: int | Callable[[], int], **columns: object) -> None:
        """Bill a machine for whole days."""
        for day in days:
            money = units() if callable(units) else units
            self.bill(machine, (day * DAY, day * DAY + DAY), money, **columns)

    def bill(self, machine: Machine, period: tuple[int, int], units: int, **columns: object) -> None:
        file = str(columns.pop("file", "bill"))
        self.records.lines.append(
            Line(file, period, units, self.currency, machine.account, resource=machine.name, **columns)  # type: ignore[arg-type]
        )

    def service(self, account: str, day: int, units: int, **columns: object) -> None:
        period = (day * DAY, day * DAY + DAY)
        self.records.lines.append(Line("bill", period, units, self.currency, account, **columns))  # type: ignore[arg-type]

    def hold(self, job: str, machine: Machine, span: tuple[int, int], **columns: object) -> Hold:
        columns = {"log": "jobs", "attempt": 1, "gpu_micros": machine.gpu_micros} | columns
        made = Hold(job=f"{self.name}-{job}", machine=machine.name, span=span, **columns)  # type: ignore[arg-type]
        self.records.holds.append(made)
        return made


def _tags_and_owners(company: Company) -> None:
    """F1: storage with a mapped tag, another tag or none. F1-OWNERS: a job without an owner."""
    rng, machine = company.rng, company.machine("plain")
    company.days(machine, range(3), company.money())
    company.hold("a", machine, (0, 30 * HOUR), owner=rng.choice(["ana", ""]), gpu_micros=rng.randint(1, 8) * MICRO)
    company.hold("b", machine, (30 * HOUR, 72 * HOUR), team=f"{company.name}-team")
    team, job = f"{company.name}-team", f"{company.name}-b"
    for day in range(rng.randint(0, 3)):
        tags = rng.choice([(), (("team", team),), (("squad", team),), (("job_id", job),), (("job_id", "nobody"),)])
        category = rng.choice(["storage", "network"])
        company.service(f"{company.name}-tags", day, company.money(), category=category, tags=tags)


def _preemptions(company: Company) -> None:
    """F2: a job of several attempts on a machine that is spot all the time, for a while, or never."""
    rng, machine = company.rng, company.machine("spot")
    spot_days = rng.choice([0, 1, 4])
    rate = company.money() * 24
    company.days(machine, range(spot_days), rate, pricing="Dynamic")
    company.days(machine, range(spot_days, 4), rate, pricing=rng.choice(["Standard", "Committed"]))
    states = [rng.choice(["preempted", "failed", "canceled"]) for _ in range(rng.randint(0, 3))]
    states.append(rng.choice(["completed", "preempted"]))
    at, step, has_checkpoints = 0, 0, rng.random() < 0.7
    for number, state in enumerate(states, 1):
        hours = rng.randint(6, 20)
        made = company.hold("retried", machine, (at, at + hours * HOUR), attempt=number, state=state)
        if has_checkpoints:
            startup = rng.randint(0, 2) * HOUR
            _train(company, made, at + startup, step + 1)
            for _ in range(rng.randint(0, 2) if number > 1 else 1):
                step += 100
                saved = at + startup + HOUR + step // 100 % 3 * HOUR
                if all(saved >= m.span[1] for m in _checkpoints(company, made)):
                    _save(company, made, (saved, saved + HOUR // 2), step)
        at += hours * HOUR


def _checkpoints(company: Company, hold: Hold) -> list[Measured]:
    key = (hold.job, hold.attempt, "checkpoint")
    return [one for one in company.records.measured if (one.job, one.attempt, one.measure) == key]


def _train(company: Company, hold: Hold, start: int, step: int) -> None:
    company.records.measured.append(Measured(hold.job, hold.attempt, (start, hold.span[1]), "step", step + 50))


def _save(company: Company, hold: Hold, span: tuple[int, int], step: int) -> None:
    company.records.measured.append(Measured(hold.job, hold.attempt, span, "checkpoint", step))


def _bytes(company: Company) -> None:
    """F3: bytes within a region, between regions, from and to unnamed ones, on days with and without any."""
    rng = company.rng
    machine = company.machine("net", region=rng.choice(["eu", "US", ""]))
    company.days(machine, range(4), company.money())
    job = company.hold("sender", machine, (0, 4 * DAY)).job
    for day in range(4):
        for value in rng.sample(range(1, 1000), rng.randint(0, 3)):
            regions = (rng.choice(["", "eu", "us"]), rng.choice(["", "eu", "us", "EU", "ap"]))
            span = (day * DAY + HOUR, day * DAY + 2 * HOUR)
            company.records.measured.append(Measured(job, 1, span, "bytes_sent", value, regions=regions))
        if rng.random() < 0.8:
            tags = (("job_id", job),)
            company.service(machine.account, day, company.money(), category="network", tags=tags)


def _requests(company: Company) -> None:
    """F4: storage that costs the same per request, or suddenly more; requests of a day or of several."""
    rng, machine = company.rng, company.machine("io")
    days = rng.choice([6, 7, 12])
    company.days(machine, range(days), company.money())
    job = company.hold("reader", machine, (0, days * DAY), team=f"{company.name}-io").job
    price, step = rng.randint(50, 200), rng.choice([1, 1, 2, 3, 4, 9])
    if rng.random() < 0.5:
        span = (0, days * DAY)
        company.records.measured.append(Measured(job, 1, span, "storage_requests", 1000 * days, machine.name))
    for day in range(days):
        count = rng.randint(900, 1100)
        span = (day * DAY, day * DAY + DAY)
        where = rng.choice(["", machine.name])
        company.records.measured.append(Measured(job, 1, span, "storage_requests", count, where))
        units = price * (count + 1000) * (step if day >= days - 2 else 1) * 10**7
        tags = (("team", f"{company.name}-io"),)
        company.service(machine.account, day, units, category="storage", tags=tags, service="Blob store")


def _two_bills(company: Company) -> None:
    """F5: a machine on two bills, for the same hours, for others, or in part; and days exported twice."""
    rng, machine = company.rng, company.machine("billed", account=f"{company.name}-two")
    for _ in range(rng.randint(1, 5)):
        start = rng.randint(0, 60) * HOUR
        company.bill(machine, (start, start + rng.randint(1, 24) * HOUR), company.money(), file="bill")
    for _ in range(rng.choice([0, 0, 1, 3])):
        start = rng.randint(0, 90) * HOUR + rng.choice([0, 0, 1200])
        company.bill(machine, (start, start + rng.randint(1, 24) * HOUR), company.money(), file="second")
    exported = company.machine("exported", account=f"{company.name}-export")
    copied = rng.choice([0, 0, 0.5, 1])
    for day, units in enumerate([company.money() for _ in range(4)]):
        company.days(exported, [day], units)
        if rng.random() < copied:
            again = units if rng.random() < 0.7 else units + 1
            company.days(exported, [day], again, file="second")


def _two_logs(company: Company) -> None:
    """F5: like runs in one log or in two, which fit the machine or not."""
    rng = company.rng
    machine = company.machine("shared", gpus=rng.choice([4, 8]))
    company.days(machine, range(2), company.money() * 24)
    span = (rng.randint(0, 4) * HOUR, rng.randint(20, 40) * HOUR)
    held = rng.choice([1, 2, 4]) * MICRO
    for number in range(rng.randint(1, 4)):
        company.hold(f"task-{number}", machine, span, gpu_micros=held)
    for number in range(rng.randint(0, 3)):
        later = (span[0], span[1] + rng.choice([0, 0, HOUR]))
        company.hold(f"zray-{number}", machine, later, gpu_micros=held, log="second_log")


def _commitment(company: Company) -> None:
    """F6: covered usage at one price, or at another on some days; some days have less of it."""
    rng, machine = company.rng, company.machine("covered")
    cost = company.money()
    other = rng.choice([None, None, company.money(), cost * 23 // 25, 0])
    for day in range(rng.randint(1, 9)):
        part = rng.choice([1, 1, 2])
        units = other if other is not None and rng.random() < 0.4 else cost
        period = (day * DAY, day * DAY + DAY // part)
        columns = {"commitment": f"{company.name}-plan", "list_units": 20 * UNITS // part, "pricing": "Committed"}
        company.bill(machine, period, units // part, **columns)
        company.hold(f"on-plan-{day}", machine, period)


def _burst(company: Company) -> None:
    """F7: machines that start one after the other, some of which have work."""
    rng = company.rng
    at = rng.randint(1, 40) * HOUR
    for number in range(rng.randint(2, 9)):
        at += rng.choice([60, 600, 1800, 1800, 1801])
        hours = rng.choice([1, 2, 2, 2, 5])
        existed = (at, at + hours * HOUR)
        machine = company.machine(f"burst-{number}", pool=f"{company.name}-pool", existed=existed)
        company.bill(machine, existed, company.money())
        if rng.random() < 0.2:
            company.hold(f"found-{number}", machine, (at, at + rng.randint(1, 4) * hours * 900))


def _late(company: Company) -> None:
    """F8: a bill that ends early for a machine, an account or nothing; held, seen, removed or only listed since."""
    rng, account = company.rng, f"{company.name}-late"
    for number in range(rng.randint(1, 3)):
        billed, held = rng.randint(2, 12), rng.choice([0, 1, 5, 12])
        removed = rng.choice([None, None, rng.randint(2, 20) * DAY])
        machine = company.machine(f"late-{number}", account=account, pool=account, existed=(None, removed))
        is_billed = number == 0 or rng.random() < 0.8
        company.days(machine, range(billed) if is_billed else [], company.money())
        end = billed * DAY + rng.choice([0, 30, held * HOUR, held * DAY])
        company.hold(f"long-{number}", machine, (rng.randint(0, 1) * DAY, end))
    if rng.random() < 0.5:
        for day in range(rng.randint(3, 10)):
            tags = (("team", f"{company.name}-late"),)
            company.service(account, day, company.money(), category="storage", tags=tags)


def _time_sheet(company: Company) -> None:
    """F9: people and roles with few hours or many, at different rates, for projects with jobs and without."""
    rng, machine = company.rng, company.machine("project")
    company.days(machine, range(1), company.money())
    company.hold("trained", machine, (0, DAY), project=f"{company.name}-atlas")
    people = [f"{company.name}-ann", f"{company.name}-Ann", "", f"{company.name}-bo"]
    for _ in range(rng.randint(0, 7)):
        project = rng.choice(["atlas", "atlas", "atlas", "over"])
        hours = rng.choice([3, 4, 6, 8, 12, 13, -3]) * MICRO + rng.choice([0, 0, MICRO // 2])
        person = rng.choice(people)
        rate = rng.randint(1, 120) * UNITS
        entry = Labor(rng.randint(0, 1), person, "engineer", hours, rate, company.currency, f"{company.name}-{project}")
        company.records.labor.append(entry)


def _licenses(company: Company) -> None:
    """F10: licenses that September had, had for nothing, or did not have; some renewed under one name."""
    rng = company.rng
    for number in range(rng.randint(0, 3)):
        first, last = rng.choice([(-40, 20), (-30, 0), (0, 31), (0, 31), (10, 31), (-5, 31)])
        units = rng.choice([0, company.money(90000), company.money(90000)])
        name = f"{company.name}-tool-{rng.randint(0, 1)}" if number else f"{company.name}-tool-0"
        team = f"{company.name}-io"
        company.records.licenses.append(License(name, units, company.currency, first, last, team))


SECTIONS: tuple[Callable[[Company], None], ...] = (
    *(_tags_and_owners, _preemptions, _bytes, _requests, _two_bills, _two_logs),
    *(_commitment, _burst, _late, _time_sheet, _licenses),
)


def companies(rng: Random, count: int) -> Records:
    """Return the records of many companies. A job to the end of the month makes the log as long as the month."""
    records = Records()
    for number in range(count):
        company = Company(records, rng, number)
        for section in SECTIONS:
            if rng.random() < 0.8:
                section(company)
    last = Company(records, rng, count)
    machine = last.machine("all-month")
    last.days(machine, range(31), UNITS)
    last.hold("all-month", machine, (0, MONTH))
    return records


def write(records: Records, folder: Path) -> Path:
    """Write the records as files with settings, and a line that gives September a book."""
    september = {"BillingPeriodStart": stamp(-30 * DAY), "BillingPeriodEnd": stamp(0)}
    before = _line_row(Line("bill", (-DAY, 0), UNITS, "ZZZ", "september", category="storage")) | september
    for file in ("bill", "second"):
        rows = [_line_row(line) for line in records.lines if line.file == file]
        write_rows(folder / f"{file}.csv", BILL, [*rows, before] if file == "bill" else rows)
    for log in ("jobs", "second_log"):
        write_rows(folder / f"{log}.csv", JOBS, [_hold_row(hold) for hold in records.holds if hold.log == log])
    write_rows(folder / "machines.csv", MACHINES, map(_machine_row, records.machines))
    write_rows(folder / "measured.csv", MEASURED, map(_measured_row, records.measured))
    write_rows(folder / "labor.csv", LABOR_COLUMNS, map(_labor_row, records.labor))
    write_rows(folder / "licenses.csv", LICENSE_COLUMNS, map(_license_row, records.licenses))
    names = ("bill", "second", "jobs", "second_log", "machines", "measured", "labor", "licenses")
    return with_settings(folder, [f"{name}.csv" for name in names])


def _line_row(line: Line) -> dict[str, object]:
    tags = ", ".join(f'"{key}": "{value}"' for key, value in line.tags)
    money = f"{amount(line.units):f}"
    listed = f"{amount(line.list_units):f}" if line.commitment else money
    return {
        "BillingAccountId": "B-1",
        "SubAccountId": line.account,
        "BillingCurrency": line.currency,
        "BillingPeriodStart": stamp(0),
        "BillingPeriodEnd": stamp(MONTH),
        "ChargePeriodStart": stamp(line.period[0]),
        "ChargePeriodEnd": stamp(line.period[1]),
        "ChargeCategory": "Usage",
        "ServiceCategory": CATEGORIES[line.category],
        "ServiceName": line.service,
        "ResourceId": line.resource,
        "PricingCategory": line.pricing,
        "CommitmentDiscountId": line.commitment,
        "CommitmentDiscountStatus": "Used" if line.commitment else "",
        "Tags": f"{{{tags}}}" if tags else "",
        "EffectiveCost": money,
        "BilledCost": money,
        "ListCost": listed,
        "ContractedCost": listed,
    }


def _hold_row(hold: Hold) -> dict[str, object]:
    return {
        "job_id": hold.job,
        "attempt": hold.attempt,
        "machine_id": hold.machine,
        "started": stamp(hold.span[0]),
        "ended": stamp(hold.span[1]),
        "gpus": Decimal(hold.gpu_micros) / MICRO,
        "state": hold.state,
        "owner": hold.owner,
        "team": hold.team,
        "project": hold.project,
    }


def _machine_row(machine: Machine) -> dict[str, object]:
    return {
        "machine_id": machine.name,
        "resource_id": machine.name,
        "gpus": machine.gpu_micros // MICRO,
        "pool": machine.pool,
        "region": machine.region,
        "account": machine.account,
        "existed_from": stamp(machine.existed[0]),
        "existed_to": stamp(machine.existed[1]),
    }


def _measured_row(one: Measured) -> dict[str, object]:
    return {
        "job_id": one.job,
        "attempt": one.attempt,
        "machine_id": one.machine,
        "started": stamp(one.span[0]),
        "ended": stamp(one.span[1]),
        "measure": one.measure,
        "value": one.value,
        "from_region": one.regions[0],
        "to_region": one.regions[1],
    }


def _labor_row(entry: Labor) -> dict[str, object]:
    return {
        "day": stamp(entry.day * DAY)[:10],
        "person": entry.person,
        "role": entry.role,
        "hours": Decimal(entry.hour_micros) / MICRO,
        "rate": f"{amount(entry.rate_units):f}",
        "currency": entry.currency,
        "project": entry.project,
    }


def _license_row(one: License) -> dict[str, object]:
    return {
        "license": one.name,
        "per": "flat",
        "price": f"{amount(one.units):f}",
        "every": "term",
        "currency": one.currency,
        "started": stamp(one.first * DAY)[:10],
        "ended": stamp(one.last * DAY)[:10],
        "team": one.team,
    }
