"""`trainfare collect` and the books that are built from what it recorded."""

import json
from pathlib import Path

import pytest

from trainfare.cli import main
from trainfare.store import Store

from .kubernetes_objects import node, pod
from .test_kubernetes import write as write_list
from .test_slurm_recorded import Recorded

RUN = "{0}␟{0}␟lab␟ann␟nlp␟␟normal␟all␟{1}␟2026-10-01T00:00:00␟2026-10-01T00:00:00␟{2}␟cpu=8,gres/gpu=4␟n1␟train␟\n"
BILL = (
    "BilledCost,EffectiveCost,BillingCurrency,ChargeCategory,ServiceCategory,BillingPeriodStart,BillingPeriodEnd,"
    "ChargePeriodStart,ChargePeriodEnd,ResourceId\n"
    "8.00,8.00,USD,Usage,Compute,2026-10-01T00:00:00Z,2026-11-01T00:00:00Z,2026-10-01T00:00:00Z,2026-10-01T04:00:00Z,n1\n"
)
SETTINGS = """\
[[source]]
path = "bill.csv"

[[source]]
path = "machines.csv"

[[collector]]
name = "lab"
system = "slurm"
since = "2026-10-01"
options = { programs = "programs" }
"""
OTHER = '\n[[collector]]\nname = "other"\nsystem = "slurm"\ntoken = "env:NOT_SET_ANYWHERE"\n'


@pytest.fixture
def recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Recorded:
    monkeypatch.chdir(tmp_path)
    Path("bill.csv").write_text(BILL, encoding="utf-8")
    Path("machines.csv").write_text("machine_id,gpus,cpus\nn1,4,8\n", encoding="utf-8")
    Path("trainfare.toml").write_text(SETTINGS, encoding="utf-8")
    return Recorded(tmp_path)


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as left:
        main(arguments)
    printed = capsys.readouterr()
    return int(left.value.code or 0), printed.out, printed.err


def costs(capsys: pytest.CaptureFixture[str]) -> tuple[str, str]:
    code, out, err = run(capsys, "report", "--format", "json")
    assert code == 0, err
    report = json.loads(out)
    return report["overall"]["cost"], report["idle"]["cost"]


def test_a_book_counts_what_was_recorded(recorded: Recorded, capsys: pytest.CaptureFixture[str]) -> None:
    """Four hours of four GPUs cost 8: the job held all of them for one hour, then for three."""
    recorded.at("2026-10-01T02:00:00", RUN.format(7, "COMPLETED", "2026-10-01T01:00:00"))
    code, out, _ = run(capsys, "collect")
    assert code == 0
    assert out.startswith("lab  recorded=1 unchanged=0 sealed=0 complete_through=2026-10-01T02:00:00Z  (")
    assert run(capsys, "build")[0] == 0
    assert costs(capsys) == ("2.00", "6.00")
    _, out, _ = run(capsys, "explain", "7", "--format", "json")
    assert json.loads(out)["cost"] == "2.00"

    recorded.at("2026-10-01T04:00:00", RUN.format(7, "COMPLETED", "2026-10-01T03:00:00"))
    assert run(capsys, "collect", "--seal")[0] == 0
    assert run(capsys, "build")[0] == 0
    assert costs(capsys) == ("6.00", "2.00")


def test_news_without_consequence_publishes_nothing(recorded: Recorded, capsys: pytest.CaptureFixture[str]) -> None:
    done = RUN.format(7, "COMPLETED", "2026-10-01T01:00:00")
    recorded.at("2026-10-01T02:00:00", done)
    run(capsys, "collect")
    run(capsys, "build")
    later = RUN.format(9, "COMPLETED", "2026-11-02T01:00:00").replace("2026-10-01T00", "2026-11-02T00")
    recorded.at("2026-11-03T02:00:00", done + later)
    run(capsys, "collect")
    code, _, err = run(capsys, "build")
    assert code == 0
    assert "2026-10  unchanged: version 1" in err


def test_a_recording_outlives_its_collector(recorded: Recorded, capsys: pytest.CaptureFixture[str]) -> None:
    recorded.at("2026-10-01T02:00:00", RUN.format(7, "COMPLETED", "2026-10-01T01:00:00"))
    run(capsys, "collect")
    Path("trainfare.toml").write_text(SETTINGS.partition("[[collector]]")[0], encoding="utf-8")
    assert run(capsys, "build")[0] == 0
    assert costs(capsys) == ("2.00", "6.00")


def test_a_closed_month_is_adjusted_by_what_was_recorded_for_it(
    recorded: Recorded, capsys: pytest.CaptureFixture[str]
) -> None:
    """The bill doubles after the closing; the job held a quarter of it, in segments that were merged since."""
    recorded.at("2026-10-01T02:00:00", RUN.format(7, "COMPLETED", "2026-10-01T01:00:00"))
    run(capsys, "collect", "--seal")
    assert run(capsys, "build")[0] == 0
    assert run(capsys, "close", "2026-10", "--yes")[0] == 0
    november = BILL.splitlines()[1].replace("2026-11-01", "2026-12-01").replace("2026-10-01", "2026-11-01")
    Path("bill.csv").write_text(BILL.replace("8.00,8.00", "16.00,16.00") + november + "\n", encoding="utf-8")
    later = RUN.format(9, "COMPLETED", "2026-11-01T02:00:00").replace("2026-10-01T00", "2026-11-01T00")
    recorded.at("2026-11-03T02:00:00", RUN.format(7, "COMPLETED", "2026-10-01T01:00:00") + later)
    run(capsys, "collect", "--seal")
    code, _, err = run(capsys, "build")
    assert code == 0, err
    assert costs(capsys) == ("6.00", "10.00"), "November's 4 and 4, and the adjustment's 2 and 6"


def test_an_attempt_that_disappeared_is_a_finding(recorded: Recorded, capsys: pytest.CaptureFixture[str]) -> None:
    recorded.at("2026-10-01T02:00:00", RUN.format(7, "RUNNING", "Unknown"))
    run(capsys, "collect")
    recorded.at("2026-10-01T03:00:00", "")
    assert " recorded=1 " in run(capsys, "collect")[1]
    run(capsys, "build")
    code, out, _ = run(capsys, "check", "--format", "json")
    assert "ENDED_BETWEEN" in out, code


def test_a_failing_collector_is_named_and_does_not_stop_the_others(
    recorded: Recorded, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("trainfare.toml").write_text(OTHER + SETTINGS, encoding="utf-8")
    recorded.at("2026-10-01T02:00:00", RUN.format(7, "COMPLETED", "2026-10-01T01:00:00"))
    code, out, err = run(capsys, "collect")
    assert code == 4
    assert out.startswith("lab  recorded=1 ")
    assert err.startswith("collector other token: the environment variable NOT_SET_ANYWHERE is not set\n")
    assert run(capsys, "collect", "--only", "lab")[0] == 0


def test_only_and_every_are_checked(recorded: Recorded, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "collect", "--only", "lob")[2].startswith("--only: there is no collector 'lob'\n")
    assert run(capsys, "collect", "--every", "often")[2].startswith("--every: 'often' is not an interval\n")


def test_a_token_in_a_file_reaches_slurm_and_nothing_else(
    recorded: Recorded, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("token").write_text("s3cret\n", encoding="utf-8")
    Path("trainfare.toml").write_text(f'{SETTINGS}token = "file:token"\n', encoding="utf-8")
    recorded.program("sdiag", 'echo "$SLURM_JWT" > "$here/seen"; echo "DBD Agent queue size: 0"')
    recorded.at("2026-10-01T02:00:00", RUN.format(7, "COMPLETED", "2026-10-01T01:00:00"))
    code, out, err = run(capsys, "collect", "--seal")
    assert code == 0, err
    assert (recorded.folder / "programs" / "seen").read_text(encoding="utf-8") == "s3cret\n"
    assert "s3cret" not in out + err
    with Store.open(recorded.folder) as store:
        sealed = [store.lake.path(one.archive) for _, one in store.catalog.recordings.segments()]
    assert sealed
    stored = [recorded.folder / "catalog.sqlite", *map(Path, map(str, sealed))]
    assert not any(b"s3cret" in path.read_bytes() for path in stored)


def test_exports_of_kubernetes_are_a_job_log_and_an_inventory(
    recorded: Recorded, capsys: pytest.CaptureFixture[str]
) -> None:
    """Eight GPUs cost 8 for four hours: a job held half of them for two hours, then the same for four."""
    Path("bill.csv").write_text(BILL.replace(",n1\n", ",i-0abc\n"), encoding="utf-8")
    Path("trainfare.toml").write_text(
        '[[source]]\npath = "bill.csv"\n\n[[source]]\nname = "cluster"\npath = "exports/*.json"\n', encoding="utf-8"
    )
    Path("exports").mkdir()
    write_list(Path("exports/1.json"), pod("a", 0, 2, gpus=4), node())
    assert run(capsys, "build")[0] == 0
    assert costs(capsys) == ("2.00", "6.00")
    write_list(Path("exports/2.json"), pod("a", 0, 2, gpus=4), pod("b", 0, 4, gpus=2), node())
    assert run(capsys, "build")[0] == 0
    assert costs(capsys) == ("4.00", "4.00"), "the first pod is in both files and counts once"
    assert "unchanged: version 2" in run(capsys, "build")[2]
    code, out, err = run(capsys, "report", "bill.csv", "--jobs", "exports/2.json", "--format", "json")
    assert code == 0, err
    assert json.loads(out)["overall"]["cost"] == "4.00"
