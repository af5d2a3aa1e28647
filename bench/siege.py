"""Measure ordinary clients while hostile clients send the worst queries that a team may send.

    python bench/siege.py [--minutes 10] [--machines 400] [--ordinary 16] [--hostile 50] [--folder FOLDER]

Ordinary clients are people of different teams and with different roles, who open pages and use the API with short
pauses. Hostile clients share two tokens of one team and send, without pauses, what costs most: a year in daily steps
by several keys, in all three formats, each with another filter so that nothing is cached; some disconnect at once, and
some send half a request. Prints the 95th percentile of ordinary clients before and during the siege, the slowest
/livez and, next to it, the slowest response of a process that does nothing else (the control: what the machine and its
other work cost), and the memory of the service at the start and the end of the siege. Exits with 1 if a target is
missed.
"""

import argparse
import http.client
import itertools
import multiprocessing
import os
import random
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import serve

from trainfare.settings.config import FILE_NAME

P95_SECONDS, LIVE_SECONDS, MEMORY_GROWTH = 0.3, 0.1, 0.10
PAUSE_SECONDS = 0.2
"""Between two requests of an ordinary client, who reads what comes back."""
TEAM = "team-0"
COMMAND = str(Path(sys.executable).with_name("trainfare"))


@dataclass
class Measured:
    """Times of responses in seconds, and how often each status came back."""

    seconds: list[float] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)

    @property
    def p95(self) -> float:
        ordered = sorted(self.seconds)
        return ordered[int(len(ordered) * 0.95)] if ordered else 0.0

    def show(self, name: str) -> None:
        middle = sorted(self.seconds)[len(self.seconds) // 2] if self.seconds else 0
        worst = max(self.seconds, default=0)
        counted = ", ".join(f"{count} x {status}" for status, count in sorted(self.statuses.items()))
        print(
            f"{name:22}{len(self.seconds):8}{middle * 1000:8.0f}ms{self.p95 * 1000:8.0f}ms{worst * 1000:8.0f}ms  {counted}"
        )


def get(port: int, path: str, token: str, measured: Measured) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    started = time.monotonic()
    try:
        connection.request("GET", path, headers=headers)
        response = connection.getresponse()
        response.read()
        measured.seconds.append(time.monotonic() - started)
        measured.statuses[response.status] += 1
    except (OSError, http.client.HTTPException):
        measured.seconds.append(time.monotonic() - started)
        measured.statuses[0] += 1
    finally:
        connection.close()


def ordinary(port: int, token: str, seed: int, until: float, measured: Measured) -> None:
    """Open pages and ask usual questions, with a short pause after each."""
    chance = random.Random(seed)
    paths = [
        "/",
        "/jobs",
        "/efficiency",
        "/api/v1/report",
        "/api/v1/report?aggregate=owner",
        "/api/v1/report?window=2026-10-05,2026-10-12",
        "/api/v1/trend?key=category",
        *(f"/api/v1/jobs?offset={offset}" for offset in range(0, 500, 50)),
        "/api/v1/metrics",
        "/static/app.css",
    ]
    while time.monotonic() < until:
        get(port, chance.choice(paths), token, measured)
        time.sleep(chance.uniform(0, 2 * PAUSE_SECONDS))


def worst_query(number: int) -> str:
    """One of the most expensive questions within the limits; the filter makes each a new one."""
    unique = f"filter=owner:owner-{number % 200}&filter=owner:nobody-{number}"
    return (
        f"/api/v1/report?window=2025-11-01,2026-11-01&step=1d&aggregate=team,gpu_model,category&{unique}",
        f"/api/v1/report?window=2026-10-01,2026-11-01&step=1d&aggregate=owner,pool&productive=busy&{unique}",
        f"/allocation/compute?window=2025-11-01,2026-11-01&step=1d&aggregate=namespace,node&includeIdle=true&{unique}",
        f"/api/v1/report?aggregate=job&format=parquet&{unique}",
        f"/api/v1/trend?key=owner&{unique}&format=csv",
        f"/api/v1/jobs?limit=1000&sort=-rate&q={number % 10}&{unique}",
        f"/export/jobs.parquet?owner=owner-{number % 200}&q={number}",
        f"/jobs?by=owner&q={number}&pick=a&pick=b&owner=nobody-{number}",
        f"/?compare=on&owner=owner-{number % 200}&owner=nobody-{number}",
    )[number % 9]


def hostile(port: int, token: str, numbers: "itertools.count[int]", until: float, measured: Measured) -> None:
    """Send the worst queries without a pause; leave some of them at once, and some requests half sent."""
    while time.monotonic() < until:
        number = next(numbers)
        if number % 7 == 3:
            head = f"GET {worst_query(number)} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {token}\r\n"
            with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=10) as one:
                one.sendall(head.encode() + (b"\r\n" if number % 2 else b""))
                time.sleep(0.2)
            measured.statuses[-1] += 1
        else:
            get(port, worst_query(number), token, measured)


@dataclass(frozen=True)
class Round:
    """One measurement: who asks which service, until when (by the machine's monotonic clock)."""

    port: int
    control_port: int
    until: float
    first_number: int = 0
    """The first hostile query; no number is asked twice, so nothing is cached."""


def ordinary_clients(one: Round, tokens: list[str]) -> Measured:
    measured = Measured()
    _together([partial(ordinary, one.port, token, n, one.until, measured) for n, token in enumerate(tokens)])
    return measured


def hostile_clients(one: Round, tokens: list[str], clients: int) -> Measured:
    measured, numbers = Measured(), itertools.count(one.first_number)
    shared = itertools.islice(itertools.cycle(tokens), clients)
    _together([partial(hostile, one.port, token, numbers, one.until, measured) for token in shared])
    return measured


def watch_health(one: Round) -> tuple[Measured, Measured]:
    """Ask for /livez and, in turn, a process that does nothing else: what that takes is the machine's part."""
    live, control = Measured(), Measured()
    while time.monotonic() < one.until:
        get(one.port, "/livez", "", live)
        get(one.control_port, "/", "", control)
        time.sleep(0.05)
    return live, control


def serve_control(listening: socket.socket) -> None:
    """Answer every request with the same few bytes."""
    while True:
        client, _ = listening.accept()
        with client, suppress(OSError):
            client.recv(4096)
            client.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\nconnection: close\r\n\r\nok\n")


def _together(clients: list[Callable[[], None]]) -> None:
    threads = [threading.Thread(target=client) for client in clients]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def memory_mb(process: int) -> float:
    """The memory that a process has in use now."""
    status = Path(f"/proc/{process}/status").read_text(encoding="utf-8")
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS")) / 1024


def create_tokens(folder: Path, ordinary_clients: int) -> tuple[list[str], list[str]]:
    """Tokens of ordinary viewers, every second one of a team, and two of the hostile team."""
    settings = folder / FILE_NAME
    if "[serve]" not in settings.read_text(encoding="utf-8"):
        settings.write_text(
            settings.read_text(encoding="utf-8") + '\n[serve]\nsign_in = "proxy"\nproxies = ["192.0.2.1"]\n'
        )

    def create(name: str, *role: str) -> str:
        command = [COMMAND, "token", "create", name, *role, "-w", str(folder)]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    people = []
    for number in range(ordinary_clients):
        role = ("--role", "team", "--sees", f"team:team-{1 + number % 11}") if number % 2 else ("--role", "viewer")
        people.append(create(f"person-{number}", *role))
    return people, [create(f"hostile-{number}", "--role", "team", "--sees", f"team:{TEAM}") for number in range(2)]


@dataclass
class Siege:
    """The service under test, its clients, and the processes that they run in: none delays another's clock."""

    port: int
    control_port: int
    process: int
    people: list[str]
    enemies: list[str]
    hostile: int
    pool: ProcessPoolExecutor
    rounds: int = 0

    def measure(self, seconds: float, is_besieged: bool) -> tuple[Measured, Measured, Measured, Measured]:
        """Times of ordinary clients, /livez, the control and hostile clients."""
        self.rounds += 1
        one = Round(self.port, self.control_port, time.monotonic() + seconds, self.rounds * 10_000_000)
        people = self.pool.submit(ordinary_clients, one, self.people)
        health = self.pool.submit(watch_health, one)
        enemies = self.pool.submit(hostile_clients, one, self.enemies, self.hostile if is_besieged else 0)
        return people.result(), *health.result(), enemies.result()


def judged(siege: Siege, minutes: float) -> bool:
    """Measure ordinary clients alone, then together with hostile ones; return whether all targets are met."""
    siege.measure(min(60, minutes * 60 / 4), is_besieged=False)  # caches fill up
    calm, calm_live, calm_control, _ = siege.measure(min(60, minutes * 60 / 4), is_besieged=False)
    siege.measure(min(60, minutes * 60 / 4), is_besieged=True)
    started = memory_mb(siege.process)
    busy, live, control, sent = siege.measure(minutes * 60, is_besieged=True)
    ended = memory_mb(siege.process)
    print(f"\n{'':22}{'responses':>8}{'median':>10}{'p95':>10}{'max':>10}")
    for name, measured in (("ordinary, alone", calm), ("livez, alone", calm_live), ("control, alone", calm_control)):
        measured.show(name)
    for name, measured in (("ordinary", busy), ("livez", live), ("control", control), ("hostile", sent)):
        measured.show(f"{name}, under siege" if measured is not sent else name)
    load = os.getloadavg()[0]
    print(f"\nmemory {started:.0f} MB at the start and {ended:.0f} MB at the end; load of the machine {load:.1f}")
    return _judge(
        {
            f"95th percentile under {P95_SECONDS * 1000:.0f} ms": busy.p95 < P95_SECONDS,
            f"/livez under {LIVE_SECONDS * 1000:.0f} ms throughout": max(live.seconds) < LIVE_SECONDS,
            f"memory grows by at most {MEMORY_GROWTH:.0%}": ended - started <= MEMORY_GROWTH * started,
            "every ordinary response is a success": set(busy.statuses) <= {200, 304},
        }
    )


def _judge(targets: dict[str, bool]) -> bool:
    for name, is_met in targets.items():
        print(f"{'met   ' if is_met else 'MISSED'} {name}")
    return all(targets.values())


@contextmanager
def _process(target: Callable[[socket.socket], None], listening: socket.socket) -> Iterator[None]:
    process = multiprocessing.Process(target=target, args=(listening,))
    process.start()
    try:
        yield
    finally:
        process.terminate()
        process.join()


@contextmanager
def _running(folder: Path) -> Iterator[tuple[int, int]]:
    """Start the service; yield its port and process id once it has nothing left to prepare."""
    with socket.socket() as reserved:
        reserved.bind(("127.0.0.1", 0))
        port = reserved.getsockname()[1]
    server = subprocess.Popen([COMMAND, "serve", "-w", str(folder), "--port", str(port)], stderr=subprocess.DEVNULL)
    try:
        while not serve.ready(port):
            time.sleep(0.2)
        serve.wait_until_idle(server.pid)
        yield port, server.pid
    finally:
        server.terminate()
        server.wait()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--machines", type=int, default=400)
    parser.add_argument("--ordinary", type=int, default=16)
    parser.add_argument("--hostile", type=int, default=50)
    parser.add_argument("--folder", type=Path)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="trainfare-") as spare:
        folder = asked.folder or Path(spare)
        serve.build(folder, asked.machines)
        tokens = create_tokens(folder, asked.ordinary)
        with (
            socket.create_server(("127.0.0.1", 0)) as listening,
            _process(serve_control, listening),
            _running(folder) as (port, process),
            ProcessPoolExecutor(3) as pool,
        ):
            target = Siege(port, listening.getsockname()[1], process, *tokens, asked.hostile, pool)
            is_met = judged(target, asked.minutes)
    sys.exit(0 if is_met else 1)


if __name__ == "__main__":
    main()
