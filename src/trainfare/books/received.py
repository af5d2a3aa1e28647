"""Events that a server received, as deliveries: a build reads them like a file of events.

What one process reports stays together, because the time between two of its events is held time. So the events of
processes that are over are sealed for good, and those of all others in a delivery that the next one replaces.
"""

import tempfile
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from trainfare.engine.choice import embedded
from trainfare.engine.duckdb import DuckDB
from trainfare.errors import Problems
from trainfare.files import digests
from trainfare.files.locations import Location
from trainfare.sources.head import read_head
from trainfare.sources.protocol import ReadOptions
from trainfare.sources.telemetry import events
from trainfare.store import Store, integrity
from trainfare.store.live import events as stored
from trainfare.store.live.database import LiveDatabase, find_live, get_state, set_state
from trainfare.store.live.events import Unsealed
from trainfare.store.recordings.catalog import RECEIVED
from trainfare.store.records import NewDelivery

SETTINGS = "received 1"
SEALED_THROUGH = "events_sealed_through"
Numbered = Sequence[tuple[int, str]]


def seal(store: Store) -> int:
    """Move the events that were received into deliveries; return how many are new.

    Events are marked before the deliveries are committed and removed afterwards, so a crash in between neither loses
    one nor delivers it twice.
    """
    database = find_live(store)
    if database is None:
        return 0
    with closing(database):
        generation, _ = store.catalog.recordings.received()
        with database.write() as connection:
            stored.finish_sealing(connection, generation)
            found = stored.unsealed(connection, _now())
            newest = max((number for number, _ in (*found.over, *found.going_on)), default=0)
            before = get_state(connection, SEALED_THROUGH) or 0
            if not found.over and newest <= before:
                return 0
            stored.begin_sealing(connection, generation + 1, [number for number, _ in found.over])
        _commit(store, generation + 1, found)
        with database.write() as connection:
            stored.finish_sealing(connection, store.catalog.recordings.received()[0])
            set_state(connection, SEALED_THROUGH, newest)
        integrity.copy_checksums(store)
        return sum(number > before for number, _ in (*found.over, *found.going_on))


def write_open(database: LiveDatabase, engine: DuckDB, target: Location) -> int:
    """Write the events that are not sealed for good to a file, as a delivery would have them; return how many."""
    with database.read() as connection:
        found = stored.unsealed(connection, _now())
    lines = sorted((*found.over, *found.going_on))
    return _write(engine, lines, target) if lines else 0


def _commit(store: Store, generation: int, found: Unsealed) -> None:
    with store.lake.building() as build_id, embedded() as engine:
        new = []
        for name, numbered in (("finished", found.over), ("unfinished", found.going_on)):
            target = store.lake.delivery_path(f"{generation:016}", build_id)
            if numbered:
                _write(engine, numbered, target)
            new.append(_delivery(store, target, f"{generation} {name}", len(numbered)) if numbered else None)
        store.catalog.recordings.seal_received(generation, *new)


def _write(engine: DuckDB, numbered: Numbered, target: Location) -> int:
    """Write events in the form in which files of events are archived."""
    problems = Problems()
    with tempfile.TemporaryDirectory(prefix="trainfare-events-") as folder:
        path = Path(folder) / "events.jsonl"
        path.write_text("".join(f"{line}\n" for _, line in numbered), encoding="utf-8")
        written = events.archive(engine, read_head(path), target, ReadOptions(), problems)
    problems.raise_if_any()
    return written


def _delivery(store: Store, target: Location, name: str, lines: int) -> NewDelivery:
    store.lake.make_durable([store.lake.relative(target)])
    digest = digests.digest(target)
    return NewDelivery(
        source=RECEIVED,
        path=f"{RECEIVED} {name}.jsonl",
        format=events.NAME,
        content_sha256=digest.sha256,
        settings_sha256=f"{SETTINGS} {name}",
        archive=store.lake.relative(target),
        lines=lines,
        archive_size=digest.size,
        archive_sha256=digest.sha256,
    )


def _now() -> int:
    return time.time_ns() // 1000
