"""FOCUS as providers write it, in Parquet: nested columns of Google's view, and what is archived."""

from pathlib import Path

import duckdb
import pytest
from test_bill_pairs import FOLDER, charges_of

from trainfare.engine.duckdb import DuckDB, parquet
from trainfare.errors import Problems
from trainfare.sources.protocol import ReadOptions
from trainfare.sources.registry import recognize

VIEW = FOLDER / "focus" / "google-view-in-lower-case.jsonl"
COLUMNS = [
    "line",
    "effective",
    "charge_category",
    "charge_class",
    "service_category",
    "account",
    "tags",
    "price_details",
]


@pytest.fixture
def typed_view(tmp_path: Path) -> Path:
    """Google's view as BigQuery exports it to Parquet: a list of structs, a list of texts, a struct."""
    origin = f"read_json('{VIEW}', format = 'newline_delimited')"
    duckdb.execute(f"COPY (SELECT * FROM {origin}) TO '{tmp_path / 'view.parquet'}' (FORMAT parquet)")
    return tmp_path / "view.parquet"


def test_googles_view_is_the_same_in_parquet_and_json(typed_view: Path, tmp_path: Path) -> None:
    types = {name: str(type_) for name, type_, *_ in duckdb.sql(f"DESCRIBE FROM '{typed_view}'").fetchall()}
    assert types["ServiceCategory"] == "VARCHAR[]"
    assert types["Tags"].startswith("STRUCT")
    assert types["x_Project"].startswith("STRUCT")
    assert charges_of(typed_view, tmp_path, COLUMNS) == charges_of(VIEW, tmp_path, COLUMNS)


def test_values_in_lower_case_are_archived_as_the_standard_spells_them(typed_view: Path, tmp_path: Path) -> None:
    engine, problems, copy = DuckDB(), Problems(), tmp_path / "copy.parquet"
    source, head = recognize(engine, typed_view)
    assert source.archive(engine, head, copy, ReadOptions(), problems) == 3
    problems.raise_if_any()
    found = engine.rows(f"SELECT ChargeCategory, ChargeClass, PricingCategory FROM {parquet(copy)}")
    assert found == [("Usage", None, "Committed"), ("Adjustment", "Correction", None), ("Adjustment", None, None)]


def test_a_file_in_the_standards_spelling_is_archived_byte_for_byte(tmp_path: Path) -> None:
    line = "8 AS BilledCost, 8 AS EffectiveCost, 'USD' AS BillingCurrency, 'Usage' AS ChargeCategory, "
    line += "TIMESTAMP '2026-10-01' AS ChargePeriodStart, TIMESTAMP '2026-10-02' AS ChargePeriodEnd"
    duckdb.execute(f"COPY (SELECT {line}) TO '{tmp_path / 'bill.parquet'}' (FORMAT parquet)")
    charges_of(tmp_path / "bill.parquet", tmp_path, ["line"])
    assert (tmp_path / "copy.parquet").read_bytes() == (tmp_path / "bill.parquet").read_bytes()
