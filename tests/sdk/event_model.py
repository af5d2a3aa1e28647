"""What events mean, in plain Python and without SQL: the reference for the source and for its merge with job logs."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

MEASURES = ("gpu_busy_seconds", "bytes_sent", "storage_requests", "storage_bytes")
KNOWN = (*("start", "running", "step", "checkpoint_begin", "checkpoint_end", "usage", "label", "signal", "end", "gap"),)
MINUTE = 60


@dataclass(frozen=True)
class Event:
    """An event of the model; times are seconds."""

    source: str
    id: str
    type: str
    time: int
    job: str
    attempt: int
    machine: str
    data: tuple[tuple[str, Any], ...] = ()

    def get(self, name: str) -> Any:
        return dict(self.data).get(name)


@dataclass(frozen=True)
class Logged:
    """A row of a job log."""

    job: str
    attempt: int
    machine: str
    started: int
    ended: int
    team: str | None
    project: str | None


Span = tuple[str, int, str, int, int, str]
"""job, attempt, machine, started, ended, state"""


def unique(events: Iterable[Event]) -> list[Event]:
    found: dict[tuple[str, str], Event] = {}
    for one in events:
        found.setdefault((one.source, one.id), one)
    return [one for one in found.values() if one.type in KNOWN]


def processes(file: Sequence[Event]) -> list[list[Event]]:
    """The events of one file by process, attempt and machine; each start begins another list."""
    grouped: dict[tuple[str, str, int, str], list[Event]] = defaultdict(list)
    for one in unique(file):
        grouped[one.source, one.job, one.attempt, one.machine].append(one)
    found: list[list[Event]] = []
    for members in grouped.values():
        current: list[Event] = []
        for one in sorted(members, key=lambda one: one.time):
            if one.type == "start" and current:
                found.append(current)
                current = []
            current.append(one)
        found.append(current)
    return found


def spans(file: Sequence[Event]) -> list[Span]:
    found = []
    for members in processes(file):
        states = [one.get("state") or "unknown" for one in members if one.type == "end"]
        first, last = members[0], members[-1]
        found.append((first.job, first.attempt, first.machine, first.time, last.time, max(states, default="unknown")))
    return found


def labels(files: Sequence[Sequence[Event]]) -> dict[tuple[str, int, str], str]:
    """The newest value of each label in each file; of several files, the last value in order."""
    found: dict[tuple[str, int, str], str] = {}
    for file in files:
        newest: dict[tuple[str, int, str], tuple[int, str]] = {}
        for one in unique(file):
            for key, value in (one.get("labels") or {}).items():
                name = (one.job, one.attempt, key)
                newest[name] = max(newest.get(name, (-1, "")), (one.time, value))
        for name, (_, value) in newest.items():
            found[name] = max(found.get(name, ""), value)
    return found


def placements(files: Sequence[Sequence[Event]], log: Sequence[Logged]) -> set[tuple[Any, ...]]:
    """Every placement with its team and project: the log's as it is, and what only events report."""
    stated = labels(files)
    found = set()
    for row in log:
        rows = [other for other in log if (other.job, other.attempt) == (row.job, row.attempt)]
        filled = []
        for name in ("team", "project"):
            own = getattr(row, name)
            is_logged = any(getattr(other, name) for other in rows)
            filled.append(own or (None if is_logged else stated.get((row.job, row.attempt, name))))
        found.add((row.job, row.attempt, row.machine, row.started, row.ended, "completed", *filled))
    merged: dict[tuple[str, int, str], list[tuple[int, int, str]]] = defaultdict(list)
    for job, attempt, machine, started, ended, state in sorted(one for file in files for one in spans(file)):
        of_job = [row for row in log if row.job == job]
        if any(
            row.attempt == attempt or (row.started < ended - MINUTE and row.ended > started + MINUTE) for row in of_job
        ):
            continue
        before = merged[job, attempt, machine]
        if before and before[-1][1] >= started:
            before[-1] = _joined(before[-1], (started, ended, state))
        else:
            before.append((started, ended, state))
    for (job, attempt, machine), parts in merged.items():
        given = [stated.get((job, attempt, name)) for name in ("team", "project")]
        found |= {(job, attempt, machine, *part, *given) for part in parts}
    return found


def _joined(one: tuple[int, int, str], other: tuple[int, int, str]) -> tuple[int, int, str]:
    """The state is that of the last end; where both end together, a known one counts."""
    last = max(one[1], other[1])
    states = [state for _, ended, state in (one, other) if ended == last and state != "unknown"]
    return one[0], last, max(states, default="unknown")


def usage(files: Sequence[Sequence[Event]]) -> set[tuple[Any, ...]]:
    """Steps, checkpoints and measured values, each once."""
    found = set()
    for members in (one for file in files for one in processes(file)):
        previous, begins = None, {}
        for one in members:
            span = (one.job, one.attempt)
            if one.type == "step":
                started = one.get("started")
                found.add(
                    (*span, started if started is not None else previous or one.time, one.time, "step", one.get("step"))
                )
                previous = one.time
            elif one.type == "checkpoint_begin":
                begins[one.get("step")] = one.time
            elif one.type == "checkpoint_end" and not one.get("failed"):
                started = one.get("started")
                began = started if started is not None else begins.get(one.get("step"), one.time)
                found.add((*span, began, one.time, "checkpoint", one.get("step")))
            elif one.type == "usage":
                for name, value in one.get("values").items():
                    if name in MEASURES:
                        began = one.get("started") if one.get("started") is not None else one.time
                        found.add((*span, began, one.time, name, value))
    return found
