"""Game days end right: complete records give every job its true cost, and each fault gives its own finding and no other."""

import csv
import json
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import pytest

from trainfare.gameday import COMPLETE, Result, run
from trainfare.simulate.cluster import play
from trainfare.simulate.cluster.faults import KINDS

MACHINES = 16


def bill_lines(folder: Path, billed_through: int | None) -> list[dict[str, str]]:
    """The lines of a game day's CSV bill: when and what for, and the cost."""
    play(folder, 3, MACHINES, {}, billed_through=billed_through)
    with (folder / "bill-eu.csv").open(encoding="utf-8", newline="") as opened:
        named = ("ChargePeriodStart", "ResourceId", "SkuId", "CommitmentDiscountStatus")
        return [
            {"x": " ".join(row[name] for name in named), "cost": row["EffectiveCost"]} for row in csv.DictReader(opened)
        ]


def played(day: str, seed: int) -> Result:
    (score,) = run([day], [seed], MACHINES)
    return score.results[0]


def test_with_complete_records_every_job_pays_its_true_cost() -> None:
    result = played(COMPLETE, 3)
    assert result.jobs > 300
    assert (result.wrong_jobs, result.error, result.found) == (0, 0, frozenset())
    assert result.estimate_off is not None
    assert 0 < result.estimate_off < Decimal("0.05")


def test_bills_come_late_and_are_stated_again(tmp_path: Path) -> None:
    """As far as the bill of one region had come its last day was too dear; the other only grows."""
    late, whole = (
        {line["x"]: line["cost"] for line in lines}
        for lines in (bill_lines(tmp_path, through) for through in (24, None))
    )
    assert set(late) < set(whole)
    assert {x[:10] for x in set(whole) - set(late)} == {f"2026-10-{day}" for day in range(25, 32)}
    assert {x[:10] for x in late if late[x] != whole[x]} == {"2026-10-24"}


@pytest.mark.parametrize("day", KINDS)
def test_a_fault_gives_its_finding_and_no_other_with_the_money_at_stake(day: str) -> None:
    result = played(day, 4)
    assert result.found == {day}
    assert result.true_stake > 0
    assert result.is_right, f"{result.at_stake} instead of {result.true_stake}"


def test_a_day_that_ends_wrong_is_not_taken_for_right() -> None:
    """Nobody can find a burst of no machines: the score card must say so."""
    result = played("F7:0.1", 4)
    assert result.missed == {"F7"}
    assert not result.is_right


def test_the_score_card_is_printed_by_the_command(tmp_path: Path) -> None:
    command = Path(sys.executable).with_name("trainfare")
    asked = ["gameday", "--seeds", "1", "--machines", str(MACHINES), "--fault", "F6", "--format", "json"]
    ran = subprocess.run([command, *asked], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    complete, commitment = json.loads(ran.stdout)["days"]
    assert (complete["day"], complete["right"], complete["wrong_jobs"], complete["worst_job"]) == (
        "complete",
        1,
        0,
        "0.00",
    )
    assert (commitment["day"], commitment["found"], commitment["missed"], commitment["false"]) == ("F6", 1, 0, 0)
