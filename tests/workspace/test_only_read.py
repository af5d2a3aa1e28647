"""A workspace that may only be read: its books are reported, explained, compared, exported and checked; what would write says so."""

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
    """Somebody who may read a workspace, and nothing more."""

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
    made = Workspace(shutil.copytree(template.folder, tmp_path_factory.mktemp("twice") / "workspace"))
    made.write_bill(OCTOBER, company.restated(company.lines(OCTOBER), "gpu-1", "1"))
    made.build()
    return made


@contextmanager
def without_rights(folder: Path, workspace: Workspace) -> Iterator[Reader]:
    """Nobody may write the files and folders. That binds everybody but root, who is bound by giving that power up."""
    made = Workspace(shutil.copytree(workspace.folder, folder / "workspace"))
    subprocess.run(["chmod", "-R", "a-w", made.folder], check=True)
    as_reader = ("setpriv", "--bounding-set=-dac_override") if os.access(made.folder, os.W_OK) else ()
    if as_reader and subprocess.run([*as_reader, "test", "!", "-w", made.folder], capture_output=True).returncode:
        pytest.skip("root cannot be kept from writing here")
    yield Reader(made, as_reader)
    subprocess.run(["chmod", "-R", "u+w", made.folder], check=True)


@pytest.fixture(params=["rights", "disk"])
def reader(request: pytest.FixtureRequest, twice: Workspace, tmp_path: Path) -> Iterator[Reader]:
    """Of a workspace without the right to write, and of one on a disk that is mounted to be read."""
    if request.param == "rights":
        with without_rights(tmp_path, twice) as one:
            yield one
    else:
        mount: Mounted = request.getfixturevalue("disk")
        place = mount(DISK)
        made = Workspace(shutil.copytree(twice.folder, place / "workspace"))
        subprocess.run(["mount", "-o", "remount,ro", place], check=True)
        yield Reader(made)


def test_who_may_only_read_sees_what_everybody_sees(reader: Reader, twice: Workspace, tmp_path: Path) -> None:
    before = sorted(reader.workspace.folder.rglob("*"))
    for words in READING:
        assert reader.run(*words, "--format", "json") == Reader(twice).run(*words, "--format", "json")
    for form in ([], ["--focus"]):
        files = [tmp_path / f"{one}{len(form)}.csv" for one in ("read", "usual")]
        assert reader.run("export", files[0], "--month", OCTOBER, *form).code == 0
        assert Reader(twice).run("export", files[1], "--month", OCTOBER, *form).code == 0
        assert sorted(files[0].read_text().splitlines()) == sorted(files[1].read_text().splitlines())
    assert sorted(reader.workspace.folder.rglob("*")) == before


def test_what_would_write_says_that_the_folder_may_not_be_written(reader: Reader) -> None:
    for words, below in WRITING:
        ran = reader.run(*words)
        assert (ran.code, ran.out, ran.err) == (
            2,
            "",
            f"{reader.workspace.folder / below}: this folder may be read, but not written\n"
            "  Run the command as a user who may write there, or use a workspace of your own.\n",
        )


def test_what_a_writer_has_only_in_its_log_is_read(tmp_path: Path, built: Workspace) -> None:
    """Somebody else is at work on the catalog: what they committed stands beside it until they are done."""
    with closing(sqlite3.connect(built.folder / "catalog.sqlite")) as writer:
        writer.execute("UPDATE books SET version = version + 6")
        writer.commit()
        with without_rights(tmp_path / "copy", built) as reader:
            assert "version 7" in reader.run("reconcile").out


def test_an_older_catalog_that_may_not_be_written_is_told(tmp_path: Path, built: Workspace) -> None:
    path = built.folder / "catalog.sqlite"
    with closing(sqlite3.connect(path)) as catalog:
        catalog.execute("UPDATE trainfare_schema SET version_num = '0003'")
        catalog.commit()
    with without_rights(tmp_path / "copy", built) as reader:
        ran = reader.run("report")
        assert (ran.code, ran.err.splitlines()[0]) == (
            2,
            f"{reader.workspace.folder / path.name}: the catalog is of an older Trainfare (schema 3; this one knows 4), "
            "and may not be written",
        )
