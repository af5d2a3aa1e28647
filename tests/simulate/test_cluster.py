"""The cluster of a game day: its events are consistent, and its records match the requested faults."""

import csv
import itertools
import json
from collections import defaultdict
from decimal import Decimal
from pathlib import Path

import pytest

from trainfare.engine.duckdb import DuckDB
from trainfare.errors import TrainfareError
from trainfare.period import Month
from trainfare.simulate.cluster import parse_faults, simulate_game_day
from trainfare.simulate.cluster.events import Cluster

OCTOBER = Month(2026, 10)
MACHINES = 16


@pytest.fixture(scope="module")
def cluster() -> Cluster:
    simulated = Cluster(5, OCTOBER, MACHINES, {})
    simulated.run()
    return simulated


def test_the_simulation_covers_every_state_team_and_shape(cluster: Cluster) -> None:
    states = defaultdict(int)
    for attempt in cluster.attempts:
        states[attempt.state] += 1
    assert states.keys() == {"completed", "preempted", "failed"}
    assert states["completed"] > 500
    assert min(states.values()) > 10
    assert {attempt.task.job.team for attempt in cluster.attempts} == {"nlp", "vision", "speech"}
    assert any(len(attempt.machines) > 1 for attempt in cluster.attempts)
    assert any(attempt.task.reads_remotely for attempt in cluster.attempts)


def test_no_machine_is_held_beyond_its_capacity_or_while_it_does_not_exist(cluster: Cluster) -> None:
    changes = defaultdict(list)
    for attempt in cluster.attempts:
        for machine in attempt.machines:
            assert machine.since <= attempt.started < attempt.ended <= machine.until
            changes[machine] += [(attempt.started, attempt.task.gpus), (attempt.ended, -attempt.task.gpus)]
    for machine, amounts in changes.items():
        held = 0
        for _, change in sorted(amounts):
            held += change
            assert 0 <= held <= machine.pool.kind.gpus


def test_attempts_of_a_job_follow_each_other_and_resume_from_the_last_checkpoint(cluster: Cluster) -> None:
    jobs = defaultdict(list)
    for attempt in cluster.attempts:
        jobs[attempt.task.job.job_id].append(attempt)
    several = [attempts for attempts in jobs.values() if len(attempts) > 1]
    assert len(several) > 20
    for attempts in several:
        assert [one.task.attempt for one in attempts] == list(range(1, len(attempts) + 1))
        for before, after in itertools.pairwise(attempts):
            assert before.ended <= after.started
            assert after.task.done == before.task.done + before.saved() * before.task.interval
            assert after.task.done < after.task.work
        assert attempts[-1].state in ("completed", "failed")


def test_a_preempted_attempt_lost_a_machine(cluster: Cluster) -> None:
    interrupted = [one for one in cluster.attempts if one.state == "preempted"]
    assert all(any(machine.until == one.ended for machine in one.machines) for one in interrupted)
    assert {one.task.pool.market for one in interrupted} == {"spot"}


@pytest.fixture(scope="module")
def complete(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return simulate_game_day(tmp_path_factory.mktemp("complete"), 5, MACHINES, {}).folder


def money(folder: Path, pattern: str) -> Decimal:
    engine = DuckDB()
    reader = "read_parquet" if pattern.endswith("parquet") else "read_csv"
    options = ", all_varchar = true" if reader == "read_csv" else ""
    (found,) = engine.row(
        f"SELECT sum(CAST(EffectiveCost AS DECIMAL(38,12))) FROM {reader}('{folder}/{pattern}'{options})"
    )
    engine.close()
    return found


def test_the_same_seed_gives_the_same_files(complete: Path, tmp_path: Path) -> None:
    again = simulate_game_day(tmp_path, 5, MACHINES, {}).folder
    names = sorted(path.name for path in complete.iterdir())
    assert len(names) == 13
    for name in names:
        if not name.endswith(".parquet"):
            assert (complete / name).read_bytes() == (again / name).read_bytes(), name
    assert money(complete, "bill-us.parquet") == money(again, "bill-us.parquet")


def test_the_true_costs_of_jobs_are_most_of_the_bills_but_not_all(complete: Path) -> None:
    jobs = sum(map(Decimal, json.loads((complete / "truth.json").read_text())["jobs"].values()))
    bills = money(complete, "bill-us.parquet") + money(complete, "bill-eu.csv")
    assert bills / 2 < jobs < bills


def test_a_job_loses_less_than_it_costs_and_only_if_it_was_interrupted(complete: Path, cluster: Cluster) -> None:
    truth = json.loads((complete / "truth.json").read_text())
    interrupted = {one.task.job.job_id for one in cluster.attempts if one.state != "completed"}
    lost = {job: Decimal(money) for job, money in truth["lost"].items() if Decimal(money)}
    assert len(lost) > 20
    assert lost.keys() <= interrupted
    assert all(money < Decimal(truth["jobs"][job]) for job, money in lost.items())


def test_the_logs_contain_requeued_jobs_and_repeated_rows(complete: Path) -> None:
    with (complete / "sacct.txt").open(encoding="utf-8") as file:
        numbers = [row["JobID"] for row in csv.DictReader(file, delimiter="|")]
    assert len(numbers) > len(set(numbers))
    rows = (complete / "jobs.csv").read_text(encoding="utf-8").splitlines()
    assert len(rows) - len(set(rows)) == 25


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["F11"], "unknown fault 'F11'"),
        (["churn"], "'churn' is not a fault"),
        (["F7:-2"], "'F7:-2' is not a fault"),
        (["F7@32"], "2026-10 has no day 32"),
        (["F7", "f7:3"], "F7 is given twice"),
    ],
)
def test_an_invalid_fault_is_rejected(texts: list[str], expected: str) -> None:
    with pytest.raises(TrainfareError) as caught:
        parse_faults(texts, OCTOBER)
    assert caught.value.what == expected


def test_a_fault_has_the_size_and_time_it_is_given() -> None:
    (fault,) = parse_faults(["f7:2.5@10"], OCTOBER).values()
    assert (fault.code, fault.size, fault.day, fault.times(4)) == ("F7", Decimal("2.5"), 10, 10)
    (usual,) = parse_faults(["F7"], OCTOBER).values()
    assert (usual.size, usual.day) == (Decimal(2), 10)


def test_a_larger_fault_puts_more_at_stake(tmp_path: Path) -> None:
    small, large = (
        simulate_game_day(tmp_path / size, 5, MACHINES, parse_faults([f"F7:{size}"], OCTOBER)).stakes["F7"]
        for size in ("1", "3")
    )
    assert 0 < 2 * small < large
