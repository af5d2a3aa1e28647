"""A disk that fills up at any point of a build: a clear error, and the published book as it was."""

import os
import re
import resource
import shutil
import subprocess
from pathlib import Path

import pytest

from . import company
from .company import NOVEMBER, OCTOBER
from .conftest import Mounted
from .folder import COMMAND, Workspace

KIB = 1024
DISK = 2048 * KIB

FULL = re.compile(r": (the disk is full|the disk is full or failing)\n  \S")
"""SQLite calls it an I/O error when there is no room for the index of its log."""


def fill(folder: Path, leave: int) -> Path:
    """Leave only so many bytes on the disk."""
    filler = folder / "filler"
    room = os.statvfs(folder)
    filler.write_bytes(bytes(max(0, room.f_bavail * room.f_frsize - leave)))
    return filler


def restate(workspace: Workspace) -> None:
    for month in (OCTOBER, NOVEMBER):
        workspace.write_bill(month, company.restated(company.lines(month), "gpu-1", "1"))


@pytest.mark.parametrize("left", [0, 16, 32, 40, 48, 64, 88, 112, 136, 160])
def test_a_full_disk_leaves_the_book_as_it_was(template: Workspace, disk: Mounted, left: int) -> None:
    """The less is left, the earlier the build stops: at the catalog, at an archive, at a table, at publishing."""
    place = disk(DISK)
    workspace = Workspace(shutil.copytree(template.folder, place / "workspace"))
    restate(workspace)
    filler = fill(place, left * KIB)
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


def test_a_full_temporary_folder_is_told_when_two_files_are_reported(template: Workspace, disk: Mounted) -> None:
    place = disk(24 * KIB)
    bill, jobs = (template.folder / kind / "2026-10.csv" for kind in ("bills", "jobs"))
    command = [COMMAND, "report", bill, "--jobs", jobs]
    ran = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"TMPDIR": str(place)})
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr.startswith(str(place))
    assert FULL.search(ran.stderr)
    assert list(place.iterdir()) == []


def test_files_that_may_not_grow_are_told_and_the_book_stays(built: Workspace) -> None:
    """A limit of the user (`ulimit -f`): a write fails in the middle of a file, and no disk is needed to see it."""
    restate(built)
    longest = 20 * KIB
    ran = subprocess.run(
        [COMMAND, "build", "-w", built.folder],
        capture_output=True,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (longest, longest)),
    )
    assert "Traceback" not in ran.stderr
    assert ran.returncode == 2
    assert str(built.folder) in ran.stderr
    assert built.books() == [("2026-10", 1), ("2026-11", 1)]
    built.require_sound()


def test_a_disk_that_may_only_be_read_is_told_and_the_book_stays(template: Workspace, disk: Mounted) -> None:
    place = disk(DISK)
    workspace = Workspace(shutil.copytree(template.folder, place / "workspace"))
    restate(workspace)
    subprocess.run(["mount", "-o", "remount,ro", place], check=True)
    ran = workspace.run("build")
    assert (ran.code, ran.err) == (
        2,
        f"{workspace.folder}/lake: this folder may be read, but not written\n"
        "  Run the command as a user who may write there, or use a workspace of your own.\n",
    )
    subprocess.run(["mount", "-o", "remount,rw", place], check=True)
    assert workspace.books() == [("2026-10", 1), ("2026-11", 1)]
    workspace.require_sound()
