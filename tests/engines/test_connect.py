"""A session behind Spark Connect works as an engine and computes exactly."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from services import spark_cluster, spark_connect

pytestmark = [
    pytest.mark.services,
    pytest.mark.skipif(bool(spark_cluster.missing()), reason=str(spark_cluster.missing())),
]

WORK = """
import sys
from pathlib import Path
from trainfare.engine.spark import Spark

folder = Path(sys.argv[2])
engine = Spark(folder / "scratch", sys.argv[1], {"spark.sql.shuffle.partitions": "3"})
engine.values("lines", "machine VARCHAR, cost DECIMAL(38,12)", [("a", "0.000000000001"), ("a", "1"), ("b", "2")])
engine.table("pots", "SELECT machine, CAST(sum(cost) AS DECIMAL(38,12)) AS cost FROM lines GROUP BY machine")
engine.add("pots", "SELECT 'c', 3")
engine.view("expensive", "SELECT * FROM pots WHERE cost > 1.0")
engine.write_parquet("SELECT * FROM expensive", folder / "expensive.parquet")
engine.ingest("stored", f"SELECT * FROM read_parquet('{folder}/expensive.parquet/*.parquet')")
print(engine.rows("SELECT count(*), sum(cost) FROM stored"))
print(engine.row("SELECT integer_part(CAST(100000000000000000000 AS HUGEINT), 1, 3) || ''"))
print(engine.session.conf.get("spark.sql.shuffle.partitions"))
engine.drop("pots", "expensive", "stored")
engine.close()
print((folder / "scratch").exists())
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with spark_connect.running(tmp_path_factory.mktemp("connect")) as address:
        yield address


def test_tables_are_written_and_read_through_connect(server: str, tmp_path: Path):
    """Runs in a separate process: a process has either a local session or a remote one."""
    done = subprocess.run(
        [sys.executable, "-c", WORK, server, str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert done.stdout.splitlines() == [
        "[(3, Decimal('6.000000000001'))]",
        "('33333333333333333333',)",
        "3",
        "False",
    ], done.stderr


def test_an_address_without_a_server_is_reported_without_its_token(tmp_path: Path):
    (tmp_path / "bill.csv").write_text("", encoding="utf-8")
    (tmp_path / "trainfare.toml").write_text("[[source]]\npath = 'bill.csv'\n", encoding="utf-8")
    options = ("build", "-w", str(tmp_path), "--engine", "spark", "--spark-master", "sc://127.0.0.1:1/;token=hidden")
    done = subprocess.run([sys.executable, "-m", "trainfare", *options], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "--spark-master sc://127.0.0.1:1: nothing responds there" in done.stderr
    assert "hidden" not in done.stdout + done.stderr
