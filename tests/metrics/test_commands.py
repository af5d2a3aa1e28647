"""`trainfare metrics`, `trainfare checkpoints` and `report --per productive`, as a user calls them."""

import csv
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from account.books import Bookkeeper
from account.story import case_of

from trainfare.cli import main
from trainfare.report import records

MONTH = """
machine  n1   4 gpus  10 h  10.00 USD  pool spot
attempt  a#1  4 gpus  5 h  state preempted  team nlp
measured a#1  step 1  1 h
measured a#1  checkpoint 100  6 min  from 1 h
measured a#1  checkpoint 200  6 min  from 4 h
attempt  a#2  4 gpus  5 h  from 5 h  team nlp
"""
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    keeper = Bookkeeper(tmp_path_factory.mktemp("metrics"))
    folder = keeper.write(case_of(MONTH))
    keeper.close()
    with pytest.raises(SystemExit) as exited:
        main(["build", "-w", str(folder)])
    assert not exited.value.code
    return folder


@pytest.fixture
def run(workspace: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    def called(*arguments: str) -> tuple[int, str, str]:
        capsys.readouterr()
        with pytest.raises(SystemExit) as exited:
            main([*arguments, "-w", str(workspace)])
        captured = capsys.readouterr()
        return int(exited.value.code or 0), captured.out, captured.err

    return called


def test_metrics_are_printed_in_every_format(run: Run) -> None:
    code, text, _ = run("metrics", "--format", "json")
    answer = json.loads(text)
    assert (code, answer["schema_version"], answer["currency"]) == (0, 1, "USD")
    assert {row["metric"] for row in answer["metrics"]} >= {"M1", "M2", "M3", "M4", "M5", "M8", "M10"}
    rows = list(csv.DictReader(run("metrics", "--format", "csv")[1].splitlines()))
    assert [row["value"] or None for row in rows] == [row["value"] for row in answer["metrics"]]
    assert run("metrics", "--format", "md")[1].count("\n") == len(rows) + 2
    assert "M10" in run("metrics")[1]


def test_metrics_of_everything_together_need_no_network_cost(run: Run) -> None:
    code, text, err = run("metrics", "--by", "", "--format", "json")
    assert (code, err) == (0, "")
    assert {row["metric"] for row in json.loads(text)["metrics"]} >= {"M1", "M8"}


def test_lost_cost_is_reported_by_job(run: Run) -> None:
    """After its second checkpoint the attempt ran 54 minutes more, at a dollar an hour."""
    rows = json.loads(run("metrics", "--metric", "m5", "--by", "job", "--format", "json")[1])["metrics"]
    assert {row["detail"]: row["numerator"] for row in rows} == {"lost": "0.90", "overhead": "0.20"}


def test_checkpoint_intervals_are_recommended_and_simulated(run: Run) -> None:
    (row,) = json.loads(run("checkpoints", "--format", "json")[1])["checkpoints"]
    assert row["best_seconds"] < row["interval_seconds"]
    assert abs(row["simulated_seconds"] / row["best_seconds"] - 1) < 0.1
    assert "simulated" in run("checkpoints")[1]


def test_a_report_says_which_hours_are_productive(run: Run) -> None:
    """Ten hours of four GPUs cost ten dollars; 54 minutes were lost, so 36.4 GPU hours were productive."""
    _, text, _ = run("report", "--per", "productive", "--format", "json")
    answer = json.loads(text)
    assert (answer["per"], answer["productive"]) == ("productive", "not_lost")
    assert (answer["overall"]["gpu_hours"], answer["overall"]["rate"]) == ("36.40", "0.274725")
    assert "not lost to an interruption" in " ".join(run("report", "--per", "productive")[1].split())
    assert (
        json.loads(run("report", "--per", "productive", "--productive", "busy", "--format", "json")[1])["overall"][
            "rate"
        ]
        is None
    )


@pytest.mark.parametrize("productive", ["not_lost", "busy"])
def test_a_report_from_files_has_the_productive_hours_of_a_workspace(
    run: Run, workspace: Path, capsys: pytest.CaptureFixture[str], productive: str
) -> None:
    arguments = ["--per", "productive", "--productive", productive, "--format", "json"]
    files = {one: str(workspace / f"{one}.csv") for one in ("bill", "jobs", "machines", "measured")}
    of_workspace = json.loads(run("report", *arguments)[1])
    inputs = ["--jobs", files["jobs"], "--machines", files["machines"], "--with", files["measured"]]
    with pytest.raises(SystemExit) as exited:
        main(["report", files["bill"], *inputs, *arguments])
    assert not exited.value.code
    assert json.loads(capsys.readouterr().out)["rows"] == of_workspace["rows"]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["metrics", "--metric", "M11"], "--metric: there is no metric M11\n  Use one of M1, M2,"),
        (["report", "--productive", "busy"], "--productive: has no effect with --per wall\n  Add --per productive."),
        (
            ["metrics", "--by", "machine"],
            "--by: not every metric has the key 'machine'\n  Group by one of job, attempt,",
        ),
    ],
)
def test_impossible_questions_are_rejected(run: Run, arguments: list[str], text: str) -> None:
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert text in err


def test_zero_of_a_negative_total_is_not_negative(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    times = "2026-10-01T00:00:00Z,2026-10-01T04:00:00Z"
    (tmp_path / "bill.csv").write_text(
        "BilledCost,EffectiveCost,BillingCurrency,ChargeCategory,ChargePeriodStart,ChargePeriodEnd,ResourceId\n"
        f"-8.00,-8.00,USD,Credit,{times},n1\n"
    )
    (tmp_path / "jobs.csv").write_text(f"job_id,attempt,machine_id,started,ended,gpus,team\na,1,n1,{times},4,nlp\n")
    with pytest.raises(SystemExit) as exited:
        main(["report", str(tmp_path / "bill.csv"), "--jobs", str(tmp_path / "jobs.csv")])
    output = capsys.readouterr().out
    assert (exited.value.code or 0, "-8.00" in output) == (0, True)
    assert "-0.0%" not in output


def test_a_narrow_terminal_leaves_out_columns_instead_of_wrapping(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    head = run("checkpoints")[1].splitlines()[1]
    assert "uptime" not in head
    assert "interval s" in head
    assert "best s" in head


def test_only_optional_columns_are_left_out() -> None:
    rows = [{"kind": "machine", "method": "last rate", "error": "1.00"}]
    assert records.fitting_columns(rows, list(rows[0]), ("kind",), 80) == ["kind", "method", "error"]
    assert records.fitting_columns(rows, list(rows[0]), ("kind",), 20) == ["method", "error"]
