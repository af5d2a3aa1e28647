"""Two companies that are the same for one team and different for everybody else.

The team nlp has the same jobs, machines, weights and prices in both. The other teams, their machines, the lines of the
bill, the pots that nlp has a share of, budgets, findings and currencies differ. Prices per unit of weight are whole
cents, and every pot is its unit price times all weights in it, so that nlp's shares are the same to the last digit.
"""

import csv
import io
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pytest
from workspace.folder import Workspace

from trainfare.period import Month
from trainfare.store import catalog

MONTHS = (Month(2026, 9), Month(2026, 10))
BUILT = datetime(2026, 11, 2, 6, tzinfo=UTC)
OWN_JOBS = ("nlp-a", "nlp-b", "nlp-c", "nlp-m")

RULES = """
[[rule]]
name = "spot machines"
match = { machine = true, pricing = "Dynamic" }
among = "machine"
by = "gpu_seconds"
idle = "spread"

[[rule]]
name = "datasets"
match = { service = "Datasets" }
among = "all"
by = "gpu_seconds"

[[rule]]
name = "control plane"
match = { service = "Control plane", tag = { cluster = true } }
among = "cluster"
by = "evenly"

[[rule]]
name = "egress"
match = { service = "Egress" }
among = "all"
by = "bytes_sent"
"""
SOURCES = """
[[source]]
name = "cloud"
path = "bills/*.csv"

[[source]]
path = "jobs.csv"

[[source]]
name = "machines"
path = "machines.csv"

[[source]]
name = "measured"
path = "measurements.csv"
"""


@dataclass(frozen=True)
class Hold:
    """One attempt: it holds GPUs of a machine for some hours of the first days of a month, and sends some bytes."""

    job: str
    attempt: int
    team: str
    machine: str
    gpus: int
    hours: tuple[int, int]
    state: str = "completed"
    project: str = "atlas"
    sent: int = 0

    @property
    def gpu_hours(self) -> int:
        return self.gpus * (self.hours[1] - self.hours[0])


OWN = (
    Hold("nlp-a", 1, "nlp", "own-1", 4, (0, 12), sent=3_000),
    Hold("nlp-b", 1, "nlp", "shared-1", 2, (0, 24)),
    Hold("nlp-c", 1, "nlp", "spread-1", 2, (0, 9), "failed", sent=500),
    Hold("nlp-c", 2, "nlp", "spread-1", 2, (9, 24), project="babel"),
    Hold("nlp-m", 1, "nlp", "own-1", 1, (13, 17), "preempted"),
)
VISION = (
    Hold("vision-a", 1, "vision", "shared-1", 4, (0, 24), sent=7_000),
    Hold("vision-b", 1, "vision", "spread-1", 2, (0, 24)),
    Hold("nlp-a2", 1, "vision", "vision-1", 8, (2, 20), "failed"),
    Hold("nlp-a2", 2, "vision", "vision-1", 8, (20, 23)),
    Hold("nlp-m", 2, "vision", "vision-1", 3, (0, 2)),
)
OTHERS = (
    Hold("speech-a", 1, "speech", "shared-1", 1, (0, 11), sent=111_000, project="choir"),
    Hold("speech-b", 1, "speech", "shared-1", 5, (3, 21), "failed", project="choir"),
    Hold("speech-c", 1, "speech", "spread-1", 6, (0, 24), project="atlas"),
    *(
        Hold(f"audio-{n}", 1, "audio", f"audio-{n % 3}", 8, (n // 3 * 6, n // 3 * 6 + 5), sent=n, project="drums")
        for n in range(9)
    ),
    Hold("odd", 1, "speech", "audio-0", 1, (20, 21), "failed"),
    Hold("odd", 2, "audio", "audio-0", 1, (21, 22)),
)
"""The last job's attempts have different labels, which the first company has only in a job that nlp takes part in."""


@dataclass(frozen=True)
class Company:
    name: str
    others: tuple[Hold, ...]
    spread_price: Decimal
    """Of the machine whose idle time is spread, for a day: one dollar per GPU hour that was held."""
    storage: tuple[str, ...]
    """The other teams with storage of their own; an empty name is storage of nobody."""
    budget: str
    euros: bool
    pounds_on: int | None = None
    """With pounds that are converted: the day of October on which others are charged in them."""

    @property
    def holds(self) -> tuple[Hold, ...]:
        return (*OWN, *self.others)

    @property
    def machines(self) -> list[str]:
        return sorted({hold.machine for hold in self.holds})


FIRST = Company("first", VISION, Decimal(96), ("vision",), "team = { nlp = 900, vision = 111 }", False)
SECOND = Company(
    "second",
    OTHERS,
    Decimal(192),
    ("speech", "audio", ""),
    "team = { nlp = 900, speech = 222, audio = 333 }",
    True,
)

BILL_COLUMNS = (
    *("BillingCurrency", "ChargePeriodStart", "ChargePeriodEnd", "BillingPeriodStart", "BillingPeriodEnd"),
    *("EffectiveCost", "BilledCost", "ListCost", "ContractedCost", "ChargeCategory", "ServiceCategory", "ServiceName"),
    *("ResourceId", "SkuPriceDetails", "PricingCategory", "BillingAccountId", "SubAccountId", "RegionId"),
    *("ChargeDescription", "Tags"),
)


def furnish(company: Company, folder: Path) -> Workspace:
    """Write the company's files, build its months at a fixed time, and give nlp a budget."""
    made = Workspace(folder)
    made.write("machines.csv", _csv(("machine_id", "gpus", "cluster"), [(m, 8, "main") for m in company.machines]))
    made.write("jobs.csv", _jobs(company))
    made.write("measurements.csv", _measurements(company))
    for month in MONTHS:
        for name, rows in _bills(company, month):
            made.write(f"bills/{name}-{month}.csv", _csv(BILL_COLUMNS, rows))
    serve = '[serve]\nsign_in = "local"\nrequests_per_minute = 100000\n'
    budget = f'[budget]\ncurrency = "USD"\n{company.budget}\n'
    convert = ""
    if company.pounds_on:
        made.write("rates.csv", _rates())
        convert = '[convert]\nto = "USD"\n\n[[source]]\npath = "rates.csv"\n'
    made.write("trainfare.toml", f"{SOURCES}{RULES}{serve}{budget}{convert}")
    with ExitStack() as stack:
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        patch.setattr(catalog, "_now", lambda: BUILT)
        made.build()
    return made


def _bills(company: Company, month: Month) -> Iterable[tuple[str, list[Sequence[object]]]]:
    """The bill, in which the second company's other lines come first, in a file of their own."""
    line = _line_writer(month)
    own: list[Sequence[object]] = [
        *(line("Compute", "192.00", machine=name) for name in ("own-1", "shared-1")),
        line("Compute", str(company.spread_price), machine="spread-1", pricing="Dynamic"),
        line("Storage", "14.80", team="nlp"),
    ]
    others = [
        *(line("Compute", "192.00", machine=m) for m in company.machines if m.startswith(("vision", "audio"))),
        *(line("Storage", f"{_storage(company, team)}", team=team) for team in company.storage),
    ]
    gpu_hours = sum(hold.gpu_hours for hold in company.holds)
    sent = sum(hold.sent for hold in company.holds)
    shared = [
        line("Datasets", f"{Decimal('0.02') * gpu_hours}"),
        line("Control plane", f"{5 * len(company.holds)}", tags='{"cluster": "main"}'),
        line("Egress", f"{Decimal('0.01') * sent}"),
    ]
    if company.euros:
        yield "0-euros", [line("Compute", "40.00", machine="audio-0", currency="EUR")]
    if company.pounds_on:
        first, later = (line("Storage", "5.00", team="nlp", currency="GBP"), _line_writer(month, company.pounds_on - 1))
        yield "pounds", [first, later("Storage", "9.00", team=company.storage[0], currency="GBP")]
    spend = sum(Decimal(str(row[5])) for row in (*own, *others, *shared))
    support = line("Support", f"{spend / 10:f}")
    yield "cloud", [*others, *shared, *own, support] if company.euros else [*own, *shared, support, *others]


def _storage(company: Company, team: str) -> Decimal:
    return Decimal("0.05") * sum(hold.gpu_hours for hold in company.holds if team in ("", hold.team))


def _rates() -> str:
    days = [month.start + timedelta(days=n) for month in MONTHS for n in range(5)]
    rows = [(f"{day:%Y-%m-%d}", "GBP", "USD", f"1.{day:%d}", "treasury") for day in days]
    return _csv(("day", "from_currency", "to_currency", "rate", "source"), rows)


def _line_writer(month: Month, day: int = 0) -> Callable[..., Sequence[object]]:
    starts = month.start + timedelta(days=day)
    times = (starts, starts + timedelta(days=1), month.start, month.end)
    kinds = {"Compute": "Compute", "Storage": "Storage", "Egress": "Networking"}

    def line(
        service: str,
        cost: str,
        machine: str = "",
        team: str = "",
        tags: str = "",
        pricing: str = "Standard",
        currency: str = "USD",
    ) -> Sequence[object]:
        tags = f'{{"team": "{team}"}}' if team else tags
        details = '{"InstanceType": "p5.48xlarge"}' if machine else ""
        described = f"{service} of {machine or team or tags or 'everybody'}"
        place = ("acme", "training", "eu-central-1")
        names = ("Usage", kinds.get(service, "Other" if service != "Support" else "Support"), service)
        return (currency, *map(_time, times), *[cost] * 4, *names, machine, details, pricing, *place, described, tags)

    return line


def _jobs(company: Company) -> str:
    columns = ("job_id", "attempt", "machine_id", "started", "ended", "gpus", "state", "team", "project")
    rows = [
        (f"{h.job}-{month}", h.attempt, h.machine, *_held(h, month), h.gpus, h.state, h.team, h.project)
        for month in MONTHS
        for h in company.holds
    ]
    return _csv(columns, rows)


def _measurements(company: Company) -> str:
    columns = ("job_id", "attempt", "machine_id", "started", "ended", "measure", "value", "from_region", "to_region")
    rows: list[Sequence[object]] = []
    for month in MONTHS:
        for h in company.holds:
            named = (f"{h.job}-{month}", h.attempt, "", *_held(h, month))
            rows.append((*named, "gpu_busy_seconds", h.gpu_hours * 2000, "", ""))
            if h.sent:
                rows.append((*named, "bytes_sent", h.sent, "eu-central-1", "us-east-1"))
    return _csv(columns, rows)


def _held(hold: Hold, month: Month) -> tuple[str, str]:
    first, last = (_time(month.start + timedelta(hours=hour)) for hour in hold.hours)
    return first, last


def _time(moment: datetime) -> str:
    return f"{moment:%Y-%m-%dT%H:%M:%SZ}"


def _csv(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    return out.getvalue()
