"""The files of a test case as a user has them, and the book that the real build makes of them."""

import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

from trainfare.books.from_files import Selection, build_from_files
from trainfare.engine.duckdb import DuckDB
from trainfare.query import cost, keys
from trainfare.query.open_books import OpenBooks, open_books
from trainfare.settings.config import load
from trainfare.store import BookFiles
from trainfare.tables import BASES, LABELS

START = datetime(2026, 10, 1, tzinfo=UTC)
"""Second 0 of every case."""
HOUR = 3600
DAY = 24 * HOUR
MONTH = 31 * DAY

BILL = (
    *("BillingAccountId", "SubAccountId", "BillingCurrency", "BillingPeriodStart", "BillingPeriodEnd"),
    *("ChargePeriodStart", "ChargePeriodEnd", "ChargeCategory", "ChargeClass", "ChargeDescription"),
    *("ServiceCategory", "ServiceName", "ResourceId", "ResourceName", "RegionId", "SkuId"),
    *("CommitmentDiscountId", "CommitmentDiscountStatus"),
    *(
        "CapacityReservationStatus",
        "SkuPriceDetails",
        "PricingCategory",
        "Tags",
        "EffectiveCost",
        "BilledCost",
        "ListCost",
        "ContractedCost",
    ),
)
COSTS = dict(zip(BASES, ("EffectiveCost", "BilledCost", "ListCost", "ContractedCost"), strict=True))
JOBS = (
    *("job_id", "attempt", "machine_id", "started", "ended", "gpus", "cpus", "memory_gb", "state"),
    *LABELS,
    "framework",
)
MACHINES = (
    *("machine_id", "resource_id", "gpus", "gpu_model", "cpus", "memory_gb", "pool", "team", "cluster", "region"),
    *("account", "existed_from", "existed_to"),
)
MEASURED = ("job_id", "attempt", "machine_id", "started", "ended", "measure", "value", "from_region", "to_region")
QUALITY = ("job_id", "metric", "value", "better")
Row = Mapping[str, object]


def stamp(second: int | None) -> str:
    """Return a second of the case as text; None, as for a running job, is empty."""
    return "" if second is None else (START + timedelta(seconds=second)).strftime("%Y-%m-%dT%H:%M:%SZ")


def charge(period: tuple[int, int], amounts: Decimal | str | Mapping[str, object], **columns: object) -> Row:
    """Return a bill line of October; a single amount is used for all four bases."""
    costs = amounts if isinstance(amounts, Mapping) else dict.fromkeys(BASES, amounts)
    fixed = {
        "BillingAccountId": "B-1",
        "SubAccountId": "A-1",
        "BillingCurrency": "USD",
        "BillingPeriodStart": stamp(0),
        "BillingPeriodEnd": stamp(MONTH),
        "ChargePeriodStart": stamp(period[0]),
        "ChargePeriodEnd": stamp(period[1]),
        "ChargeCategory": "Usage",
    }
    return fixed | {COSTS[basis]: f"{value}" for basis, value in costs.items()} | columns


def hours_of(
    machine: str, period: tuple[int, int], amounts: Decimal | str | Mapping[str, object], **columns: object
) -> Row:
    """Return a bill line for a machine's time."""
    service = {"ServiceCategory": "Compute", "ServiceName": "Virtual Machines", "ResourceId": machine}
    return charge(period, amounts, **(service | columns))


def placement(job: str, machine: str, span: tuple[int, int | None], **columns: object) -> Row:
    """Return a row of the job log, of the first attempt by default."""
    held = {"job_id": job, "attempt": 1, "machine_id": machine, "started": stamp(span[0]), "ended": stamp(span[1])}
    return held | {"state": "completed"} | columns


def measured(job: str, span: tuple[int, int], measure: str, value: object, **columns: object) -> Row:
    """Return a measurement, of the first attempt by default."""
    row = {"job_id": job, "attempt": 1, "started": stamp(span[0]), "ended": stamp(span[1])}
    return row | {"measure": measure, "value": value} | columns


@dataclass(frozen=True)
class Case:
    """Rows of a bill, a job log, a machine file and files of measurements and results, and settings."""

    charges: Sequence[Row]
    placements: Sequence[Row] = ()
    machines: Sequence[Row] = ()
    settings: str = ""
    measured: Sequence[Row] = ()
    quality: Sequence[Row] = ()


@dataclass(frozen=True)
class Account:
    """The published book of a case."""

    opened: OpenBooks
    shares: list[dict[str, Any]] = field(repr=False)

    def owed(self, basis: str = "effective", currency: str = "USD") -> dict[str, Decimal]:
        """Return what each payer pays, exactly. The first attempt of a job has the job's name."""
        sums: dict[str, Decimal] = {}
        for share in self.shares:
            if share["currency"] == currency:
                payer = share["payer"].removesuffix("#1")
                sums[payer] = sums.get(payer, Decimal(0)) + share[basis]
        return sums

    def report(
        self, by: Iterable[str] = (), currency: str = "USD", top: int | None = None, **asked: str
    ) -> cost.Report:
        question = cost.Question(keys.parse(list(by), self.opened.engine), currency=currency, **asked)
        return cost.report(self.opened, question, top)

    def rows(self, by: str, **asked: str) -> dict[Any, cost.Row]:
        """Return the rows of a report by the value of one key."""
        return {row.group[by]: row for row in self.report([by], **asked).rows}

    @property
    def findings(self) -> set[str]:
        return {code for (code,) in self.opened.engine.rows("SELECT code FROM findings")}

    @property
    def currencies(self) -> list[str]:
        return [name for (name,) in self.opened.engine.rows("SELECT DISTINCT currency FROM bill_totals ORDER BY 1")]


class Bookkeeper:
    """Builds books in new folders with the same engines; starting an engine takes longer than building a book."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.made = 0
        self.builder, self.reader = DuckDB(), DuckDB()

    def close(self) -> None:
        self.builder.close()
        self.reader.close()

    def book(self, case: Case, only_cost: bool = False) -> Account:
        """Write the files of a case and build its books, as `trainfare report BILL --jobs JOBS` does."""
        return self.account(self.write(case), only_cost)

    def account(self, folder: Path, only_cost: bool = False) -> Account:
        """Build the books of a folder with settings; `only_cost` skips what a cost report does not read."""
        books: list[BookFiles] = build_from_files(
            load(folder / "trainfare.toml"), folder / "books", self.builder, Selection(only_cost=only_cost)
        )
        opened = open_books(self.reader, books)
        return Account(opened, self.reader.records("SELECT * FROM shares"))

    def new_folder(self) -> Path:
        self.made += 1
        folder = self.folder / str(self.made)
        folder.mkdir()
        return folder

    def write(self, case: Case) -> Path:
        """Write the files of a case, and settings that name them, to a new folder."""
        folder = self.new_folder()
        tables = [("bill", BILL, case.charges), ("jobs", JOBS, case.placements)]
        if case.machines:
            tables.append(("machines", MACHINES, case.machines))
        if case.measured:
            tables.append(("measured", MEASURED, case.measured))
        if case.quality:
            tables.append(("quality", QUALITY, case.quality))
        for name, columns, rows in tables:
            write_rows(folder / f"{name}.csv", columns, rows)
        return with_settings(folder, [f"{name}.csv" for name, _, _ in tables], case.settings)


def write_rows(path: Path, columns: Sequence[str], rows: Iterable[Row]) -> None:
    with path.open("w", encoding="utf-8", newline="") as opened:
        writer = csv.DictWriter(opened, columns, restval="")
        writer.writeheader()
        writer.writerows(rows)


def with_settings(folder: Path, files: Iterable[str | Path], settings: str = "") -> Path:
    """Write settings that name these files; a path outside the folder stays as it is."""
    sources = "".join(f"\n[[source]]\npath = '{name}'\n" for name in files)
    (folder / "trainfare.toml").write_text(f"{settings}\n{sources}", encoding="utf-8")
    return folder


def sum_of(rows: Iterable[Row], basis: str) -> Decimal:
    """Return the total of a bill, without using any of the product's code."""
    return sum((Decimal(str(row[COSTS[basis]])) for row in rows), Decimal(0))
