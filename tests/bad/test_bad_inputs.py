"""Every bad input causes its own message and exit code, and prints nothing that could be mistaken for an answer.

A case is a pair of files: add `NAME.bad.csv` (or .toml, .jsonl, .args) to the folder of its kind, and next to it
`NAME.bad.expected` with the message a user should see.
"""

import subprocess
import sys
from pathlib import Path

import pytest

from trainfare.cli import main
from trainfare.sources.bills import focus
from trainfare.sources.registry import SOURCES
from trainfare.sources.schedulers import jobs

from .cases import COMMANDS, HERE, OWN_FOLDER, Case, cases, fill

CASES = cases()
FEWEST = 60
IN_A_PROCESS = ("amount_with_comma", "parquet_pages_damaged", "json_broken", "wrong_types", "by_misspelled")


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the good files and every bad one."""
    folder = tmp_path_factory.mktemp("bad")
    fill(folder, *(case for case in CASES if case.role not in OWN_FOLDER))
    return folder


def folder_of(case: Case, folder: Path, tmp_path: Path) -> Path:
    """Return where a case is run: a workspace has a separate folder, because a build writes into it."""
    if case.role not in OWN_FOLDER:
        return folder
    fill(tmp_path, case)
    return tmp_path


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.role}-{case.name}")
def test_a_bad_input_causes_its_message(
    case: Case, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    here = folder_of(case, folder, tmp_path)
    monkeypatch.chdir(here)
    with pytest.raises(SystemExit) as left:
        main(case.arguments)
    printed = capsys.readouterr()
    assert printed.err.replace(str(here.resolve()), "{here}") == case.expected_path.read_text(encoding="utf-8")
    assert left.value.code == case.exit_code
    assert printed.out == ""


@pytest.mark.parametrize("case", [case for case in CASES if case.name in IN_A_PROCESS], ids=lambda case: case.name)
def test_a_separate_process_prints_the_same(case: Case, folder: Path) -> None:
    """As in a shell: the message on stderr, nothing on stdout, exit code 2."""
    run = subprocess.run(
        [sys.executable, "-m", "trainfare", *case.arguments], cwd=folder, capture_output=True, text=True, check=False
    )
    assert (run.returncode, run.stdout) == (2, "")
    assert run.stderr == case.expected_path.read_text(encoding="utf-8")


def test_there_are_enough_bad_inputs_of_every_kind() -> None:
    assert len([case for case in CASES if case.exit_code == 2]) >= FEWEST
    assert {case.role for case in CASES} == set(COMMANDS)
    assert {case.name for case in CASES} >= set(IN_A_PROCESS)


def test_no_two_cases_have_the_same_name() -> None:
    """They share one folder, and the page has a heading for each."""
    names = [case.name for case in CASES]
    assert sorted(names) == sorted(set(names))


def test_every_expected_message_has_its_bad_file() -> None:
    assert set(HERE.rglob("*.expected")) == {case.expected_path for case in CASES}


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.role}-{case.name}")
def test_a_message_says_where_what_and_what_to_do(case: Case) -> None:
    first, *others = case.expected_path.read_text(encoding="utf-8").splitlines()
    where, _, what = first.partition(": ")
    assert where
    assert what
    assert any(line.startswith("  ") and line.strip() for line in others), "what to do is missing"


def test_an_unrecognized_file_is_rejected_with_the_columns_that_are_needed() -> None:
    text = Case("bill", "other_table.bad.csv").expected_path.read_text(encoding="utf-8")
    assert all(name in text for name in (*focus.REQUIRED, *jobs.REQUIRED, "machine_id"))


def test_no_message_lists_every_format() -> None:
    assert len(SOURCES) > 10
    for case in CASES:
        text = case.expected_path.read_text(encoding="utf-8")
        assert sum(source.DESCRIPTION in text for source in SOURCES) < 2, case.name
