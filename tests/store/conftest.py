"""A workspace on each database. One suite, no differences allowed."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from trainfare.store import Store
from trainfare.store.catalog import Catalog

from . import building


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> building.Place:
    """Where a workspace is and which catalog it has: what another process needs to open it."""
    url = request.getfixturevalue("postgres_url") if request.param == "postgresql" else None
    return building.Place(tmp_path / "workspace", url)


@pytest.fixture
def store(place: building.Place) -> Iterator[Store]:
    with place.open() as opened:
        yield opened


@pytest.fixture
def catalog(store: Store) -> Catalog:
    return store.catalog


@pytest.fixture
def run(place: building.Place) -> Iterator[Callable[..., building.Process]]:
    """Start a function in a process of its own; whatever still runs at the end is killed."""
    started: list[building.Process] = []

    def start(function: Callable[..., None], *arguments: object) -> building.Process:
        process = building.Process(function, place, *arguments)
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
