"""What tests of several folders start: a PostgreSQL of their own, one for all of a process."""

from collections.abc import Iterator

import pytest
from services import postgres_server


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
