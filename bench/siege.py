"""Measure ordinary clients while hostile clients send the worst queries that a team may send.

    python bench/siege.py [--minutes 10] [--machines 400] [--ordinary 16] [--hostile 50] [--folder FOLDER]

Ordinary clients are people of different teams and with different roles, who open pages and use the API with short
pauses. Hostile clients share two tokens of one team and send, without pauses, what costs most: a year in daily steps
by several keys, in all three formats, each with another filter so that nothing is cached; some disconnect at once, and
some send half a request. Prints the 95th percentile of ordinary clients before and during the siege, the slowest
/livez, and the memory of the service at the start and the end of the siege. Exits with 1 if a target is missed.
"""

import argparse
import http.client
import itertools
import os
import random
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
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


def ordinary(port: int, token: str, seed: int, stop: threading.Event, measured: Measured) -> None:
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
    while not stop.is_set():
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


def hostile(port: int, token: str, numbers: "itertools.count[int]", stop: threading.Event, measured: Measured) -> None:
    """Send the worst queries without a pause; leave some of them at once, and some requests half sent."""
    while not stop.is_set():
        number = next(numbers)
        if number % 7 == 3:
            head = f"GET {worst_query(number)} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {token}\r\n"
            with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=10) as one:
                one.sendall(head.encode() + (b"\r\n" if number % 2 else b""))
                time.sleep(0.2)
            measured.statuses[-1] += 1
        else:
            get(port, worst_query(number), token, measured)


def watch_health(port: int, stop: threading.Event, measured: Measured) -> None:
    while not stop.is_set():
        get(port, "/livez", "", measured)
        time.sleep(0.1)


def during(seconds: float, clients: list[Callable[[threading.Event], None]]) -> None:
    """Run these clients for some time."""
    stop = threading.Event()
    threads = [threading.Thread(target=client, args=(stop,)) for client in clients]
    for thread in threads:
        thread.start()
    time.sleep(seconds)
    stop.set()
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


def siege(port: int, process: int, asked: argparse.Namespace, tokens: tuple[list[str], list[str]]) -> bool:
    """Measure ordinary clients alone, then together with hostile ones; return whether all targets are met."""
    people, enemies = tokens

    def everybody(measured: Measured, live: Measured) -> list[Callable[[threading.Event], None]]:
        clients: list[Callable[[threading.Event], None]] = [
            lambda stop, n=n, token=token: ordinary(port, token, n, stop, measured)  # type: ignore[misc]
            for n, token in enumerate(people)
        ]
        return [*clients, lambda stop: watch_health(port, stop, live)]

    calm, calm_live, busy, live, sent = (Measured() for _ in range(5))
    numbers = itertools.count()
    attackers: list[Callable[[threading.Event], None]] = [
        lambda stop, token=enemies[n % 2]: hostile(port, token, numbers, stop, sent)  # type: ignore[misc]
        for n in range(asked.hostile)
    ]
    during(min(60, asked.minutes * 60 / 4), everybody(calm, calm_live))
    during(min(60, asked.minutes * 60 / 4), [*everybody(Measured(), Measured()), *attackers])  # caches fill up
    started = memory_mb(process)
    during(asked.minutes * 60, [*everybody(busy, live), *attackers])
    ended = memory_mb(process)
    print(f"\n{'':22}{'responses':>8}{'median':>10}{'p95':>10}{'max':>10}")
    for name, measured in (("ordinary, alone", calm), ("livez, alone", calm_live), ("hostile", sent)):
        measured.show(name)
    busy.show("ordinary, under siege")
    live.show("livez, under siege")
    load = os.getloadavg()[0]
    print(f"\nmemory {started:.0f} MB at the start and {ended:.0f} MB at the end; load of the machine {load:.1f}")
    return _judge(
        {
            f"95th percentile under {P95_SECONDS * 1000:.0f} ms": busy.p95 < P95_SECONDS,
            f"/livez under {LIVE_SECONDS * 1000:.0f} ms throughout": max(live.seconds) < LIVE_SECONDS,
            f"memory within {MEMORY_GROWTH:.0%}": abs(ended - started) <= MEMORY_GROWTH * started,
            "every ordinary response is a success": set(busy.statuses) <= {200, 304},
        }
    )


def _judge(targets: dict[str, bool]) -> bool:
    for name, is_met in targets.items():
        print(f"{'met   ' if is_met else 'MISSED'} {name}")
    return all(targets.values())


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
        with socket.socket() as reserved:
            reserved.bind(("127.0.0.1", 0))
            port = reserved.getsockname()[1]
        server = subprocess.Popen([COMMAND, "serve", "-w", str(folder), "--port", str(port)], stderr=subprocess.DEVNULL)
        try:
            while not serve.ready(port):
                time.sleep(0.2)
            serve.wait_until_idle(server.pid)
            is_met = siege(port, server.pid, asked, tokens)
        finally:
            server.terminate()
            server.wait()
    sys.exit(0 if is_met else 1)


if __name__ == "__main__":
    main()
