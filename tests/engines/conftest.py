"""One Spark session for all tests of a process: starting one takes longer than most tests."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from account.books import Bookkeeper
from services import spark_cluster

from trainfare.engine.duckdb import DuckDB
from trainfare.engine.spark import Spark

from .twin import Twin

SMALL = {
    "spark.driver.memory": "1g",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.ui.retainedExecutions": "5000",
}
"""For tables of a few rows: compilation and adaptive planning do not pay. All plans are retained for inspection."""


@pytest.fixture(scope="session")
def twin(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Twin]:
    if why := spark_cluster.missing():
        pytest.skip(why)
    folder: Path = tmp_path_factory.mktemp("engines")
    made = Twin(DuckDB(), Spark(folder / "scratch", "local[2]", SMALL))
    yield made
    made.close()


@pytest.fixture(scope="module")
def keeper(twin: Twin, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bookkeeper]:
    """Build books with both engines at once."""
    made = Bookkeeper(tmp_path_factory.mktemp("books"))
    made.builder.close()
    made.builder = twin
    yield made
    made.reader.close()
