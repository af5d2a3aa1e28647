"""A service killed while books are published and read: every response it sent was complete and correct."""

import http.client
import os
import random
import signal
import subprocess
import threading
import time
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path

import pytest
import soak
from workspace.company import OCTOBER
from workspace.folder import Workspace

from .copies import copy
from .server import COMMAND, Server, serving
from .test_workers import WORKERS, children, wait_for_workers

pytestmark = [pytest.mark.services, pytest.mark.soak]

ROUNDS = 3 * soak.SCALE
PATIENCE_SECONDS = 300


@dataclass
class Readers:
    """Clients that ask for the same report again and again, and what they got."""

    server: Server
    reports: list[dict[str, str]]
    stop: threading.Event = field(default_factory=threading.Event)
    threads: list[threading.Thread] = field(default_factory=list)

    def start(self, count: int) -> None:
        self.threads = [threading.Thread(target=self._keep_asking) for _ in range(count)]
        for thread in self.threads:
            thread.start()

    def wait_for_more(self, count: int) -> None:
        """Wait until they got some more reports."""
        before, deadline = len(self.reports), time.monotonic() + PATIENCE_SECONDS
        while len(self.reports) < before + count:
            assert time.monotonic() < deadline, "nobody answers any more"
            time.sleep(0.05)

    def end(self) -> None:
        self.stop.set()
        for thread in self.threads:
            thread.join()

    def _keep_asking(self) -> None:
        while not self.stop.is_set():
            try:
                answer = self.server.ask("/api/v1/report?window=2026-10")
            except (OSError, http.client.HTTPException):
                continue  # the server was killed; no response is not a wrong response
            status = {"status": str(answer.status)}
            self.reports.append(status | (answer.json if answer.status == 200 else {}))


def require_correct(reports: list[dict[str, str]], totals: set[Decimal]) -> None:
    assert {one["status"] for one in reports} == {"200"}
    assert {Decimal(one["total"]) for one in reports} <= totals
    assert all(one["total"] == one["bill"] and one["difference"] == "0.00" for one in reports)


def test_no_wrong_or_partial_response_is_sent(company: Workspace, tmp_path: Path) -> None:
    made = copy(company, tmp_path / "workspace")
    bill = made.folder / "bills" / "2026-10.csv"
    first = made.total(OCTOBER)
    reports: list[dict[str, str]] = []
    soak.announce("killed services", ROUNDS)
    chance = random.Random(soak.SEED)
    for number in range(ROUNDS):
        with serving(made.folder) as server:
            readers = Readers(server, reports)
            readers.start(3)
            readers.wait_for_more(2)
            price = f"{1170 + number}.912345678901"
            text = bill.read_text(encoding="utf-8").replace(price, f"{1171 + number}.912345678901", 1)
            killer = threading.Timer(chance.uniform(0.5, 6), server.process.kill)
            killer.start()
            bill.write_text(text, encoding="utf-8")
            made.build()
            killer.join()
            readers.end()
    require_correct(reports, {first + number for number in range(ROUNDS + 1)})
    with serving(made.folder) as server:
        assert Decimal(server.ask("/api/v1/report?window=2026-10").json["total"]) == first + ROUNDS


def test_killed_processes_are_replaced_under_load_and_nothing_wrong_is_sent(company: Workspace, tmp_path: Path) -> None:
    """Any process of several is killed at any moment, while books are published and read: the others go on."""
    made = copy(company, tmp_path / "workspace")
    bill = made.folder / "bills" / "2026-10.csv"
    first, kills = made.total(OCTOBER), 5 * soak.SCALE
    reports: list[dict[str, str]] = []
    builds: list[subprocess.Popen[bytes]] = []
    soak.announce("killed processes", kills)
    chance = random.Random(soak.SEED)
    with serving(made.folder, "--workers", str(WORKERS)) as server:
        wait_for_workers(server, set())
        readers = Readers(server, reports)
        readers.start(4)
        for number in range(kills):
            victim = chance.choice(sorted(children(server)))
            if number % 3 == 0:
                _raise_price(bill, number // 3)
                builds.append(subprocess.Popen([COMMAND, "build", "-w", made.folder], stderr=subprocess.DEVNULL))
            time.sleep(chance.uniform(0, 1))
            os.kill(victim, signal.SIGKILL)
            wait_for_workers(server, {victim})
            readers.wait_for_more(1)
        readers.end()
        for build in builds:
            build.wait(timeout=PATIENCE_SECONDS)  # of two at a time, one may find that the other was first
        made.build()
        raised = -(-kills // 3)
        assert Decimal(server.ask("/api/v1/report?window=2026-10").json["total"]) == first + raised
    require_correct(reports, {first + number for number in range(raised + 1)})


def _raise_price(bill: Path, number: int) -> None:
    text = bill.read_text(encoding="utf-8")
    bill.write_text(text.replace(f"{1170 + number}.912345678901", f"{1171 + number}.912345678901", 1), encoding="utf-8")
