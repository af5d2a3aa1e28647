import csv
from collections.abc import Callable
from pathlib import Path

import pytest

from trainfare.period import Month
from trainfare.simulate import Simulated, write

Rows = list[dict[str, str]]


@pytest.fixture(scope="session")
def october(tmp_path_factory: pytest.TempPathFactory) -> Simulated:
    """The month everybody sees: seed 1, full size."""
    return write(tmp_path_factory.mktemp("october"), 1, Month(2026, 10))


@pytest.fixture(scope="session")
def rows(october: Simulated) -> Callable[[str], Rows]:
    """What a reader finds in one of the written files."""
    read: dict[str, Rows] = {}

    def of(name: str) -> Rows:
        if name not in read:
            path: Path = october.folder / name
            with path.open(encoding="utf-8", newline="") as opened:
                read[name] = list(csv.DictReader(opened))
        return read[name]

    return of
