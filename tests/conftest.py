"""What tests of several folders start: a PostgreSQL of their own, one for all of a process."""

from collections.abc import Iterator

import pytest
from services import postgres_server
from xdist.scheduler import LoadFileScheduling

LONGEST_FIRST = (
    *(
        "engines/test_same_digits.py",
        "engines/test_spark",
        "pages/",
        "engines/test_cluster.py",
        "account/test_conversion.py",
    ),
    *("web/test_questions.py", "workspace/test_killed_builds.py", "simulate/test_gameday.py"),
)
"""Files that take longest: they start first, so that no process works alone at the end."""


class FilesAndOneSpark(LoadFileScheduling):  # type: ignore[misc]
    """Run each file in one process, and all files that share a local Spark session in the same one."""

    def _split_scope(self, nodeid: str) -> str:
        return "spark" if "engines/test_spark" in nodeid else str(super()._split_scope(nodeid))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> FilesAndOneSpark | None:
    return FilesAndOneSpark(config, log) if config.getvalue("dist") == "loadfile" else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: _rank(item.nodeid))


def _rank(test: str) -> int:
    return next((rank for rank, name in enumerate(LONGEST_FIRST) if f"tests/{name}" in test), len(LONGEST_FIRST))


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The folder of a running server's socket."""
    if reason := postgres_server.missing():
        pytest.skip(reason)
    with postgres_server.running() as socket:
        yield socket


@pytest.fixture
def postgres_url(postgres: str) -> Iterator[str]:
    """The address of an empty database, which goes with the test."""
    url = postgres_server.new_database(postgres)
    yield url
    postgres_server.drop(url)
