"""A sealed segment of a recording -> placements and machines.

A placement may begin in one segment and end in a later one, so the segments of a collector are folded together, with
`prepare`, before the rows of each can be selected. Every row belongs to the segment that has the last observation it
rests on, and its `line` is the position of that observation there.
"""

import itertools
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Protocol

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
_PAGE, _LIGHT_PAGE = 5_000, 50_000
"""So many observations are read at once, with and without their fields."""
MAPPINGS: dict[str, Callable[[DuckDB, Iterable[History], str, Problems], None]] = {
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
    first_seq: int | None
    """The number of its first observation, if its numbers have no gaps, as those of a file may."""


def _fold_together(engine: DuckDB, recorder: str, segments: Sequence[Segment], notice: Callable[[str], None]) -> None:
    ranges = _ranges(engine, segments)
    by_cluster: dict[tuple[str, str], list[History]] = {}
    for one in fold(_observations(engine, ranges)):
        by_cluster.setdefault((one.system, one.cluster), []).append(one)
    for (system, _), histories in by_cluster.items():
        problems = Problems()
        MAPPINGS[system](engine, Streamed(engine, ranges, histories), "cluster_placements", problems)
        for problem in problems.found:
            notice(f"recording {recorder}: {problem.where} is left out: {problem.what}")
        _attribute(engine, recorder, ranges, PLACEMENTS, "cluster_placements")
        if system == kubernetes_recorded.SYSTEM:
            _attribute(engine, recorder, ranges, MACHINES, "cluster_placements_machines")
        engine.drop("cluster_placements", "cluster_placements_machines")


class Streamed:
    """Histories whose fields are read from the segments again whenever one goes through them: few are in memory."""

    def __init__(self, engine: DuckDB, ranges: Sequence[_Range], histories: Sequence[History]) -> None:
        self._engine, self._ranges = engine, ranges
        self._by_seq = {one.seq: one for one in histories}

    def __iter__(self) -> Iterator[History]:
        """Yield them in the order of the observations that show their last known states."""
        for one in self._ranges:
            for start in range(one.first, one.last + 1, _PAGE):
                end = min(start + _PAGE, one.last + 1)
                wanted = {seq - one.first: self._by_seq[seq] for seq in range(start, end) if seq in self._by_seq}
                rows = self._fields(one, start - one.first, end - one.first) if wanted else []
                for place, text in rows:
                    if place in wanted:
                        yield replace(wanted[place], fields=json.loads(text))

    def _fields(self, one: _Range, start: int, end: int) -> list[tuple[int, str]]:
        """Return the fields of a segment's observations by their position in it, from 0 on."""
        file = parquet(one.segment.archive)
        if one.first_seq is not None:
            numbers = f"{one.first_seq + start} AND {one.first_seq + end - 1}"
            return self._engine.rows(f"SELECT seq - {one.first_seq}, fields FROM {file} WHERE seq BETWEEN {numbers}")
        whole = f"SELECT row_number() OVER (ORDER BY seq) - 1 AS place, fields FROM {file}"
        return self._engine.rows(f"SELECT place, fields FROM ({whole}) WHERE place >= {start} AND place < {end}")


def _ranges(engine: DuckDB, segments: Sequence[Segment]) -> list[_Range]:
    """Return the segments in the order of their observations; files, which all count from 1, in that of delivery."""
    query = "SELECT min(seq), CASE WHEN max(seq) - min(seq) + 1 = count(*) THEN min(seq) END, count(*)"
    counted = [(*engine.row(f"{query} FROM {parquet(one.archive)}"), one) for one in segments]
    ranges: list[_Range] = []
    for _, first_seq, count, one in sorted(counted, key=lambda found: (found[0] or 0, found[3].number)):
        first = ranges[-1].last + 1 if ranges else 1
        ranges.append(_Range(first, first + count - 1, one, first_seq))
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


def _observations(engine: DuckDB, ranges: Sequence[_Range]) -> Iterator[Observation]:
    """Yield the observations of all segments in order, numbered by their position, without their fields."""
    columns = "system, cluster, kind, uid, seen_at, valid_at, op, resource_version"
    for one in ranges:
        positions = itertools.count(one.first)
        for numbers in _pages(one):
            rows = engine.rows(f"SELECT {columns} FROM {parquet(one.segment.archive)} {numbers} ORDER BY seq")
            for row in rows:
                yield _observation(next(positions), *row)


def _pages(one: _Range) -> Iterator[str]:
    """Yield conditions that select a segment by parts, in order; a file is selected as a whole."""
    if one.first_seq is None:
        yield ""
        return
    for start in range(0, one.last - one.first + 1, _LIGHT_PAGE):
        first = one.first_seq + start
        yield f"WHERE seq BETWEEN {first} AND {first + _LIGHT_PAGE - 1}"


def _observation(
    seq: int, system: str, cluster: str, kind: str, uid: str, seen_at: datetime, valid_at: datetime | None, *rest: str
) -> Observation:
    op, resource_version = rest
    system, cluster, kind = map(sys.intern, (system, cluster, kind))
    times = seen_at.replace(tzinfo=UTC), valid_at.replace(tzinfo=UTC) if valid_at else None
    return Observation(seq, system, cluster, kind, uid, *times, Op(op), resource_version, {})
