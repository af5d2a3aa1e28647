"""Workspaces of the small company, not built yet or with both months built."""

import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import prebuilt
import pytest

from . import company
from .company import NOVEMBER, OCTOBER
from .folder import Workspace

Mounted = Callable[[int], Path]


def furnish(folder: Path) -> Workspace:
    """Two months of the company and the settings that read them."""
    made = Workspace(folder)
    for month in (OCTOBER, NOVEMBER):
        made.write_bill(month, company.lines(month))
        made.write_jobs(month)
    made.write("machines.csv", company.machines())
    made.write("trainfare.toml", company.settings())
    return made


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """October and November, not built yet."""
    return furnish(tmp_path / "unbuilt")


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    return Workspace(prebuilt.copy_of("company", lambda folder: furnish(folder).build(), tmp_path_factory))


@pytest.fixture
def built(template: Workspace, tmp_path: Path) -> Workspace:
    """October and November, each with version 1 of its book."""
    return Workspace(shutil.copytree(template.folder, tmp_path / "workspace"))


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Mounted]:
    """Mount a disk of a given size, in memory, below the test's folder; unmounted after the test."""
    mounted: list[Path] = []

    def mount(size: int) -> Path:
        folder = tmp_path / f"disk-{len(mounted)}"
        folder.mkdir()
        command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder]
        ran = subprocess.run(command, capture_output=True, text=True)
        if ran.returncode:
            pytest.skip(f"no disk can be mounted here: {ran.stderr.strip()}")
        mounted.append(folder)
        return folder

    if shutil.which("mount") is None:
        pytest.skip("there is no mount command")
    yield mount
    for folder in mounted:
        subprocess.run(["umount", folder], check=True)
