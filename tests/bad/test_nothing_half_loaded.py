"""A build that meets one bad file keeps nothing of the good ones, and what was published stands."""

import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from trainfare.cli import main

from .cases import Case, furnish

SETTINGS = '[[source]]\npath = "bill*.csv"\n\n[[source]]\npath = "jobs.csv"\n\n[[source]]\npath = "extra/*"\n'
BAD = (
    Case("bill", "several_bad_rows.bad.csv"),
    Case("bill", "parquet_pages_spoilt.bad.parquet"),
    Case("bill", "gzip_wrong_checksum.bad.csv.gz"),
    Case("bill", "excel.bad.xlsx"),
    Case("jobs", "json_broken.bad.jsonl"),
    Case("jobs", "attempt_zero.bad.csv"),
    Case("machines", "machine_gpus_negative.bad.csv"),
)
Run = Callable[..., tuple[object, str, str]]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a command in a workspace with good files; returns exit code, stdout and stderr."""
    furnish(tmp_path)
    (tmp_path / "extra").mkdir()
    shutil.copyfile(tmp_path / "machines.csv", tmp_path / "extra" / "machines.csv")
    (tmp_path / "trainfare.toml").write_text(SETTINGS, encoding="utf-8")
    monkeypatch.chdir(tmp_path)

    def command(*arguments: str) -> tuple[object, str, str]:
        code: object = 0
        try:
            main(arguments)
        except SystemExit as left:
            code = left.code or 0
        told = capsys.readouterr()
        return code, told.out, told.err

    return command


def catalog(folder: Path) -> dict[str, list[tuple[object, ...]]]:
    """All that the catalog knows of deliveries and books."""
    with sqlite3.connect(folder / "catalog.sqlite") as opened:
        tables = ("deliveries", "books", "book_files", "book_totals", "book_deliveries")
        return {table: opened.execute(f"SELECT * FROM {table} ORDER BY 1, 2").fetchall() for table in tables}


@pytest.mark.parametrize("case", BAD, ids=lambda case: case.name)
def test_a_first_build_with_one_bad_file_keeps_nothing(case: Case, run: Run, tmp_path: Path) -> None:
    case.make(tmp_path / "extra")
    code, out, told = run("build")
    assert (code, out) == (2, "")
    assert told.startswith(f"extra/{case.file}")
    assert not any(catalog(tmp_path).values())


@pytest.mark.parametrize("case", BAD, ids=lambda case: case.name)
def test_a_bad_file_leaves_the_published_book_as_it_is(case: Case, run: Run, tmp_path: Path) -> None:
    assert run("build")[0] == 0
    before, answer = catalog(tmp_path), run("report", "--format", "json")
    assert before["books"]
    assert answer[0] == 0
    case.make(tmp_path / "extra")
    code, out, _ = run("build")
    assert (code, out) == (2, "")
    assert catalog(tmp_path) == before
    assert run("report", "--format", "json") == answer


def test_a_mended_file_is_taken_in_as_if_nothing_had_been(run: Run, tmp_path: Path) -> None:
    bad = Case("jobs", "attempt_zero.bad.csv")
    bad.make(tmp_path / "extra")
    assert run("build")[0] == 2
    path = tmp_path / "extra" / bad.file
    path.write_text(path.read_text(encoding="utf-8").replace(",0,", ",1,").replace(",-1,", ",2,"), encoding="utf-8")
    assert run("build")[0] == 0
    kept = catalog(tmp_path)
    assert len(kept["deliveries"]) == 5
    assert len(kept["books"]) == 1
    lake = [str(found.relative_to(tmp_path / "lake")) for found in (tmp_path / "lake" / "deliveries").glob("*.parquet")]
    named = {value for row in kept["deliveries"] for value in row}
    assert all(name in named for name in lake), "what the failed build wrote is swept"
