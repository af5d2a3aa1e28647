"""Spark is an optional extra: it is never imported unless requested, and a missing package is named."""

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
def test_spark_without_the_extra_names_what_to_install(tmp_path: Path, package: str):
    done = ran(tmp_path, WITHOUT.format(package=package), "--engine", "spark")
    assert done.returncode == 2
    assert done.stderr.splitlines()[-2:] == [
        f"--engine spark: {package} is not installed",
        "  Install it: pip install 'trainfare[spark]'",
    ]


def test_spark_connect_without_its_extra_names_what_to_install(tmp_path: Path):
    done = ran(tmp_path, WITHOUT.format(package="grpc"), "--engine", "spark", "--spark-master", "sc://127.0.0.1:1")
    assert done.returncode == 2
    assert done.stderr.splitlines()[-2:] == [
        "--spark-master sc://: grpcio is not installed",
        "  Install it: pip install 'trainfare[connect]'",
    ]


def test_a_master_for_another_engine_is_rejected(tmp_path: Path):
    done = ran(tmp_path, "from trainfare.cli import main; main()", "--spark-master", "spark://cluster:7077")
    assert done.returncode == 2
    assert "--spark-master: needs the engine spark, but the engine is duckdb" in done.stderr


def test_a_master_that_does_not_respond_is_reported_at_once(tmp_path: Path):
    options = ("--engine", "spark", "--spark-master", "spark://127.0.0.1:1")
    done = ran(tmp_path, "from trainfare.cli import main; main()", *options)
    assert done.returncode == 2
    assert "--spark-master spark://127.0.0.1:1: nothing responds there" in done.stderr


def test_the_base_install_has_no_spark():
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    plain = " ".join(project["dependencies"])
    assert "duckdb" in plain
    assert not any(name in plain for name in ("spark", "py4j", "sqlglot", "java"))
    assert {"pyspark", "sqlglot"} <= {one.split(">")[0] for one in project["optional-dependencies"]["spark"]}


def test_a_build_with_duckdb_never_imports_spark():
    code = "import sys, trainfare.books.build; print([name for name in ('pyspark', 'sqlglot') if name in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_running_out_of_memory_is_reported(tmp_path: Path):
    raised = pytest.raises(TrainfareError, match="Spark ran out of memory")
    with raised as caught, spark._translate_errors(tmp_path):
        raise Py4JError("Not enough memory to build and broadcast the table to all worker nodes")
    assert "spark.driver.memory" in caught.value.do
