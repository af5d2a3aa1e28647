"""A build with one bad file stores nothing of the good ones, and published books stay unchanged."""

import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from trainfare.cli import main

from .cases import Case, fill

SETTINGS = '[[source]]\npath = "bill*.csv"\n\n[[source]]\npath = "jobs.csv"\n\n[[source]]\npath = "extra/*"\n'
BAD = (
    Case("bill", "several_bad_rows.bad.csv"),
    Case("bill", "parquet_pages_damaged.bad.parquet"),
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
    fill(tmp_path)
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
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return command


def catalog(folder: Path) -> dict[str, list[tuple[object, ...]]]:
    """Return everything the catalog stores about deliveries and books."""
    with sqlite3.connect(folder / "catalog.sqlite") as connection:
        tables = ("deliveries", "books", "book_files", "book_totals", "book_deliveries")
        return {table: connection.execute(f"SELECT * FROM {table} ORDER BY 1, 2").fetchall() for table in tables}


@pytest.mark.parametrize("case", BAD, ids=lambda case: case.name)
def test_a_first_build_with_one_bad_file_stores_nothing(case: Case, run: Run, tmp_path: Path) -> None:
    case.create_in(tmp_path / "extra")
    code, out, message = run("build")
    assert (code, out) == (2, "")
    assert message.startswith(f"extra/{case.file}")
    assert not any(catalog(tmp_path).values())


@pytest.mark.parametrize("case", BAD, ids=lambda case: case.name)
def test_a_bad_file_leaves_the_published_book_unchanged(case: Case, run: Run, tmp_path: Path) -> None:
    assert run("build")[0] == 0
    before, answer = catalog(tmp_path), run("report", "--format", "json")
    assert before["books"]
    assert answer[0] == 0
    case.create_in(tmp_path / "extra")
    code, out, _ = run("build")
    assert (code, out) == (2, "")
    assert catalog(tmp_path) == before
    assert run("report", "--format", "json") == answer


def test_a_corrected_file_is_ingested_as_if_nothing_had_happened(run: Run, tmp_path: Path) -> None:
    bad = Case("jobs", "attempt_zero.bad.csv")
    bad.create_in(tmp_path / "extra")
    assert run("build")[0] == 2
    path = tmp_path / "extra" / bad.file
    path.write_text(path.read_text(encoding="utf-8").replace(",0,", ",1,").replace(",-1,", ",2,"), encoding="utf-8")
    assert run("build")[0] == 0
    stored = catalog(tmp_path)
    assert len(stored["deliveries"]) == 5
    assert len(stored["books"]) == 1
    lake = [str(found.relative_to(tmp_path / "lake")) for found in (tmp_path / "lake" / "deliveries").glob("*.parquet")]
    named = {value for row in stored["deliveries"] for value in row}
    assert all(name in named for name in lake), "files of the failed build are removed"
