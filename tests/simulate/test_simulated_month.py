"""The simulated month contains everything it should, and its files agree with each other."""

import hashlib
import json
import os
import subprocess
import sys
import time
from collections import Counter, defaultdict
from decimal import Decimal, localcontext

import pytest

from trainfare.money import amount, units
from trainfare.period import Month
from trainfare.simulate import write
from trainfare.simulate.clock import overlap, seconds, span_of, weekend
from trainfare.tables import BASES

BILLS = ("bill-cloud.csv", "bill-owned.csv")
COSTS = {"effective": "EffectiveCost", "billed": "BilledCost", "list": "ListCost", "contracted": "ContractedCost"}
OCTOBER = Month(2026, 10)


def digests(folder):
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(folder.iterdir())}


def bill(rows):
    return [line for name in BILLS for line in rows(name)]


def test_a_seed_gives_the_same_bytes_whatever_the_hash_seed(tmp_path):
    program = (
        "import sys; from pathlib import Path; from trainfare.period import Month\n"
        "from trainfare.simulate import write\n"
        "write(Path(sys.argv[1]), 5, Month(2026, 10), scale=0.1)"
    )
    for hash_seed in ("0", "1"):
        env = {**os.environ, "PYTHONHASHSEED": hash_seed}
        subprocess.run([sys.executable, "-c", program, str(tmp_path / hash_seed)], check=True, env=env)
    assert len(digests(tmp_path / "0")) == 8
    assert digests(tmp_path / "0") == digests(tmp_path / "1")


def test_another_seed_gives_another_month(tmp_path):
    for seed in (5, 6):
        write(tmp_path / str(seed), seed, OCTOBER, scale=0.1)
    first, second = digests(tmp_path / "5"), digests(tmp_path / "6")
    assert all(first[name] != second[name] for name in first)


@pytest.mark.parametrize("month", [Month(2026, 2), Month(2028, 2), Month(2026, 12)], ids=str)
def test_any_month_and_size_can_be_simulated(tmp_path, month):
    simulated = write(tmp_path, 3, month, scale=0.2)
    for index, basis in enumerate(BASES):
        assert amount(sum(amounts[index] for amounts in simulated.owed.values())) == simulated.total(basis)


def test_a_month_is_written_within_ten_seconds(tmp_path):
    started = time.process_time()
    write(tmp_path, 2, OCTOBER)
    assert time.process_time() - started < 10


@pytest.mark.parametrize("basis", BASES)
def test_the_truth_adds_up_to_the_written_bills(october, rows, basis):
    with localcontext() as exact:
        exact.prec = 60
        charged = sum(Decimal(line[COSTS[basis]]) for line in bill(rows))
        owed = sum(Decimal(line[basis]) for line in rows("truth.csv"))
    assert charged == owed == october.total(basis)
    assert charged == Decimal(json.loads((october.folder / "truth.json").read_text())["total"][basis])


def test_no_machine_is_held_beyond_its_capacity_or_while_it_does_not_exist(october):
    changes = defaultdict(list)
    for attempt in october.workload.attempts:
        assert attempt.started < attempt.ended
        for machine in attempt.machines:
            assert overlap((attempt.started, attempt.ended), machine.existed) == (attempt.started, attempt.ended)
            changes[machine] += [(attempt.started, attempt.micro_gpus), (attempt.ended, -attempt.micro_gpus)]
    assert len(changes) > 250
    for machine, moments in changes.items():
        held = 0
        for _, change in sorted(moments):
            held += change
            assert 0 <= held <= machine.kind.gpus * 10**6


def test_the_job_log_names_only_known_machines_and_whole_attempts(rows):
    machines = {line["machine_id"] for line in rows("machines.csv")}
    placements = [(line["job_id"], line["attempt"], line["machine_id"]) for line in rows("jobs.csv")]
    assert {machine for *_, machine in placements} <= machines
    assert len(set(placements)) == len(placements)


def test_the_company_has_the_documented_size(rows):
    jobs, log = rows("jobs.csv"), bill(rows)
    assert 1800 <= len({line["job_id"] for line in jobs}) <= 2300
    assert len({(line["job_id"], line["attempt"]) for line in jobs}) > 2100
    assert {line["team"] for line in jobs} == {"nlp", "vision", "speech"}
    assert len({line["owner"] for line in jobs}) == 12
    assert 40_000 <= len(log) <= 60_000
    assert {line["RegionId"] for line in log} == {"us-east-1", "eu-west-1", "basement"}
    assert len({line["SubAccountId"] for line in rows("bill-cloud.csv")}) == 3


def test_preempted_attempts_are_retried_on_another_machine(october):
    by_job = defaultdict(dict)
    for attempt in october.workload.attempts:
        by_job[attempt.job.job_id][attempt.number] = attempt
    followed = 0
    for attempts in by_job.values():
        for number, attempt in attempts.items():
            following = attempts.get(number + 1)
            if attempt.state == "preempted" and following:
                followed += 1
                assert following.started > attempt.ended
                assert any(machine.existed[1] == attempt.ended for machine in attempt.machines)
                assert set(attempt.machines) != set(following.machines)
    assert followed > 150


def test_jobs_come_in_all_shapes(rows):
    jobs = rows("jobs.csv")
    machines = Counter((line["job_id"], line["attempt"]) for line in jobs)
    assert {1, 2, 4, 8, 16} <= set(machines.values())
    assert {"0.5", "1", "2", "4", "8"} <= {line["gpus"] for line in jobs}
    assert {"completed", "failed", "preempted", "canceled", "timeout"} <= {line["state"] for line in jobs}
    started, ended = min(line["started"] for line in jobs), max(line["ended"] for line in jobs)
    assert started < "2026-10-01"
    assert ended > "2026-11-01"


def test_almost_nothing_runs_on_one_weekend_while_machines_are_up(october):
    quiet = weekend(OCTOBER, 3)
    assert quiet[0] == seconds(OCTOBER.start) + 16 * 24 * 3600

    def gpu_seconds(span, held):
        start, end = overlap(span, quiet)
        return max(0, end - start) * held

    existing = sum(gpu_seconds(machine.existed, machine.kind.gpus) for machine in october.workload.machines)
    held = sum(gpu_seconds((a.started, a.ended), a.micro_gpus * len(a.machines)) for a in october.workload.attempts)
    assert existing > 0.7 * 30 * 6 * (quiet[1] - quiet[0])
    assert held < 0.05 * existing * 10**6


def cells(line, *columns):
    return tuple(line[column] for column in columns)


def test_every_kind_of_line_is_on_the_bill(rows):
    log = rows("bill-cloud.csv")
    kinds = Counter(cells(line, "ChargeCategory", "ChargeClass", "CommitmentDiscountStatus") for line in log)
    assert kinds["Usage", "Correction", ""] == 1
    assert kinds["Usage", "", "Used"] > 1000
    assert kinds["Usage", "", "Unused"] > 20
    assert kinds["Credit", "", ""] == 4
    assert kinds["Tax", "", ""] == 3
    assert sum(line["CapacityReservationStatus"] == "Unused" for line in log) == 48
    assert sum("USE1-EUW1" in line["SkuMeter"] and '"team"' in line["Tags"] for line in log) == 62
    assert sum("Support" in line["ServiceName"] for line in log) == 1
    assert sum('"job_id"' in line["Tags"] for line in log) == 70
    assert sum(line["ServiceCategory"] == "Storage" and not line["Tags"] for line in log) > 50
    assert {"Databases", "Web", "Security"} <= {line["ServiceCategory"] for line in log}
    assert {"Standard", "Dynamic", "Committed"} <= {line["PricingCategory"] for line in log}
    assert any(Decimal(line["BilledCost"]) < 0 and not line["ChargeClass"] for line in log if line["SkuId"])


def test_monthly_lines_of_owned_machines_are_on_a_second_bill(rows):
    machines = [line for line in rows("bill-owned.csv") if line["ResourceType"] == "Server"]
    assert len({line["ResourceId"] for line in machines}) == 6
    assert {cells(line, "ChargePeriodStart", "ChargePeriodEnd") for line in machines} == {
        ("2026-10-01T00:00:00Z", "2026-11-01T00:00:00Z")
    }


def test_costs_are_prices_times_quantities(rows):
    priced = [line for line in bill(rows) if line["ListUnitPrice"]]
    assert len(priced) > 40_000
    for line in priced:
        quantity = Decimal(line["PricingQuantity"])
        assert Decimal(line["ListUnitPrice"]) * quantity == Decimal(line["ListCost"])
        assert Decimal(line["ContractedUnitPrice"]) * quantity == Decimal(line["ContractedCost"])


def test_amounts_have_at_most_ten_decimals(rows):
    assert all(units(line[cost]) % 100 == 0 for line in bill(rows) for cost in COSTS.values())


def test_a_commitments_purchase_is_amortized_over_its_usage(rows):
    of_plan = [line for line in rows("bill-cloud.csv") if line["CommitmentDiscountId"]]
    used = sum(Decimal(line["EffectiveCost"]) for line in of_plan if line["ChargeCategory"] == "Usage")
    bought = [line for line in of_plan if line["ChargeCategory"] == "Purchase"]
    assert [Decimal(line["EffectiveCost"]) for line in bought] == [0]
    assert sum(Decimal(line["BilledCost"]) for line in bought) == used


def test_only_tax_and_credits_have_no_price(rows):
    unpriced = {line["ChargeCategory"] for line in bill(rows) if not line["SkuId"]}
    assert unpriced == {"Tax", "Credit"}


def test_the_figures_are_realistic(october):
    total, effective = october.total("effective"), Counter()
    for (payer, _), amounts in october.owed.items():
        effective[payer if payer.startswith("__") else "known"] += amount(amounts[0])
    part = {payer: money / total for payer, money in effective.items()}
    assert 500_000 < total < 1_500_000
    assert Decimal("0.10") < part["__idle__"] < Decimal("0.20")
    assert Decimal("0.05") < part["__outside__"] < Decimal("0.08")
    assert Decimal("0.03") < part["__unallocated__"] < Decimal("0.05")


def test_the_teams_pay_clearly_different_rates(october):
    month, gpu_hours, money = span_of(OCTOBER), Counter(), Counter()
    team = {f"{a.job.job_id}#{a.number}": a.job.team for a in october.workload.attempts}
    for attempt in october.workload.attempts:
        start, end = overlap((attempt.started, attempt.ended), month)
        gpu_hours[attempt.job.team] += (
            Decimal(attempt.micro_gpus * (end - start) * len(attempt.machines)) / 3600 / 10**6
        )
    for (payer, _), amounts in october.owed.items():
        if payer in team:
            money[team[payer]] += amount(amounts[0])
    rates = {name: money[name] / gpu_hours[name] for name in gpu_hours}
    assert Decimal("1.5") < rates["speech"] < rates["vision"] * Decimal("0.9")
    assert rates["vision"] * Decimal("1.5") < rates["nlp"] < 6
