"""A collector watches a real Slurm while jobs go through everything that matters, and is killed all the time.

What it recorded must give the same placements as a file of `sacct` that is exported at the end.
"""

import json
import random
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from collect.test_slurm_recorded import SAME, placements, shown
from services import slurm_cluster
from services.slurm_cluster import SlurmCluster
from test_real_slurm import COLUMNS, drive

from trainfare.engine.duckdb import DuckDB
from trainfare.errors import Problems
from trainfare.sources.head import read_head
from trainfare.sources.schedulers import sacct
from trainfare.store import Store

pytestmark = [
    pytest.mark.services,
    pytest.mark.skipif(slurm_cluster.missing() is not None, reason=str(slurm_cluster.missing())),
]

SETTINGS = """\
[[collector]]
name = "lab"
system = "slurm"
options = {{ config = "{}" }}
"""


class Collecting(threading.Thread):
    """Collects again and again in a process of its own, which is killed at random moments."""

    def __init__(self, folder: Path, seed: int) -> None:
        super().__init__(daemon=True)
        self.folder, self.chance, self.over, self.kills = folder, random.Random(seed), threading.Event(), 0

    def run(self) -> None:
        while not self.over.is_set():
            process = collector(self.folder, "--every", "1s")
            self.over.wait(self.chance.uniform(1, 6))
            process.kill()
            process.communicate()
            self.kills += 1


def collector(folder: Path, *options: str) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "trainfare", "collect", "-w", str(folder), *options]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def export(cluster: SlurmCluster, path: Path) -> DuckDB:
    """An engine with the placements of a file of sacct, exported now, in the table `read`."""
    options = ("--allusers", "--duplicates", "--starttime=now-1hour", "--endtime=now", "--parsable2")
    path.write_text(cluster.call("sacct", *options, f"--format={COLUMNS}", TZ="UTC"), encoding="utf-8")
    engine, problems = DuckDB(), Problems()
    sacct.read(engine, read_head(path), "read", "UTC", problems)
    problems.raise_if_any()
    return engine


def test_a_killed_collector_records_what_sacct_exports(tmp_path: Path) -> None:
    seed = random.randrange(10**6)
    with slurm_cluster.running() as cluster:
        (tmp_path / "trainfare.toml").write_text(SETTINGS.format(cluster.folder / "slurm.conf"), encoding="utf-8")
        watching = Collecting(tmp_path, seed)
        watching.start()
        try:
            jobs, _ = drive(cluster)
        finally:
            watching.over.set()
            watching.join()
        last = collector(tmp_path, "--seal")
        _, errors = last.communicate(timeout=120)
        assert last.returncode == 0, errors
        exported = export(cluster, tmp_path / "sacct.txt")
    with Store.open(tmp_path) as store:
        live = placements(store)
    assert watching.kills > 1
    assert shown(live, SAME) == shown(exported, SAME), f"seed {seed}, {watching.kills} kills"
    labels = live.rows(f"SELECT labels FROM read WHERE job_id = '{jobs['running']}' AND state = 'running'")
    assert labels
    assert all(json.loads(text).get("gpu_indexes") for (text,) in labels), "it ran until the end, so it was seen"
