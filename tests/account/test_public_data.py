"""Real and official data with known answers, read from the shared data folder and never copied into the project."""

import csv
import gzip
from collections import defaultdict
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal
from itertools import pairwise
from pathlib import Path

import pytest

from trainfare.errors import BadInputError
from trainfare.tables import BASES

from .books import COSTS, Account, Bookkeeper, with_settings

DATA = Path(__file__).parents[3] / "shared" / "data"
SPEC = DATA / "bills" / "FOCUS_Spec-v1.2-examples"
CORRECTIONS = DATA / "bills" / "FOCUS_Spec-1.4-correction-examples"
TOOLKIT = DATA / "bills" / "focus-data-toolkit"

pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason="the public data is not available")

Rows = list[dict[str, str]]
JOB_COLUMNS = ("job_id", "attempt", "machine_id", "started", "ended", "gpus")


def rows_of(path: Path) -> Rows:
    with path.open(encoding="utf-8-sig", newline="") as opened:
        return list(csv.DictReader(opened))


def write_rows(path: Path, columns: Iterable[str], rows: Iterable[Iterable[object]]) -> Path:
    with path.open("w", encoding="utf-8", newline="") as opened:
        writer = csv.writer(opened)
        writer.writerow(list(columns))
        writer.writerows(rows)
    return path


def account_of(keeper: Bookkeeper, files: Iterable[Path], currency: str = "USD") -> Account:
    return keeper.account(with_settings(keeper.new_folder(), files, f'currency = "{currency}"'))


def added_up(rows: Rows, basis: str) -> Decimal:
    """Return the total of a bill; amounts finer than a unit are rounded, and missing ones count as zero."""
    texts = [row.get(COSTS[basis], "") for row in rows]
    amounts = [Decimal(text) for text in texts if text not in ("", "NULL")]
    return sum((amount.quantize(Decimal("1e-12"), ROUND_HALF_UP) for amount in amounts), Decimal(0))


def by_source(account: Account, table: str) -> dict[tuple[str, str], tuple[Decimal, ...]]:
    sums = ", ".join(f"sum({basis})" for basis in BASES)
    found = account.opened.engine.rows(f"SELECT source, currency, {sums} FROM {table} GROUP BY source, currency")
    return {(source, currency): tuple(amounts) for source, currency, *amounts in found}


def lines(account: Account) -> int:
    return account.opened.engine.row("SELECT sum(lines) FROM bill_totals")[0]


BEGAN = datetime(2021, 3, 4, tzinfo=UTC)
"""The start of the trace of 69,351 training jobs on ten clusters. Its hours are real, its bill is generated."""
MONTHS = ("2021-03", "2021-04", "2021-05", "2021-06")


@pytest.fixture(scope="module")
def trace() -> Rows:
    with gzip.open(DATA / "traces" / "elasticflow" / "elasticflow_jobs.csv.gz", "rt") as opened:
        return list(csv.DictReader(opened))


@pytest.fixture(scope="module")
def elasticflow(keeper: Bookkeeper, trace: Rows) -> Account:
    folder = keeper.new_folder()
    clusters = sorted({f"cluster{row['cluster']}" for row in trace})
    held = ((row["job_id"], 1, f"cluster{row['cluster']}", *_span(row), row["num_gpu"]) for row in trace)
    charged = (
        ("USD", f"{start}-01", f"{end}-01", name, *("123456.78",) * len(BASES))
        for start, end in pairwise(MONTHS)
        for name in clusters
    )
    columns = ("BillingCurrency", "ChargePeriodStart", "ChargePeriodEnd", "ResourceId", *COSTS.values())
    files = (
        write_rows(folder / "bill.csv", columns, charged),
        write_rows(folder / "jobs.csv", JOB_COLUMNS, held),
        write_rows(folder / "machines.csv", ("machine_id", "gpus"), ((name, 2048) for name in clusters)),
    )
    return keeper.account(with_settings(folder, files))


def _span(row: dict[str, str]) -> tuple[str, str]:
    start = BEGAN + timedelta(seconds=int(row["submission_time"]))
    return start.isoformat(), (start + timedelta(seconds=int(row["duration"]))).isoformat()


def test_the_hours_of_real_jobs_are_the_published_ones(elasticflow: Account):
    overall = elasticflow.report().overall
    assert overall.jobs == 69_351
    assert f"{overall.gpu_seconds / 3600:.1f}" == "1632719.7"
    assert f"{Decimal(overall.wall_seconds) / 3600:.1f}" == "360669.2"
    assert overall.unbilled_wall_seconds == 0


def test_each_cluster_has_its_published_hours(elasticflow: Account, trace: Rows):
    seconds: dict[str, int] = defaultdict(int)
    for row in trace:
        seconds[f"cluster{row['cluster']}"] += int(row["duration"]) * int(row["num_gpu"])
    found = {name: row.gpu_seconds for name, row in elasticflow.rows("machine").items()}
    assert found == seconds
    hours = {name: f"{found[name] / 3600:.1f}" for name in ("cluster04", "cluster07", "cluster10")}
    assert hours == {"cluster04": "705682.9", "cluster07": "366799.8", "cluster10": "4023.5"}


def test_every_cent_of_the_generated_bill_is_allocated(elasticflow: Account):
    assert [str(book.month) for book in elasticflow.opened.books] == list(MONTHS[:3])
    for basis in BASES:
        report = elasticflow.report(["machine"], basis=basis)
        assert report.total == report.bill == 30 * Decimal("123456.78")
        assert sum(row.cost for row in report.rows) + report.idle.cost == report.total


def test_all_rows_of_the_sample_load_and_every_provider_conserves(keeper: Bookkeeper):
    rows = rows_of(DATA / "bills" / "FOCUS-Sample-Data" / "focus_sample.csv")
    folder, expected = keeper.new_folder(), {}
    for provider in ("AWS", "Microsoft", "Oracle"):
        mine = [row for row in rows if row["ProviderName"] == provider]
        write_rows(folder / f"{provider}.csv", rows[0], (row.values() for row in mine))
        expected[provider, "USD"] = tuple(added_up(mine, basis) for basis in BASES)
    account = keeper.account(with_settings(folder, [f"{provider}.csv" for provider, _ in expected]))
    assert lines(account) == 1000
    assert by_source(account, "shares") == by_source(account, "bill_totals") == expected


def test_the_unchanged_sample_conserves(keeper: Bookkeeper):
    path = DATA / "bills" / "FOCUS-Sample-Data" / "focus_sample.csv"
    account = account_of(keeper, [path])
    for basis in BASES:
        report = account.report(["category"], basis=basis)
        assert report.total == report.bill == added_up(rows_of(path), basis)


def test_bills_of_the_toolkit_load_and_conserve(keeper: Bookkeeper):
    golden = sorted((TOOLKIT / "golden" / "compatibility_golden").glob("*cost_and_usage*.csv"))
    different = {path.read_bytes(): path for path in reversed(golden)}.values()
    assert (len(golden), len(different)) == (18, 15), "a duplicate file counts once, under its first name"
    account = account_of(keeper, golden)
    expected = {(path.stem, "USD"): tuple(added_up(rows_of(path), basis) for basis in BASES) for path in different}
    assert by_source(account, "shares") == by_source(account, "bill_totals") == expected
    assert "AMOUNT_ROUNDED" in account.findings


def test_a_bill_of_several_providers_and_currencies_conserves(keeper: Bookkeeper):
    path = TOOLKIT / "client_like" / "consolidated_multi_provider_1_3.csv"
    account, rows = account_of(keeper, [path]), rows_of(path)
    assert account.currencies == ["EUR", "USD"]
    for currency in account.currencies:
        mine = [row for row in rows if row["BillingCurrency"] == currency]
        for basis in BASES:
            assert account.report(currency=currency, basis=basis).total == added_up(mine, basis)


FLEXIBILITY = (
    "one_hundred_percent_utilization_with_commitment_discount_flexibility_with_1_resource",
    "one_hundred_percent_utilization_with_commitment_discount_flexibility_with_2_resources",
    "one_hundred_percent_utilization_without_commitment_discount_flexibility",
    "zero_percent_utilization_without_commitment_discount_flexibility",
)
USAGE = [(1, "1.00", "0"), (2, "0", "1.00"), (3, "0.75", "0.25"), (4, "1.50", "0")]
IMPOSSIBLE = (
    "commitment_discount_scenarios/commitment_discount_purchase_scenario_2.csv",
    "saas_examples/simple_agreements/simple_saas_agreements_a1.csv",
)


@pytest.mark.parametrize("name", FLEXIBILITY)
def test_the_cost_of_a_commitment_equals_the_usage_it_covers(keeper: Bookkeeper, name: str):
    """Used and unused commitment together cost the purchase; the effective and billed totals are equal."""
    account = account_of(keeper, [SPEC / "commitment_discount_flexibility" / f"{name}.csv"])
    shares = account.shares
    bought = sum(share["billed"] for share in shares if share["rule"] == "commitment purchase")
    covered = sum(share["effective"] - share["billed"] for share in shares if share["rule"] != "commitment purchase")
    assert bought == covered > 0
    assert account.report().total == account.report(basis="billed").total
    unused = bought if name.startswith("zero") else 0
    assert account.report().idle.cost == unused


@pytest.mark.parametrize(("number", "used", "unused"), USAGE)
def test_unused_commitment_is_idle_and_used_is_not(keeper: Bookkeeper, number: int, used: str, unused: str):
    path = SPEC / "commitment_discount_scenarios" / f"commitment_discount_usage_scenario_{number}.csv"
    report = account_of(keeper, [path]).report()
    assert (report.total - report.idle.cost, report.idle.cost) == (Decimal(used), Decimal(unused))


@pytest.mark.parametrize("path", IMPOSSIBLE)
def test_impossible_times_and_amounts_with_a_dollar_sign_are_rejected(keeper: Bookkeeper, path: str):
    with pytest.raises(BadInputError):
        account_of(keeper, [SPEC / path])


CLOSED = CORRECTIONS / "closed-billing-period"
OPEN = CORRECTIONS / "open-billing-period-current"


def corrected(keeper: Bookkeeper, *bills: Path) -> Account:
    """Return the account of these bills with one job on each of the two resources, in the corrected hour."""
    folder = keeper.new_folder()
    held = [
        (job, 1, machine, f"2025-{month}-01T00:00:00Z", f"2025-{month}-01T01:00:00Z", 1)
        for month in ("05", "07")
        for job, machine in (("one", "R-111"), ("two", "R-222"))
    ]
    jobs = write_rows(folder / "jobs.csv", JOB_COLUMNS, held)
    return keeper.account(with_settings(folder, [*bills, jobs], 'currency = "USD"'))


@pytest.mark.parametrize("style", ["delta", "ledger", "replacement"])
def test_a_reallocation_ends_the_same_for_every_job_in_every_style(keeper: Bookkeeper, style: str):
    name = "scenario_1_partial_reallocation"
    bills = [CLOSED / f"{name}_original.csv", CLOSED / f"{name}_{style}.csv"]
    account = corrected(keeper, *([OPEN / f"{name}_replacement.csv"] if style == "replacement" else bills))
    for basis in BASES:
        one, two = (1600, 400) if basis == "list" else (1200, 300)
        assert account.owed(basis) == {"one": Decimal(one), "two": Decimal(two)}


def test_a_cost_correction_ends_the_same_itemized_or_in_bulk(keeper: Bookkeeper):
    original = CLOSED / "scenario_3_itemized_cost_only_original.csv"
    itemized = corrected(keeper, original, CLOSED / "scenario_3_itemized_cost_only_ledger.csv")
    totals = {basis: itemized.report(basis=basis).total for basis in BASES}
    bulk = corrected(keeper, original, CLOSED / "scenario_4_bulk_cost_only_ledger.csv")
    assert totals == {basis: bulk.report(basis=basis).total for basis in BASES}
    assert totals["effective"] == 6 * Decimal("0.699233") + Decimal("0.002")


def test_late_usage_is_booked_where_it_is_billed(keeper: Bookkeeper):
    account = corrected(keeper, CLOSED / "scenario_2_late_arriving_usage_ledger.csv")
    assert [str(book.month) for book in account.opened.books] == ["2025-06"]
    assert account.report().total == Decimal(1500)


POWER = ("smc-ac-power", "smc-dc-power")
"""Two submissions of one company to MLPerf Training v4.0, of the same runs."""


@pytest.fixture(scope="module")
def submitted() -> Rows:
    with gzip.open(DATA / "traces" / "mlperf" / "mlperf_runs.csv.gz", "rt") as opened:
        return [row for row in csv.DictReader(opened) if row["org"] in POWER]


def test_runs_submitted_under_two_names_are_found(keeper: Bookkeeper, submitted: Rows):
    """Each name has 153 of the 306 runs. Ten runs of each name equal another run under that name, in five pairs, but
    every run under one name is matched with exactly one under the other."""
    folder = keeper.new_folder()
    named = {"/".join(row[key] for key in ("org", "system", "benchmark", "run")): row for row in submitted}
    held = (
        (name, 1, row["system"], *(_second(row[key]) for key in ("run_start_ms", "run_stop_ms")), row["accelerators"])
        for name, row in named.items()
    )
    systems = {row["system"]: row["accelerators"] for row in submitted}
    charged = [("USD", "2024-05-01", "2024-06-01", name, *("1000",) * len(BASES)) for name in systems]
    columns = ("BillingCurrency", "ChargePeriodStart", "ChargePeriodEnd", "ResourceId", *COSTS.values())
    logs = defaultdict(list)
    for row in held:
        logs[row[0].partition("/")[0]].append(row)
    files = (
        write_rows(folder / "bill.csv", columns, charged),
        *(write_rows(folder / f"{org}.csv", JOB_COLUMNS, rows) for org, rows in logs.items()),
        write_rows(folder / "machines.csv", ("machine_id", "gpus"), systems.items()),
    )
    account = keeper.account(with_settings(folder, files))
    rows = account.opened.engine.rows("SELECT evidence FROM failure_mode_evidence WHERE code = 'F5'")
    found: dict[str, set[str]] = defaultdict(set)
    for (evidence,) in rows:
        copy, _, first = evidence.removeprefix("run ").partition(" under another name")[0].partition(" is ")
        found[first] |= {first, copy}
    sides = [[sum(name.startswith(f"{org}/") for name in group) for org in POWER] for group in found.values()]
    hours = [Decimal(named[first]["accelerators"]) * Decimal(named[first]["run_s"]) / 3600 for first in found]
    assert (len(submitted), len(found)) == (306, 153)
    assert sides == [[1, 1]] * 153
    of_one_name = [row for name, row in named.items() if name.startswith(f"{POWER[0]}/")]
    assert len(of_one_name) == 153
    expected = sum(Decimal(row["accelerators"]) * Decimal(row["run_s"]) / 3600 for row in of_one_name)
    assert f"{sum(hours):.1f}" == f"{expected:.1f}"


def _second(millis: str) -> str:
    return datetime.fromtimestamp(int(millis) // 1000, UTC).isoformat()


ENERGY = {"result_5848-240517221859825376616_2": "415.255", "result_5849-240518014016374832336_1": "415.268"}
ENERGY |= {"result_5849-240518014016374832336_3": "415.125"}
"""Published runs of GPT-3 on 64 nodes, and the energy of their nodes, in kWh AC."""


def test_the_power_of_real_runs_is_the_power_cost_of_owned_machines(keeper: Bookkeeper):
    """109,000 readings a run, at one dollar a kWh, without a power rating: a run's power cost is its energy."""
    folder = keeper.new_folder()
    engine = keeper.builder
    source = DATA / "traces" / "mlperf" / "mlperf_power.parquet"
    engine.run(
        "CREATE OR REPLACE TEMP TABLE readings AS SELECT run, node, make_timestamp(time_ms * 1000) AS time, "
        f"CAST(value AS DECIMAL(18,6)) / 1000 AS kw FROM '{source}' WHERE org = 'smc-ac-power' AND system LIKE '64x%' "
        "AND benchmark = 'gpt3' AND key = 'power_reading'"
    )
    columns = "SELECT node AS machine_id, time, CAST(kw AS DECIMAL(18,6)) AS kw FROM readings"
    engine.write_parquet(columns, folder / "power.parquet")
    held = engine.rows(
        "SELECT run, 1, node, CAST(date_trunc('second', min(time)) AS VARCHAR) || 'Z', "
        "CAST(date_trunc('second', max(time)) + INTERVAL 1 SECOND AS VARCHAR) || 'Z', 8 FROM readings GROUP BY run, node"
    )
    nodes = sorted({row[2] for row in held})
    assert (len(held), len(nodes)) == (192, 64)
    owned = ((node, 0, "USD", "2024-01-01", 60, "flat") for node in nodes)
    hardware = ("machine_id", "price", "currency", "in_service", "life_months", "tariff")
    files = (
        write_rows(folder / "jobs.csv", JOB_COLUMNS, held),
        write_rows(folder / "hardware.csv", hardware, owned),
        write_rows(folder / "tariffs.csv", ("tariff", "price_per_kwh", "currency"), [("flat", 1, "USD")]),
        write_rows(folder / "machines.csv", ("machine_id", "gpus"), ((node, 8) for node in nodes)),
        folder / "power.parquet",
    )
    account = keeper.account(with_settings(folder, files))
    engine.drop("readings")
    cost = {run: row.cost for run, row in account.rows("job").items()}
    assert {run: str(round(kwh, 3)) for run, kwh in cost.items()} == ENERGY
    assert account.report().total == sum(cost.values())
    assert {share["category"] for share in account.shares if share["effective"]} == {"power"}
