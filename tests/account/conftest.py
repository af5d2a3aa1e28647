from collections.abc import Iterator

import pytest

pytest.register_assert_rewrite(f"{__package__}.story")

from .books import Bookkeeper  # noqa: E402


@pytest.fixture(scope="session")
def keeper(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bookkeeper]:
    made = Bookkeeper(tmp_path_factory.mktemp("books"))
    yield made
    made.close()
