"""The same simulated month as FOCUS and as native reports gives the same shares, on every basis, digit for digit."""

import csv
from pathlib import Path

import pytest

from trainfare.books.from_files import Selection, build_from_files
from trainfare.engine.duckdb import DuckDB
from trainfare.errors import Problems
from trainfare.money import amount
from trainfare.period import Month
from trainfare.query.open_books import open_books
from trainfare.settings.config import parse
from trainfare.simulate import cur, files
from trainfare.simulate.charges import CLOUD_BILL
from trainfare.simulate.files import SimulatedMonth
from trainfare.sources.bills.aws import SERVICE_CATEGORIES
from trainfare.sources.bills.checks import CHECKS
from trainfare.sources.protocol import ArchivedFile, ReadOptions
from trainfare.sources.registry import recognize
from trainfare.tables import BASES, CHARGES

MONTH = Month(2026, 10)
CATEGORIES = {code: category for category, codes in SERVICE_CATEGORIES.items() for code in codes}


def coarsened(simulated: SimulatedMonth, path: Path) -> Path:
    """Write the FOCUS bill as far as the report can represent it: it has one tax, one price of a purchase, and no
    service categories of its own.
    """
    with simulated.bills[0].open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        code = cur.PRODUCT_CODES[row["ServiceName"]]
        if row["ServiceCategory"] not in ("Storage", "Networking", "Compute"):
            row["ServiceCategory"] = CATEGORIES.get(code, "Other")
        if row["ChargeCategory"] == "Tax":
            row |= dict.fromkeys(("EffectiveCost", "ListCost", "ContractedCost"), row["BilledCost"])
        if row["ChargeCategory"] in ("Purchase", "Credit"):
            row |= dict.fromkeys(("ListCost", "ContractedCost"), row["BilledCost"])
        if row["ChargeClass"] == "Correction":
            row["ListCost"] = row["BilledCost"]
        row["ServiceName"] = code
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    return path


def shares(simulated: SimulatedMonth, bill: Path, folder: Path) -> list[tuple[object, ...]]:
    """Build the month from one bill of the cloud; return its shares by payer, machine, rule and category."""
    paths = (bill, simulated.bills[1], simulated.jobs, simulated.machines, simulated.measurements)
    settings = "".join(f"[[source]]\npath = '{path}'\nname = '{n}'\n" for n, path in enumerate(paths))
    engine = DuckDB()
    config = parse(settings, folder / "trainfare.toml")
    books = build_from_files(config, folder / bill.stem, engine, Selection(MONTH, only_cost=True))
    open_books(engine, books)
    sums = ", ".join(f"sum({basis})" for basis in BASES)
    found = engine.rows(
        f"SELECT payer, reason, job_id, attempt, machine_id, rule, category, source, currency, {sums} FROM shares "
        "GROUP BY ALL ORDER BY ALL"
    )
    engine.close()
    return [row for row in found if any(row[-len(BASES) :])]


@pytest.fixture(scope="module")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> SimulatedMonth:
    return files.write(tmp_path_factory.mktemp("month"), 7, MONTH, scale=0.1)


@pytest.mark.parametrize("version", [1, 2])
def test_reports_of_aws_give_the_shares_of_focus(simulated: SimulatedMonth, tmp_path: Path, version: int) -> None:
    """By payer, machine and rule, over all days: the report bills the savings plan by the hour, FOCUS by the month."""
    report = cur.write(tmp_path / f"cur-{version}.csv", MONTH, simulated.charges, version)
    found = shares(simulated, report, tmp_path)
    wanted = shares(simulated, coarsened(simulated, tmp_path / "focus.csv"), tmp_path)
    assert found == wanted
    assert len(found) > 100


def test_a_simulated_report_keeps_the_rules_of_aws(simulated: SimulatedMonth, tmp_path: Path) -> None:
    """Its invoice is that of the FOCUS bill, and none of the identities finds a difference."""
    report = cur.write(tmp_path / "cur.csv", MONTH, simulated.charges)
    engine, problems = DuckDB(), Problems()
    source, head = recognize(engine, report)
    file = ArchivedFile(tmp_path / "archived.parquet", 1, "aws")
    source.archive(engine, head, file.location, ReadOptions(), problems)
    problems.raise_if_any()
    charges, checks = (source.rows(engine, file, ReadOptions(), table) for table in (CHARGES, CHECKS))
    billed = sum(charge.costs[1] for charge in simulated.charges if charge.source == CLOUD_BILL)
    assert engine.row(f"SELECT sum(billed) FROM ({charges})")[0] == amount(billed)
    assert engine.row(f"SELECT count(*) FROM ({checks}) WHERE stated IS NOT NULL")[0] >= 3
    assert (
        engine.rows(f"SELECT code, subject, stated, found FROM ({checks}) WHERE found <> stated OR stated IS NULL")
        == []
    )
