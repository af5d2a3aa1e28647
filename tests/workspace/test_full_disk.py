"""A disk that fills up at any point of a build: a clear error, and the published book is unchanged."""

import os
import re
import resource
import shutil
import subprocess
from contextlib import suppress
from decimal import Decimal
from pathlib import Path
from urllib.parse import quote

import pytest
from web.server import serving

from . import company
from .company import NOVEMBER, OCTOBER
from .conftest import Mounted
from .folder import COMMAND, Workspace

KIB = 1024
DISK = 2048 * KIB

FULL = re.compile(r": (the disk is full|the disk is full or failing)\n  \S")
"""SQLite reports an I/O error if there is no room for the index of its log."""


def fill(folder: Path, leave: int) -> Path:
    """Leave only this many bytes free on the disk."""
    filler = folder / "filler"
    room = os.statvfs(folder)
    filler.write_bytes(bytes(max(0, room.f_bavail * room.f_frsize - leave)))
    return filler


def restate(workspace: Workspace) -> None:
    for month in (OCTOBER, NOVEMBER):
        workspace.write_bill(month, company.restated(company.lines(month), "gpu-1", "1"))


@pytest.mark.parametrize("left_kib", [0, 16, 32, 40, 48, 64, 88, 112, 136, 160])
def test_a_full_disk_leaves_the_book_unchanged(template: Workspace, disk: Mounted, left_kib: int) -> None:
    """The less is left, the earlier the build stops: at the catalog, an archive, a table, or publishing."""
    mounted = disk(DISK)
    workspace = Workspace(shutil.copytree(template.folder, mounted / "workspace"))
    restate(workspace)
    filler = fill(mounted, left_kib * KIB)
    ran = workspace.run("build")
    assert ran.code == 2
    assert str(workspace.folder) in ran.err
    assert FULL.search(ran.err)

    filler.unlink()
    assert workspace.digits(OCTOBER, 1) == template.digits(OCTOBER)
    assert workspace.digits(NOVEMBER, 1) == template.digits(NOVEMBER)
    workspace.require_sound()
    workspace.build()
    assert workspace.total(OCTOBER) == company.total(company.lines(OCTOBER)) + 1
    assert workspace.unreferenced() == set()


def test_a_full_temporary_folder_is_reported(template: Workspace, disk: Mounted) -> None:
    mounted = disk(24 * KIB)
    bill, jobs = (template.folder / kind / "2026-10.csv" for kind in ("bills", "jobs"))
    command = [COMMAND, "report", bill, "--jobs", jobs]
    ran = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"TMPDIR": str(mounted)})
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr.startswith(str(mounted))
    assert FULL.search(ran.stderr)
    assert list(mounted.iterdir()) == []


@pytest.mark.services
def test_a_service_whose_disk_is_full_says_so_without_its_paths_and_recovers(
    template: Workspace, disk: Mounted
) -> None:
    """Figures need no room. What it derives from a book to trace them finds none, and nothing of that remains."""
    mounted = disk(32 * 1024 * KIB)
    workspace = Workspace(shutil.copytree(template.folder, mounted / "workspace"))
    report, jobs = "/api/v1/report?window=2026-10", "/api/v1/jobs?window=2026-10"
    with serving(workspace.folder) as server:
        with (mounted / "filler").open("wb", buffering=0) as filler, suppress(OSError):
            while filler.write(bytes(KIB)):
                pass
        assert Decimal(server.ask(report).json["total"]) == company.total(company.lines(OCTOBER))
        name = quote(server.ask(jobs).json["rows"][0]["job"], safe="")
        for path in (
            f"/api/v1/jobs/{name}/explain?month=2026-10",
            f"/cost-trace/job?job={name}&from=2026-10&to=2026-10",
        ):
            answer = server.ask(path, headers={"Accept": "text/html"})
            assert (answer.status, str(mounted) in answer.text) == (503, False), answer.text
        assert server.ask("/livez").status == 200
        (mounted / "filler").unlink()
        assert server.ask(f"/api/v1/jobs/{name}/explain?month=2026-10").status == 200
        assert Decimal(server.ask(report).json["total"]) == company.total(company.lines(OCTOBER))
        assert list((workspace.folder / "cache").glob("*draft*")) == []


def test_a_file_size_limit_is_reported_and_the_book_is_unchanged(built: Workspace) -> None:
    """A limit of the user (`ulimit -f`): a write fails in the middle of a file, without a full disk."""
    restate(built)
    max_size = 20 * KIB
    ran = subprocess.run(
        [COMMAND, "build", "-w", built.folder],
        capture_output=True,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (max_size, max_size)),
    )
    assert "Traceback" not in ran.stderr
    assert ran.returncode == 2
    assert str(built.folder) in ran.stderr
    assert built.books() == [("2026-10", 1), ("2026-11", 1)]
    built.require_sound()


def test_a_read_only_disk_is_reported_and_the_book_is_unchanged(template: Workspace, disk: Mounted) -> None:
    mounted = disk(DISK)
    workspace = Workspace(shutil.copytree(template.folder, mounted / "workspace"))
    restate(workspace)
    subprocess.run(["mount", "-o", "remount,ro", mounted], check=True)
    ran = workspace.run("build")
    assert (ran.code, ran.err) == (
        2,
        f"{workspace.folder}/lake: this folder is read-only for this user\n"
        "  Run the command as a user who may write there, or use another workspace.\n",
    )
    subprocess.run(["mount", "-o", "remount,rw", mounted], check=True)
    assert workspace.books() == [("2026-10", 1), ("2026-11", 1)]
    workspace.require_sound()
