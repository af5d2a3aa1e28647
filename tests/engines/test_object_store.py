"""A lake in an object store, built by a cluster with its own connector."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from services import folder_store, spark_cluster
from workspace import company
from workspace.company import OCTOBER
from workspace.folder import Ran, Workspace

from trainfare.files import locations
from trainfare.files.locations import ObjectLocation

BUCKET = "books"
SMALL = {
    "spark.driver.memory": "1g",
    "spark.executor.memory": "512m",
    "spark.sql.shuffle.partitions": "2",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
"""For tables of a few rows, for which compilation does not pay."""

pytestmark = [
    pytest.mark.services,
    pytest.mark.skipif(bool(spark_cluster.missing()), reason=str(spark_cluster.missing())),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("store")
    (made / BUCKET).mkdir()
    return made


@pytest.fixture(scope="module", autouse=True)
def store(folder: Path) -> Iterator[None]:
    """Serve the folder as an object store, with access for this process and its children."""
    with folder_store.running(folder) as running, pytest.MonkeyPatch.context() as patched:
        for name, value in running.as_(folder_store.WHO).items():
            patched.setenv(name, value)
        locations.file_system.cache_clear()
        yield
    locations.file_system.cache_clear()


def october(folder: Path, **settings: str) -> Workspace:
    made = Workspace(folder)
    made.write_bill(OCTOBER, company.lines(OCTOBER))
    made.write_jobs(OCTOBER)
    made.write("machines.csv", company.machines())
    made.write("trainfare.toml", company.settings(**settings))
    return made


def on_spark(folder: Path, lake: ObjectLocation, connector: dict[str, str], scheme: str = "s3a") -> Workspace:
    made = october(folder, lake=f'"{lake}"')
    listed = "".join(f'"{name}" = "{value}"\n' for name, value in {**SMALL, **connector}.items())
    settings = (folder / "trainfare.toml").read_text(encoding="utf-8")
    made.write(
        "trainfare.toml", f'{settings}[engine]\nname = "spark"\ns3_scheme = "{scheme}"\n[engine.settings]\n{listed}'
    )
    return made


def build(workspace: Workspace, master: str) -> Ran:
    """Build in a separate process, whose session has its own settings."""
    command = [sys.executable, "-m", "trainfare", "build", "-w", workspace.folder, "--spark-master", master]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ)
    return Ran(ran.returncode, ran.stdout, ran.stderr)


def test_workers_write_through_their_connector_what_the_reader_reads(tmp_path: Path, folder: Path):
    here = october(tmp_path / "here")
    here.build()
    lake = ObjectLocation(f"s3://{BUCKET}/lake")
    there = on_spark(tmp_path / "there", lake, folder_store.connector(folder, BUCKET, "store"), "store")
    (tmp_path / "cluster").mkdir()
    with spark_cluster.running(tmp_path / "cluster") as cluster:
        ran = build(there, cluster.url)
    assert ran.code == 0, ran.err
    with there.open() as store:
        assert [book.engine for book in store.catalog.books()] == ["spark"]
    assert here.digits(OCTOBER) == there.digits(OCTOBER)
    assert not (there.folder / "lake").exists()
    assert [one for one in lake.below() if ".scratch" in str(one)] == []
    there.require_sound()


def test_a_spark_without_a_connector_is_reported(tmp_path: Path):
    ran = build(on_spark(tmp_path, ObjectLocation(f"s3://{BUCKET}/unreached"), {}), "local[1]")
    assert ran.code == 2
    message = ran.err.splitlines()[-2:]
    assert message[0].startswith(f"s3://{BUCKET}/unreached/.scratch/")
    assert message[0].endswith(": this Spark has no connector for the object store")
    assert "docs/howto/object-store.md" in message[1]


def test_a_connector_to_another_store_is_reported_before_anything_is_built(tmp_path: Path):
    (tmp_path / "elsewhere" / BUCKET).mkdir(parents=True)
    other = on_spark(
        tmp_path / "astray",
        ObjectLocation(f"s3://{BUCKET}/astray"),
        folder_store.connector(tmp_path / "elsewhere", BUCKET),
    )
    ran = build(other, "local[1]")
    assert ran.code == 2
    message = " ".join(ran.err.splitlines()[-2:])
    assert f"what Spark writes to s3a://{BUCKET}/astray/.scratch/" in message
    assert "is not in the object store that this command reads" in message
    assert '"spark.hadoop.fs.s3a.endpoint" under [engine.settings]' in message
    assert other.books() == []
