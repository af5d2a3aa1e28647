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

from trainfare.engine.duckdb import DuckDB, parquet, quoted
from trainfare.errors import Problems
from trainfare.files.locations import Location
from trainfare.period import Month
from trainfare.sources.head import Head
from trainfare.sources.kinds import Kind
from trainfare.sources.protocol import ArchivedFile, ReadOptions
from trainfare.sources.recordings.fold import History, fold
from trainfare.sources.schedulers import kubernetes_recorded, slurm_recorded
from trainfare.store.recordings.sealing import FORMAT
from trainfare.store.recordings.values import Observation, Op
from trainfare.tables import MACHINES, PLACEMENTS, Table

NAME = FORMAT
KIND = Kind.JOBS
VERSION = "1"
DESCRIPTION = "A recording of a collector, sealed in the lake"

RECORDED = (PLACEMENTS, MACHINES)
"""The tables of which there are recorded rows: in the embedded engine, in `recorded_NAME`."""
MAPPINGS: dict[str, Callable[[DuckDB, Sequence[History], str, Problems], None]] = {
    slurm_recorded.SYSTEM: slurm_recorded.make_placements,
    kubernetes_recorded.SYSTEM: kubernetes_recorded.make_placements,
}
"""By system, what turns the histories of one cluster into placements, and into `_machines` where they have any."""


class Segment(Protocol):
    """A delivered segment."""

    @property
    def archive(self) -> Location: ...
    @property
    def number(self) -> int: ...
    @property
    def recorder(self) -> str: ...


def recognize(head: Head) -> bool:
    """Return False: segments come from the store, never as files of a source."""
    return False


def archive(engine: DuckDB, head: Head, target: Location, options: ReadOptions, problems: Problems) -> int:
    """Reject a file: a collector seals its own segments."""
    raise LookupError(f"{head.path}: recordings are not delivered as files")


def rows(engine: DuckDB, file: ArchivedFile, options: ReadOptions, table: Table) -> str | None:
    """Return a SELECT of the rows that rest on this segment. One that was not prepared with others stands alone."""
    if table not in RECORDED:
        return None
    if not _is_prepared(engine, file.delivery):
        prepare(engine, [_Alone(file.location, file.delivery, file.source)], lambda message: None)
    return f"SELECT {', '.join(table.names)} FROM recorded_{table.name} WHERE delivery = {file.delivery}"


@dataclass(frozen=True)
class _Alone:
    archive: Location
    number: int
    recorder: str


def _is_prepared(engine: DuckDB, delivery: int) -> bool:
    known = "SELECT 1 FROM duckdb_tables() WHERE table_name = 'prepared_recordings'"
    wanted = f"SELECT 1 FROM prepared_recordings WHERE delivery = {delivery}"
    return bool(engine.rows(known) and engine.rows(wanted))


def prepare(engine: DuckDB, segments: Sequence[Segment], notice: Callable[[str], None]) -> None:
    """Fold all segments, recorder by recorder, so that the rows of each can be selected.

    What cannot be read is left out, and `notice` is called with the reason.
    """
    for table in RECORDED:
        columns = f"delivery INTEGER, recorder VARCHAR, {table.definition()}"
        engine.run(f'CREATE OR REPLACE TEMP TABLE "recorded_{table.name}" ({columns})')
    engine.values("prepared_recordings", "delivery INTEGER", [(one.number,) for one in segments])
    for name in dict.fromkeys(one.recorder for one in segments):
        _fold_together(engine, name, [one for one in segments if one.recorder == name], notice)


def digest(engine: DuckDB, recorder: str, month: Month) -> str:
    """Return a fingerprint of what was recorded for a month, however it is divided into segments."""
    after = f"TIMESTAMP '{month.next()}-01'"
    during = f"started < {after} AND (ended IS NULL OR ended >= TIMESTAMP '{month}-01')"
    parts = []
    for table, rows in ((PLACEMENTS, during), (MACHINES, "true")):
        names = ", ".join(name for name in table.names if name != "line")
        found = engine.row(
            f"SELECT count(*), CAST(sum(CAST(hash({names}) AS HUGEINT)) AS VARCHAR) FROM recorded_{table.name} "
            f"WHERE recorder = {quoted(recorder)} AND {rows}"
        )
        parts += [*map(str, found)]
    return "|".join(parts)


@dataclass(frozen=True)
class _Range:
    """A segment and the positions of its first and last observation among those of all segments."""

    first: int
    last: int
    segment: Segment


def _fold_together(engine: DuckDB, recorder: str, segments: Sequence[Segment], notice: Callable[[str], None]) -> None:
    ranges = _ranges(engine, segments)
    by_cluster: dict[tuple[str, str], list[History]] = {}
    for one in fold(_observations(engine, ranges)):
        by_cluster.setdefault((one.system, one.cluster), []).append(one)
    for (system, _), histories in by_cluster.items():
        problems = Problems()
        MAPPINGS[system](engine, histories, "cluster_placements", problems)
        for problem in problems.found:
            notice(f"recording {recorder}: {problem.where} is left out: {problem.what}")
        _attribute(engine, recorder, ranges, PLACEMENTS, "cluster_placements")
        if system == kubernetes_recorded.SYSTEM:
            _attribute(engine, recorder, ranges, MACHINES, "cluster_placements_machines")
        engine.drop("cluster_placements", "cluster_placements_machines")


def _ranges(engine: DuckDB, segments: Sequence[Segment]) -> list[_Range]:
    """Return the segments in the order of their observations; files, which all count from 1, in that of delivery."""
    counted = [(*engine.row(f"SELECT min(seq), count(*) FROM {parquet(one.archive)}"), one) for one in segments]
    ranges: list[_Range] = []
    for _, count, one in sorted(counted, key=lambda found: (found[0] or 0, found[2].number)):
        first = ranges[-1].last + 1 if ranges else 1
        ranges.append(_Range(first, first + count - 1, one))
    return ranges


def _attribute(engine: DuckDB, recorder: str, ranges: Sequence[_Range], table: Table, rows: str) -> None:
    """Add the rows of a cluster to the recorded ones, each with the segment that has its observation."""
    values = ", ".join(f"({one.segment.number}, {one.first}, {one.last})" for one in ranges)
    names = ", ".join("p.line - r.first + 1" if name == "line" else f"p.{name}" for name in table.names)
    engine.add(
        f"recorded_{table.name}",
        f"SELECT r.delivery, {quoted(recorder)}, {names} FROM {rows} p "
        f"JOIN (VALUES {values}) r(delivery, first, last) ON p.line BETWEEN r.first AND r.last",
    )


def _observations(engine: DuckDB, ranges: Sequence[_Range]) -> Iterable[Observation]:
    """Yield the observations of all segments in order, numbered by their position."""
    for one in ranges:
        rows = engine.rows(f"SELECT * FROM {parquet(one.segment.archive)} ORDER BY seq")
        for position, (_, *row) in enumerate(rows, one.first):
            yield _observation(position, *row)


def _observation(
    seq: int, system: str, cluster: str, kind: str, uid: str, seen_at: datetime, valid_at: datetime | None, *rest: Any
) -> Observation:
    op, resource_version, fields = rest
    times = seen_at.replace(tzinfo=UTC), valid_at.replace(tzinfo=UTC) if valid_at else None
    return Observation(seq, system, cluster, kind, uid, *times, Op(op), resource_version, json.loads(fields))
