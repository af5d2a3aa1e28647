"""The FOCUS export passes the official validator, but for rules that it gets wrong itself."""

import subprocess
import sys
from pathlib import Path

import pytest

from trainfare.engine.duckdb import DuckDB, parquet, quoted

from . import validator

pytestmark = pytest.mark.services

ITS_OWN_FAULTS = {
    "InvoiceId-C-004-C": "asks for no invoice on any line; its sentence is about lines that are not invoiced yet",
    "CommitmentDiscountStatus-C-004-C": "asks for a status where there is no commitment: its condition is the wrong way round",
    "CapacityReservationStatus-C-003-C": "has lost its condition and asks it of lines without a reservation",
    "CapacityReservationStatus-C-004-C": "has lost its condition and asks it of lines without a reservation",
    "EffectiveCost-C-005-C": "is about purchases for future charges, and takes a month's support fee for one",
} | {
    f"CostAndUsage-D-{number:03}-C": "is about providers with a price list and prices in another currency, and asks those with either"
    for number in (47, 48, 51, 52, 55, 56)
}
"""Rules whose query is not what their sentence says, each read in what `focus-validator --explain-mode` prints."""


@pytest.fixture(scope="module")
def environment() -> Path:
    return validator.installed()


@pytest.fixture(scope="module")
def export(environment: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("focus")
    trainfare = [sys.executable, "-m", "trainfare"]
    subprocess.run([*trainfare, "demo", "--folder", folder / "demo", "--months", "1"], check=True, capture_output=True)
    subprocess.run([*trainfare, "export", folder / "october.parquet", "-w", folder / "demo", "--focus"], check=True)
    return folder / "october.parquet"


def test_the_export_breaks_no_rule(environment: Path, export: Path, tmp_path: Path) -> None:
    broken = validator.failing(environment, export, tmp_path / "report.xml")
    assert broken - ITS_OWN_FAULTS.keys() == set()


def test_it_would_say_so(environment: Path, export: Path, tmp_path: Path) -> None:
    """Lines without an account, in a currency that is none, and with tags that are no JSON."""
    wrong = tmp_path / "wrong.parquet"
    replaced = "NULL AS BillingAccountId, 'XYZ' AS BillingCurrency, 'team nlp' AS Tags, 'Rent' AS ChargeCategory"
    DuckDB().run(f"COPY (SELECT * REPLACE ({replaced}) FROM {parquet(export)} LIMIT 100) TO {quoted(wrong)}")
    broken = {rule.split("-")[0] for rule in validator.failing(environment, wrong, tmp_path / "report.xml")}
    assert broken >= {"BillingAccountId", "BillingCurrency", "ChargeCategory"}
