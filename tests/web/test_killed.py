"""A service killed while books are published and read: every response it sent was complete and correct."""

import http.client
import json
import os
import random
import signal
import subprocess
import threading
import time
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


def keep_asking(server: Server, reports: list[dict[str, str]], stop: threading.Event) -> None:
    while not stop.is_set():
        try:
            answer = server.ask("/api/v1/report?window=2026-10")
        except (OSError, http.client.HTTPException):
            continue  # the server was killed; no response is not a wrong response
        assert answer.status == 200
        reports.append(json.loads(answer.body))


def test_no_wrong_or_partial_response_is_sent(company: Workspace, tmp_path: Path) -> None:
    made = copy(company, tmp_path / "workspace")
    bill = made.folder / "bills" / "2026-10.csv"
    first = made.total(OCTOBER)
    reports: list[dict[str, str]] = []
    soak.announce("killed services", ROUNDS)
    chance = random.Random(soak.SEED)
    for number in range(ROUNDS):
        stop = threading.Event()
        with serving(made.folder) as server:
            server.ask("/api/v1/report?window=2026-10")
            readers = [threading.Thread(target=keep_asking, args=(server, reports, stop)) for _ in range(3)]
            for reader in readers:
                reader.start()
            price = f"{1170 + number}.912345678901"
            text = bill.read_text(encoding="utf-8").replace(price, f"{1171 + number}.912345678901", 1)
            killer = threading.Timer(chance.uniform(0.5, 6), server.process.kill)
            killer.start()
            bill.write_text(text, encoding="utf-8")
            made.build()
            killer.join()
            stop.set()
            for reader in readers:
                reader.join()
    assert len(reports) > 3
    expected = {first + number for number in range(ROUNDS + 1)}
    assert {Decimal(one["total"]) for one in reports} <= expected
    assert all(one["total"] == one["bill"] and one["difference"] == "0.00" for one in reports)
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
    chance, stop = random.Random(soak.SEED), threading.Event()
    with serving(made.folder, "--workers", str(WORKERS)) as server:
        wait_for_workers(server, set())
        readers = [threading.Thread(target=keep_asking, args=(server, reports, stop)) for _ in range(4)]
        for reader in readers:
            reader.start()
        for number in range(kills):
            before, victim = len(reports), chance.choice(sorted(children(server)))
            if number % 3 == 0:
                _raise_price(bill, number // 3)
                builds.append(subprocess.Popen([COMMAND, "build", "-w", made.folder], stderr=subprocess.DEVNULL))
            time.sleep(chance.uniform(0, 1))
            os.kill(victim, signal.SIGKILL)
            wait_for_workers(server, {victim})
            deadline = time.monotonic() + 60
            while len(reports) == before:
                assert time.monotonic() < deadline, "nobody answers any more"
                time.sleep(0.05)
        stop.set()
        for reader in readers:
            reader.join()
        for build in builds:
            build.wait(timeout=120)  # of two at a time, one may find that the other was first
        made.build()
        raised = -(-kills // 3)
        assert Decimal(server.ask("/api/v1/report?window=2026-10").json["total"]) == first + raised
    assert {Decimal(one["total"]) for one in reports} <= {first + number for number in range(raised + 1)}
    assert all(one["total"] == one["bill"] and one["difference"] == "0.00" for one in reports)


def _raise_price(bill: Path, number: int) -> None:
    text = bill.read_text(encoding="utf-8")
    bill.write_text(text.replace(f"{1170 + number}.912345678901", f"{1171 + number}.912345678901", 1), encoding="utf-8")
