"""Every bad input gets its own text, leaves with exit code 2 and prints nothing that could be taken for an answer.

A case is a pair of files: add `NAME.bad.csv` (or .toml, .jsonl, .args) to the folder of what it is, and beside it
`NAME.bad.expected` with the text a user should see.
"""

import subprocess
import sys
from pathlib import Path

import pytest

from trainfare.cli import main
from trainfare.sources.recognise import FORMATS

from .cases import COMMANDS, HERE, Case, cases, furnish

CASES = cases()
FEWEST = 60
IN_A_PROCESS = ("amount_with_comma", "parquet_pages_spoilt", "json_broken", "wrong_types", "by_misspelt")


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the good files and every bad one."""
    made = tmp_path_factory.mktemp("bad")
    furnish(made, *(case for case in CASES if case.role != "workspace"))
    return made


def place_of(case: Case, folder: Path, tmp_path: Path) -> Path:
    """Where a case is run: a workspace has a folder of its own, as a build writes into it."""
    if case.role != "workspace":
        return folder
    furnish(tmp_path, case)
    return tmp_path


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.role}-{case.name}")
def test_a_bad_input_gets_its_own_text(
    case: Case, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    place = place_of(case, folder, tmp_path)
    monkeypatch.chdir(place)
    with pytest.raises(SystemExit) as left:
        main(case.arguments)
    told = capsys.readouterr()
    assert told.err.replace(str(place.resolve()), "{here}") == case.expected_path.read_text(encoding="utf-8")
    assert left.value.code == case.exit_code
    assert told.out == ""


@pytest.mark.parametrize("case", [case for case in CASES if case.name in IN_A_PROCESS], ids=lambda case: case.name)
def test_a_command_of_its_own_tells_the_same(case: Case, folder: Path) -> None:
    """What a shell sees: the text on stderr, nothing on stdout, exit code 2."""
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
    """They are put into one folder, and the page has a heading for each."""
    names = [case.name for case in CASES]
    assert sorted(names) == sorted(set(names))


def test_every_expected_text_has_its_bad_file() -> None:
    assert set(HERE.rglob("*.expected")) == {case.expected_path for case in CASES}


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.role}-{case.name}")
def test_a_text_says_where_what_and_what_to_do(case: Case) -> None:
    first, *others = case.expected_path.read_text(encoding="utf-8").splitlines()
    where, _, what = first.partition(": ")
    assert where
    assert what
    assert any(line.startswith("  ") and line.strip() for line in others), "what to do is missing"


def test_a_file_nobody_recognises_is_refused_with_all_that_we_read() -> None:
    text = Case("bill", "other_table.bad.csv").expected_path.read_text(encoding="utf-8")
    assert len(FORMATS) >= 5
    assert all(format_.READS in text for format_ in FORMATS)
