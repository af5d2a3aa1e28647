"""A real Spark standalone cluster for tests: a master and workers, each in its own process, on loopback."""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.request import urlopen

from .ports import free_port

STARTUP_SECONDS = 180


def missing() -> str | None:
    """Return why no cluster can be started here; None if one can."""
    return None if shutil.which("java") else "Java is not installed"


@dataclass
class Cluster:
    """A running master and the processes of its workers."""

    url: str
    workers: list["subprocess.Popen[bytes]"] = field(default_factory=list)

    def lose_a_worker(self) -> int:
        """Kill a worker and its child processes, like a machine failure; return how many children it had."""
        worker = self.workers.pop()
        children = _children(worker.pid)
        for pid in (worker.pid, *children):
            os.kill(pid, 9)
        worker.wait()
        return len(children)


@contextmanager
def running(folder: Path, workers: int = 2, memory: str = "1g") -> Iterator[Cluster]:
    """Start a cluster, and stop each of its processes by its id."""
    port, web = free_port(), free_port()
    master = _start(
        folder, "master", "org.apache.spark.deploy.master.Master", "-p", str(port), "--webui-port", str(web)
    )
    cluster = Cluster(f"spark://127.0.0.1:{port}")
    try:
        _wait(lambda: _alive(web) == 0)
        for number in range(workers):
            options = ("-c", "1", "-m", memory, "--webui-port", "0", "-d", str(folder / f"work{number}"), cluster.url)
            cluster.workers.append(_start(folder, f"worker{number}", "org.apache.spark.deploy.worker.Worker", *options))
        _wait(lambda: _alive(web) == workers)
        yield cluster
    finally:
        for process in (*cluster.workers, master):
            process.terminate()
        for process in (*cluster.workers, master):
            process.wait(timeout=30)


def home() -> Path:
    """Where Spark is installed."""
    import pyspark

    return Path(pyspark.__file__).parent


def _start(folder: Path, name: str, daemon: str, *options: str) -> "subprocess.Popen[bytes]":
    given = {"SPARK_HOME": str(home()), "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_DAEMON_MEMORY": "256m"}
    with (folder / f"{name}.log").open("wb") as log:
        return subprocess.Popen(
            [home() / "bin" / "spark-class", daemon, "-h", "127.0.0.1", *options],
            env={**os.environ, **given, "PYSPARK_PYTHON": sys.executable},
            stdout=log,
            stderr=subprocess.STDOUT,
        )


def _alive(web: int) -> int | None:
    """Return how many workers the master has; None if it does not respond."""
    try:
        with urlopen(f"http://127.0.0.1:{web}/json/", timeout=5) as answer:
            return answer.read().decode().count('"state" : "ALIVE"')
    except OSError:
        return None


def _wait(is_there) -> None:
    until = time.monotonic() + STARTUP_SECONDS
    while not is_there():
        assert time.monotonic() < until, "the cluster did not come up"
        time.sleep(0.2)


def _children(parent: int) -> list[int]:
    """Return the child processes of a process, started by any of its threads."""
    files = [task / "children" for task in Path(f"/proc/{parent}/task").iterdir()]
    return [int(pid) for listed in files if listed.exists() for pid in listed.read_text().split()]
