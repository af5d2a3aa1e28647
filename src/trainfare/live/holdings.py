"""What is held now: recordings, job logs and events, turned into holdings by the steps that a build runs.

Bills are not read for it: machines and their names are those of the last time that the sources were (`prices.py`).
"""

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trainfare.allocate.weight_measures import MEASURES
from trainfare.books import received
from trainfare.books.given_labels import current as current_labels
from trainfare.engine.choice import embedded
from trainfare.engine.duckdb import DuckDB
from trainfare.live.prices import PACKAGE
from trainfare.normalize import facts, given_labels
from trainfare.period import Month
from trainfare.sources import deliveries
from trainfare.sources.deliveries import DeliveredFile
from trainfare.sources.kinds import Kind
from trainfare.sources.recordings import recording
from trainfare.sources.recordings.loading import load_rows
from trainfare.sources.telemetry import events
from trainfare.sources.telemetry.event_format import DECLARED
from trainfare.store import Store
from trainfare.store.live.database import LiveDatabase
from trainfare.store.live.tables import FOREVER
from trainfare.store.recordings import sealing
from trainfare.tables import LABELS, PLACEMENTS

FILES, EVENTS = "files", "events"
"""The sources of what job logs in files say, and of what jobs report about themselves."""
_ALLOCATE = "trainfare.allocate"
_EARLIEST = -9000000000
_MACHINES = {
    "machine": "INTEGER",
    **dict.fromkeys(("resource", "machine_id", "resource_id", "gpu_model", "pool", "team"), "VARCHAR"),
    **dict.fromkeys(("cluster", "region", "account"), "VARCHAR"),
    **dict.fromkeys(("gpu_micros", "cpu_millis", "memory_mbs", "existed_from", "existed_to"), "BIGINT"),
    **dict.fromkeys(("on_bill", "listed"), "BOOLEAN"),
}
_NAMES = {"name": "VARCHAR", "resource": "VARCHAR", "existed_from": "BIGINT", "existed_to": "BIGINT"}


@dataclass(frozen=True)
class Held:
    """What is held of which machines, as rows of the live account that name machines and attempts in full."""

    attempts: list[dict[str, Any]]
    holdings: list[dict[str, Any]]
    presence: list[dict[str, Any]]
    crowded: list[dict[str, Any]]
    sources: dict[str, set[str]]
    """By machine: whose records say what is held of it."""
    through: dict[str, int]
    """By source that is no collector: the last second it mentions."""


def follow(store: Store, database: LiveDatabase, fleet: Mapping[str, Any]) -> Held:
    """Return what is held of the machines of a fleet (`Fleet.as_state`), by everything that was recorded so far."""
    with tempfile.TemporaryDirectory(prefix="trainfare-live-") as folder, embedded() as engine:
        load_rows(engine, "machines", _MACHINES, fleet["machines"])
        load_rows(engine, "machine_names", _NAMES, fleet["machine_names"])
        files = _files(store, engine, fleet["deliveries"], Path(folder))
        files += _events(database, engine, Path(folder))
        deliveries.prepare_recordings(engine, files)
        names = fleet.get("source_names", ())
        rows = {
            "jobs": deliveries.table_selects(engine, files, PLACEMENTS, names=names),
            "declared": deliveries.table_selects(engine, files, DECLARED, names=names),
        }
        facts.make_placements(engine, Month.parse(fleet["month"]), rows)
        given_labels.apply(engine, current_labels(store))
        _weigh(engine)
        return _held(engine, files)


def _files(store: Store, engine: DuckDB, numbers: list[int], folder: Path) -> list[DeliveredFile]:
    """Return the job logs, the sealed segments of all recordings, and the open ones as files in a folder."""
    recordings = store.catalog.recordings
    _, unfinished = recordings.received()  # of these events, the live account has newer ones
    sealed = [delivery for _, delivery in recordings.segments() if delivery.id != unfinished]
    rows = [*store.catalog.deliveries(numbers), *sealed]
    files = [deliveries.from_catalog(row, store.archive(row)) for row in rows]
    for position, collector in enumerate(recordings.collectors(), 1):
        target = folder / f"{position}.parquet"
        if lines := sealing.write_open(store, engine, collector, target):
            opened = DeliveredFile(collector, target, recording.NAME, Kind.JOBS, "", "", target, lines, -position)
            files.append(opened)
    return files


def _events(database: LiveDatabase, engine: DuckDB, folder: Path) -> list[DeliveredFile]:
    """Return the events that were received since the last ones were sealed, as a file in a folder."""
    target = folder / "events.parquet"
    lines = received.write_open(database, engine, target)
    return [DeliveredFile(EVENTS, target, events.NAME, Kind.JOBS, "", "", target, lines)] if lines else []


def _weigh(engine: DuckDB) -> None:
    """Make `sizes`, `holds` and `timeline` of every machine, as the account does for charges of its time."""
    engine.table("targets", "SELECT machine AS target, 1 AS weighing, machine FROM machines")
    sizes = {"weighing": "1", "measure": MEASURES["gpu_seconds"], "weighted_size": "NULL"}
    engine.step(_ALLOCATE, "sizes", "sizes", sizes)
    bounds = {"first_second": str(_EARLIEST), "last_second": str(FOREVER + 1)}
    engine.step(_ALLOCATE, "machine_holds", "holds", bounds | {"wall_weight": "1", "weighted_hold": "NULL"})
    engine.step(_ALLOCATE, "timeline", "timeline")


def _held(engine: DuckDB, files: list[DeliveredFile]) -> Held:
    for step in ("held_amounts", "present", "crowded"):
        engine.step(PACKAGE, step, f"live_{step}")
    labels = ", ".join(LABELS)
    return Held(
        engine.records(f"SELECT DISTINCT job_id, attempt, state, {labels} FROM attempts"),
        engine.records("SELECT * FROM live_held_amounts"),
        engine.records("SELECT * FROM live_present"),
        engine.records("SELECT * FROM live_crowded"),
        _sources(engine, files),
        _through(engine, files),
    )


def _sources(engine: DuckDB, files: list[DeliveredFile]) -> dict[str, set[str]]:
    """Return whose records name each machine. One that is named by no one may be held according to any of them."""
    named = (
        "SELECT DISTINCT n.resource, p.{recorder} FROM {rows} p JOIN machine_names n ON n.name = lower(p.machine_id)"
    )
    found: list[tuple[Any, ...]] = []
    if any(file.is_recording for file in files):
        found += engine.rows(named.format(recorder="recorder", rows="recorded_placements"))
    for file in _logs(files):
        rows = f"(SELECT *, '{_source(file)}' AS source FROM ({file.rows(engine, PLACEMENTS)}))"
        found += engine.rows(named.format(recorder="source", rows=rows))
    sources: dict[str, set[str]] = {}
    for resource, source in found:
        sources.setdefault(resource, set()).add(source)
    return sources


def _through(engine: DuckDB, files: list[DeliveredFile]) -> dict[str, int]:
    found: dict[str, int] = {}
    for file in _logs(files):
        latest = "max(epoch_second(greatest(started, coalesce(ended, started))))"
        (end,) = engine.row(f"SELECT {latest} FROM ({file.rows(engine, PLACEMENTS)})")
        if end is not None:
            found[_source(file)] = max(int(end), found.get(_source(file), int(end)))
    return found


def _source(file: DeliveredFile) -> str:
    return EVENTS if file.format == events.NAME else FILES


def _logs(files: list[DeliveredFile]) -> list[DeliveredFile]:
    return [file for file in files if not file.is_recording]
