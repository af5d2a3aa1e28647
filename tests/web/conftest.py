"""One server for the small company's two months, per kind of catalog, shared by all tests that only read."""

from collections.abc import Iterator
from pathlib import Path

import prebuilt
import pytest
from services import postgres_server
from workspace.company import NOVEMBER, OCTOBER, measurements, settings
from workspace.conftest import furnish
from workspace.folder import Workspace

from .server import Server, serving


@pytest.fixture(scope="session", params=["sqlite", "postgresql"])
def company(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """October and November, built, with measurements."""
    if request.param == "sqlite":
        return Workspace(prebuilt.copy_of("measured-company", furnish_measured, tmp_path_factory))
    catalog = postgres_server.new_database(request.getfixturevalue("postgres"))
    return furnish_measured(tmp_path_factory.mktemp("web") / "workspace", catalog=f'"{catalog}"')


def furnish_measured(folder: Path, **catalog: str) -> Workspace:
    made = furnish(folder)
    for month in (OCTOBER, NOVEMBER):
        made.write(f"measurements/{month}.csv", measurements(month))
    made.write("trainfare.toml", settings(**catalog) + '[[source]]\npath = "measurements/*.csv"\n')
    made.build()
    return made


@pytest.fixture(scope="session")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("log") / "server.log"


@pytest.fixture(scope="session")
def server(company: Workspace, log: Path) -> Iterator[Server]:
    with serving(company.folder, log=log) as running:
        yield running
