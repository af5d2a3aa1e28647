"""The archived copy of a bill: times and amounts in text are stored typed, unless a digit would be lost."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from trainfare.engine.duckdb import DuckDB, parquet
from trainfare.errors import Problems
from trainfare.sources.bills import focus
from trainfare.sources.head import read_head
from trainfare.sources.protocol import ArchivedFile, ReadOptions
from trainfare.sources.raw import columns_with_blanks
from trainfare.sources.registry import recognize
from trainfare.tables import CHARGES

BILL = """\
BillingCurrency,BilledCost,EffectiveCost,ListCost,ChargePeriodStart,ChargePeriodEnd,Note
USD,1.5,0.123456789012,2e-3,2026-10-01T00:00:00Z,2026-10-01T03:00:00+02:00,
USD,-20,0.1234567890124999996,,2026-10-01 01:00:00,1790823600,7
"""


def charges(engine: DuckDB, copy: Path) -> str | None:
    return focus.rows(engine, ArchivedFile(copy, 1, "bill"), ReadOptions(), CHARGES)


def charges_of(content: bytes, name: str, folder: Path) -> Callable[[str], list[tuple[Any, ...]]]:
    """Archive a bill and return a function that selects from its charges, line by line."""
    (bill := folder / name).write_bytes(content)
    engine, problems, copy = DuckDB(), Problems(), folder / "copy.parquet"
    _, head = recognize(engine, bill)
    focus.archive(engine, head, copy, ReadOptions(), problems)
    problems.raise_if_any()
    select = charges(engine, copy)
    return lambda columns: engine.rows(f"SELECT {columns} FROM ({select}) ORDER BY line")


def as_parquet(folder: Path, **columns: str) -> bytes:
    """Return a bill of one line in Parquet; `columns` add to the required ones, or replace them, as SQL."""
    required = {"BillingCurrency": "'USD'", "BilledCost": "8", "EffectiveCost": "8"}
    required |= {"ChargePeriodStart": "TIMESTAMP '2026-10-01'", "ChargePeriodEnd": "TIMESTAMP '2026-10-02'"}
    select = ", ".join(f'{sql} AS "{name}"' for name, sql in (required | columns).items())
    DuckDB().run(f"COPY (SELECT {select}) TO '{folder / 'made.parquet'}' (FORMAT parquet)")
    return (folder / "made.parquet").read_bytes()


def test_times_and_amounts_are_archived_typed(tmp_path: Path) -> None:
    (bill := tmp_path / "bill.csv").write_text(BILL)
    engine, problems, copy = DuckDB(), Problems(), tmp_path / "copy.parquet"
    assert focus.archive(engine, read_head(bill), copy, ReadOptions(), problems) == 2
    problems.raise_if_any()
    assert engine.columns(parquet(copy)) == {
        "BillingCurrency": "VARCHAR",
        "BilledCost": "DECIMAL(38,12)",
        "EffectiveCost": "VARCHAR",
        "ListCost": "VARCHAR",
        "ChargePeriodStart": "TIMESTAMP",
        "ChargePeriodEnd": "TIMESTAMP",
        "Note": "VARCHAR",
    }
    found = engine.rows(
        "SELECT CAST(effective AS VARCHAR), CAST(billed AS VARCHAR), CAST(list AS VARCHAR), finer, "
        "CAST(period_start AS VARCHAR), CAST(period_end AS VARCHAR) "
        f"FROM ({charges(engine, copy)}) ORDER BY line"
    )
    first = ("0.123456789012", "1.500000000000", "0.002000000000", 0, "2026-10-01 00:00:00", "2026-10-01 01:00:00")
    second = ("0.123456789012", "-20.000000000000", None, 1, "2026-10-01 01:00:00", "2026-10-01 03:00:00")
    assert found == [first, second]


@pytest.mark.parametrize("written", ["2026-10-01 13:00:00 NZ", "2026-10-01 02:00:00+02:00", "2026-10-01T00:00:00Z"])
def test_a_time_zone_that_ends_in_z_is_not_utc(written: str, tmp_path: Path) -> None:
    """NZ is a time zone: it ends like UTC's Z and is half a day ahead of it."""
    (bill := tmp_path / "bill.csv").write_text(BILL.replace("2026-10-01T00:00:00Z", written))
    engine, problems, copy = DuckDB(), Problems(), tmp_path / "copy.parquet"
    focus.archive(engine, read_head(bill), copy, ReadOptions(), problems)
    problems.raise_if_any()
    (first,) = engine.row(f"SELECT CAST(min(ChargePeriodStart) AS VARCHAR) FROM {parquet(copy)}")
    assert first == "2026-10-01 00:00:00"


@pytest.mark.parametrize(
    ("start", "end", "month"),
    [
        ("2026-10-01T00:00:00Z", "2026-11-01T00:00:00Z", "2026-10-01"),
        ("2026-10-01T00:00:00Z", "", "2026-10-01"),
        ("2026-09-30T22:00:00Z", "", "2026-10-01"),
        ("", "2026-11-01T00:00:00Z", "2026-10-01"),
        ("", "2026-10-31T23:59:59Z", "2026-10-01"),
        ("", "", "2026-09-01"),
    ],
)
def test_a_correction_belongs_to_the_month_that_billed_it(start: str, end: str, month: str, tmp_path: Path) -> None:
    """A charge for September on the bill of October, which may have a start, an end, both or none."""
    period = {"BillingPeriodStart": start, "BillingPeriodEnd": end}
    for given in (period, {name: time for name, time in period.items() if time}):
        header = ",".join(["BillingCurrency,BilledCost,EffectiveCost,ChargePeriodStart,ChargePeriodEnd", *given])
        line = ",".join(["USD,8,8,2026-09-10T00:00:00Z,2026-09-10T01:00:00Z", *given.values()])
        charges = charges_of(f"{header}\n{line}\n".encode(), "bill.csv", tmp_path)
        assert charges("CAST(billing_month(billing_start, billing_end) AS VARCHAR)") == [(month,)]


@pytest.mark.parametrize(
    ("written", "read", "finer"),
    [
        ("999999999999999.999999999999", "999999999999999.999999999999", 0),
        ("1e-12", "0.000000000001", 0),
        ("1e-19", "0.000000000000", 1),
        ("1e-300", "0.000000000000", 1),
        ("2.0000000000000000000001", "2.000000000000", 1),
        ("0.000", "0.000000000000", 0),
    ],
)
def test_an_amount_is_read_exactly_or_counted_as_finer(written: str, read: str, finer: int, tmp_path: Path) -> None:
    header = "BillingCurrency,BilledCost,EffectiveCost,ChargePeriodStart,ChargePeriodEnd"
    bill = f"{header}\nUSD,{written},8,2026-10-01,2026-10-02\n"
    charges = charges_of(bill.encode(), "bill.csv", tmp_path)
    assert charges("CAST(billed AS VARCHAR), finer") == [(read, finer)]


@pytest.mark.parametrize(("type_", "finer"), [("DECIMAL(38,23)", 0), ("DECIMAL(38,30)", 0), ("DECIMAL(30,25)", 1)])
def test_amounts_with_any_number_of_decimals_are_read_from_parquet(type_: str, finer: int, tmp_path: Path) -> None:
    amount = "12.5" if not finer else "12.5000000000001"
    content = as_parquet(tmp_path, BilledCost=f"CAST({amount} AS {type_})")
    charges = charges_of(content, "bill.parquet", tmp_path)
    assert charges("CAST(billed AS VARCHAR), finer") == [("12.500000000000", finer)]


def test_an_empty_text_in_parquet_is_null_as_it_is_in_text_files(tmp_path: Path) -> None:
    texts = {"SubAccountId": "''", "BillingAccountId": "'acme'", "CommitmentDiscountId": "''", "ListCost": "''"}
    times = {"BillingPeriodStart": "''", "BillingPeriodEnd": "'2026-11-01'"}
    charges = charges_of(as_parquet(tmp_path, **texts, **times, Tags="''"), "bill.parquet", tmp_path)
    assert charges("account, commitment_id, list, tags") == [("acme", None, None, None)]


def test_a_parquet_file_without_empty_texts_is_read_without_asking_every_row(tmp_path: Path) -> None:
    path = tmp_path / "bill.parquet"
    path.write_bytes(as_parquet(tmp_path, SubAccountId="'a'", SkuId="CAST(NULL AS VARCHAR)", RegionId="''"))
    assert columns_with_blanks(DuckDB(), path) == ["RegionId"]


@pytest.mark.parametrize(
    ("tags", "read"),
    [
        ("[{'key': 'team', 'value': 'nlp', 'inherited': true, 'namespace': 'x'}]", '{"team":"nlp"}'),
        ("[{'value': 'nlp', 'key': 'team'}]", '{"team":"nlp"}'),
        ("[{'Key': 'team', 'Value': 'nlp'}]", '{"team":"nlp"}'),
        ("[{'key': 'team', 'value': 'nlp'}, {'key': 'team', 'value': 'cv'}]", '{"team":"nlp"}'),
        ("[{'key': NULL, 'value': 'x'}, {'key': 'team', 'value': 'nlp'}, NULL]", '{"team":"nlp"}'),
        ("CAST([] AS STRUCT(key VARCHAR, value VARCHAR)[])", "{}"),
        ("CAST(NULL AS STRUCT(key VARCHAR, value VARCHAR)[])", None),
        ("MAP {'team': 'nlp'}", '{"team":"nlp"}'),
        ("{'team': 'nlp'}", '{"team":"nlp"}'),
        ("""CAST(' {"team":"nlp"}' AS JSON)""", '{"team":"nlp"}'),
    ],
)
def test_tags_are_read_by_the_names_of_key_and_value(tags: str, read: str | None, tmp_path: Path) -> None:
    charges = charges_of(as_parquet(tmp_path, Tags=tags, SkuPriceDetails=tags), "bill.parquet", tmp_path)
    assert charges("tags, price_details") == [(read, read)]


@pytest.mark.parametrize("type_", ["TIMESTAMP_NS", "TIMESTAMPTZ_NS"])
def test_a_bill_with_times_in_nanoseconds_is_read(type_: str, tmp_path: Path) -> None:
    """As pandas writes them; such a bill was once reported as damaged."""
    content = as_parquet(tmp_path, ChargePeriodStart=f"CAST(TIMESTAMPTZ '2026-10-01 03:00:00+02' AS {type_})")
    charges = charges_of(content, "bill.parquet", tmp_path)
    assert charges("CAST(period_start AS VARCHAR)") == [("2026-10-01 01:00:00",)]
