"""Azure's exports: actual and amortized cost together against a plain model, real headers, and sizes of blocks."""

import csv
from collections import defaultdict
from decimal import Decimal
from pathlib import Path
from random import Random

import duckdb
import pytest
from test_bill_pairs import FOLDER, charges_of, shown

from trainfare.engine.duckdb import DuckDB
from trainfare.errors import BadInputError, Problems
from trainfare.settings.config import Config
from trainfare.sources.bills.azure_services import block_size
from trainfare.sources.deliveries import DeliveredFile, charge_selects
from trainfare.sources.kinds import Kind
from trainfare.sources.protocol import ReadOptions
from trainfare.sources.registry import recognize

DATA = Path(__file__).parents[4] / "shared" / "data" / "bills"
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason="the public data is not available")
COLUMNS = (
    *("SubscriptionId", "Date", "MeterCategory", "MeterId", "CostInBillingCurrency", "ResourceId", "ReservationId"),
    *("ChargeType", "PricingModel", "BillingCurrencyCode", "BillingPeriodStartDate", "BillingPeriodEndDate"),
)
Row = dict[str, str]


def row(cost: Decimal, type_: str = "Usage", model: str = "OnDemand", account: str = "s1", day: int = 5) -> Row:
    reservation = "r1" if model in ("Reservation", "SavingsPlan") else ""
    values = (account, f"10/{day}/2026", "Virtual Machines", "m", str(cost), "/vm", reservation, type_, model, "USD")
    return dict(zip(COLUMNS, (*values, "10/01/2026", "10/31/2026"), strict=True))


def exports(seed: int) -> tuple[list[Row], list[Row]]:
    """Return a month as actual and as amortized cost: purchases are spread over days with used and unused parts."""
    random, actual, amortized = Random(seed), [], []
    for account in ("s1", "s2"):
        for day in range(1, random.randint(3, 9)):
            cost = Decimal(random.randint(-(10**6), 10**9)).scaleb(-7)
            actual.append(row(cost, account=account, day=day))
            amortized.append(row(cost, account=account, day=day))
        for model, unused in (("Reservation", "UnusedReservation"), ("SavingsPlan", "UnusedSavingsPlan")):
            parts = [Decimal(random.randint(1, 10**6)).scaleb(-4) for _ in range(4)]
            actual.append(row(sum(parts, Decimal(0)), "Purchase", model, account))
            actual += [row(Decimal(0), "Usage", model, account, day) for day in (6, 7, 8)]
            amortized += [row(part, "Usage", model, account, day) for part, day in zip(parts, (6, 7, 8), strict=False)]
            amortized.append(row(parts[3], unused, model, account, 9))
    return actual, amortized


def write(rows: list[Row], path: Path) -> Path:
    with path.open("w", newline="") as opened:
        writer = csv.DictWriter(opened, COLUMNS)
        writer.writeheader()
        writer.writerows(rows)
    return path


def delivered(engine: DuckDB, paths: list[Path], folder: Path) -> list[DeliveredFile]:
    files = []
    for number, path in enumerate(paths, 1):
        problems, copy = Problems(), folder / f"copy-{number}.parquet"
        source, head = recognize(engine, path)
        lines = source.archive(engine, head, copy, ReadOptions(), problems)
        problems.raise_if_any()
        files.append(DeliveredFile("bill", path, source.NAME, Kind.BILL, "", "", copy, lines, number))
    return files


def charged(paths: list[Path], folder: Path, columns: str) -> list[tuple[object, ...]]:
    engine = DuckDB()
    selects = charge_selects(engine, Config(folder=folder), delivered(engine, paths, folder))
    return engine.rows(f"SELECT {columns} FROM ({' UNION ALL '.join(selects)}) ORDER BY delivery, line")


@pytest.mark.parametrize("seed", range(4))
def test_both_exports_together_give_what_was_billed_and_what_it_was_used_for(seed: int, tmp_path: Path) -> None:
    actual, amortized = exports(seed)
    paths = [write(actual, tmp_path / "one.csv"), write(amortized, tmp_path / "two.csv")]
    for order in (paths, paths[::-1]):
        found = charged(order, tmp_path, "account, billed, effective, note")
        for basis, rows in ((1, actual), (2, amortized)):
            expected: dict[str, Decimal] = defaultdict(Decimal)
            for one in rows:
                expected[one["SubscriptionId"]] += Decimal(one["CostInBillingCurrency"])
            totals: dict[str, Decimal] = defaultdict(Decimal)
            for line in found:
                totals[str(line[0])] += Decimal(shown(line[basis]))
            assert totals == expected
        assert {line[3] for line in found} == {None}
        bought = [one for one in actual if one["ChargeType"] == "Purchase"]
        assert len(found) == len(amortized) + len(bought)


def test_an_account_that_only_one_export_has_stands_alone(tmp_path: Path) -> None:
    actual = [row(Decimal(9), "Purchase", "Reservation"), row(Decimal(5), account="s3")]
    amortized = [row(Decimal(6), "Usage", "Reservation"), row(Decimal(4), "Usage", "Reservation", "s4")]
    paths = [write(actual, tmp_path / "one.csv"), write(amortized, tmp_path / "two.csv")]
    found = charged(paths, tmp_path, "account, billed, effective, note IS NOT NULL")
    assert [tuple(map(shown, line)) for line in found] == [
        ("s1", "9", "0", "False"),
        ("s3", "5", "5", "False"),
        ("s1", "0", "6", "False"),
        ("s4", "", "4", "True"),
    ]


def test_exports_that_disagree_outside_of_commitments_say_by_how_much(tmp_path: Path) -> None:
    actual = [row(Decimal(9), "Purchase", "Reservation"), row(Decimal(5)), row(Decimal("0.25"), "Tax", "")]
    amortized = [row(Decimal(9), "Usage", "Reservation"), row(Decimal(5))]
    paths = [write(actual, tmp_path / "one.csv"), write(amortized, tmp_path / "two.csv")]
    notes = {note for (note,) in charged(paths, tmp_path, "note") if note}
    (note,) = notes
    assert "the actual export has 0.250000000000 more than the amortized one" in str(note)
    agreeing = [write(actual[:2], tmp_path / "three.csv"), paths[1]]
    assert {note for (note,) in charged(agreeing, tmp_path, "note")} == {None}


def test_without_commitments_the_name_tells_which_export_it_is(tmp_path: Path) -> None:
    rows = [row(Decimal(5)), row(Decimal(7))]
    paths = [write(rows, tmp_path / "actual.csv"), write(rows, tmp_path / "AmortizedCost.csv")]
    assert sum(Decimal(shown(billed)) for (billed,) in charged(paths, tmp_path, "billed")) == 12
    parts = [write(rows, tmp_path / "part_0.csv"), write(rows, tmp_path / "part_1.csv")]
    assert sum(Decimal(shown(billed)) for (billed,) in charged(parts, tmp_path, "billed")) == 24


def test_parquet_gives_the_same_charges_as_csv(tmp_path: Path) -> None:
    path = write(exports(7)[1], tmp_path / "amortized.csv")
    days = ", ".join(f"CAST(strptime({name}, '%m/%d/%Y') AS DATE) AS {name}" for name in COLUMNS if "Date" in name)
    typed = f"SELECT * REPLACE ({days}, CAST(CostInBillingCurrency AS DOUBLE) AS CostInBillingCurrency)"
    copy = tmp_path / "amortized.parquet"
    duckdb.execute(f"COPY ({typed} FROM read_csv('{path}', all_varchar = true)) TO '{copy}' (FORMAT parquet)")
    names = ["line", "billed", "effective", "period_start", "billing_end", "commitment_status", "note"]
    assert charges_of(copy, tmp_path, names) == charges_of(path, tmp_path, names)


@needs_data
@pytest.mark.parametrize("name", ["Enterprise", "EnterpriseCamel", "German", "PayAsYouGo", "YA"])
def test_a_line_of_every_published_header_is_read(name: str, tmp_path: Path) -> None:
    path = DATA / "azure-headers" / f"{name}.csv"
    with path.open(newline="", encoding="utf-8-sig") as opened:
        (line,) = csv.DictReader(opened)
    cost = next(line[column] for column in line if column.lower().startswith(("costinbilling", "pretaxcost")))
    ((billed, account, start),) = charges_of(path, tmp_path, ["billed", "account", "period_start"])
    assert Decimal(billed) == Decimal(cost)
    assert account.startswith("11111111-1")
    assert start == "2021-02-02 00:00:00"


@needs_data
def test_the_published_header_with_a_byte_order_mark_has_a_line_without_cost(tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match="EffectiveCost is empty"):
        charges_of(DATA / "azure-headers" / "BOM.csv", tmp_path, ["billed"])


@needs_data
def test_every_published_unit_has_its_block_size() -> None:
    with (DATA / "azure-open-data" / "PricingUnits.csv").open(newline="", encoding="utf-8-sig") as opened:
        rows = list(csv.DictReader(opened))
    assert len(rows) > 300
    engine = DuckDB()
    engine.values("units", "unit VARCHAR", [(one["UnitOfMeasure"],) for one in rows])
    found = dict(engine.rows(f"SELECT unit, CAST({block_size('unit')} AS BIGINT) FROM units"))
    assert found == {one["UnitOfMeasure"]: int(one["PricingBlockSize"]) for one in rows}


def test_the_pairs_of_this_format_cover_every_family_of_headers() -> None:
    assert len(list((FOLDER / "azure").glob("header-*.expected.csv"))) >= 5
