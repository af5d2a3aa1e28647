"""Forks, kills, signals, ranks and full disks: training goes on, and what was recorded is readable."""

import contextlib
import json
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from .programs import events, files, of_type, run, start, types

PYENV = Path.home() / ".pyenv" / "versions"
PYTHONS = sorted(
    str(path) for path in PYENV.glob("3.*/bin/python") if tuple(map(int, path.parts[-3].split(".")[:2])) >= (3, 9)
)
KILLS = 12

EVERYTHING = """
import multiprocessing, os, signal, sys, threading, time
import trainfare_sdk

def in_child(job, results):
    job.step(999)
    with job.checkpoint(999):
        pass
    trainfare_sdk.log(gpu_busy_seconds=1)
    results.put(trainfare_sdk.current() is None)

if __name__ == "__main__":
    before = signal.getsignal(signal.SIGTERM)
    with trainfare_sdk.job("everything", settings=trainfare_sdk.Settings(heartbeat_seconds=0.05)) as job:
        job.step(1)
        child = os.fork()
        if not child:
            job.step(998)
            job.end("failed")
            os._exit(7)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        child = os.fork()
        if not child:
            sys.exit(0)  # with atexit and finalizers
        assert os.waitpid(child, 0)[1] == 0
        forking = multiprocessing.get_context("fork")
        results = forking.Queue()
        workers = [forking.Process(target=in_child, args=(job, results)) for _ in range(3)]
        for worker in workers: worker.start()
        assert all(results.get(timeout=60) for _ in workers)
        for worker in workers: worker.join()
        threads = [threading.Thread(target=lambda: [job.log(gpu_busy_seconds=1) for _ in range(50)]) for _ in range(4)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
        with job.checkpoint(2):
            time.sleep(0.12)
    assert signal.getsignal(signal.SIGTERM) is before
    print("done", sys.version_info[:2])
"""


def test_there_are_several_python_versions_here_or_the_test_says_so() -> None:
    if not PYTHONS:
        pytest.skip("no other Python versions below ~/.pyenv/versions")
    assert all(
        subprocess.run([one, "-c", "import sys; assert sys.version_info >= (3, 9)"]).returncode == 0 for one in PYTHONS
    )


@pytest.mark.parametrize("python", PYTHONS or [sys.executable], ids=lambda path: Path(path).parts[-3])
def test_forks_and_threads_leave_one_sound_file_on_every_python(python: str, tmp_path: Path) -> None:
    """A child writes nothing, ends nothing and hangs nowhere, with os.fork and with multiprocessing."""
    # Since 3.12, Python warns about every fork of a process with threads, of which any framework has some.
    code, out, err = run(EVERYTHING, tmp_path, python, PYTHONWARNINGS="ignore::DeprecationWarning")
    assert (code, err) == (0, ""), err
    assert out.startswith("done")
    found = events(tmp_path)
    assert len(files(tmp_path)) == 1
    assert {one["data"].get("step", 1) for one in found} <= {1, 2}
    assert len(of_type(found, "usage")) == 200
    assert types(found)[-1] == "end"
    assert of_type(found, "end")[0]["state"] == "completed"
    assert [one["data"]["seq"] for one in found] == [*range(1, len(found) + 1)]
    assert of_type(found, "running")


@pytest.mark.parametrize("python", PYTHONS or [sys.executable], ids=lambda path: Path(path).parts[-3])
def test_importing_takes_less_than_50_milliseconds_and_nothing_heavy(python: str, tmp_path: Path) -> None:
    """The work of the fastest of several imports: others may keep the machine busy."""
    code = (
        "import sys, time\nbefore = set(sys.modules); start = time.process_time()\nimport trainfare_sdk\n"
        "print(time.process_time() - start)\nprint(*sorted(set(sys.modules) - before))"
    )
    runs = [run(code, tmp_path, python)[1].splitlines() for _ in range(5)]
    assert min(float(seconds) for seconds, _ in runs) < 0.05
    heavy = {"http", "http.client", "ssl", "socket", "gzip", "hashlib", "subprocess", "multiprocessing", "asyncio"}
    assert not heavy & set(runs[0][1].split())


LOOP = """
import time, trainfare_sdk
with trainfare_sdk.job("loop", settings=trainfare_sdk.Settings(step_seconds=0, heartbeat_seconds=0.05)) as job:
    print("started", flush=True)
    for number in range(10**9):
        job.step(number)
        if number % 100 == 0:
            with job.checkpoint():
                pass
"""


def test_a_process_killed_at_any_moment_leaves_a_readable_file(tmp_path: Path) -> None:
    seed = random.randrange(10**6)
    chance = random.Random(seed)
    for kill in range(1, KILLS + 1):
        program = start(LOOP, tmp_path)
        assert program.stdout is not None
        assert program.stdout.readline() == "started\n"
        time.sleep(chance.random() * 0.05)
        program.kill()
        program.communicate()
        found = events(tmp_path)
        assert of_type(found, "start")[-1]["attempt"] == kill, f"seed {seed}"
    for path in files(tmp_path):
        numbers = [one["data"]["seq"] for one in events_of(path)]
        assert numbers == [*range(1, len(numbers) + 1)], f"seed {seed}"


def events_of(path: Path) -> list[dict[str, dict[str, int]]]:
    *lines, _ = path.read_bytes().split(b"\n")
    return [json.loads(line) for line in lines]


def test_sigterm_ends_a_process_as_it_would_without_the_sdk(tmp_path: Path) -> None:
    for signals in (False, True):
        program = start(LOOP.replace('job("loop",', f'job("loop", signals={signals},'), tmp_path / str(signals))
        assert program.stdout is not None
        program.stdout.readline()
        program.terminate()
        _, err = program.communicate(timeout=60)
        assert (program.returncode, err) == (-signal.SIGTERM, "")
        ends = of_type(events(tmp_path / str(signals)), "end")
        assert [(one["state"], one["signal"]) for one in ends] == ([("canceled", "SIGTERM")] if signals else [])


def test_a_handler_of_the_program_is_called_and_decides(tmp_path: Path) -> None:
    code = (
        "import os, signal, trainfare_sdk\ncalls = []\nsignal.signal(signal.SIGTERM, lambda *given: calls.append(given))\n"
        "with trainfare_sdk.job('a', signals=True):\n  os.kill(os.getpid(), signal.SIGTERM)\n"
        "assert len(calls) == 1\nassert signal.getsignal(signal.SIGTERM).__name__ == '<lambda>'"
    )
    assert run(code, tmp_path) == (0, "", "")
    assert types(events(tmp_path)) == ["start", "signal", "end"]
    assert of_type(events(tmp_path), "end")[0]["state"] == "completed"


RANK = "import trainfare_sdk\nwith trainfare_sdk.job('ddp') as job:\n  job.step(3)\n  with job.checkpoint(): pass"


def test_one_process_per_machine_reports_and_only_the_first_reports_steps(tmp_path: Path) -> None:
    ranks = [
        start(RANK, tmp_path, RANK=str(rank), LOCAL_RANK=str(rank % 2), TRAINFARE_MACHINE=f"n{rank // 2}",
              TORCHELASTIC_RUN_ID="run-7", TORCHELASTIC_RESTART_COUNT="0")
        for rank in range(4)
    ]  # fmt: skip
    assert [one.communicate(timeout=60)[1] for one in ranks] == [""] * 4
    found = events(tmp_path)
    assert {(one["machine"], one["attempt"]) for one in of_type(found, "start")} == {("n0", 1), ("n1", 1)}
    assert [one["machine"] for one in of_type(found, "step")] == ["n0"]
    assert len(of_type(found, "end")) == 2
    run(RANK, tmp_path, RANK="0", LOCAL_RANK="0", TORCHELASTIC_RUN_ID="run-7", TORCHELASTIC_RESTART_COUNT="1")
    assert max(one["attempt"] for one in of_type(events(tmp_path), "start")) == 2


@contextlib.contextmanager
def small_disk(folder: Path, kib: int) -> Iterator[Path]:
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={kib}k", "tmpfs", folder], capture_output=True)
    if mounted.returncode:
        pytest.skip("this user may not mount a small disk")
    try:
        yield folder
    finally:
        subprocess.run(["umount", folder], check=True)


FULL = """
import os, time, trainfare_sdk
from trainfare_sdk import spool
spool.RETRY_SECONDS = 0.05
folder = os.environ["TRAINFARE_SPOOL"]
with trainfare_sdk.job("full") as job:
    filler = open(folder + "/filler", "wb", buffering=0)
    try:
        while filler.write(bytes(4096)): pass
    except OSError: pass
    for number in range(2000):
        job.log(gpu_busy_seconds=number)
    filler.truncate(0)
    time.sleep(0.1)
    job.log(gpu_busy_seconds=1)
print("trained")
"""


def test_on_a_full_disk_training_goes_on_and_the_gap_is_recorded(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", 64) as disk:
        code, out, err = run(FULL, disk)
        assert (code, out, err.count("\n")) == (0, "trained\n", 1)
        assert "training goes on" in err
        found = events(disk)
    (gap,) = of_type(found, "gap")
    assert gap["lost"] > 1900
    assert "space" in gap["reason"]
    numbers = [one["data"]["seq"] for one in found]
    assert max(numbers) - len(numbers) == gap["lost"]
    assert types(found)[-1] == "end"


def test_a_file_that_reaches_its_size_limit_is_continued_in_another(tmp_path: Path) -> None:
    code = (
        "import resource, trainfare_sdk\nresource.setrlimit(resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY))\n"
        "with trainfare_sdk.job('a') as job:\n  for number in range(100): job.log(gpu_busy_seconds=number)\nprint('trained')"
    )
    assert run(code, tmp_path)[:2] == (0, "trained\n")
    found = sorted(events(tmp_path), key=lambda one: one["data"]["seq"])
    assert len(files(tmp_path)) > 5
    assert all(path.stat().st_size <= 4096 for path in files(tmp_path))
    assert [one["data"]["seq"] for one in found] == [*range(1, 103)]


def test_a_program_that_closes_all_its_files_gets_nothing_written_into_its_own(tmp_path: Path) -> None:
    own = tmp_path / "own.txt"
    code = (
        f"import os, trainfare_sdk\nwith trainfare_sdk.job('a') as job:\n  os.closerange(3, 64)\n"
        f"  files = [open({str(own)!r}, 'w') for _ in range(20)]\n  job.log(gpu_busy_seconds=1)\n"
    )
    assert run(code, tmp_path / "spool")[0] == 0
    assert own.read_text() == ""
    assert sorted(types(events(tmp_path / "spool"))) == ["end", "start", "usage"]


def test_resources_are_not_leaked_by_many_jobs(tmp_path: Path) -> None:
    code = (
        "import os, threading, time, trainfare_sdk\nfor _ in range(30):\n  with trainfare_sdk.job('a'): pass\n"
        "deadline = time.monotonic() + 30\n"
        "while threading.active_count() > 1 and time.monotonic() < deadline: time.sleep(0.01)\n"
        "print(threading.active_count(), len(os.listdir('/proc/self/fd')) < 15)"
    )
    assert run(code, tmp_path) == (0, "1 True\n", "")
