"""A run counts once, in however many job log files it appears: while running, after its end, with other runs."""

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from trainfare.cli.main import cli

HEADER = "JobID|Cluster|User|State|Start|End|ElapsedRaw|Suspended|AllocTRES|NodeList"
COLUMNS = {
    "BillingCurrency": "USD",
    "BillingPeriodStart": "2026-10-01T00:00:00Z",
    "BillingPeriodEnd": "2026-11-01T00:00:00Z",
    "ChargePeriodStart": "2026-10-05T00:00:00Z",
    "ChargePeriodEnd": "2026-10-06T00:00:00Z",
    "ChargeCategory": "Usage",
    "ServiceCategory": "Compute",
    "ServiceName": "VM",
    **dict.fromkeys(("BilledCost", "EffectiveCost", "ListCost", "ContractedCost"), "192"),
}
BILL = "\n".join(
    [",".join([*COLUMNS, "ResourceId"]), *(",".join([*COLUMNS.values(), node]) for node in ("gpu01", "gpu02")), ""]
)
"""A GPU hour of these two machines costs 1.00."""


def run(job: str, state: str, start: int, end: int | None, gpus: int = 8, nodes: str = "gpu01", **fields: str) -> str:
    """A line of sacct; hours count from the morning of the fifth."""
    until = "Unknown" if end is None else f"2026-10-05T{end:02}:00:00"
    elapsed = "" if end is None else str((end - start) * 3600)
    account = (fields.get("cluster", "c"), fields.get("user", "ana"))
    return "|".join(
        [
            job,
            *account,
            state,
            f"2026-10-05T{start:02}:00:00",
            until,
            elapsed,
            "00:00:00",
            f"cpu=8,gres/gpu={gpus}",
            nodes,
        ]
    )


def report(folder: Path, logs: list[list[str]], by: str, header: str = HEADER) -> dict[str, Any]:
    (folder / "bill.csv").write_text(BILL)
    (folder / "machines.csv").write_text("machine_id,gpus\ngpu01,8\ngpu02,8\n")
    arguments = [str(folder / "bill.csv"), "--machines", str(folder / "machines.csv"), "--by", by, "--format", "json"]
    for number, lines in enumerate(logs):
        log = folder / f"log{number}.txt"
        log.write_text("\n".join([header, *lines, ""]))
        arguments += ["--jobs", str(log)]
    done = CliRunner().invoke(cli, ["report", *arguments])
    assert done.exit_code == 0, done.output
    answer: dict[str, Any] = json.loads(done.stdout)
    assert Decimal(answer["difference"]) == 0
    return answer


def costs(answer: dict[str, Any], *keys: str) -> dict[Any, tuple[str, str]]:
    return {tuple(row[key] for key in keys): (row["cost"], row["gpu_hours"]) for row in answer["rows"]}


ENDED_LATER = [[run("41", "RUNNING", 6, None)], [run("41", "COMPLETED", 6, 12)]]


@pytest.mark.parametrize("logs", [ENDED_LATER, ENDED_LATER[::-1]], ids=["in order", "reversed"])
def test_a_job_that_still_ran_in_one_export_ends_with_the_next(tmp_path: Path, logs: list[list[str]]):
    answer = report(tmp_path, logs, "job,state,slurm_state")
    assert costs(answer, "job", "state", "slurm_state") == {("c/41", "completed", "COMPLETED"): ("48.00", "48.00")}
    assert {finding["code"] for finding in answer["findings"]} == {"MACHINE_WITHOUT_JOBS"}


def test_a_node_missing_from_later_exports_ends_with_its_attempt(tmp_path: Path):
    """The second node was released in between, at an unknown time; it was held no longer than the job ran."""
    answer = report(
        tmp_path, [[run("41", "RUNNING", 6, None, 16, "gpu[01-02]")], [run("41", "FAILED", 6, 12)]], "job,state"
    )
    assert costs(answer, "job", "state") == {("c/41", "failed"): ("96.00", "96.00")}


def test_a_plain_job_file_may_deliver_the_end_later(tmp_path: Path):
    rows = ["a,1,gpu01,2026-10-05T00:00:00Z,,8", "a,1,GPU01,2026-10-05T00:00:00Z,2026-10-05T12:00:00Z,8"]
    header = "job_id,attempt,machine_id,started,ended,gpus"
    for logs in ([[rows[0]], [rows[1]]], [rows]):
        answer = report(tmp_path, logs, "job,state", header)
        assert costs(answer, "job", "state") == {("a", "unknown"): ("96.00", "96.00")}


def test_releasing_one_machine_does_not_end_the_others(tmp_path: Path):
    rows = ["a,1,gpu01,2026-10-05T00:00:00Z,2026-10-05T12:00:00Z,8", "a,1,gpu02,2026-10-05T00:00:00Z,,8"]
    answer = report(tmp_path, [rows], "job,state", "job_id,attempt,machine_id,started,ended,gpus")
    assert costs(answer, "job", "state") == {("a", "running"): ("288.00", "288.00")}


WIDE = run("41", "RESIZING", 6, 8, 16, "gpu[01-02]")
NARROW = run("41", "COMPLETED", 6, 12)
BEFORE = run("41", "RUNNING", 6, None, 16, "gpu[01-02]")
AFTER = run("41", "RUNNING", 6, None)
"""Two nodes from 6 to 8, one of them up to 12; Slurm reports the rest from 6 as well."""


@pytest.mark.parametrize(
    "logs",
    [
        [[WIDE, NARROW]],
        [[WIDE], [NARROW]],
        [[NARROW], [WIDE]],
        [[WIDE, AFTER], [NARROW]],
        [[WIDE, NARROW], [NARROW]],
        [[BEFORE], [WIDE, AFTER], [NARROW]],
        [[BEFORE], [WIDE], [NARROW]],
        [[BEFORE], [WIDE, NARROW]],
        [[WIDE], [AFTER], [NARROW]],
    ],
)
def test_a_resized_job_continues_across_exports(tmp_path: Path, logs: list[list[str]]):
    answer = report(tmp_path, logs, "attempt,state,slurm_state")
    assert costs(answer, "attempt", "state", "slurm_state") == {
        ("c/41#1", "completed", "COMPLETED"): ("64.00", "64.00")
    }
    assert "OVERLAPPING_ROWS" not in {finding["code"] for finding in answer["findings"]}


@pytest.mark.parametrize(
    "logs", [[[WIDE, AFTER]], [[WIDE], [AFTER]], [[BEFORE], [WIDE, AFTER]], [[WIDE, AFTER], [AFTER]]]
)
def test_a_running_resized_job_holds_its_remaining_nodes(tmp_path: Path, logs: list[list[str]]):
    """32 GPU hours up to 8, and the 8 GPUs of one node for the 16 hours that are left of the bill."""
    answer = report(tmp_path, logs, "attempt,state")
    assert costs(answer, "attempt", "state") == {("c/41#1", "running"): ("160.00", "160.00")}


@pytest.mark.parametrize("restarts", [False, True], ids=["unnumbered", "numbered by Slurm"])
def test_a_job_resized_twice_may_be_spread_over_several_exports(tmp_path: Path, restarts: bool):
    """One node, then two, then one: the second node was held from 8 to 10 only."""
    records = [run("41", "RESIZING", 6, 8), run("41", "RESIZING", 6, 10, 16, "gpu[01-02]"), run("41", "FAILED", 6, 12)]
    header = f"{HEADER}|Restarts" if restarts else HEADER
    lines = [f"{record}|0" if restarts else record for record in records]
    for logs in ([lines], [[one] for one in lines], [lines[1:], lines[:2]], [lines[2:], lines[:1], lines]):
        answer = report(tmp_path, logs, "attempt,state", header)
        assert costs(answer, "attempt", "state") == {("c/41#1", "failed"): ("64.00", "64.00")}, logs


def test_a_resized_job_that_continues_with_a_new_start_is_one_attempt(tmp_path: Path):
    later = run("41", "FAILED", 8, 12)
    for logs in ([[WIDE, later]], [[WIDE], [later]]):
        answer = report(tmp_path, logs, "attempt,state")
        assert costs(answer, "attempt", "state") == {("c/41#1", "failed"): ("64.00", "64.00")}


def test_a_part_of_a_heterogeneous_job_that_is_resized_does_not_shorten_the_others(tmp_path: Path):
    parts = [
        run("41+0", "RESIZING", 6, 8, 4),
        run("41+0", "COMPLETED", 6, 12, 2),
        run("41+1", "COMPLETED", 6, 12, 8, "gpu02"),
    ]
    answer = report(tmp_path, [parts, [run("7", "COMPLETED", 0, 1)]], "job")
    assert costs(answer, "job") == {("c/41",): ("64.00", "64.00"), ("c/7",): ("8.00", "8.00")}


def test_runs_are_counted_over_all_exports(tmp_path: Path):
    lost, done = run("41", "NODE_FAIL", 1, 2, 4), run("41", "COMPLETED", 6, 12, 4)
    for logs in ([[lost, done], [done]], [[done], [lost, done]], [[lost], [done]]):
        answer = report(tmp_path, logs, "attempt,state")
        assert costs(answer, "attempt", "state") == {
            ("c/41#1", "node_failed"): ("4.00", "4.00"),
            ("c/41#2", "completed"): ("24.00", "24.00"),
        }


def test_one_id_on_two_clusters_is_two_jobs(tmp_path: Path):
    """Other jobs keep their ids, which tags and measurements refer to."""
    ana = [run("41", "COMPLETED", 6, 12, cluster="a"), run("7", "COMPLETED", 12, 13, cluster="a")]
    ben = [run("41", "COMPLETED", 6, 12, 8, "gpu02", cluster="b", user="ben")]
    answer = report(tmp_path, [ana, ben], "job,owner")
    assert costs(answer, "job", "owner") == {
        ("a/41", "ana"): ("48.00", "48.00"),
        ("b/41", "ben"): ("48.00", "48.00"),
        ("a/7", "ana"): ("8.00", "8.00"),
    }


def test_array_tasks_canceled_before_they_started_are_ignored(tmp_path: Path):
    canceled = "43_[5-10]|c|ana|CANCELLED by 1000|2026-10-05T06:00:00|2026-10-05T06:00:00|0|00:00:00||None assigned"
    assert costs(report(tmp_path, [[canceled, run("41", "COMPLETED", 6, 12)]], "job"), "job") == {
        ("c/41",): ("48.00", "48.00")
    }
