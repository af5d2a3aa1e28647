"""A read-only workspace: its books can be reported, explained, compared, exported and checked; writing is rejected."""

import os
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from trainfare.store.schema import REVISION

from . import company
from .company import OCTOBER
from .conftest import Mounted
from .folder import COMMAND, Ran, Workspace

DISK = 4 * 1024 * 1024
READING: list[list[Any]] = [
    ["report", "--by", "job"],
    ["explain", "alone-2026-10", "--month", OCTOBER, "--lines"],
    ["diff", "--month", OCTOBER],
    ["reconcile", "--month", OCTOBER],
    ["check"],
]
WRITING: list[tuple[list[Any], str]] = [
    (["build"], "lake"),
    (["close", OCTOBER], ""),
    (["check", "--accept", "COST_MISSING", "--reason", "known", "--until", "2199-12-31"], ""),
    (["serve"], ""),
]


@dataclass(frozen=True)
class Reader:
    """A user with read-only access to a workspace."""

    workspace: Workspace
    as_reader: tuple[str, ...] = ()

    def run(self, *arguments: object) -> Ran:
        command = [*self.as_reader, COMMAND, *map(str, arguments), "-w", self.workspace.folder]
        ran = subprocess.run(command, capture_output=True, text=True, timeout=60)
        assert "Traceback" not in ran.stderr
        return Ran(ran.returncode, ran.stdout, ran.stderr)


@pytest.fixture(scope="module")
def twice(template: Workspace, tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """Two versions of October."""
    copy = Workspace(shutil.copytree(template.folder, tmp_path_factory.mktemp("twice") / "workspace"))
    copy.write_bill(OCTOBER, company.restated(company.lines(OCTOBER), "gpu-1", "1"))
    copy.build()
    return copy


@contextmanager
def without_write_permission(folder: Path, workspace: Workspace) -> Iterator[Reader]:
    """Remove the write permissions. They do not bind root, so root drops the capability to override them."""
    copy = Workspace(shutil.copytree(workspace.folder, folder / "workspace"))
    subprocess.run(["chmod", "-R", "a-w", copy.folder], check=True)
    as_reader = ("setpriv", "--bounding-set=-dac_override") if os.access(copy.folder, os.W_OK) else ()
    if as_reader and subprocess.run([*as_reader, "test", "!", "-w", copy.folder], capture_output=True).returncode:
        pytest.skip("root cannot be prevented from writing here")
    yield Reader(copy, as_reader)
    subprocess.run(["chmod", "-R", "u+w", copy.folder], check=True)


@pytest.fixture(params=["rights", "disk"])
def reader(request: pytest.FixtureRequest, twice: Workspace, tmp_path: Path) -> Iterator[Reader]:
    """A reader of a workspace without write permission, and of one on a read-only disk."""
    if request.param == "rights":
        with without_write_permission(tmp_path, twice) as one:
            yield one
    else:
        mount: Mounted = request.getfixturevalue("disk")
        mounted = mount(DISK)
        copy = Workspace(shutil.copytree(twice.folder, mounted / "workspace"))
        subprocess.run(["mount", "-o", "remount,ro", mounted], check=True)
        yield Reader(copy)


def test_a_read_only_user_sees_what_everybody_sees(reader: Reader, twice: Workspace, tmp_path: Path) -> None:
    before = sorted(reader.workspace.folder.rglob("*"))
    for arguments in READING:
        assert reader.run(*arguments, "--format", "json") == Reader(twice).run(*arguments, "--format", "json")
    for options in ([], ["--focus"]):
        files = [tmp_path / f"{one}{len(options)}.csv" for one in ("read", "usual")]
        assert reader.run("export", files[0], "--month", OCTOBER, *options).code == 0
        assert Reader(twice).run("export", files[1], "--month", OCTOBER, *options).code == 0
        assert sorted(files[0].read_text().splitlines()) == sorted(files[1].read_text().splitlines())
    assert sorted(reader.workspace.folder.rglob("*")) == before


def test_commands_that_write_report_a_read_only_folder(reader: Reader) -> None:
    for arguments, subfolder in WRITING:
        ran = reader.run(*arguments)
        assert (ran.code, ran.out, ran.err) == (
            2,
            "",
            f"{reader.workspace.folder / subfolder}: this folder is read-only for this user\n"
            "  Run the command as a user who may write there, or use another workspace.\n",
        )


def test_commits_that_are_only_in_the_write_ahead_log_are_read(tmp_path: Path, built: Workspace) -> None:
    """Another process uses the catalog: its commits are in a log next to it until it is done."""
    with closing(sqlite3.connect(built.folder / "catalog.sqlite")) as writer:
        writer.execute("UPDATE books SET version = version + 6")
        writer.commit()
        with without_write_permission(tmp_path / "copy", built) as reader:
            assert "its books are not those that were added" in reader.run("reconcile").err


def test_an_older_catalog_that_cannot_be_upgraded_is_reported(tmp_path: Path, built: Workspace) -> None:
    path = built.folder / "catalog.sqlite"
    with closing(sqlite3.connect(path)) as catalog:
        catalog.execute("UPDATE trainfare_schema SET version_num = '0003'")
        catalog.commit()
    with without_write_permission(tmp_path / "copy", built) as reader:
        ran = reader.run("report")
        assert (ran.code, ran.err.splitlines()[0]) == (
            2,
            f"{reader.workspace.folder / path.name}: an older Trainfare wrote the catalog (schema 3, now {REVISION}), "
            "and it cannot be upgraded: no write access",
        )
