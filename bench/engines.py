"""DuckDB and Spark side by side: the same months, the same digits, what each of them takes.

    python bench/engines.py [--millions 1 10 100] [--engines duckdb spark] [--duckdb-memory 6GB] [--worker-memory 4g]
                            [--minutes 120] [--folder FOLDER]

Invents a month for each size and builds it with each engine, one after the other, as `trainfare build` does. Spark runs on a standalone
cluster on this machine: a master and two workers with one core each, all processes of their own, on loopback. Prints for each build:

    wall s       from the first file that is opened to the published book; the session is started before
    cpu s        processor seconds of all processes together: what wall time cannot say of a machine that others use too
    driver GB    the most memory that the process of the build, and what it started, had at any time
    worker GB    the same of the largest worker
    s / million  wall seconds for a million charges
    growth       that, over the one of the size before: 1.0 is straight
    reading      part of the wall time until the kinds of all charges are known; the rest is sharing and writing

Then every table of the books is compared, whichever order its rows have; if a digit differs it says where and ends with 1. A build
that takes longer than `--minutes` is stopped and said to be so. Everything that was made is removed at the end.
"""

import argparse
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from invented import HOURS, Invented, invent

LINES_PER_MACHINE = HOURS * 3
SAMPLED_SECONDS = 0.5
DRIVER_MEMORY = "3g"
READER_MEMORY = "1GB"
"""For the embedded reader beside Spark's driver."""
COMPARING_MEMORY = "4GB"


@dataclass(frozen=True)
class Taken:
    """What one build took."""

    wall: float
    cpu: float
    driver_gb: float
    worker_gb: float
    reading: float
    book: Mapping[str, str]
    """By table, a fingerprint of all its rows."""


@dataclass(frozen=True)
class Running:
    """How an engine is asked for: the settings of a workspace, what its process may hold, and processes that work for it."""

    name: str
    settings: str
    memory: str
    workers: list[int] = field(default_factory=list)


class Watch:
    """Follows a process and all it starts: their most memory, and the processor seconds they used in all."""

    def __init__(self, pid: int) -> None:
        import psutil

        self._root = psutil.Process(pid)
        self._gone = (psutil.NoSuchProcess, psutil.AccessDenied)
        self.peak_gb = 0.0
        self._cpu: dict[int, float] = {}
        self._before = self._sample()[1]
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._follow, daemon=True)
        self._thread.start()

    def stop(self) -> float:
        """Processor seconds since it began to look."""
        self._stopped.set()
        self._thread.join()
        return sum(seconds - self._before.get(pid, 0.0) for pid, seconds in self._cpu.items())

    def _follow(self) -> None:
        while not self._stopped.wait(SAMPLED_SECONDS):
            memory, cpu = self._sample()
            self._cpu |= cpu
            self.peak_gb = max(self.peak_gb, memory / 1e9)

    def _sample(self) -> tuple[int, dict[int, float]]:
        memory, cpu = 0, {}
        with contextlib.suppress(*self._gone):
            for process in (self._root, *self._root.children(recursive=True)):
                with contextlib.suppress(*self._gone):
                    times = process.cpu_times()
                    memory += process.memory_info().rss
                    cpu[process.pid] = float(times.user + times.system)
        return memory, cpu


def build(workspace: Path) -> None:
    """What the process of one build does; prints how long it took, and where the tables of the book are."""
    from trainfare import pipeline
    from trainfare.config import load
    from trainfare.store import Store

    config = load(workspace / "trainfare.toml")
    moments: dict[str, float] = {}

    def told(stage: str) -> None:
        moments.setdefault(stage, time.monotonic())

    with Store.open(workspace, config.catalog) as store:
        (built,) = pipeline.build(config, store, progress=told)
        ended, started = time.monotonic(), min(moments.values())
        took = {"wall": ended - started, "reading": (moments["reading job logs"] - started) / (ended - started)}
        files = {name: str(path) for name, path in store.files(built.book).files.items()}
    print(json.dumps({**took, "files": files}))


def fingerprints(files: Mapping[str, str]) -> dict[str, str]:
    """What each table says, whichever order its rows have."""
    from trainfare.engine.duckdb import DuckDB
    from trainfare.engine.sql import parquet

    with contextlib.closing(DuckDB(memory_limit=COMPARING_MEMORY)) as engine:
        return {
            name: str(engine.row(f"SELECT count(*), sum(CAST(hash(t) AS HUGEINT)) FROM {parquet(Path(path))} AS t"))
            for name, path in files.items()
        }


def measured(made: Invented, asked: Running, seconds: float) -> Taken | None:
    """Build the month with one engine, in a process of its own; None if it took too long."""
    with tempfile.TemporaryDirectory(dir=made.bill.parent) as workspace:
        sources = "".join(f'[[source]]\npath = "{path.resolve()}"\n' for path in (made.bill, made.jobs, made.machines))
        settings = f"{sources}\n[engine]\nname = '{asked.name}'\n{asked.settings}"
        Path(workspace, "trainfare.toml").write_text(settings, encoding="utf-8")
        running = subprocess.Popen(
            [sys.executable, __file__, "--build", workspace],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "TRAINFARE_MEMORY_LIMIT": asked.memory, "TMPDIR": workspace},
            start_new_session=True,
        )
        watches = [Watch(pid) for pid in (running.pid, *asked.workers)]
        try:
            out, _ = running.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            out = ""
        finally:
            if running.poll() is None:
                os.killpg(running.pid, signal.SIGKILL)
                running.wait()
        cpu = sum(watch.stop() for watch in watches)
        if running.returncode or not out:
            return None
        told = json.loads(out.splitlines()[-1])
        book = fingerprints(told["files"])
    worker_gb = max((watch.peak_gb for watch in watches[1:]), default=0.0)
    return Taken(told["wall"], cpu, watches[0].peak_gb, worker_gb, told["reading"], book)


@contextlib.contextmanager
def on_a_cluster(folder: Path, memory: str) -> Iterator[Running]:
    """Spark on a master and two workers of one core each."""
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
    from services import spark_cluster  # type: ignore[import-not-found]

    with spark_cluster.running(folder, workers=2, memory=memory) as started:
        passed = {
            "spark.executor.memory": memory,
            "spark.driver.memory": DRIVER_MEMORY,
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
        }
        listed = "".join(f'"{name}" = "{value}"\n' for name, value in passed.items())
        settings = f"master = '{started.url}'\n[engine.settings]\n{listed}"
        yield Running("spark", settings, READER_MEMORY, [worker.pid for worker in started.workers])


def differing(books: list[Mapping[str, str]]) -> list[str]:
    """The tables that are not the same in all of these books."""
    return sorted(name for name in books[0] if any(book[name] != books[0][name] for book in books)) if books else []


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--millions", type=float, nargs="+", default=[1, 10, 100])
    parser.add_argument("--engines", nargs="+", choices=["duckdb", "spark"], default=["duckdb", "spark"])
    parser.add_argument("--duckdb-memory", default="6GB", help="for its tables; the process needs some more")
    parser.add_argument("--worker-memory", default="4g")
    parser.add_argument("--minutes", type=float, default=120, help="longest that one build may take")
    parser.add_argument("--folder", type=Path, help="where to work; the system's folder for such things if left out")
    parser.add_argument("--build", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.build:
        build(asked.build)
        return
    heads = ("charges", "engine", "wall s", "cpu s", "driver GB", "worker GB", "s / million", "growth", "reading")
    print("".join(f"{head:>13}" for head in heads), flush=True)
    if asked.folder:
        asked.folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=asked.folder) as scratch, contextlib.ExitStack() as stack:
        folder = Path(scratch)
        ways = {"duckdb": Running("duckdb", "", asked.duckdb_memory)}
        if "spark" in asked.engines:
            ways["spark"] = stack.enter_context(on_a_cluster(folder, asked.worker_memory))
        per_million: dict[str, float] = {}
        for millions in asked.millions:
            made = invent(folder / f"{millions:g}", round(millions * 1e6 / LINES_PER_MACHINE))
            books = []
            for engine in asked.engines:
                taken = measured(made, ways[engine], asked.minutes * 60)
                print(_row(made.lines, engine, taken, per_million), flush=True)
                books += [taken.book] if taken else []
            shutil.rmtree(made.bill.parent)
            if found := differing(books):
                raise SystemExit(f"the engines do not agree on {', '.join(found)}")
            if len(books) > 1:
                print(f"{'':13}{len(books[0])} tables, the same on both, digit for digit", flush=True)


def _row(lines: int, engine: str, taken: Taken | None, per_million: dict[str, float]) -> str:
    """A line of what is printed; keeps the time per million for the next size."""
    if not taken:
        return f"{lines:>13,}{engine:>13}   did not end, or not in time"
    each = taken.wall / lines * 1e6
    growth = f"{each / per_million[engine]:.2f}" if engine in per_million else "-"
    per_million[engine] = each
    worker = f"{taken.worker_gb:.2f}" if taken.worker_gb else "-"
    return (
        f"{lines:>13,}{engine:>13}{taken.wall:>13.1f}{taken.cpu:>13.1f}{taken.driver_gb:>13.2f}"
        f"{worker:>13}{each:>13.2f}{growth:>13}{taken.reading:>13.0%}"
    )


if __name__ == "__main__":
    main()
