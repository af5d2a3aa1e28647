"""A service that is killed while books are published and read: whatever it answered was whole and right."""

import http.client
import json
import random
import threading
from decimal import Decimal
from pathlib import Path

from workspace.company import OCTOBER
from workspace.folder import Workspace

from .copies import copy
from .server import Server, serving

ROUNDS = 3


def keep_asking(server: Server, told: list[dict[str, str]], stop: threading.Event) -> None:
    while not stop.is_set():
        try:
            answer = server.ask("/api/v1/report?window=2026-10")
        except (OSError, http.client.HTTPException):
            continue  # it was killed: no answer is no wrong answer
        assert answer.status == 200
        told.append(json.loads(answer.body))


def test_nothing_wrong_or_half_is_ever_answered(company: Workspace, tmp_path: Path) -> None:
    made = copy(company, tmp_path / "workspace")
    bill = made.folder / "bills" / "2026-10.csv"
    first = made.total(OCTOBER)
    told: list[dict[str, str]] = []
    chance = random.Random(7)
    for number in range(ROUNDS):
        stop = threading.Event()
        with serving(made.folder) as server:
            server.ask("/api/v1/report?window=2026-10")
            readers = [threading.Thread(target=keep_asking, args=(server, told, stop)) for _ in range(3)]
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
    assert len(told) > 3
    right = {first + number for number in range(ROUNDS + 1)}
    assert {Decimal(one["total"]) for one in told} <= right
    assert all(one["total"] == one["bill"] and one["difference"] == "0.00" for one in told)
    with serving(made.folder) as server:
        assert Decimal(server.ask("/api/v1/report?window=2026-10").json["total"]) == first + ROUNDS
