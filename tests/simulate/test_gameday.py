"""Game days: complete records give every job its true cost, and each fault gives exactly its own finding."""

import csv
import json
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import pytest

from trainfare.simulate.cluster import simulate_game_day
from trainfare.simulate.cluster.faults import FAULT_KINDS, NEAR_MISS_KINDS
from trainfare.simulate.cluster.near_misses import INEXACT
from trainfare.simulate.scorecard import COMPLETE, Result, run

pytestmark = pytest.mark.services

MACHINES = 16


def bill_lines(folder: Path, billed_through: int | None) -> list[dict[str, str]]:
    """Return the lines of a game day's CSV bill: an identifying key and the cost."""
    simulate_game_day(folder, 3, MACHINES, {}, billed_through=billed_through)
    with (folder / "bill-eu.csv").open(encoding="utf-8", newline="") as file:
        key = ("ChargePeriodStart", "ResourceId", "SkuId", "CommitmentDiscountStatus")
        return [
            {"x": " ".join(row[name] for name in key), "cost": row["EffectiveCost"]} for row in csv.DictReader(file)
        ]


def result_of(day: str, seed: int) -> Result:
    (score,) = run([day], [seed], MACHINES)
    return score.results[0]


def test_with_complete_records_every_job_pays_its_true_cost() -> None:
    result = result_of(COMPLETE, 3)
    assert result.jobs > 300
    assert (result.wrong_jobs, result.error, result.found) == (0, 0, frozenset())
    assert result.estimate_error is not None
    assert 0 < result.estimate_error < Decimal("0.05")


def test_a_partial_bill_grows_and_its_last_day_is_restated(tmp_path: Path) -> None:
    """The last day of a partial provisional bill is too high; all other lines stay as they are."""
    partial, complete_bill = (
        {line["x"]: line["cost"] for line in lines}
        for lines in (bill_lines(tmp_path, through) for through in (24, None))
    )
    assert set(partial) < set(complete_bill)
    assert {x[:10] for x in set(complete_bill) - set(partial)} == {f"2026-10-{day}" for day in range(25, 32)}
    assert {x[:10] for x in partial if partial[x] != complete_bill[x]} == {"2026-10-24"}


@pytest.mark.parametrize("day", FAULT_KINDS)
def test_a_fault_gives_its_finding_and_no_other_with_the_money_at_stake(day: str) -> None:
    result = result_of(day, 4)
    assert result.found == {day}
    assert result.true_stake > 0
    assert result.is_correct, f"{result.at_stake} instead of {result.true_stake}"


@pytest.mark.parametrize("day", NEAR_MISS_KINDS)
def test_a_near_miss_gives_no_finding_and_leaves_every_job_its_true_cost(day: str) -> None:
    result = result_of(day, 5)
    assert result.found == frozenset()
    assert result.error == 0 or day in INEXACT
    assert result.is_correct


def test_a_false_finding_is_not_scored_as_correct() -> None:
    """Twenty idle machines are a burst; called a near miss, they give a finding that is not expected."""
    result = result_of("N7:20", 5)
    assert result.false == {"F7"}
    assert not result.is_correct


def test_a_missed_finding_is_not_scored_as_correct() -> None:
    """A burst of zero machines cannot be found; the score card must say so."""
    result = result_of("F7:0.1", 4)
    assert result.missed == {"F7"}
    assert not result.is_correct


def test_the_score_card_is_printed_by_the_command(tmp_path: Path) -> None:
    command = Path(sys.executable).with_name("trainfare")
    arguments = ["gameday", "--seeds", "1", "--machines", str(MACHINES), "--fault", "F6", "--format", "json"]
    ran = subprocess.run([command, *arguments], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    complete, commitment = json.loads(ran.stdout)["days"]
    assert (complete["day"], complete["correct"], complete["wrong_jobs"], complete["worst_job"]) == (
        "complete",
        1,
        0,
        "0.00",
    )
    assert (commitment["day"], commitment["found"], commitment["missed"], commitment["false"]) == ("F6", 1, 0, 0)
