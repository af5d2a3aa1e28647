"""An unusable folder is reported with its path and a remedy, never as a traceback, and the book is unchanged."""

import os
import shutil
import subprocess
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from trainfare.engine.duckdb import DuckDB

from . import company
from .company import NOVEMBER, OCTOBER
from .folder import COMMAND, Ran, Workspace


def restate(workspace: Workspace) -> None:
    workspace.write_bill(OCTOBER, company.restated(company.lines(OCTOBER), "gpu-1", "1"))


def run(*arguments: object, **environment: str) -> Ran:
    """Run a command in a process of its own, as a user does."""
    ran = subprocess.run([COMMAND, *map(str, arguments)], capture_output=True, text=True, env=os.environ | environment)
    assert "Traceback" not in ran.stderr
    return Ran(ran.returncode, ran.stdout, ran.stderr)


def test_a_workspace_below_a_file_cannot_be_created(tmp_path: Path) -> None:
    below = tmp_path / "file" / "workspace"
    below.parent.write_text("not a folder", encoding="utf-8")
    ran = run("init", below)
    assert (ran.code, ran.err) == (
        2,
        f"{below}/trainfare.toml: cannot be written (Not a directory)\n  Choose a folder you may write to.\n",
    )
    ran = run("build", "-w", below)
    assert (ran.code, ran.err.splitlines()[0]) == (2, f"{below}: not a workspace: there is no trainfare.toml")


def test_a_folder_where_nothing_can_be_created_is_reported() -> None:
    ran = run("init", "/proc/self/trainfare")
    assert ran.code == 2
    assert ran.err.startswith("/proc/self/trainfare/trainfare.toml: cannot be written (No such file or directory)\n")


def test_a_lake_that_is_a_file_is_reported(built: Workspace) -> None:
    lake = built.folder / "lake"
    shutil.rmtree(lake)
    lake.write_text("not a folder", encoding="utf-8")
    ran = built.run("build")
    assert (ran.code, ran.err) == (
        2,
        f"{lake}: the lake cannot be used: file exists\n  Use a folder that this user may write to.\n",
    )


def test_a_table_folder_that_is_a_file_is_reported_and_the_book_is_unchanged(built: Workspace) -> None:
    """A file is in the way where the build writes its first table."""
    restate(built)
    deliveries = built.folder / "lake" / "deliveries"
    moved = deliveries.rename(deliveries.with_name("kept"))
    deliveries.write_text("not a folder", encoding="utf-8")
    ran = built.run("build")
    assert (ran.code, ran.err) == (
        2,
        f"{deliveries}: file exists\n  Use a folder and files that this user may read and write.\n",
    )
    deliveries.unlink()
    moved.rename(deliveries)
    assert built.books() == [("2026-10", 1), ("2026-11", 1)]
    built.require_sound()
    assert built.build()[0].startswith("2026-10  version 2: ")


def test_a_file_missing_from_the_lake_is_reported(built: Workspace) -> None:
    lost = built.folder / "lake" / built.book(OCTOBER).files["shares"]
    lost.unlink()
    ran = built.run("report", "--month", OCTOBER)
    assert (ran.code, ran.err) == (
        2,
        f"{lost}: there is no such file\n"
        "  Restore it from a backup, or run trainfare build, which rebuilds it if its month is open.\n",
    )


def test_a_lake_without_any_of_its_files_is_rejected(built: Workspace) -> None:
    """It is most likely not mounted: rebuilding every open month would conflict with it once it is."""
    lake = built.folder / "lake"
    lake.rename(lake.with_name("elsewhere"))
    ran = built.run("build")
    what, do = ran.err.splitlines()
    assert (ran.code, what.endswith(" files that the catalog names exists")) == (2, True)
    assert do == "  Mount or restore the lake. To start over, move the catalog away, too, and build again."
    assert built.books() == [("2026-10", 1), ("2026-11", 1)]


def test_a_build_restores_what_is_missing_from_the_lake(built: Workspace) -> None:
    book = built.book(OCTOBER)
    before = built.run("report", "--month", OCTOBER, "--format", "json").out
    for name in ("shares", "estimate_errors"):
        (built.folder / "lake" / book.files[name]).unlink()
    for archive in (built.folder / "lake" / "deliveries").iterdir():
        archive.unlink()
    lines = built.build()
    assert lines[0].startswith("2026-10  version 2: ")
    assert "; rebuilt because files of the previous version were missing" in lines[0]
    assert built.run("report", "--month", OCTOBER, "--format", "json").out == before
    assert built.run("reconcile", "--month", OCTOBER).code == 0
    assert built.build() == [
        "2026-10  unchanged: version 2",
        "2026-11  unchanged: version 1",
    ]


def truncate(content: bytearray) -> None:
    del content[-40:]


def erase_footer(content: bytearray) -> None:
    """Write zeros over the metadata of the columns, as a failing disk does."""
    size = int.from_bytes(content[-8:-4], "little")
    content[-8 - size : -8] = bytes(size)


def falsify_length(content: bytearray) -> None:
    content[-8:-4] = b"\xff\xff\xff\x7f"


def overwrite_pages(content: bytearray) -> None:
    size = int.from_bytes(content[-8:-4], "little")
    content[4 : -8 - size] = b"Z" * (len(content) - size - 12)


@pytest.mark.parametrize("damage", [truncate, erase_footer, falsify_length, overwrite_pages])
def test_a_damaged_file_in_the_lake_is_reported(built: Workspace, damage: Callable[[bytearray], None]) -> None:
    """By its name, although the engine does not always name it; the other month can still be reported."""
    damaged = built.folder / "lake" / built.book(OCTOBER).files["shares"]
    content = bytearray(damaged.read_bytes())
    damage(content)
    damaged.write_bytes(content)
    for command in ("report", "reconcile"):
        ran = built.run(command, "--month", OCTOBER)
        assert (ran.code, ran.err.splitlines()[0]) == (2, f"{damaged}: the file is damaged"), command
    assert built.run("report", "--month", NOVEMBER).code == 0


def test_a_damaged_column_that_no_check_reads_is_reported(built: Workspace) -> None:
    """Bytes without regions are valid measurements, so nothing reads this column before the file is ingested."""
    path = built.folder / "measured.parquet"
    columns = (
        "'job' AS job_id, 1 AS attempt, 'gpu-1' AS machine_id, TIMESTAMP '2026-10-01' AS started, TIMESTAMP '2026-10-02' AS ended, "
        "'bytes_sent' AS measure, 1 AS value, md5(CAST(n AS VARCHAR)) AS from_region, 'eu' AS to_region"
    )
    with closing(DuckDB()) as engine:
        engine.run(f"COPY (SELECT {columns} FROM range(20000) t(n)) TO '{path}' (FORMAT parquet)")
        pages = "SELECT data_page_offset, total_compressed_size FROM parquet_metadata"
        start, size = engine.row(f"{pages}('{path}') WHERE path_in_schema = 'from_region'")
    content = bytearray(path.read_bytes())
    content[start + 100 : start + size - 100] = b"Z" * (size - 200)
    path.write_bytes(content)
    settings = (built.folder / "trainfare.toml").read_text(encoding="utf-8")
    built.write("trainfare.toml", f'{settings}\n[[source]]\npath = "measured.parquet"\n')
    before = built.books()
    ran = run("build", "-w", built.folder)
    assert (ran.code, ran.err.splitlines()) == (
        2,
        [f"{path}: the Parquet file is damaged or truncated", "  Export or copy it again."],
    )
    assert built.books() == before


def test_a_missing_temporary_folder_is_tolerated(built: Workspace) -> None:
    ran = run("report", "-w", built.folder, TMPDIR=str(built.folder / "none"))
    assert (ran.code, ran.out) == (0, run("report", "-w", built.folder).out)


def test_output_that_cannot_be_written_is_reported(built: Workspace) -> None:
    with Path("/dev/full").open("w") as full:
        command = [COMMAND, "report", "-w", built.folder, "--format", "json"]
        ran = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True)
    assert (ran.returncode, ran.stderr.splitlines()[0]) == (2, "output: the disk is full")
