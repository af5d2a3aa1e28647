"""Spark is an extra: nothing of it comes unasked, and whoever asks without it is told what to install."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from py4j.protocol import Py4JError

from trainfare.engine import spark
from trainfare.errors import TrainfareError

PROJECT = Path(__file__).parents[2]
WITHOUT = "import sys; sys.modules[{package!r}] = None; from trainfare.cli import main; main()"
SETTINGS = "[[source]]\npath = 'bill.csv'\n"


def ran(folder: Path, code: str, *words: str) -> "subprocess.CompletedProcess[str]":
    (folder / "trainfare.toml").write_text(SETTINGS, encoding="utf-8")
    command = [sys.executable, "-c", code, "build", "-w", str(folder), *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("package", ["pyspark", "sqlglot"])
def test_spark_without_the_extra_says_what_to_install(tmp_path: Path, package: str):
    done = ran(tmp_path, WITHOUT.format(package=package), "--engine", "spark")
    assert done.returncode == 2
    assert done.stderr.splitlines()[-2:] == [
        f"--engine spark: {package} is not installed",
        "  Install it: pip install 'trainfare[spark]'",
    ]


def test_spark_connect_without_its_extra_says_what_to_install(tmp_path: Path):
    done = ran(tmp_path, WITHOUT.format(package="grpc"), "--engine", "spark", "--spark-master", "sc://127.0.0.1:1")
    assert done.returncode == 2
    assert done.stderr.splitlines()[-2:] == [
        "--spark-master sc://: grpcio is not installed",
        "  Install it: pip install 'trainfare[connect]'",
    ]


def test_a_master_for_another_engine_is_refused(tmp_path: Path):
    done = ran(tmp_path, "from trainfare.cli import main; main()", "--spark-master", "spark://cluster:7077")
    assert done.returncode == 2
    assert "--spark-master: is given, but the engine is duckdb" in done.stderr


def test_a_master_that_does_not_answer_is_told_at_once(tmp_path: Path):
    asked = ("--engine", "spark", "--spark-master", "spark://127.0.0.1:1")
    done = ran(tmp_path, "from trainfare.cli import main; main()", *asked)
    assert done.returncode == 2
    assert "--spark-master spark://127.0.0.1:1: nothing answers there" in done.stderr


def test_the_plain_install_brings_no_spark():
    told = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    plain = " ".join(told["dependencies"])
    assert "duckdb" in plain
    assert not any(name in plain for name in ("spark", "py4j", "sqlglot", "java"))
    assert {"pyspark", "sqlglot"} <= {one.split(">")[0] for one in told["optional-dependencies"]["spark"]}


def test_a_build_with_duckdb_never_imports_spark():
    code = "import sys, trainfare.pipeline; print([name for name in ('pyspark', 'sqlglot') if name in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_memory_that_runs_out_is_told(tmp_path: Path):
    raised = pytest.raises(TrainfareError, match="Spark ran out of memory")
    with raised as told, spark._told(tmp_path):
        raise Py4JError("Not enough memory to build and broadcast the table to all worker nodes")
    assert "spark.driver.memory" in told.value.do
