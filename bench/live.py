"""Measure the live account: events per second, and windows over many intervals. `python bench/live.py`.

Prints one line per measurement, in CPU seconds of this process, so that other work on the machine counts little.
"""

import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from sqlalchemy import insert

from trainfare.live.window import window
from trainfare.serve.auth.viewer import Viewer
from trainfare.serve.receiver import Receiver
from trainfare.store import Store
from trainfare.store.live.database import open_live
from trainfare.store.live.tables import ATTEMPTS, HOLDINGS, MACHINES, PRESENCE, PRICES, SOURCES
from trainfare.tables import LABELS

EVENTS, BATCH = 20_000, 500
INTERVALS, MACHINE_COUNT = 100_000, 1_000
BASE = 1_790_812_800
HOUR = 3600


def measured(work: Callable[[], object]) -> float:
    """Return the CPU seconds that some work takes."""
    started = time.process_time()
    work()
    return time.process_time() - started


def events_per_second(store: Store) -> float:
    receiver, sender = Receiver(store), Viewer("bench", "admin")
    bodies = [_body(first) for first in range(0, EVENTS, BATCH)]

    def receive_all() -> None:
        for body in bodies:
            receiver.receive(sender, body, "application/x-ndjson", "")

    seconds = measured(receive_all)
    receiver.close()
    return EVENTS / seconds


def _body(first: int) -> bytes:
    lines = []
    for number in range(first, first + BATCH):
        data = {"v": 1, "job": f"j{number % 1000}", "attempt": 1, "machine": "n1", "seq": number + 1, "step": number}
        one = {"specversion": "1.0", "id": f"p-{number}", "source": "sdk/n1/7", "type": "trainfare.step"}
        lines.append(json.dumps({**one, "time": "2026-11-18T07:34:00.123456Z", "data": data}))
    return "\n".join(lines).encode()


def fill(store: Store) -> None:
    """Write a month of holdings: each machine is held by one job after another, all of it, for seven hours."""
    per_machine = INTERVALS // MACHINE_COUNT
    machines = [
        {"id": n, "resource": f"m{n}", "machine_id": f"m{n}", "sources": "lab", "has_ledger": 0}
        for n in range(1, MACHINE_COUNT + 1)
    ]
    attempts = [
        {"id": n, "job_id": f"j{n}", "attempt": 1, "state": "completed"} | dict.fromkeys(LABELS)
        for n in range(1, INTERVALS + 1)
    ]
    known = {"recorded_at": 1}
    spans = [
        {"machine": 1 + n % MACHINE_COUNT, "attempt": n + 1, "machine_name": "m", "amount": 8, **known}
        | {"starts": BASE + n // MACHINE_COUNT * 7 * HOUR, "ends": BASE + (n // MACHINE_COUNT + 1) * 7 * HOUR}
        for n in range(INTERVALS)
    ]
    whole = {"starts": BASE, "ends": BASE + per_machine * 7 * HOUR, **known}
    present = [{"machine": one["id"], "capacity": 8, **whole} for one in machines]
    rate = {"category": "compute", "currency": "USD", "units": "8000000000000", "rated_seconds": HOUR, "method": "list"}
    prices = [{"machine": one["id"], **rate, **whole} for one in machines]
    source = [{"name": "lab", "complete_through": whole["ends"], "checked_at": 1}]
    database = open_live(store)
    with database.write() as connection:
        tables = (MACHINES, machines), (ATTEMPTS, attempts), (HOLDINGS, spans), (PRESENCE, present), (PRICES, prices)
        for table, rows in (*tables, (SOURCES, source)):
            connection.execute(insert(table), rows)
    database.close()


def window_milliseconds(store: Store, seconds: int) -> float:
    database = open_live(store)
    end = BASE + INTERVALS // MACHINE_COUNT * 7 * HOUR - 100
    with database.read() as connection:
        taken = sorted(measured(lambda: window(connection, end - seconds, end)) for _ in range(5))
    database.close()
    return taken[2] * 1000


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="trainfare-bench-") as folder, Store.open(Path(folder)) as store:
        print(f"events, checked and stored in SQLite: {events_per_second(store):,.0f} per CPU second (goal 20,000)")
        fill(store)
        for name, seconds in (("15 min", 900), ("1 h", HOUR), ("6 h", 6 * HOUR)):
            taken = window_milliseconds(store, seconds)
            print(
                f"a window of {name} on {MACHINE_COUNT:,} machines, {INTERVALS:,} intervals: {taken:,.0f} ms (goal 20)"
            )


if __name__ == "__main__":
    main()
