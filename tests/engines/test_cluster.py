"""A month on a real Spark cluster: the digits of the embedded engine, whatever is killed during the build."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from services import spark_cluster

from trainfare.engine.duckdb import DuckDB
from trainfare.engine.sql import parquet
from trainfare.settings import config
from trainfare.store import Book, Store

SETTINGS = """
[engine]
name = "spark"
[engine.settings]
"spark.driver.memory" = "1g"
"spark.executor.memory" = "768m"
"spark.sql.shuffle.partitions" = "2"
"spark.driver.host" = "127.0.0.1"
"spark.driver.bindAddress" = "127.0.0.1"
"spark.driver.extraJavaOptions" = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"spark.executor.extraJavaOptions" = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""
SUBMITTED = "from trainfare.cli import main\n\nmain()\n"
MIDDLE = 20
"""Number of tables when a build is about half done."""
PATIENCE_SECONDS = 900

pytestmark = [
    pytest.mark.services,
    pytest.mark.skipif(bool(spark_cluster.missing()), reason=str(spark_cluster.missing())),
]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[spark_cluster.Cluster]:
    with spark_cluster.running(tmp_path_factory.mktemp("cluster")) as started:
        yield started


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the workspace of the demo, built by the embedded engine."""
    folder = tmp_path_factory.mktemp("demo") / "workspace"
    _trainfare("demo", "--folder", str(folder)).wait()
    return folder


def unbuilt(demo: Path, folder: Path) -> Path:
    """Return a copy of the workspace for Spark, with nothing built."""
    shutil.copytree(demo, folder, ignore=shutil.ignore_patterns("lake", "catalog.sqlite*"))
    settings = folder / "trainfare.toml"
    settings.write_text(f"{settings.read_text(encoding='utf-8')}\n{SETTINGS}", encoding="utf-8")
    return folder


def _trainfare(*words: str) -> "subprocess.Popen[bytes]":
    return subprocess.Popen([sys.executable, "-m", "trainfare", *words], start_new_session=True)


def wait_for_the_middle(workspace: Path, build: "subprocess.Popen[bytes]") -> None:
    until = time.monotonic() + PATIENCE_SECONDS
    while len([*workspace.glob("lake/.scratch/*/*")]) < MIDDLE:
        assert build.poll() is None
        assert time.monotonic() < until
        time.sleep(0.1)


def books(workspace: Path) -> list[Book]:
    with Store.open(workspace, config.load(workspace / "trainfare.toml").catalog) as store:
        return store.catalog.books()


def assert_same_book(one: Path, other: Path) -> None:
    """Assert that two books have the same columns, types, rows and digits in every table."""
    ours, theirs = books(one)[-1], books(other)[-1]
    assert (ours.rows, ours.totals, ours.complete_through) == (theirs.rows, theirs.totals, theirs.complete_through)
    assert ours.files.keys() == theirs.files.keys()
    with closing(DuckDB()) as engine:
        for name in ours.files:
            here, there = (parquet(root / "lake" / book.files[name]) for root, book in ((one, ours), (other, theirs)))
            assert engine.columns(here) == engine.columns(there), name
            assert engine.rows(f"SELECT * FROM {here} EXCEPT ALL SELECT * FROM {there}") == [], name
            assert engine.rows(f"SELECT * FROM {there} EXCEPT ALL SELECT * FROM {here}") == [], name


def test_a_killed_driver_publishes_nothing_and_the_next_build_is_correct(
    demo: Path, cluster: spark_cluster.Cluster, tmp_path: Path
):
    workspace = unbuilt(demo, tmp_path / "killed")
    build = _trainfare("build", "-w", str(workspace), "--spark-master", cluster.url)
    wait_for_the_middle(workspace, build)
    os.killpg(build.pid, signal.SIGKILL)
    build.wait()
    assert books(workspace) == []
    assert [*workspace.glob("lake/.scratch/*")] != []
    assert _trainfare("build", "-w", str(workspace), "--engine", "duckdb").wait() == 0
    assert books(workspace)[-1].engine == "duckdb"
    assert_same_book(demo, workspace)
    assert [*workspace.glob("lake/.scratch/*")] == []


def test_a_worker_lost_during_the_build_changes_no_digit(demo: Path, cluster: spark_cluster.Cluster, tmp_path: Path):
    """Started with spark-submit, which sets the master."""
    workspace = unbuilt(demo, tmp_path / "lost")
    script = tmp_path / "build.py"
    script.write_text(SUBMITTED, encoding="utf-8")
    submit = (str(spark_cluster.home() / "bin" / "spark-submit"), "--master", cluster.url, str(script))
    given = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
    build = subprocess.Popen([*submit, "build", "-w", str(workspace)], env=given, start_new_session=True)
    wait_for_the_middle(workspace, build)
    assert cluster.lose_a_worker() > 0
    assert build.wait(PATIENCE_SECONDS) == 0
    assert books(workspace)[-1].engine == "spark"
    assert_same_book(demo, workspace)
    assert [*workspace.glob("lake/.scratch/*")] == []
