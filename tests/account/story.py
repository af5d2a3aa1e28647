"""Test cases written in the product's terms: the records, `=>`, and every payer with its amount.

    machine  n1  4 gpus  4 h  8.00 USD
    attempt  a   4 gpus  2 h
    measured a   bytes_sent 300  1 h  from_region eu  to_region us
    quality  a   accuracy 76.4  better higher
    charge   storage  3.00 USD  tag team=nlp
    rules
    (settings as TOML)
    =>
    a         4.00
    __idle__  4.00  not held by any job
    team:nlp  3.00
    ! MACHINE_WITHOUT_JOBS
    => billed
    ...
    => failure modes
    F1  3.00

Time counts from the first second of the month; `from 2 h` moves a line's start. An attempt without it starts when the
previous one on its machine ended; without `on`, it is on the last machine mentioned. A charge without a time is for the
entire month. A machine of which only the cost is given is not in the machine file; `gpu_count 4` is the number on the
bill. After `=>` comes every payer with its exact amount, the reason if it matters, and every finding; `=> billed`
checks another cost basis, and `=> failure modes` what is at stake in each that occurs.
"""

import inspect
import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal

from trainfare.tables import BASES, LABELS, MEASURES

from .books import DAY, HOUR, MONTH, Account, Bookkeeper, Case, Row, charge, hours_of, measured, placement, sum_of

TIMES = {"s": 1, "min": 60, "h": HOUR, "day": DAY, "days": DAY, "month": MONTH}
AMOUNTS = {"gpus": "gpus", "gpu": "gpus", "cpus": "cpus", "gb": "memory_gb"}
SIZES = ("gpus", "cpus", "memory_gb", "gpu_model", "pool", "team", "cluster", "region", "resource_id")
CHARGES: dict[str, dict[str, str]] = {
    "hours": {"ServiceCategory": "Compute", "ServiceName": "Virtual Machines"},
    "refund": {"ServiceCategory": "Compute", "ServiceName": "Virtual Machines", "ChargeClass": "Correction"},
    "server": {"ServiceCategory": "Compute", "ServiceName": "Virtual Machines", "ResourceId": "web-1"},
    "storage": {"ServiceCategory": "Storage", "ServiceName": "Object Storage"},
    "network": {"ServiceCategory": "Networking", "ServiceName": "Data Transfer"},
    "platform": {"ServiceCategory": "AI and Machine Learning", "ServiceName": "Managed Training"},
    "license": {"ServiceCategory": "Developer Tools", "ServiceName": "Compiler License"},
    "database": {"ServiceCategory": "Databases", "ServiceName": "Relational Database"},
    "support": {"ServiceCategory": "Other", "ServiceName": "Enterprise Support"},
    "tax": {"ChargeCategory": "Tax"},
    "credit": {"ChargeCategory": "Credit"},
    "adjustment": {"ChargeCategory": "Adjustment"},
    "purchase": {"ChargeCategory": "Purchase", "ServiceCategory": "Compute", "CommitmentDiscountId": "plan-1"},
    "unused": {"ServiceCategory": "Compute", "CommitmentDiscountId": "plan-1", "CommitmentDiscountStatus": "Unused"},
    "reserved": {"ServiceCategory": "Compute", "CapacityReservationStatus": "Unused"},
}


@dataclass
class Line:
    """The parsed words of one line, without its name."""

    start: int | None = None
    length: int | None = None
    money: dict[str, str] = field(default_factory=dict)
    currency: str = "USD"
    tags: dict[str, str] = field(default_factory=dict)
    flags: set[str] = field(default_factory=set)
    columns: dict[str, str] = field(default_factory=dict)

    @classmethod
    def parse(cls, words: list[str]) -> "Line":
        line, rest = cls(), iter(words)
        for word in rest:
            line._add(word, rest)
        return line

    def _add(self, word: str, rest: Iterator[str]) -> None:
        if word == "from":
            self.start = int(next(rest)) * TIMES[next(rest)]
        elif word == "tag":
            key, _, value = next(rest).partition("=")
            self.tags[key] = value
        elif word in BASES:
            self.money[word] = next(rest)
        elif word in ("running", "unlisted", "twice"):
            self.flags.add(word)
        elif re.fullmatch(r"-?[\d.]+", word):
            self._add_number(word, next(rest))
        else:
            self.columns[word] = next(rest)

    def _add_number(self, number: str, unit: str) -> None:
        if unit in TIMES:
            self.length = int(Decimal(number) * TIMES[unit])
        elif unit in AMOUNTS:
            self.columns[AMOUNTS[unit]] = number
        else:
            assert re.fullmatch(r"[A-Z]{3}", unit), f"'{number} {unit}' is not understood"
            self.currency = unit
            self.money = dict.fromkeys(BASES, number)

    def period(self) -> tuple[int, int]:
        start = self.start or 0
        return start, start + self.length if self.length is not None else MONTH

    def bill_columns(self) -> dict[str, object]:
        names = {"account": "SubAccountId", "payer": "BillingAccountId", "region": "RegionId", "on": "ResourceId"}
        names |= {"pricing": "PricingCategory", "service": "ServiceName"}
        named = {names[key]: value for key, value in self.columns.items() if key in names}
        tags = {"Tags": json.dumps(self.tags)} if self.tags else {}
        counted = self.columns.get("gpu_count")
        details = {"SkuPriceDetails": json.dumps({"GpuCount": counted})} if counted else {}
        return named | tags | details | {"BillingCurrency": self.currency}


@dataclass
class CaseFiles:
    """The lines before the first `=>`, as files."""

    charges: list[Row] = field(default_factory=list)
    placements: list[Row] = field(default_factory=list)
    machines: list[Row] = field(default_factory=list)
    measured: list[Row] = field(default_factory=list)
    quality: list[Row] = field(default_factory=list)
    ends: dict[str, int] = field(default_factory=dict)
    machine: str = ""

    def machine_line(self, name: str, line: Line) -> None:
        self.machine = name
        self.ends.setdefault(name, line.start or 0)
        listed = {key: value for key, value in line.columns.items() if key in SIZES}
        if listed:
            account = {"account": line.columns.get("account", "A-1")}
            self.machines.append({"machine_id": name} | account | listed)
        if line.money:
            resource = line.columns.get("resource_id", name)
            self.charges.append(hours_of(resource, line.period(), line.money, **line.bill_columns()))

    def attempt_line(self, name: str, line: Line) -> None:
        job, _, attempt = name.partition("#")
        machine = line.columns.pop("on", self.machine)
        start = line.start if line.start is not None else self.ends.get(machine, 0)
        end = None if "running" in line.flags else start + (line.length or 0)
        unknown = set(line.columns) - {*SIZES, *LABELS, "state", "framework"}
        assert not unknown, f"an attempt has no {unknown}"
        state = {"state": "running"} if end is None else {}
        self.placements.append(placement(job, machine, (start, end), attempt=attempt or 1, **state | line.columns))
        if "twice" in line.flags:
            self.placements.append(self.placements[-1])
        self.ends[machine] = end or start

    def measured_line(self, name: str, line: Line) -> None:
        job, _, attempt = name.partition("#")
        (measure,) = set(line.columns) & set(MEASURES)
        start = line.start or 0
        columns = {"machine_id": line.columns.get("on", ""), "attempt": attempt or 1}
        columns |= {name: line.columns[name] for name in ("from_region", "to_region") if name in line.columns}
        span = start, start + (line.length or 0)
        self.measured.append(measured(job, span, measure, line.columns[measure], **columns))

    def quality_line(self, name: str, line: Line) -> None:
        better = line.columns.pop("better")
        ((metric, value),) = line.columns.items()
        self.quality.append({"job_id": name, "metric": metric, "value": value, "better": better})

    def charge_line(self, name: str, line: Line) -> None:
        self.charges.append(charge(line.period(), line.money, **(CHARGES[name] | line.bill_columns())))

    def case(self, settings: str) -> Case:
        return Case(self.charges, self.placements, self.machines, settings, self.measured, self.quality)


def case_of(text: str) -> Case:
    """Return the files that the first part of a story describes."""
    events, _, settings = inspect.cleandoc(text).partition("\nrules\n")
    files = CaseFiles()
    for line in filter(None, map(str.strip, events.splitlines())):
        kind, name, *words = line.split()
        getattr(files, f"{kind}_line")(name, Line.parse(words))
    return files.case(settings)


def account_of(keeper: Bookkeeper, text: str) -> Account:
    """Return the account of the first part of a story; it ties to the bill on every cost basis."""
    case = case_of(text)
    account = keeper.book(case)
    for currency in account.currencies:
        lines = [row for row in case.charges if row["BillingCurrency"] == currency]
        for basis in BASES:
            assert sum(account.owed(basis, currency).values()) == sum_of(lines, basis)
        report = account.report(currency=currency)
        assert report.total == report.bill == sum_of(lines, "effective")
    return account


def _check_payers(account: Account, basis: str, lines: list[str]) -> None:
    expected: dict[tuple[str, str, str], Decimal] = {}
    for line in lines:
        payer, amount, *reason = re.split(r"\s{2,}", line)
        number, _, currency = amount.partition(" ")
        expected[payer, currency or "USD", " ".join(reason)] = Decimal(number)
    explained = {(payer, currency) for payer, currency, reason in expected if reason}
    got: dict[tuple[str, str, str], Decimal] = {}
    for share in account.shares:
        who = share["payer"].removesuffix("#1"), share["currency"]
        key = (*who, share["reason"] if who in explained else "")
        got[key] = got.get(key, Decimal(0)) + share[basis]
    assert _not_zero(got) == _not_zero(expected)


def at_stake(account: Account) -> dict[tuple[str, str], Decimal]:
    """Return the money at stake by failure mode and currency."""
    rows = account.opened.engine.rows("SELECT code, currency, at_stake FROM failure_modes WHERE at_stake <> 0")
    return {(code, currency): amount for code, currency, amount in rows}


def _amounts(lines: Iterable[str]) -> dict[tuple[str, str], Decimal]:
    words = (line.split() for line in lines)
    return {(code, currency[0] if currency else "USD"): Decimal(amount) for code, amount, *currency in words}


def _not_zero(amounts: dict[tuple[str, str, str], Decimal]) -> dict[tuple[str, str, str], Decimal]:
    return {key: value for key, value in amounts.items() if value}


def check(keeper: Bookkeeper, text: str) -> None:
    """Build the account of a story and compare every payer, to the last digit, and every finding."""
    before, *afters = re.split(r"^=>", inspect.cleandoc(text), flags=re.MULTILINE)
    account = account_of(keeper, before)
    findings: set[str] = set()
    for after in afters:
        basis, *lines = after.splitlines()
        if basis.strip() == "failure modes":
            assert at_stake(account) == _amounts(filter(None, lines))
            continue
        findings |= {line.removeprefix("! ") for line in lines if line.startswith("! ")}
        _check_payers(
            account, basis.strip() or "effective", [line for line in lines if line and not line.startswith("! ")]
        )
    assert account.findings == findings


def story(test: Callable[[], None]) -> Callable[[Bookkeeper], None]:
    """Turn a function whose docstring is a story into a test of it."""
    text = test.__doc__ or ""
    assert "=>" in text, f"{test.__name__} has no story"

    def checked(keeper: Bookkeeper) -> None:
        check(keeper, text)

    checked.__name__, checked.__qualname__, checked.__module__, checked.__doc__ = (
        test.__name__,
        test.__name__,
        test.__module__,
        text,
    )
    return checked
