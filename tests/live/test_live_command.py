"""`trainfare live`: the rate per hour and the spend of a window, on the command line."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from trainfare.cli import live as command
from trainfare.cli import main
from trainfare.live import summary

JOBS = "job_id,attempt,machine_id,started,ended,gpus,state,team\n"
COLUMNS = "BilledCost,EffectiveCost,BillingCurrency,ChargeCategory,ServiceCategory,ServiceName,ResourceId,"
COLUMNS += "BillingPeriodStart,BillingPeriodEnd,ChargePeriodStart,ChargePeriodEnd\n"


def stamp(moment: datetime) -> str:
    return f"{moment:%Y-%m-%dT%H:%M:%SZ}"


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """n1 was billed at 8.00 an hour for the 24 hours up to three hours ago; a job holds 3 of its 4 GPUs since."""
    hour = datetime(2026, 10, 15, 12, tzinfo=UTC)
    monkeypatch.setattr(command, "_now", lambda: hour + timedelta(minutes=1))
    rows = []
    for number in range(27, 3, -1):
        start, end = hour - timedelta(hours=number), hour - timedelta(hours=number - 1)
        first = start.replace(day=1, hour=0)
        month = f"{stamp(first)},{stamp((first + timedelta(days=32)).replace(day=1))}"
        rows.append(f"8.00,8.00,USD,Usage,Compute,Virtual Machines,n1,{month},{stamp(start)},{stamp(end)}\n")
    (tmp_path / "bill.csv").write_text(COLUMNS + "".join(rows), encoding="utf-8")
    begun, over = hour - timedelta(hours=2), hour - timedelta(minutes=30)
    jobs = f"a,1,n1,{stamp(begun)},,3,running,nlp\nb,1,n2,{stamp(begun)},{stamp(over)},1,completed,vision\n"
    (tmp_path / "jobs.csv").write_text(JOBS + jobs, encoding="utf-8")
    (tmp_path / "machines.csv").write_text("machine_id,gpus\nn1,4\n", encoding="utf-8")
    sources = "".join(f'[[source]]\npath = "{name}.csv"\n' for name in ("bill", "jobs", "machines"))
    (tmp_path / "trainfare.toml").write_text(sources, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as left:
        main(arguments)
    printed = capsys.readouterr()
    return int(left.value.code or 0), printed.out, printed.err


def test_the_rate_and_the_spend_of_each_job(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "live", "--format", "json")
    assert code == 0, err
    found = json.loads(out)
    rows = {row["job"]: row for row in found["live"]}
    assert (rows["a"]["per_hour"], rows["a"]["cost"]) == ("6.00", "6.00")
    assert (rows["__idle__"]["per_hour"], rows["__idle__"]["cost"]) == ("2.00", "2.00")
    assert (rows["b"]["cost"], rows["b"]["reasons"]) == (None, "n2: no source knows this machine")
    assert [one["name"] for one in found["sources"]] == ["files"]
    assert found["unknown"] == [{"machine": "n2", "reason": "no source knows this machine", "seconds": 3600}]


def test_the_table_names_what_is_unknown_and_how_far_records_go(
    workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = run(capsys, "live", "--by", "team", "--window", "15m")
    assert code == 0, err
    assert "nlp" in out
    assert "1.50" in out
    assert "files: complete through" in err
    assert "n2: no source knows this machine" in err


def test_the_overhead_of_the_last_book_is_stated_and_not_included(
    workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bill = workspace / "bill.csv"
    line = bill.read_text(encoding="utf-8").splitlines()[-1]
    bill.write_text(
        bill.read_text(encoding="utf-8") + line.replace("Usage,Compute,Virtual Machines,n1", "Tax,Other,Tax,") + "\n",
        encoding="utf-8",
    )
    assert run(capsys, "build")[0] == 0
    code, out, err = run(capsys, "live", "--format", "json")
    assert code == 0, err
    found = json.loads(out)
    assert [one["factor"] for one in found["overhead"]] == ["0.0417"]  # 8.00 of tax on 24 hours of 8.00
    assert {row["job"]: row["per_hour"] for row in found["live"]}["a"] == "6.00"


def test_nothing_recorded_is_an_error_that_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(command, "_now", lambda: datetime(2026, 10, 15, 12, tzinfo=UTC))
    (tmp_path / "trainfare.toml").write_text("", encoding="utf-8")
    code, _, err = run(capsys, "live")
    assert (code, err.splitlines()[0]) == (3, "live: nothing was recorded for 2026-10 yet")


def test_the_keys_of_the_command_are_those_of_the_account() -> None:
    assert command.KEYS == summary.KEYS
