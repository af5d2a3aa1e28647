"""`trainfare run`: a program runs as it would without it, and what it did is recorded."""

import os
import random
import signal
import stat
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import trainfare_sdk.attempts
import trainfare_sdk.environment
from hypothesis import given
from hypothesis import strategies as st

from trainfare.cli.run import Price
from trainfare.sources.telemetry import environment, spool

from .programs import environment as variables
from .programs import events, of_type, types

COMMAND = str(Path(sys.executable).with_name("trainfare"))
SDK_PROGRAM = "import trainfare_sdk\nwith trainfare_sdk.job('inner', machine='n9') as job: job.step(5)"


def start(folder: Path, *arguments: str, **given: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [COMMAND, "run", *arguments],
        env=variables(folder, **given),
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def run(folder: Path, *arguments: str, **given: str) -> tuple[int, str, str]:
    program = start(folder, *arguments, **given)
    out, err = program.communicate(timeout=120)
    return program.returncode, out, err


@pytest.mark.parametrize(("code", "state"), [(0, "completed"), (7, "failed"), (255, "failed")])
def test_the_exit_code_is_the_programs(tmp_path: Path, code: int, state: str) -> None:
    found = run(tmp_path, "--job", "a", "--label", "team=cv", "--", "sh", "-c", f"echo out; exit {code}")
    assert found[:2] == (code, "out\n")
    assert f"trainfare: a attempt 1 {state} after 0 s (exit {code}); cost unknown without a price" in found[2]
    assert found[2].count("\n") == 1
    recorded = events(tmp_path)
    assert types(recorded) == ["start", "end"]
    assert recorded[0]["data"]["labels"]["team"] == "cv"
    assert (recorded[1]["data"]["state"], recorded[1]["data"]["exit_code"]) == (state, code)


TRAP = "trap 'echo got; exit 3' {name}; echo ready; while :; do sleep 0.05; done"


@pytest.mark.parametrize("name", ["TERM", "INT", "HUP", "USR1", "USR2"])
def test_signals_reach_the_program_and_are_recorded(tmp_path: Path, name: str) -> None:
    program = start(tmp_path, "--job", "a", "--", "bash", "-c", TRAP.format(name=name))
    assert program.stdout is not None
    assert program.stdout.readline() == "ready\n"
    program.send_signal(signal.Signals[f"SIG{name}"])
    out, _ = program.communicate(timeout=60)
    assert (program.returncode, out) == (3, "got\n")
    assert [one["signal"] for one in of_type(events(tmp_path), "signal")] == [f"SIG{name}"]


@pytest.mark.parametrize(("number", "state"), [(signal.SIGTERM, "canceled"), (signal.SIGKILL, "failed")])
def test_a_program_that_a_signal_ends_is_reported_as_a_shell_does(tmp_path: Path, number: int, state: str) -> None:
    code, _, err = run(tmp_path, "--job", "a", "--", "sh", "-c", f"kill -{int(number)} $$")
    assert code == 128 + number
    assert f"{state} after 0 s ({signal.Signals(number).name})" in err
    (end,) = of_type(events(tmp_path), "end")
    assert (end["state"], end["signal"]) == (state, signal.Signals(number).name)


def test_the_program_has_no_signal_blocked(tmp_path: Path) -> None:
    _, out, _ = run(tmp_path, "--", "grep", "SigBlk", "/proc/self/status")
    assert out.split() == ["SigBlk:", "0" * 16]


def test_the_sdk_in_the_program_reports_the_same_attempt(tmp_path: Path) -> None:
    for attempt in (1, 2):
        assert run(tmp_path, "--job", "a", "--", sys.executable, "-c", SDK_PROGRAM)[0] == 0
        found = [one["data"] for one in events(tmp_path) if one["data"]["attempt"] == attempt]
        assert {(one["job"], one["machine"]) for one in found} == {("a", "n1")}
        assert len([one for one in found if "run" in one]) == 2
        assert len({one["run"] for one in found if "run" in one}) == 1


def test_a_scheduler_names_the_job_and_counts_its_attempts(tmp_path: Path) -> None:
    given = {"SLURM_JOB_ID": "4711", "SLURM_RESTART_COUNT": "2", "SLURM_CLUSTER_NAME": "east"}
    run(tmp_path, "--", "true", **given)
    (begun,) = of_type(events(tmp_path), "start")
    assert (begun["job"], begun["attempt"], begun["cluster"]) == ("4711", 3, "east")


def test_a_cost_needs_a_price_and_is_exact(tmp_path: Path) -> None:
    _, _, err = run(tmp_path, "--price", "36000 usd", "--", "sleep", "0.3")
    assert " at 36000 USD/h; events in " in err
    assert Price(Decimal("36"), "USD").cost(3600 * 10**9) == "36.00 USD"
    assert Price(Decimal("0.01"), "EUR").cost(1800 * 10**9) == "0.01 EUR"


def test_gpu_use_is_recorded_where_nvidia_smi_is_there(tmp_path: Path) -> None:
    """A stand-in for the program: this machine may have no GPU."""
    smi = tmp_path / "bin" / "nvidia-smi"
    smi.parent.mkdir()
    smi.write_text("#!/bin/sh\nprintf '50\\n100\\n'\n")
    smi.chmod(smi.stat().st_mode | stat.S_IXUSR)
    run(tmp_path / "with", "--", "sleep", "1", PATH=f"{smi.parent}{os.pathsep}{os.environ['PATH']}")
    (used,) = of_type(events(tmp_path / "with"), "usage")
    assert 1.5 <= used["values"]["gpu_busy_seconds"] < 30
    run(tmp_path / "without", "--", "true", PATH="/usr/bin:/bin")
    assert not of_type(events(tmp_path / "without"), "usage")


def test_a_spool_that_cannot_be_written_does_not_stop_the_program_if_its_attempt_is_known(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    code, out, err = run(tmp_path / "file", "--", "echo", "trained", TRAINFARE_ATTEMPT="1")
    assert (code, out) == (0, "trained\n")
    assert "no events were written" in err


SYSTEMS: list[dict[str, str]] = [
    {},
    {"SLURM_JOB_ID": "7", "SLURM_ARRAY_JOB_ID": "5", "SLURM_ARRAY_TASK_ID": "2", "SLURMD_NODENAME": "gpu01"},
    {"SLURM_JOB_ID": "7", "SLURM_RESTART_COUNT": "1", "SLURM_GPUS_ON_NODE": "4", "SLURM_JOB_USER": "ana"},
    {"TORCHELASTIC_RUN_ID": "none", "TORCHELASTIC_RESTART_COUNT": "1", "RANK": "3"},
    {"TORCHELASTIC_RUN_ID": "r-1", "CUDA_VISIBLE_DEVICES": "0,2"},
    {"POD_NAME": "train-0", "POD_UID": "u-1", "JOB_NAME": "train"},
    {"TRAINING_JOB_NAME": "sm-1", "CUDA_VISIBLE_DEVICES": ""},
    {"AWS_BATCH_JOB_ID": "b-1", "AWS_BATCH_JOB_ATTEMPT": "2"},
    {"RAY_JOB_ID": "01000000", "USER": "root"},
    {"GITHUB_RUN_ID": "9", "CUDA_VISIBLE_DEVICES": "0,-1,1", "USER": "ben"},
    {
        "TRAINFARE_JOB": "x",
        "TRAINFARE_ATTEMPT": "4",
        "TRAINFARE_MACHINE": "m",
        "TRAINFARE_RUN": "k",
        "TRAINFARE_CLUSTER": "c",
    },
]
KEYS = sorted({key for one in SYSTEMS for key in one})
QUESTIONS = ("attempt", "run_key", "machine", "gpus", "cluster", "ids", "owner")


def answers(module: Any, env: dict[str, str]) -> dict[str, Any]:
    found = {name: getattr(module, name)(env) for name in QUESTIONS}
    return found | {"job": module.job_id(env, None), "named": module.job_id(env, "name")}


@pytest.mark.parametrize(
    ("env", "expected"),
    [
        (SYSTEMS[1], {"job": "5_2", "attempt": 1, "machine": "gpu01"}),
        (SYSTEMS[2], {"named": "7", "attempt": 2, "gpus": 4, "owner": "ana"}),
        (SYSTEMS[3], {"attempt": None, "run_key": None, "named": "name"}),
        (SYSTEMS[4], {"run_key": "r-1-0", "gpus": 2, "attempt": None}),
        (SYSTEMS[5], {"job": "train", "ids": {"pod_name": "train-0", "pod_uid": "u-1"}}),
        (SYSTEMS[6], {"job": "sm-1", "named": "name", "gpus": 0}),
        (SYSTEMS[7], {"job": "b-1", "attempt": 2}),
        (SYSTEMS[8], {"job": "01000000", "owner": None}),
        (SYSTEMS[9], {"gpus": 1, "owner": "ben", "job": None}),
        (SYSTEMS[10], {"named": "x", "attempt": 4, "machine": "m", "run_key": "k", "cluster": "c"}),
    ],
)
def test_ids_are_found_in_the_environment(env: dict[str, str], expected: dict[str, Any]) -> None:
    assert answers(trainfare_sdk.environment, env).items() >= expected.items()


@given(st.dictionaries(st.sampled_from(KEYS), st.sampled_from(["", "0", "1", "7", "none", "x,y", "-1", "1e3"])))
def test_the_sdk_and_the_command_find_the_same(env: dict[str, str]) -> None:
    assert answers(trainfare_sdk.environment, env) == answers(environment, env)


def test_an_instance_states_its_own_id(tmp_path: Path) -> None:
    tag = tmp_path / "tag"
    for text, expected in (("i-0123456789abcdef0\n", "i-0123456789abcdef0"), ("Not Specified\n", os.uname().nodename)):
        tag.write_text(text)
        for module in (environment, trainfare_sdk.environment):
            assert module.machine({}, str(tag)) == expected


def test_the_sdk_and_the_command_count_attempts_together(tmp_path: Path) -> None:
    chance = random.Random(7)
    for job in ("a", "a/b", "ä", "." * 80):
        for number in range(1, 6):
            claim = chance.choice([trainfare_sdk.attempts.claim, spool.claim_attempt])
            folder: Any = str(tmp_path) if claim is trainfare_sdk.attempts.claim else tmp_path
            assert claim(folder, job, f"run-{number}") == number
            assert claim(folder, job, f"run-{number}") == number
