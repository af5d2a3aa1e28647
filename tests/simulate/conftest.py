import csv
from collections.abc import Callable
from pathlib import Path

import pytest

from trainfare.period import Month
from trainfare.simulate import SimulatedMonth, write

Rows = list[dict[str, str]]


@pytest.fixture(scope="session")
def october(tmp_path_factory: pytest.TempPathFactory) -> SimulatedMonth:
    """The month of the demo: seed 1, full size."""
    return write(tmp_path_factory.mktemp("october"), 1, Month(2026, 10))


@pytest.fixture(scope="session")
def rows(october: SimulatedMonth) -> Callable[[str], Rows]:
    """Read the rows of one of the written files."""
    read: dict[str, Rows] = {}

    def of(name: str) -> Rows:
        if name not in read:
            path: Path = october.folder / name
            with path.open(encoding="utf-8", newline="") as file:
                read[name] = list(csv.DictReader(file))
        return read[name]

    return of
