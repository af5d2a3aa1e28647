"""A workspace on each database. One suite, no differences allowed."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from trainfare.store import Store
from trainfare.store.catalog import Catalog

from . import building


@pytest.fixture(params=["sqlite", "postgresql"])
def workspace(request: pytest.FixtureRequest, tmp_path: Path) -> building.Workspace:
    """A workspace whose catalog is on each of the databases."""
    url = request.getfixturevalue("postgres_url") if request.param == "postgresql" else None
    return building.Workspace(tmp_path / "workspace", url)


@pytest.fixture
def store(workspace: building.Workspace) -> Iterator[Store]:
    with workspace.open() as store:
        yield store


@pytest.fixture
def catalog(store: Store) -> Catalog:
    return store.catalog


@pytest.fixture
def run(workspace: building.Workspace) -> Iterator[Callable[..., building.Process]]:
    """Start a function in a new process; whatever still runs at the end is killed."""
    started: list[building.Process] = []

    def start(function: Callable[..., None], *arguments: object) -> building.Process:
        process = building.Process(function, workspace, *arguments)
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
