"""Every step on both engines, on invented rows: the same rows, the same digits, and those of the oracle.

Each table is compared when it is made, so a step that differs is named, with the first row that does.
"""

import re
from collections.abc import Iterator
from decimal import Decimal
from importlib import resources
from operator import attrgetter
from pathlib import Path

import pytest
from account.books import DAY, HOUR, Bookkeeper, Case, charge, hours_of, placement
from account.invented import Fleet, fleets, months
from account.oracle import settle
from account.story import CHARGES
from account.test_properties import as_the_bill_finds_them, attributed, examples, nonzero
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from trainfare import pipeline
from trainfare.attribute import lineage
from trainfare.config import FILE_NAME, load
from trainfare.money import amount, split, units
from trainfare.normalise import facts
from trainfare.period import Month
from trainfare.simulate.cluster import parse, play
from trainfare.sources.bills import focus
from trainfare.tables import BASES

from .plans import IN_PYTHON, WITHOUT_A_KEY, has, ran
from .twin import Twin

RULES = """
estimate = true
[[rule]]
name = "traffic of machines"
match = { machine = true, category = "network" }
among = "machine"
by = "bytes_sent"
[[rule]]
name = "storage for all"
match = { category = "storage" }
among = "all"
by = "wall_seconds"
[[rule]]
name = "network of a region"
match = { category = "network", region = "eu" }
among = "region"
by = "evenly"
[[rule]]
name = "network of an account"
match = { category = "network", account = "A-1" }
among = "account"
by = "memory"
[[rule]]
name = "network by spend"
match = { category = "network" }
among = "all"
by = "spend"
[[rule]]
name = "machines of teams"
match = { machine = true, region = "us" }
among = "machine"
by = "dominant"
idle = "owner"
[[rule]]
name = "machines of clusters"
match = { machine = true, account = "A-2" }
among = "cluster"
by = "cpu_seconds"
[[rule]]
name = "platform in parts"
match = { category = ["platform", "licence", "labour"] }
parts = { "team:nlp" = 3, "team:x" = 3, "__idle__" = 1 }
"""
"""Every way of sharing in one month."""
FAULTS = [f"F{number}" for number in range(1, 11)]
RATES = """day,from_currency,to_currency,rate
2026-10-01,USD,EUR,0.8951
2026-10-17,USD,EUR,0.90123456789
"""
COSTS = dict.fromkeys(BASES, "1.000000000001")
ONE = settings(examples(1), suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
"""A large one: small ones are passed over, however long it takes to draw another."""
CHARGES_OF, PLACEMENTS_OF = attrgetter("charges"), attrgetter("placements")


@pytest.fixture(scope="module")
def keeper(twin: Twin, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bookkeeper]:
    """Makes books with both engines at once."""
    made = Bookkeeper(tmp_path_factory.mktemp("books"))
    made.builder.close()
    made.builder = twin
    yield made
    made.reader.close()


@ONE
@given(fleet=fleets())
def test_machines_are_shared_alike_and_as_the_oracle_says(keeper: Bookkeeper, fleet: Fleet):
    assume(len(fleet.charges) >= 6 and len(fleet.placements) >= 8)
    account = keeper.book(fleet.case(), only_cost=True)
    expected = settle(as_the_bill_finds_them(fleet), fleet.placements, fleet.charges)
    assert nonzero(attributed(account)) == nonzero(expected)


def test_amounts_beyond_64_bits_are_divided_alike(keeper: Bookkeeper, twin: Twin):
    """Nine hundred million million, and a thousandth part of that back: three quarters are held by one job, a quarter by another."""
    large, back = "900000000000000.000000000001", "-900000000000.000000000003"
    charges = [hours_of("m0", (0, 4 * HOUR), told) for told in (large, back)]
    placements = [placement("a", "m0", (0, 3 * HOUR), gpus=8), placement("b", "m0", (3 * HOUR, 4 * HOUR), gpus=8)]
    account = keeper.book(
        Case(charges, placements, [{"machine_id": "m0", "resource_id": "m0", "gpus": 8}]), only_cost=True
    )
    parts = split(units(large) + units(back), {"a": 3, "b": 1})
    assert account.owed() == {payer: amount(part) for payer, part in parts.items()}
    assert twin.duckdb.columns("pots")["effective_1"] == "HUGEINT", "this is the wide way"


USAGE = """job_id,attempt,machine_id,started,ended,measure,value,from_region,to_region
a,1,m0,2026-10-01T00:00:00Z,2026-10-02T07:00:00Z,bytes_sent,1234567890123,eu,us
b,1,m1,2026-10-01T05:30:00Z,2026-10-01T06:00:00Z,bytes_sent,777,eu,us
a,1,,2026-10-01T00:00:00Z,2026-10-03T00:00:00Z,storage_requests,10,,
"""


ALWAYS = [
    charge((0, DAY), COSTS, **CHARGES["network"], ResourceId="m0", RegionId="eu"),
    charge((0, 2 * DAY), COSTS, **CHARGES["network"], ResourceId="m0", RegionId="eu"),
    charge((0, DAY), COSTS, **CHARGES["network"], RegionId="us", SubAccountId="A-3"),
    hours_of("m0", (0, HOUR), COSTS, SubAccountId="A-2", RegionId="eu", Tags='{"cluster": "C1"}'),
    hours_of("m0", (4 * DAY, 4 * DAY + HOUR), COSTS),
    *(hours_of("m9", (start, start + HOUR), COSTS) for start in (0, 5 * HOUR)),
]
"""Charges for rules by measurement, spend and cluster, for the rate of hours without a bill, and with a gap, whatever is drawn."""
BEYOND = (placement("a", "m0", (0, 5 * DAY)), placement("a", "m9", (0, 6 * HOUR)))
"""A job that holds its machine for longer than the bill goes, and another one while the bill leaves hours out."""


@ONE
@given(cases=st.lists(months(), min_size=3, max_size=3))
def test_every_way_of_sharing_gives_the_same_tables(keeper: Bookkeeper, twin: Twin, cases: list[Case]):
    charges, placements = ([row for case in cases for row in rows(case)] for rows in (CHARGES_OF, PLACEMENTS_OF))
    assume(len(charges) >= 12 and len(placements) >= 6)
    folder = keeper.write(Case([*charges, *ALWAYS], [*placements, *BEYOND], cases[0].machines, RULES))
    (folder / "usage.csv").write_text(USAGE, encoding="utf-8")
    with (folder / "trainfare.toml").open("a", encoding="utf-8") as written:
        written.write("[[source]]\npath = 'usage.csv'\n")
    pipeline.books_of_files(load(folder / "trainfare.toml"), folder / "books", twin, only_cost=True)
    lineage.open_job(twin, "a")
    lineage.open_everything(twin)
    twin.view("previous_estimates", "SELECT * FROM kept_estimates")
    assert twin.row("SELECT count(*) FROM previous_estimates")[0] > 0
    twin.step("trainfare.metrics", "estimate_errors", "estimate_errors", {"through": str(2**31)})


ONE_LARGE_ACCOUNT = """
  SELECT TIMESTAMPTZ '2026-10-01 00:00:00+00' + to_hours(n % 720) AS ChargePeriodStart,
    TIMESTAMPTZ '2026-10-01 01:00:00+00' + to_hours(n % 720) AS ChargePeriodEnd,
    TIMESTAMPTZ '2026-10-01 00:00:00+00' AS BillingPeriodStart, TIMESTAMPTZ '2026-11-01 00:00:00+00' AS BillingPeriodEnd,
    'Usage' AS ChargeCategory, 'the-large-one' AS SubAccountId, 'USD' AS BillingCurrency,
    CASE WHEN n < 720 THEN 'Compute' ELSE 'Storage' END AS ServiceCategory, CASE WHEN n < 720 THEN 'crowded' END AS ResourceId,
    CAST(n * 0.01 AS DECIMAL(38,12)) AS BilledCost, CAST(n * 0.01 AS DECIMAL(38,12)) AS EffectiveCost
  FROM (SELECT unnest(range(6000)) AS n)
"""
ONE_CROWDED_MACHINE = """
  SELECT 'short-' || n AS job_id, 1 AS attempt, 'crowded' AS machine_id, TIMESTAMP '2026-10-01 00:00:00' + to_seconds(n * 870) AS started,
    TIMESTAMP '2026-10-01 00:14:07' + to_seconds(n * 870) AS ended, CAST(1 AS DECIMAL(18,6)) AS gpus, 'completed' AS state
  FROM (SELECT unnest(range(3000)) AS n)
"""


def test_a_month_with_every_fault_is_the_same_account_with_the_same_findings(twin: Twin, tmp_path: Path):
    """A cluster's month with ledgers, measurements and checkpoints, converted, in which all goes wrong that
    `trainfare check` looks for. One account has most of the lines, and one machine most of the jobs."""
    month = Month(2026, 10)
    folder = tmp_path / "month"
    play(folder, seed=1, machines=8, faults=parse(FAULTS, month), month=month)
    (folder / "rates.csv").write_text(RATES, encoding="utf-8")
    for name, rows in (("large", ONE_LARGE_ACCOUNT), ("crowded", ONE_CROWDED_MACHINE)):
        twin.duckdb.write_parquet(rows, folder / f"{name}.parquet")
    sources = "".join(f"[[source]]\npath = '{name}'\n" for name in ("rates.csv", "large.parquet", "crowded.parquet"))
    with (folder / FILE_NAME).open("a", encoding="utf-8") as written:
        written.write(f"{sources}[convert]\nto = 'EUR'\ndays = 31\n")
    pipeline.books_of_files(load(folder / FILE_NAME), tmp_path / "books", twin)
    assert {code for (code,) in twin.rows("SELECT DISTINCT code FROM failures")} >= set(FAULTS)
    assert (
        twin.row(
            "SELECT count(*) FROM direct_parts WHERE channel IN (SELECT channel FROM channels WHERE machine IS NOT NULL)"
        )[0]
        > 3000
    )


TYPED = """
  SELECT TIMESTAMPTZ '2026-10-01 00:00:00+00' + to_hours(n) AS ChargePeriodStart,
    TIMESTAMP '2026-10-01 01:00:00' + to_hours(n) AS ChargePeriodEnd, 'Usage' AS ChargeCategory, 'i-' || n AS ResourceId,
    CAST(n * 0.1 AS {type}) AS BilledCost, CAST(n * 0.1 AS {type}) AS EffectiveCost, '"team": "nlp"' AS Tags
  FROM (SELECT CAST(unnest(range(500)) AS INTEGER) AS n) ORDER BY n
"""


@pytest.mark.parametrize(("type_", "is_copied"), [("DECIMAL(38,12)", False), ("DOUBLE", True)])
def test_a_typed_bill_is_read_where_it_is(twin: Twin, tmp_path: Path, type_: str, is_copied: bool):
    """Only the columns that are asked for are read; texts and floats are first read by the embedded reader."""
    bill = tmp_path / "bill.parquet"
    twin.duckdb.write_parquet(TYPED.format(type=type_), bill, in_order=True)
    twin.taken("bill_lines", focus.charges(twin.duckdb, bill, 1, "cloud", "USD"))
    assert twin.row("SELECT count(*), min(line), max(line) FROM bill_lines") == (500, 1, 500)
    plan = twin.spark.plan("SELECT sum(effective) FROM bill_lines WHERE resource_id = 'i-7'")
    # The file's own names are read, or those of the copy; long paths are cut short in a plan.
    assert ("EqualTo(resource_id,i-7)" in plan) == is_copied
    assert ("EqualTo(ResourceId,i-7)" in plan) != is_copied
    assert "tags" not in plan.lower()


def test_a_bill_with_a_column_that_spark_does_not_know_is_read_all_the_same(twin: Twin, tmp_path: Path):
    bill = tmp_path / "bill.parquet"
    unknown = TYPED.format(type="DECIMAL(38,12)").replace("'Usage'", "TIME '01:02:03' AS x_at, 'Usage'")
    twin.duckdb.write_parquet(unknown, bill, in_order=True)
    twin.taken("odd_lines", focus.charges(twin.duckdb, bill, 1, "cloud", "USD"))
    assert twin.row("SELECT count(*), min(line), max(line), sum(effective) FROM odd_lines") == (
        500,
        1,
        500,
        Decimal(12475),
    )


def test_the_bills_of_other_months_are_not_opened(twin: Twin, tmp_path: Path):
    """Both engines see which file has no charges of the month, and leave it out of the plan."""
    bills = [tmp_path / f"{number}.parquet" for number in (1, 2)]
    for number, bill in enumerate(bills):
        twin.duckdb.write_parquet(TYPED.format(type="DECIMAL(38,12)").replace("-10-", f"-{10 + number}-"), bill)
    selects = [focus.charges(twin.duckdb, bill, number, "cloud", "USD") for number, bill in enumerate(bills, 1)]
    kinds = facts.charges(twin, selects, ())
    opened = []
    for month in (None, Month(2026, 10)):
        facts.keyed(twin, kinds, month)
        assert twin.row("SELECT count(*) FROM keyed_charges") == (1000 if month is None else 500,)
        plans = (
            twin.spark.plan("SELECT sum(effective) FROM keyed_charges"),
            str(twin.duckdb.rows("EXPLAIN SELECT sum(effective) FROM keyed_charges")),
        )
        opened.append([plan.upper().count("SCAN PARQUET") + plan.upper().count("READ_PARQUET") for plan in plans])
    assert opened == [[2, 2], [1, 1]]


def test_a_bill_of_several_months_is_opened_where_it_has_the_month(twin: Twin, tmp_path: Path):
    """One export of everything: of its parts only those are read that have times of the month, and no line is lost by it."""
    bill = tmp_path / "bill.parquet"
    lines = TYPED.format(type="DECIMAL(38,12)").replace("range(500)", f"range({91 * 240})").replace("-10-01", "-09-01")
    lines = lines.replace("to_hours(n)", "to_hours(n // 10)").replace("'i-' || n", "'i-' || n % 10")
    twin.duckdb.run(f"COPY ({lines}) TO '{bill}' (FORMAT parquet, ROW_GROUP_SIZE 2048)")
    kinds = facts.charges(twin, [focus.charges(twin.duckdb, bill, 1, "cloud", "USD")], ())
    opened = []
    for month, days in ((None, 91), (Month(2026, 9), 30), (Month(2026, 10), 31), (Month(2026, 11), 30)):
        facts.keyed(twin, kinds, month)
        assert twin.row("SELECT count(*) FROM keyed_charges") == (240 * days,)
        plan = twin.duckdb.rows("EXPLAIN ANALYZE SELECT sum(effective) FROM keyed_charges")[0][1]
        opened += re.findall(r"Row Groups Scanned: (\d+) / (\d+)", plan)
    assert opened == [("11", "11"), ("4", "11"), ("5", "11"), ("4", "11")]


def test_no_step_was_left_out(twin: Twin):
    """Counts what the tests above have run, so that a new step cannot go without being compared."""
    packages = ("trainfare.normalise", "trainfare.attribute", "trainfare.metrics")
    known = {
        f"{package}/{Path(each.name).stem}"
        for package in packages
        for each in resources.files(package).iterdir()
        if each.name.endswith(".sql")
    }
    assert len(known) > 50
    assert twin.compared > 100
    # Shares are a view, compared when it is written. Rates are looked up by the reader. The last only answers `trainfare rules test`.
    not_stepped = {"trainfare.attribute/shares", "trainfare.normalise/found_rates", "trainfare.metrics/taken_by_rules"}
    assert known - twin.steps == not_stepped


EVERY_WITH_EVERY = {
    "allocations": "the channels that are shared by spend, a few; asked of published books, which DuckDB reads",
    "failure_evidence": "the end of the job log: one row",
    "holds": "what is shared among all: one target",
    "slot_days": "the targets of a weighing, and days of charges that are for several: a row is wanted for each",
    "spend_rates": "four windows of time",
}
"""Tables for which every row of one side is met with every row of the other, and why one side is small."""


def test_no_step_meets_every_row_with_every_other(twin: Twin):
    """Looks at all that the tests above have run on Spark, as it was run; nothing is handed to Python, either."""
    twin.spark.table("met", "SELECT a.kind FROM charge_kinds a JOIN charge_kinds b ON a.lines < b.lines")
    plans = [*ran(twin.spark.session)]
    assert {name for name, plan in plans if name and has(plan, *WITHOUT_A_KEY)} == {"met", *EVERY_WITH_EVERY}
    assert not [name for name, plan in plans if has(plan, *IN_PYTHON)]
