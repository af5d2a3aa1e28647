"""Commands that the output suggests work unchanged, from the folder the user is in."""

import re
import shlex
from pathlib import Path

import pytest

from trainfare.cli import main

from . import company
from .company import NOVEMBER, OCTOBER
from .folder import Ran, Workspace


def typed(line: str, capsys: pytest.CaptureFixture[str]) -> Ran:
    capsys.readouterr()
    with pytest.raises(SystemExit) as exited:
        main(shlex.split(line)[1:])
    output = capsys.readouterr()
    return Ran(int(exited.value.code or 0), output.out, output.err)


def test_the_next_command_that_a_build_suggests_works(built: Workspace, capsys: pytest.CaptureFixture[str]) -> None:
    folder = built.folder.rename(built.folder.with_name("our costs"))
    output = typed(f"trainfare build -w '{folder}'", capsys).err
    hint = output.splitlines()[-1].removeprefix("next: ")
    assert hint.endswith(f"-w '{folder}'")
    assert typed(hint, capsys).code == 0


def test_the_command_that_init_suggests_builds_the_workspace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert typed("trainfare init costs", capsys).err.endswith("then run: trainfare build -w costs\n")
    assert "there is no source" in typed("trainfare build -w costs", capsys).err
    assert typed("trainfare report -w costs", capsys).err.endswith("Build one with: trainfare build -w costs\n")
    assert typed("trainfare init", capsys).err.endswith("then run: trainfare build\n")


def test_a_check_suggests_commands_for_its_workspace_and_month(
    built: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    built.write("trainfare.toml", (built.folder / "trainfare.toml").read_text() + "\n[check]\nunallocated = 0\n")
    output = typed(f"trainfare check --month {OCTOBER} -w {built.folder}", capsys).out
    assert re.search(rf"More: trainfare check \S+ --month {OCTOBER} -w", " ".join(output.split()))


def test_a_missing_label_is_reported_as_missing_from_the_job_log(built: Workspace) -> None:
    jobs = built.folder / f"jobs/{OCTOBER}.csv"
    assert "cost_center" not in jobs.read_text().splitlines()[0]
    ran = built.run("statement", "--folder", built.folder / "statements")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == (
        "statement: no job has a cost_center\n"
        '  Add a column cost_center to the job log (in Slurm: WCKey, or --comment "cost_center=...") and rebuild, '
        "or choose another label with --by.\n"
    )


def test_rates_creates_the_folder_it_writes_to(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("currency_converter")
    path = tmp_path / "rates" / "ecb.csv"
    assert typed(f"trainfare rates {path} --since 2024-01-01 --currency USD", capsys).code == 0
    assert path.exists()


def test_a_job_of_another_month_is_reported_with_that_month(
    built: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    ran = built.run("explain", f"alone-{OCTOBER}", "--month", NOVEMBER)
    assert ran.code == 2
    first, hint = ran.err.splitlines()
    assert first == f"explain: there is no job 'alone-{OCTOBER}' in the book of {NOVEMBER}"
    assert hint.startswith(f"  It is in {OCTOBER}: trainfare explain")
    assert typed(hint.partition(": ")[2], capsys).code == 0


def test_an_unknown_job_is_reported_with_the_command_that_lists_jobs(
    built: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    ran = built.run("explain", "?", "--month", OCTOBER)
    first, hint = ran.err.splitlines()
    assert first == f"explain: there is no job '?' in the book of {OCTOBER}"
    assert typed(hint.partition(": ")[2], capsys).code == 0
    assert f"--month {OCTOBER} -w" in hint


def test_a_change_of_rules_is_not_reported_as_a_change_of_the_bill(built: Workspace) -> None:
    rule = '[[rule]]\nname = "storage is shared"\nmatch = { category = "storage" }\namong = "all"\n'
    built.write("trainfare.toml", company.settings() + rule)
    built.build()
    output = " ".join(built.run("diff").out.split())
    assert "the bill is the same, other rules match its charges" in output
    assert "changes on the bill" not in output


def test_a_change_of_the_bill_is_shown_in_plain_digits(built: Workspace, capsys: pytest.CaptureFixture[str]) -> None:
    """Only the older month has a second version, so the newest has nothing to compare."""
    built.write_bill(OCTOBER, company.restated(company.lines(OCTOBER), "gpu-4", "0.000000028"))
    built.build()
    ran = built.run("diff")
    assert ran.code == 3
    first, hint = ran.err.splitlines()
    assert first == f"book {NOVEMBER}: it has only one version"
    assert hint.startswith(
        f"  Months with several versions: {OCTOBER}. Compare with: trainfare diff --month {OCTOBER} -w"
    )
    output = typed(hint.partition("Compare with: ")[2], capsys).out
    assert "changes on the bill" in " ".join(output.split())
    assert "0.000000028" in output
    assert "e-8" not in output.lower()
