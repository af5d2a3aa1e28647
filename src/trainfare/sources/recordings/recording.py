"""A sealed segment of a recording -> placements and machines.

A placement may begin in one segment and end in a later one, so the segments of a collector are folded together, with
`prepare`, before the rows of each can be selected. Every row belongs to the segment that has the last observation it
rests on, and its `line` is the position of that observation there.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Protocol

from trainfare.engine.duckdb import DuckDB, parquet
from trainfare.errors import Problems
from trainfare.files.locations import Location
from trainfare.period import Month
from trainfare.sources.head import Head
from trainfare.sources.kinds import Kind
from trainfare.sources.protocol import ArchivedFile, ReadOptions
from trainfare.sources.recordings.fold import History, fold
from trainfare.sources.schedulers import slurm_recorded
from trainfare.store.recordings.sealing import FORMAT
from trainfare.store.recordings.values import Observation, Op
from trainfare.tables import PLACEMENTS, Table

NAME = FORMAT
KIND = Kind.JOBS
VERSION = "1"
DESCRIPTION = "A recording of a collector, sealed in the lake"

RECORDED = {PLACEMENTS: "recorded_placements"}
"""The table of the embedded engine that has the folded rows of each table."""
MAPPINGS: dict[str, Callable[[DuckDB, Sequence[History], str, Problems], None]] = {
    slurm_recorded.SYSTEM: slurm_recorded.make_placements,
}
"""By system, what turns the histories of one cluster into placements."""


class Segment(Protocol):
    """A delivered segment."""

    @property
    def archive(self) -> Location: ...
    @property
    def number(self) -> int: ...
    @property
    def source(self) -> str: ...


def recognize(head: Head) -> bool:
    """Return False: segments come from the store, never as files of a source."""
    return False


def archive(engine: DuckDB, head: Head, target: Location, options: ReadOptions, problems: Problems) -> int:
    """Reject a file: a collector seals its own segments."""
    raise LookupError(f"{head.path}: recordings are not delivered as files")


def rows(engine: DuckDB, file: ArchivedFile, options: ReadOptions, table: Table) -> str | None:
    """Return a SELECT of the rows that rest on this segment. All segments must have been prepared together."""
    if table not in RECORDED:
        return None
    return f"SELECT {', '.join(table.names)} FROM {RECORDED[table]} WHERE delivery = {file.delivery}"


def prepare(engine: DuckDB, segments: Sequence[Segment], notice: Callable[[str], None]) -> None:
    """Fold all segments, collector by collector, so that the rows of each can be selected.

    What cannot be read is left out, and `notice` is called with the reason.
    """
    columns = f"delivery INTEGER, source VARCHAR, {PLACEMENTS.definition()}"
    engine.run(f'CREATE OR REPLACE TEMP TABLE "recorded_placements" ({columns})')
    for source in dict.fromkeys(one.source for one in segments):
        _fold_collector(engine, source, [one for one in segments if one.source == source], notice)


def digest(engine: DuckDB, source: str, month: Month) -> str:
    """Return a fingerprint of what a collector recorded for a month, however it is divided into segments."""
    names = ", ".join(name for name in PLACEMENTS.names if name != "line")
    during = f"started < TIMESTAMP '{month.next()}-01' AND coalesce(ended, started) >= TIMESTAMP '{month}-01'"
    count, hashed = engine.row(
        f"SELECT count(*), CAST(sum(CAST(hash({names}) AS HUGEINT)) AS VARCHAR) FROM recorded_placements "
        f"WHERE source = '{source}' AND ({during} OR ended IS NULL AND started < TIMESTAMP '{month.next()}-01')"
    )
    return f"{count}|{hashed}"


@dataclass(frozen=True)
class _Range:
    """A segment and the numbers of its first and last observation."""

    first_seq: int
    last_seq: int
    segment: Segment


def _fold_collector(engine: DuckDB, source: str, segments: Sequence[Segment], notice: Callable[[str], None]) -> None:
    ranges = sorted((_range(engine, one) for one in segments), key=lambda one: one.first_seq)
    by_cluster: dict[tuple[str, str], list[History]] = {}
    for one in fold(_observations(engine, ranges)):
        by_cluster.setdefault((one.system, one.cluster), []).append(one)
    for (system, _), histories in by_cluster.items():
        problems = Problems()
        MAPPINGS[system](engine, histories, "cluster_placements", problems)
        for problem in problems.found:
            notice(f"recording {source}: {problem.where} is left out: {problem.what}")
        _attribute(engine, source, ranges)
        engine.drop("cluster_placements")


def _range(engine: DuckDB, segment: Segment) -> _Range:
    first, last = engine.row(f"SELECT min(seq), max(seq) FROM {parquet(segment.archive)}")
    return _Range(first, last, segment)


def _attribute(engine: DuckDB, source: str, ranges: Sequence[_Range]) -> None:
    """Add the placements of a cluster to the recorded ones, each with the segment that has its observation."""
    values = ", ".join(f"({one.segment.number}, {one.first_seq}, {one.last_seq})" for one in ranges)
    names = ", ".join("p.line - r.first_seq + 1" if name == "line" else f"p.{name}" for name in PLACEMENTS.names)
    engine.add(
        "recorded_placements",
        f"SELECT r.delivery, '{source}', {names} FROM cluster_placements p "
        f"JOIN (VALUES {values}) r(delivery, first_seq, last_seq) ON p.line BETWEEN r.first_seq AND r.last_seq",
    )


def _observations(engine: DuckDB, ranges: Sequence[_Range]) -> Iterable[Observation]:
    """Yield the observations of all segments in order."""
    for one in ranges:
        for row in engine.rows(f"SELECT * FROM {parquet(one.segment.archive)} ORDER BY seq"):
            yield _observation(*row)


def _observation(
    seq: int, system: str, cluster: str, kind: str, uid: str, seen_at: datetime, valid_at: datetime | None, *rest: Any
) -> Observation:
    op, resource_version, fields = rest
    times = seen_at.replace(tzinfo=UTC), valid_at.replace(tzinfo=UTC) if valid_at else None
    return Observation(seq, system, cluster, kind, uid, *times, Op(op), resource_version, json.loads(fields))
