"""One server over the small company's two months, for every test that only asks: with each kind of catalog."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from services import postgres_server
from workspace.company import NOVEMBER, OCTOBER, measurements, settings
from workspace.conftest import furnish
from workspace.folder import Workspace

from .server import Server, serving


@pytest.fixture(scope="session", params=["sqlite", "postgresql"])
def company(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """October and November with what was measured, built."""
    beside = {}
    if request.param == "postgresql":
        beside["catalog"] = f'"{postgres_server.new_database(request.getfixturevalue("postgres"))}"'
    made = furnish(tmp_path_factory.mktemp("web") / "workspace")
    for month in (OCTOBER, NOVEMBER):
        made.write(f"measurements/{month}.csv", measurements(month))
    made.write("trainfare.toml", settings(**beside) + '[[source]]\npath = "measurements/*.csv"\n')
    made.build()
    return made


@pytest.fixture(scope="session")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("log") / "server.log"


@pytest.fixture(scope="session")
def server(company: Workspace, log: Path) -> Iterator[Server]:
    with serving(company.folder, log=log) as running:
        yield running
