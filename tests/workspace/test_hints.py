"""What a command says to type next works as it stands, from where the user is."""

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
    with pytest.raises(SystemExit) as left:
        main(shlex.split(line)[1:])
    told = capsys.readouterr()
    return Ran(int(left.value.code or 0), told.out, told.err)


def test_what_a_build_says_to_type_next_works(built: Workspace, capsys: pytest.CaptureFixture[str]) -> None:
    folder = built.folder.rename(built.folder.with_name("our costs"))
    told = typed(f"trainfare build -w '{folder}'", capsys).err
    hint = told.splitlines()[-1].removeprefix("next: ")
    assert hint.endswith(f"-w '{folder}'")
    assert typed(hint, capsys).code == 0


def test_a_new_workspace_is_built_by_what_init_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert typed("trainfare init costs", capsys).err.endswith("then run: trainfare build -w costs\n")
    assert "no source is named" in typed("trainfare build -w costs", capsys).err
    assert typed("trainfare report -w costs", capsys).err.endswith("Build one with: trainfare build -w costs\n")
    assert typed("trainfare init", capsys).err.endswith("then run: trainfare build\n")


def test_a_check_names_commands_of_its_workspace_and_month(
    built: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    built.write("trainfare.toml", (built.folder / "trainfare.toml").read_text() + "\n[check]\nunallocated = 0\n")
    told = typed(f"trainfare check --month {OCTOBER} -w {built.folder}", capsys).out
    assert re.search(rf"More: trainfare check \S+ --month {OCTOBER} -w", " ".join(told.split()))


def test_a_missing_label_is_said_to_be_missing_in_the_job_log(built: Workspace) -> None:
    jobs = built.folder / f"jobs/{OCTOBER}.csv"
    assert "cost_center" not in jobs.read_text().splitlines()[0]
    ran = built.run("statement", "--folder", built.folder / "statements")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == (
        "statement: no job has a cost_center\n"
        '  Add a column cost_center to the job log (of Slurm: WCKey, or --comment "cost_center=...") and build again, '
        "or choose another label with --by.\n"
    )


def test_rates_make_the_folder_they_are_written_to(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("currency_converter")
    path = tmp_path / "rates" / "ecb.csv"
    assert typed(f"trainfare rates {path} --since 2024-01-01 --currency USD", capsys).code == 0
    assert path.exists()


def test_a_job_of_another_month_is_found_there(built: Workspace, capsys: pytest.CaptureFixture[str]) -> None:
    ran = built.run("explain", f"alone-{OCTOBER}")
    assert ran.code == 2
    first, hint = ran.err.splitlines()
    assert first == f"explain: there is no job 'alone-{OCTOBER}' in the book of {NOVEMBER}"
    assert hint.startswith(f"  It is in {OCTOBER}: trainfare explain")
    assert typed(hint.partition(": ")[2], capsys).code == 0


def test_a_job_of_no_month_is_said_how_to_list(built: Workspace, capsys: pytest.CaptureFixture[str]) -> None:
    ran = built.run("explain", "?", "--month", OCTOBER)
    first, hint = ran.err.splitlines()
    assert first == f"explain: there is no job '?' in the book of {OCTOBER}"
    assert typed(hint.partition(": ")[2], capsys).code == 0
    assert f"--month {OCTOBER} -w" in hint


def test_a_difference_of_rules_is_not_called_one_of_the_bill(built: Workspace) -> None:
    rule = '[[rule]]\nname = "storage is shared"\nmatch = { category = "storage" }\namong = "all"\n'
    built.write("trainfare.toml", company.settings() + rule)
    built.build()
    told = " ".join(built.run("diff").out.split())
    assert "the bill is the same, other rules take its charges" in told
    assert "what is different on the bill" not in told


def test_a_difference_of_the_bill_is_shown_in_plain_digits(
    built: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    """Only the older month has a second version, so that the newest has nothing to compare."""
    built.write_bill(OCTOBER, company.restated(company.lines(OCTOBER), "gpu-4", "0.000000028"))
    built.build()
    ran = built.run("diff")
    assert ran.code == 3
    first, hint = ran.err.splitlines()
    assert first == f"book {NOVEMBER}: it has only one version"
    assert hint.startswith(f"  There are two versions or more of {OCTOBER}: trainfare diff --month {OCTOBER} -w")
    told = typed(hint.partition(": ")[2], capsys).out
    assert "what is different on the bill" in " ".join(told.split())
    assert "0.000000028" in told
    assert "e-8" not in told.lower()
