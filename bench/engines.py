"""Compare DuckDB and Spark: the same months, the same digits, and what each engine needs.

    python bench/engines.py [--millions 1 10 100] [--engines duckdb spark] [--duckdb-memory 6GB] [--worker-memory 4g]
                            [--minutes 120] [--folder FOLDER]

Generates a month for each size and builds it with each engine, one after the other, as `trainfare build` does. Spark
runs on a standalone cluster on this machine: a master and two workers with one core each, in separate processes on
loopback. Prints for each build:

    wall s       from the first opened file to the published book; the session is started before
    cpu s        processor seconds of all processes together, which do not depend on other work of the machine
    driver GB    peak memory of the build process and its children
    worker GB    the same for the largest worker
    s / million  wall seconds per million charges
    growth       that, relative to the previous size: 1.0 is linear
    reading      part of the wall time until the kinds of all charges are known; the rest is allocation and writing

Then every table of the books is compared, regardless of the order of its rows; a difference is named and ends the run
with exit code 1. A build that takes longer than `--minutes` is stopped and reported. All files are removed at the end.
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

from generated import HOURS, GeneratedMonth, generate_month

LINES_PER_MACHINE = HOURS * 3
SAMPLED_SECONDS = 0.5
DRIVER_MEMORY = "3g"
READER_MEMORY = "1GB"
"""For the embedded reader next to Spark's driver."""
COMPARING_MEMORY = "4GB"


@dataclass(frozen=True)
class Measured:
    """The resources of one build."""

    wall: float
    cpu: float
    driver_gb: float
    worker_gb: float
    reading: float
    book: Mapping[str, str]
    """A fingerprint of all rows, by table."""


@dataclass(frozen=True)
class EngineSetup:
    """How to run an engine: the settings of the workspace, the memory of its process, and its worker processes."""

    name: str
    settings: str
    memory: str
    workers: list[int] = field(default_factory=list)


class Watch:
    """Samples a process and its children: their peak memory, and their processor seconds in total."""

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
        """Stop sampling; return the processor seconds since the start."""
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
    """Build in this process; print how long it took, and where the tables of the book are."""
    from trainfare.books.build import build_books
    from trainfare.settings.config import load
    from trainfare.store import Store

    config = load(workspace / "trainfare.toml")
    moments: dict[str, float] = {}

    def record(stage: str) -> None:
        moments.setdefault(stage, time.monotonic())

    with Store.open(workspace, config.catalog) as store:
        (built,) = build_books(config, store, progress=record)
        ended, started = time.monotonic(), min(moments.values())
        took = {"wall": ended - started, "reading": (moments["reading job logs"] - started) / (ended - started)}
        files = {name: str(path) for name, path in store.files(built.book).files.items()}
    print(json.dumps({**took, "files": files}))


def fingerprints(files: Mapping[str, str]) -> dict[str, str]:
    """Return a fingerprint of each table, regardless of the order of its rows."""
    from trainfare.engine.duckdb import DuckDB
    from trainfare.engine.sql import parquet

    with contextlib.closing(DuckDB(memory_limit=COMPARING_MEMORY)) as engine:
        return {
            name: str(engine.row(f"SELECT count(*), sum(CAST(hash(t) AS HUGEINT)) FROM {parquet(Path(path))} AS t"))
            for name, path in files.items()
        }


def measured(made: GeneratedMonth, setup: EngineSetup, seconds: float) -> Measured | None:
    """Build the month with one engine in its own process; return None if it took too long."""
    with tempfile.TemporaryDirectory(dir=made.bill.parent) as workspace:
        sources = "".join(f'[[source]]\npath = "{path.resolve()}"\n' for path in (made.bill, made.jobs, made.machines))
        settings = f"{sources}\n[engine]\nname = '{setup.name}'\n{setup.settings}"
        Path(workspace, "trainfare.toml").write_text(settings, encoding="utf-8")
        running = subprocess.Popen(
            [sys.executable, __file__, "--build", workspace],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "TRAINFARE_MEMORY_LIMIT": setup.memory, "TMPDIR": workspace},
            start_new_session=True,
        )
        watches = [Watch(pid) for pid in (running.pid, *setup.workers)]
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
        result = json.loads(out.splitlines()[-1])
        book = fingerprints(result["files"])
    worker_gb = max((watch.peak_gb for watch in watches[1:]), default=0.0)
    return Measured(result["wall"], cpu, watches[0].peak_gb, worker_gb, result["reading"], book)


@contextlib.contextmanager
def on_a_cluster(folder: Path, memory: str) -> Iterator[EngineSetup]:
    """Run Spark on a master and two workers of one core each."""
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
        yield EngineSetup("spark", settings, READER_MEMORY, [worker.pid for worker in started.workers])


def differing(books: list[Mapping[str, str]]) -> list[str]:
    """Return the tables that differ between these books."""
    return sorted(name for name in books[0] if any(book[name] != books[0][name] for book in books)) if books else []


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--millions", type=float, nargs="+", default=[1, 10, 100])
    parser.add_argument("--engines", nargs="+", choices=["duckdb", "spark"], default=["duckdb", "spark"])
    parser.add_argument("--duckdb-memory", default="6GB", help="for its tables; the process needs some more")
    parser.add_argument("--worker-memory", default="4g")
    parser.add_argument("--minutes", type=float, default=120, help="time limit of one build")
    parser.add_argument("--folder", type=Path, help="working folder; default: the system's temporary folder")
    parser.add_argument("--build", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.build:
        build(options.build)
        return
    heads = ("charges", "engine", "wall s", "cpu s", "driver GB", "worker GB", "s / million", "growth", "reading")
    print("".join(f"{head:>13}" for head in heads), flush=True)
    if options.folder:
        options.folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=options.folder) as scratch, contextlib.ExitStack() as stack:
        folder = Path(scratch)
        setups = {"duckdb": EngineSetup("duckdb", "", options.duckdb_memory)}
        if "spark" in options.engines:
            setups["spark"] = stack.enter_context(on_a_cluster(folder, options.worker_memory))
        per_million: dict[str, float] = {}
        for millions in options.millions:
            made = generate_month(folder / f"{millions:g}", round(millions * 1e6 / LINES_PER_MACHINE))
            books = []
            for engine in options.engines:
                found = measured(made, setups[engine], options.minutes * 60)
                print(_row(made.lines, engine, found, per_million), flush=True)
                books += [found.book] if found else []
            shutil.rmtree(made.bill.parent)
            if different := differing(books):
                raise SystemExit(f"the engines differ in {', '.join(different)}")
            if len(books) > 1:
                print(f"{'':13}{len(books[0])} tables, the same on both, digit for digit", flush=True)


def _row(lines: int, engine: str, found: Measured | None, per_million: dict[str, float]) -> str:
    """Return a line of the output; remember the time per million for the next size."""
    if not found:
        return f"{lines:>13,}{engine:>13}   failed, or exceeded the time limit"
    each = found.wall / lines * 1e6
    growth = f"{each / per_million[engine]:.2f}" if engine in per_million else "-"
    per_million[engine] = each
    worker = f"{found.worker_gb:.2f}" if found.worker_gb else "-"
    return (
        f"{lines:>13,}{engine:>13}{found.wall:>13.1f}{found.cpu:>13.1f}{found.driver_gb:>13.2f}"
        f"{worker:>13}{each:>13.2f}{growth:>13}{found.reading:>13.0%}"
    )


if __name__ == "__main__":
    main()
