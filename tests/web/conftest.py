"""One server over the small company's two months, for every test that only asks."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from workspace.conftest import furnish
from workspace.folder import Workspace

from .server import Server, serving


@pytest.fixture(scope="session")
def company(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """October and November, built."""
    made = furnish(tmp_path_factory.mktemp("web") / "workspace")
    made.build()
    return made


@pytest.fixture(scope="session")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("log") / "server.log"


@pytest.fixture(scope="session")
def server(company: Workspace, log: Path) -> Iterator[Server]:
    with serving(company.folder, log=log) as running:
        yield running
