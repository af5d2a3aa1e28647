"""Measure response times of the service: a month of millions of charges, and clients without pauses.

    python bench/serve.py [--machines 6400] [--clients 16] [--seconds 30] [--folder FOLDER]

Prints the median and the 95th percentile of the time to the last byte for each kind of address: first requests from one
client, then all clients while the caches are cold, then with warm caches, and the last two together. Also prints the
processor time of the service per response, which does not depend on other work of the machine, and its peak memory.
"""

import argparse
import http.client
import itertools
import json
import os
import random
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from pathlib import Path

import generated

from trainfare.books.build import build_books
from trainfare.settings import config
from trainfare.store import Store

SETTINGS = """
[[source]]
name = "cloud"
path = "bill.parquet"
[[source]]
path = "jobs.parquet"
[[source]]
path = "machines.parquet"
"""
Times = dict[str, list[float]]


def build(folder: Path, machines: int) -> None:
    """Build a workspace with one large month, unless it exists."""
    if (folder / "catalog.sqlite").exists():
        return
    made = generated.generate_month(folder, machines)
    (folder / config.FILE_NAME).write_text(SETTINGS, encoding="utf-8")
    started = time.monotonic()
    with Store.open(folder) as store:
        (built,) = build_books(config.load(folder / config.FILE_NAME), store)
        print(
            f"built {made.lines:,} charges, {built.book.rows['book_attempts']:,} jobs, {built.book.rows['shares']:,} shares "
            f"in {time.monotonic() - started:.0f} s"
        )


def questions(jobs: list[str], lines: list[str]) -> dict[str, list[str]]:
    """Return the addresses of each kind, in the variants that are requested in turn."""
    teams = [f"team-{number}" for number in range(12)]
    owners = [f"owner-{number}" for number in range(200)]
    days = [f"2026-10-{day:02d},2026-10-{day + 7:02d}" for day in range(1, 24, 3)]
    return {
        "page overview": ["/"],
        "page jobs": ["/jobs", *(f"/jobs?team={team}" for team in teams)],
        "page jobs, a week": [f"/jobs?from=2026-10-{day:02d}&to=2026-10-{day + 6:02d}" for day in range(1, 24, 3)],
        "page job": [f"/jobs/{job}" for job in jobs],
        "page efficiency": ["/efficiency"],
        "page cost trace": ["/cost-trace", *(f"/cost-trace?team={team}" for team in teams)],
        "page job cost trace": [f"/cost-trace/job?job={job}" for job in jobs],
        "page monthly close": ["/monthly-close"],
        "page findings": ["/findings"],
        "page rules": ["/rules"],
        "api report": ["/api/v1/report", *(f"/api/v1/report?aggregate=owner&filter=team:{team}" for team in teams)],
        "api report, a week": [f"/api/v1/report?window={window}" for window in days],
        "api trend": ["/api/v1/trend", *(f"/api/v1/trend?key=category&filter=team:{team}" for team in teams)],
        "api jobs": [f"/api/v1/jobs?offset={offset}" for offset in range(0, 2000, 50)],
        "api jobs, filtered": [f"/api/v1/jobs?filter=owner:{owner}&sort=-rate" for owner in owners],
        "api job": [f"/api/v1/jobs/{job}" for job in jobs],
        "api explain": [f"/api/v1/jobs/{job}/explain" for job in jobs],
        "api line": [f"/api/v1/lines/{line}" for line in lines],
        "api machines": ["/api/v1/machines"],
        "api reconcile": [f"/api/v1/reconcile?by={key}" for key in ("source", "rule", "account")],
        "api findings": ["/api/v1/findings"],
        "api rules": ["/api/v1/rules"],
        "api books": ["/api/v1/books"],
        "allocation": ["/allocation/compute?window=2026-10&aggregate=namespace"],
        "metrics": ["/metrics"],
    }


def send_requests(
    port: int, mix: "itertools.cycle[tuple[str, str]]", lock: threading.Lock, until: float, times: Times
) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    while time.monotonic() < until:
        with lock:
            name, path = next(mix)
        started = time.monotonic()
        connection.request("GET", path)
        answer = connection.getresponse()
        answer.read()
        seconds = time.monotonic() - started
        if answer.status != 200:
            raise SystemExit(f"{path} answered {answer.status}")
        with lock:
            times[name].append(seconds)


def load(port: int, asked: dict[str, list[str]], clients: int, seconds: int) -> Times:
    """Run all clients at once; each sends its next request as soon as it has a response."""
    weighted = [
        one for name, paths in asked.items() for one in random.Random(1).choices([(name, p) for p in paths], k=40)
    ]
    random.Random(2).shuffle(weighted)
    mix, lock = itertools.cycle(weighted), threading.Lock()
    times: Times = defaultdict(list)
    until = time.monotonic() + seconds
    threads = [threading.Thread(target=send_requests, args=(port, mix, lock, until, times)) for _ in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return times


def cold(port: int, asked: dict[str, list[str]], service: int) -> tuple[Times, Times]:
    """Request a few addresses of each kind once; return response times and the processor times of the service."""
    times: Times = defaultdict(list)
    worked: Times = defaultdict(list)
    for name, paths in asked.items():
        for path in paths[:4]:
            before, started = processor_seconds(service), time.monotonic()
            get(port, path)
            times[name].append(time.monotonic() - started)
            worked[name].append(processor_seconds(service) - before)
    return times, worked


def get(port: int, path: str) -> bytes:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=900)
    connection.request("GET", path)
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    if answer.status != 200:
        raise SystemExit(f"{path} answered {answer.status}")
    return body


def processor_seconds(process: int) -> float:
    """Return the processor seconds of a process so far, on all cores."""
    fields = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def wait_until_idle(process: int) -> None:
    """Wait until the service has no background work left."""
    before = -1.0
    while (now := processor_seconds(process)) - before > 0.1:
        before = now
        time.sleep(1)


def known(port: int) -> tuple[list[str], list[str]]:
    """Return some jobs, expensive and cheap, and some of their bill lines, once lines can be explained."""
    offsets = (0, 1000, 100_000, 500_000)
    rows = [row for at in offsets for row in json.loads(get(port, f"/api/v1/jobs?limit=4&offset={at}"))["rows"]]
    explained = json.loads(get(port, f"/api/v1/jobs/{rows[-1]['job']}/explain"))
    return [row["job"] for row in rows], [f"{line['delivery']}/{line['line']}" for line in explained["lines"][:8]]


def show(title: str, times: Times) -> None:
    print(f"\n{title}\n{'':24}{'requests':>10}{'median':>10}{'p95':>10}")
    for name, seconds in [*sorted(times.items()), ("all", [one for each in times.values() for one in each])]:
        ordered = sorted(seconds)
        middle, high = ordered[len(ordered) // 2], ordered[min(len(ordered) - 1, int(len(ordered) * 0.95))]
        print(f"{name:24}{len(ordered):10}{middle * 1000:8.0f}ms{high * 1000:8.0f}ms")


def peak_memory(process: int) -> str:
    status = Path(f"/proc/{process}/status").read_text(encoding="utf-8")
    kib = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM"))
    return f"{kib / 1024:.0f} MB"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--machines", type=int, default=6400)
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--seconds", type=int, default=30)
    parser.add_argument("--folder", type=Path)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="trainfare-") as spare:
        folder = asked.folder or Path(spare)
        build(folder, asked.machines)
        with socket.socket() as reserved:
            reserved.bind(("127.0.0.1", 0))
            port = reserved.getsockname()[1]
        command = [str(Path(sys.executable).with_name("trainfare")), "serve", "-w", str(folder), "--port", str(port)]
        server = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        try:
            started = time.monotonic()
            while not ready(port):
                time.sleep(0.2)
            print(f"ready after {time.monotonic() - started:.0f} s; peak memory so far {peak_memory(server.pid)}")
            mix = questions(*known(port))
            print(f"accounts of the newest versions stored after {time.monotonic() - started:.0f} s")
            wait_until_idle(server.pid)
            print(f"caches warmed after {time.monotonic() - started:.0f} s")
            times, worked = cold(port, mix, server.pid)
            show("first requests, one client", times)
            show("the same, processor time", worked)
            together: Times = defaultdict(list)
            for what in ("cold caches", "warm caches"):
                before = processor_seconds(server.pid)
                times = load(port, mix, asked.clients, asked.seconds)
                show(f"{asked.clients} clients, {asked.seconds} s, {what}", times)
                for name, answered in times.items():
                    together[name] += answered
                count, spent = sum(map(len, times.values())), processor_seconds(server.pid) - before
                print(
                    f"{count / asked.seconds:.0f} responses a second, {spent / count * 1000:.1f} ms of processor time each"
                )
            show(f"{asked.clients} clients, all {2 * asked.seconds} s", together)
            print(f"\npeak memory of the service: {peak_memory(server.pid)}")
        finally:
            server.terminate()
            server.wait()


def ready(port: int) -> bool:
    try:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=900)
        connection.request("GET", "/readyz")
        return connection.getresponse().status == 200
    except OSError:
        return False


if __name__ == "__main__":
    main()
