"""What a Spark session must get right before whole months are compared: exact splitting, and bills read in place."""

import re
from decimal import Decimal
from pathlib import Path

import pytest
from account.books import HOUR, Bookkeeper, Case, hours_of, placement
from account.generated import Fleet, fleets
from account.oracle import allocate
from account.test_properties import allocated, billed_machines, examples, nonzero
from hypothesis import HealthCheck, assume, given, settings

from trainfare.money import amount, split, units
from trainfare.normalize import facts
from trainfare.period import Month
from trainfare.sources.bills import focus
from trainfare.sources.protocol import ArchivedFile, ReadOptions
from trainfare.tables import CHARGES as CHARGES_TABLE

from .twin import Twin

ONE = settings(examples(1), suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
"""One large example: small ones are skipped, however long it takes to draw another."""


@ONE
@given(fleet=fleets())
def test_machines_are_split_identically_and_as_in_the_oracle(keeper: Bookkeeper, fleet: Fleet):
    assume(len(fleet.charges) >= 6 and len(fleet.placements) >= 8)
    account = keeper.book(fleet.case(), only_cost=True)
    expected = allocate(billed_machines(fleet), fleet.placements, fleet.charges)
    assert nonzero(allocated(account)) == nonzero(expected)


def test_amounts_beyond_64_bits_are_split_identically(keeper: Bookkeeper, twin: Twin):
    """A charge of 9 * 10^14 and a credit of a thousandth: one job held three quarters, another one quarter."""
    large, back = "900000000000000.000000000001", "-900000000000.000000000003"
    charges = [hours_of("m0", (0, 4 * HOUR), cost) for cost in (large, back)]
    placements = [placement("a", "m0", (0, 3 * HOUR), gpus=8), placement("b", "m0", (3 * HOUR, 4 * HOUR), gpus=8)]
    account = keeper.book(
        Case(charges, placements, [{"machine_id": "m0", "resource_id": "m0", "gpus": 8}]), only_cost=True
    )
    parts = split(units(large) + units(back), {"a": 3, "b": 1})
    assert account.owed() == {payer: amount(part) for payer, part in parts.items()}
    assert twin.duckdb.columns("pots")["effective_1"] == "HUGEINT", "amounts are wide"


def bill_charges(twin: Twin, bill: Path, delivery: int) -> str:
    """Return a SELECT of the charges in an archived bill."""
    archived = ArchivedFile(bill, delivery, "cloud")
    return focus.rows(twin.duckdb, archived, ReadOptions(currency="USD"), CHARGES_TABLE) or ""


TYPED = """
  SELECT TIMESTAMPTZ '2026-10-01 00:00:00+00' + to_hours(n) AS ChargePeriodStart,
    TIMESTAMP '2026-10-01 01:00:00' + to_hours(n) AS ChargePeriodEnd, 'Usage' AS ChargeCategory, 'i-' || n AS ResourceId,
    CAST(n * 0.1 AS {type}) AS BilledCost, CAST(n * 0.1 AS {type}) AS EffectiveCost, '"team": "nlp"' AS Tags
  FROM (SELECT CAST(unnest(range(500)) AS INTEGER) AS n) ORDER BY n
"""


@pytest.mark.parametrize(("type_", "is_copied"), [("DECIMAL(38,12)", False), ("DOUBLE", True)])
def test_a_typed_bill_is_read_in_place(twin: Twin, tmp_path: Path, type_: str, is_copied: bool):
    """Only the requested columns are read; text and floats are first converted by the embedded reader."""
    bill = tmp_path / "bill.parquet"
    twin.duckdb.write_parquet(TYPED.format(type=type_), bill, in_order=True)
    twin.ingest("bill_lines", bill_charges(twin, bill, 1))
    assert twin.row("SELECT count(*), min(line), max(line) FROM bill_lines") == (500, 1, 500)
    plan = twin.spark.plan("SELECT sum(effective) FROM bill_lines WHERE resource_id = 'i-7'")
    # The plan has the column names of the file or of its copy; long paths are truncated in a plan.
    assert ("EqualTo(resource_id,i-7)" in plan) == is_copied
    assert ("EqualTo(ResourceId,i-7)" in plan) != is_copied
    assert "tags" not in plan.lower()


def test_a_bill_with_a_column_type_unknown_to_spark_is_read_anyway(twin: Twin, tmp_path: Path):
    bill = tmp_path / "bill.parquet"
    unknown = TYPED.format(type="DECIMAL(38,12)").replace("'Usage'", "TIME '01:02:03' AS x_at, 'Usage'")
    twin.duckdb.write_parquet(unknown, bill, in_order=True)
    twin.ingest("odd_lines", bill_charges(twin, bill, 1))
    assert twin.row("SELECT count(*), min(line), max(line), sum(effective) FROM odd_lines") == (
        500,
        1,
        500,
        Decimal(12475),
    )


def test_the_bills_of_other_months_are_not_opened(twin: Twin, tmp_path: Path):
    """Both engines detect which file has no charges of the month, and omit it from the plan."""
    bills = [tmp_path / f"{number}.parquet" for number in (1, 2)]
    for number, bill in enumerate(bills):
        twin.duckdb.write_parquet(TYPED.format(type="DECIMAL(38,12)").replace("-10-", f"-{10 + number}-"), bill)
    selects = [bill_charges(twin, bill, number) for number, bill in enumerate(bills, 1)]
    kinds = facts.make_charges(twin, selects, ())
    opened = []
    for month in (None, Month(2026, 10)):
        facts.assign_keys(twin, kinds, month)
        assert twin.row("SELECT count(*) FROM keyed_charges") == (1000 if month is None else 500,)
        plans = (
            twin.spark.plan("SELECT sum(effective) FROM keyed_charges"),
            str(twin.duckdb.rows("EXPLAIN SELECT sum(effective) FROM keyed_charges")),
        )
        opened.append([plan.upper().count("SCAN PARQUET") + plan.upper().count("READ_PARQUET") for plan in plans])
    assert opened == [[2, 2], [1, 1]]


def test_only_the_requested_month_of_a_longer_bill_is_read(twin: Twin, tmp_path: Path):
    """Of one large export only the row groups with times in the month are read, and no line is lost."""
    bill = tmp_path / "bill.parquet"
    lines = TYPED.format(type="DECIMAL(38,12)").replace("range(500)", f"range({91 * 240})").replace("-10-01", "-09-01")
    lines = lines.replace("to_hours(n)", "to_hours(n // 10)").replace("'i-' || n", "'i-' || n % 10")
    twin.duckdb.run(f"COPY ({lines}) TO '{bill}' (FORMAT parquet, ROW_GROUP_SIZE 2048)")
    kinds = facts.make_charges(twin, [bill_charges(twin, bill, 1)], ())
    opened = []
    for month, days in ((None, 91), (Month(2026, 9), 30), (Month(2026, 10), 31), (Month(2026, 11), 30)):
        facts.assign_keys(twin, kinds, month)
        assert twin.row("SELECT count(*) FROM keyed_charges") == (240 * days,)
        plan = twin.duckdb.rows("EXPLAIN ANALYZE SELECT sum(effective) FROM keyed_charges")[0][1]
        opened += re.findall(r"Row Groups Scanned: (\d+) / (\d+)", plan)
    assert opened == [("11", "11"), ("4", "11"), ("5", "11"), ("4", "11")]
