"""A native bill is read through its declared mapping: every row becomes the charges that the mapping says."""

from decimal import Decimal
from pathlib import Path

import duckdb
import pytest

from trainfare.engine.duckdb import DuckDB
from trainfare.errors import Problems
from trainfare.sources.bills.native import Field, Holds, NativeBill, Part
from trainfare.sources.protocol import ArchivedFile, ReadOptions
from trainfare.sources.registry import read_head
from trainfare.tables import CHARGES

COMMON = {
    "ChargePeriodStart": "usage_from",
    "ChargePeriodEnd": "usage_to",
    "BillingCurrency": "'USD'",
    "ResourceId": "machine",
}
TOY = NativeBill(
    NAME="toy",
    DESCRIPTION="toy bill",
    VERSION="1",
    export_advice="Export it again.",
    fields=(
        Field("usage_from", Holds.TIME, is_required=True),
        Field("usage_to", Holds.TIME, is_required=True),
        Field("cost", Holds.AMOUNT, ("totalcost",), is_required=True),
        Field("fee", Holds.AMOUNT),
        Field("machine"),
        Field("kind"),
    ),
    parts=(
        Part(COMMON | {"BilledCost": "cost", "EffectiveCost": "cost - coalesce(fee, 0)"}, "kind <> 'note'"),
        Part(
            COMMON | {"BilledCost": "0", "EffectiveCost": "fee", "ChargeCategory": "'Purchase'"}, "fee <> 0", number=1
        ),
    ),
)
TEXT = """usage/From,usage/To,Total Cost,fee,machine,kind,other
2026-10-01T00:00:00Z,2026-10-01T01:00:00Z,0.1,0.03,n1,usage,kept
2026-10-01 01:00:00,2026-10-01 02:00:00,2E-9,,n2,usage,
2026-10-01 01:00:00,2026-10-01 02:00:00,5,,n2,note,
"""


def archived(folder: Path, text: str = TEXT) -> tuple[DuckDB, ArchivedFile, Problems]:
    engine, problems = DuckDB(), Problems()
    (folder / "toy.csv").write_text(text, encoding="utf-8")
    file = ArchivedFile(folder / "archived.parquet", 1, "toys")
    head = read_head(folder / "toy.csv")
    assert TOY.recognize(head)
    TOY.archive(engine, head, file.location, ReadOptions(), problems)
    return engine, file, problems


def test_each_row_becomes_the_charges_of_its_parts(tmp_path: Path) -> None:
    engine, file, problems = archived(tmp_path)
    assert not problems.found
    select = TOY.rows(engine, file, ReadOptions(), CHARGES)
    assert list(engine.columns(f"({select})").items()) == [(column.name, column.type) for column in CHARGES.columns]
    found = engine.rows(
        f"SELECT line, effective, billed, charge_category, resource_id, finer FROM ({select}) ORDER BY line"
    )
    assert found == [
        (1000, Decimal("0.07"), Decimal("0.1"), "Usage", "n1", 0),
        (1001, Decimal("0.03"), Decimal(0), "Purchase", "n1", 0),
        (2000, Decimal("0.000000002"), Decimal("0.000000002"), "Usage", "n2", 0),
    ]


def test_a_charge_is_traced_to_its_native_row_and_mapping(tmp_path: Path) -> None:
    engine, file, _ = archived(tmp_path)
    found = TOY.conversion(engine, file, 1001)
    assert found is not None
    assert found.native["Total Cost"] == "0.1", "text, as another row has an exponent"
    assert found.native["other"] == "kept"
    assert found.expressions["EffectiveCost"] == "fee"
    assert found.focus["EffectiveCost"] == Decimal("0.03")
    assert TOY.conversion(engine, file, 3000) is None, "the note is no charge"


def test_the_same_rows_as_parquet_are_the_same_charges(tmp_path: Path) -> None:
    engine, file, _ = archived(tmp_path)
    typed = "CAST(usage_from AS TIMESTAMP) AS usage_from, CAST(usage_to AS TIMESTAMP) AS usage_to, "
    typed += "CAST(cost AS DOUBLE) AS cost, CAST(fee AS DOUBLE) AS fee, machine, kind"
    names = "'usage_from', 'usage_to', 'cost', 'fee', 'machine', 'kind', 'o'"
    named = "read_csv('{}', header = false, skip = 1, names = [{}])"
    origin = named.format(tmp_path / "toy.csv", names)
    duckdb.execute(f"COPY (SELECT {typed} FROM {origin}) TO '{tmp_path / 'toy.parquet'}' (FORMAT parquet)")
    copied, problems = ArchivedFile(tmp_path / "copied.parquet", 1, "toys"), Problems()
    head = read_head(tmp_path / "toy.parquet")
    TOY.archive(engine, head, copied.location, ReadOptions(), problems)
    assert not problems.found
    both = [
        engine.rows(f"SELECT * FROM ({TOY.rows(engine, one, ReadOptions(), CHARGES)}) ORDER BY line")
        for one in (file, copied)
    ]
    assert both[0] == both[1]


@pytest.mark.parametrize(
    ("written", "instead", "where", "what"),
    [
        ("0.1", "ten", ":2", "Total Cost 'ten' is not an amount"),
        ("2026-10-01T01:00:00Z", "noon", ":2", "usage/To 'noon' is not a time"),
        (
            "2026-10-01 01:00:00,2026",
            "2026-10-02 01:00:00,2026",
            ":3",
            "the charge period ends (2026-10-01 02:00:00) before it starts (2026-10-02 01:00:00)",
        ),
        ("Total Cost", "Totl Cost", ":1", "missing column cost"),
    ],
)
def test_a_bad_value_is_reported_with_its_line(
    tmp_path: Path, written: str, instead: str, where: str, what: str
) -> None:
    engine, problems = DuckDB(), Problems()
    (tmp_path / "toy.csv").write_text(TEXT.replace(written, instead, 1), encoding="utf-8")
    TOY.archive(engine, read_head(tmp_path / "toy.csv"), tmp_path / "archived.parquet", ReadOptions(), problems)
    assert [(found.where, found.what) for found in problems.found] == [(f"{tmp_path / 'toy.csv'}{where}", what)]
    assert not (tmp_path / "archived.parquet").exists()
