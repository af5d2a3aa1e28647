"""Seal recordings: write observations to the lake, as deliveries that a build reads like any file.

A crash between two steps leaves either the observations in the catalog, and a file that nothing names, or the delivery.
"""

import json
import tempfile
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from typing import Any

from trainfare.engine.choice import embedded
from trainfare.engine.duckdb import DuckDB
from trainfare.engine.sql import parquet, quoted
from trainfare.files import digests
from trainfare.files.locations import Location
from trainfare.store import Store, integrity
from trainfare.store.recordings.values import Segment
from trainfare.store.records import Delivery, NewDelivery

FORMAT = "recording"
"""The format of sealed segments in the catalog."""
SETTINGS = "recording 1"
"""The settings under which a segment is delivered. Its content does not depend on any."""
COLUMNS = {
    "seq": "BIGINT",
    "system": "VARCHAR",
    "cluster": "VARCHAR",
    "kind": "VARCHAR",
    "uid": "VARCHAR",
    "seen_at": "TIMESTAMP",
    "valid_at": "TIMESTAMP",
    "op": "VARCHAR",
    "resource_version": "VARCHAR",
    "fields": "VARCHAR",
}
MOST_ROWS = 200_000
"""The most observations in one segment; more are sealed as several."""


def seal(store: Store, collector: str) -> list[Delivery]:
    """Seal the open segment of a collector; return the deliveries, none if nothing is open."""
    sealed = []
    while rows := store.catalog.recordings.open_segment(collector, MOST_ROWS):
        with store.lake.building() as build_id, embedded() as engine:
            target = store.lake.delivery_path(f"{rows[0]['seq']:016}", build_id)
            _write_rows(engine, rows, target)
            new = _new_delivery(store, target, Segment(0, collector, rows[0]["seq"], rows[-1]["seq"]))
            added = store.catalog.recordings.seal(rows, new)
        if added:
            sealed.append(added)
    if sealed:
        integrity.copy_checksums(store)
    return sealed


def write_open(store: Store, engine: DuckDB, collector: str, target: Location) -> int:
    """Write what is not sealed yet to a file, as a segment would have it; return how many observations that are."""
    rows = store.catalog.recordings.open_segment(collector, MOST_ROWS)
    if rows:
        _write_rows(engine, rows, target)
    return len(rows)


def seal_all(store: Store) -> None:
    """Seal the open segments of all collectors, so that a build reads everything that was observed."""
    for collector in store.catalog.recordings.collectors():
        seal(store, collector)


def compact(store: Store, now: datetime) -> int:
    """Merge the segments of each past UTC day into one; return how many were replaced.

    Books may name the replaced deliveries, so their files stay.
    """
    midnight = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    found = store.catalog.recordings.sealed_before(midnight)
    replaced = 0
    for (collector, _), group in groupby(found, lambda one: (one[1].collector, one[0].astimezone(UTC).date())):
        segments = [segment for _, segment in group]
        if len(segments) > 1 and _compact(store, collector, segments):
            replaced += len(segments)
    if replaced:
        integrity.copy_checksums(store)
    return replaced


def _compact(store: Store, collector: str, segments: list[Segment]) -> bool:
    archives = store.catalog.deliveries([one.delivery_id for one in segments])
    files = ", ".join(quoted(store.archive(one)) for one in archives)
    whole = Segment(0, collector, segments[0].first_seq, segments[-1].last_seq)
    with store.lake.building() as build_id, embedded() as engine:
        target = store.lake.delivery_path(f"{whole.first_seq:016}", build_id)
        engine.write_parquet(f"SELECT * FROM read_parquet([{files}]) ORDER BY seq", target, in_order=True)
        return store.catalog.recordings.replace(segments, _new_delivery(store, target, whole)) is not None


def _write_rows(engine: DuckDB, rows: list[dict[str, Any]], target: Location) -> None:
    with tempfile.TemporaryDirectory(prefix="trainfare-seal-") as folder:
        lines = Path(folder) / "rows.json"
        with lines.open("w", encoding="utf-8") as file:
            for row in rows:
                values = {name: _plain(row[name]) for name in COLUMNS}
                file.write(json.dumps(values, ensure_ascii=False) + "\n")
        types = ", ".join(f"{name}: {quoted(type_)}" for name, type_ in COLUMNS.items())
        read = f"read_json({quoted(lines)}, format = 'newline_delimited', columns = {{{types}}}, "
        read += "maximum_object_size = 268435456)"
        engine.write_parquet(f"SELECT * FROM {read} ORDER BY seq", target, in_order=True)


def _plain(value: object) -> object:
    return value.astimezone(UTC).replace(tzinfo=None).isoformat(sep=" ") if isinstance(value, datetime) else value


def _new_delivery(store: Store, target: Location, segment: Segment) -> NewDelivery:
    """Return the delivery of a written segment, which must have exactly the observations of the segment."""
    lines = segment.last_seq - segment.first_seq + 1
    with embedded() as engine:
        found = engine.row(f"SELECT min(seq), max(seq), count(DISTINCT seq), count(*) FROM {parquet(target)}")
    assert found == (segment.first_seq, segment.last_seq, lines, lines), f"{target} has {found}"
    store.lake.make_durable([store.lake.relative(target)])
    digest = digests.digest(target)
    return NewDelivery(
        source=segment.collector,
        path=f"{segment.collector} {segment.first_seq}-{segment.last_seq}.{FORMAT}",
        format=FORMAT,
        content_sha256=digest.sha256,
        settings_sha256=SETTINGS,
        archive=store.lake.relative(target),
        lines=lines,
        archive_size=digest.size,
        archive_sha256=digest.sha256,
    )
