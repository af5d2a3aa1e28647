"""Events that were received: each once, in order, durable before the sender hears of it.

They are numbered without gaps in the transaction that stores them. Sealing moves a range of numbers into a delivery in
the lake; the key of an event stays here, so that it is recognized if it is sent again.
"""

import hashlib
import json
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from sqlalchemy import Connection, delete, func, insert, or_, select, tuple_, update

from trainfare.store.live.tables import ATTEMPTS, EVENT_JOBS, EVENTS
from trainfare.tables import LABELS

REMEMBERED_SECONDS = 30 * 86400
"""How long a sealed event is recognized. One that arrives again later is delivered again, and counts once anyway."""
QUIET_SECONDS = 6 * 3600
"""A process of which nothing was received for so long is over. The SDK reports every half minute that it is alive."""
_CHUNK = 300


class Received(Protocol):
    """What is stored of an event."""

    @property
    def source(self) -> str: ...
    @property
    def id(self) -> str: ...
    @property
    def job(self) -> str | None: ...
    @property
    def labels(self) -> frozenset[str]: ...
    @property
    def is_end(self) -> bool: ...
    @property
    def line(self) -> str: ...


@dataclass(frozen=True)
class Stored:
    """The outcome for each of a list of events, by position."""

    accepted: list[int]
    duplicates: list[int]
    conflicts: list[int]
    """Events whose id stands for another event already."""
    forbidden: list[int]
    """Events about jobs that the sender may not report."""


def store(connection: Connection, events: Sequence[Received], visibility: Sequence[str] | None) -> Stored:
    """Store the events that are new. With a visibility, only those of jobs that have one of its labels."""
    outcome = Stored([], [], [], [])
    known = _known(connection, events)
    allowed = _Allowed(connection, visibility)
    rows: list[dict[str, Any]] = []
    now = time.time_ns() // 1000
    last = connection.execute(select(func.coalesce(func.max(EVENTS.c.seq), 0))).scalar_one()
    for position, one in enumerate(events):
        key, digest = (one.source, one.id), _digest(one.line)
        if not allowed.may_report(one):
            outcome.forbidden.append(position)
        elif key in known:
            (outcome.duplicates if known[key] == digest else outcome.conflicts).append(position)
        else:
            known[key] = digest
            outcome.accepted.append(position)
            rows.append({"seq": last + len(rows) + 1, "source": one.source, "event_id": one.id})
            rows[-1] |= {"content_sha256": digest, "received_at": now, "line": one.line}
            rows[-1] |= {"job": one.job, "is_end": int(one.is_end)}
    for chunk in _chunks(rows):
        connection.execute(insert(EVENTS), chunk)
    allowed.remember()
    return outcome


@dataclass(frozen=True)
class Unsealed:
    """The events that are still here: those of processes that are over, and those of processes that may go on."""

    over: list[tuple[int, str]]
    going_on: list[tuple[int, str]]
    """Numbers and lines, in order."""


def unsealed(connection: Connection, now: int) -> Unsealed:
    """The events that no delivery has for good, in order.

    A process is over once its end was received, or nothing for a long time: what it reports belongs together, because
    the time between two of its events is held time.
    """
    wanted = select(EVENTS).where(EVENTS.c.line.is_not(None)).order_by(EVENTS.c.seq)
    rows = connection.execute(wanted).mappings().all()
    last = {(row["source"], row["job"]): row["received_at"] for row in rows}
    ended = {(row["source"], row["job"]) for row in rows if row["is_end"]}
    over = {key for key, at in last.items() if key in ended or at < now - QUIET_SECONDS * 1_000_000}
    split: dict[bool, list[tuple[int, str]]] = {True: [], False: []}
    for row in rows:
        split[(row["source"], row["job"]) in over].append((row["seq"], row["line"]))
    return Unsealed(split[True], split[False])


def begin_sealing(connection: Connection, generation: int, numbers: Sequence[int]) -> None:
    """Mark events as part of a generation of deliveries that is about to be committed."""
    for chunk in _chunks(numbers):
        connection.execute(update(EVENTS).where(EVENTS.c.seq.in_(chunk)).values(sealing=generation))


def finish_sealing(connection: Connection, committed: int) -> None:
    """Forget the content of what deliveries have up to a generation; what was not committed is sealed again later.

    Keys are kept for some time, so that an event that is sent again is recognized.
    """
    connection.execute(update(EVENTS).where(EVENTS.c.sealing <= committed).values(line=None))
    connection.execute(update(EVENTS).where(EVENTS.c.sealing > committed).values(sealing=None))
    oldest = time.time_ns() // 1000 - REMEMBERED_SECONDS * 1_000_000
    newest = select(func.max(EVENTS.c.seq)).scalar_subquery()
    old = EVENTS.c.line.is_(None) & (EVENTS.c.received_at < oldest) & (EVENTS.c.seq < newest)
    connection.execute(delete(EVENTS).where(old))


class _Allowed:
    """Which jobs a sender may report: those with one of its labels, by the scheduler if it knows the job."""

    def __init__(self, connection: Connection, visibility: Sequence[str] | None) -> None:
        self._connection = connection
        self._visibility = None if visibility is None else frozenset(visibility)
        self._labels: dict[str, frozenset[str] | None] = {}
        self._stated: dict[str, set[str]] = {}

    def may_report(self, one: Received) -> bool:
        if one.job is None:
            return self._visibility is None
        known = self._known(one.job)
        of_scheduler = known is not None
        labels = known if known is not None else self._stated_before(one.job) or one.labels
        is_allowed = self._visibility is None or bool(labels & self._visibility)
        if is_allowed and not of_scheduler and one.labels:
            self._stated.setdefault(one.job, set()).update(one.labels)
        return is_allowed

    def remember(self) -> None:
        """Store what events stated of jobs."""
        for job, labels in self._stated.items():
            for label in sorted(labels - self._stored(job)):
                self._connection.execute(insert(EVENT_JOBS), {"job": job, "label": label})

    def _known(self, job: str) -> frozenset[str] | None:
        """The labels that all attempts of a job have in common; None if nobody else knows the job.

        A job may be named without its cluster. Then every job of that number must be the sender's.
        """
        if job not in self._labels:
            escaped = job.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
            named = or_(ATTEMPTS.c.job_id == job, ATTEMPTS.c.job_id.like(f"%/{escaped}", escape="\\"))
            rows = self._connection.execute(select(ATTEMPTS).where(named)).mappings().all()
            found = [{f"{name}:{row[name]}" for name in LABELS if row[name]} for row in rows]
            self._labels[job] = frozenset(set.intersection(*found)) if found else None
        return self._labels[job]

    def _stated_before(self, job: str) -> frozenset[str]:
        return frozenset(self._stored(job) | self._stated.get(job, set()))

    def _stored(self, job: str) -> set[str]:
        wanted = select(EVENT_JOBS.c.label).where(EVENT_JOBS.c.job == job)
        return {*self._connection.execute(wanted).scalars()}


def _known(connection: Connection, events: Sequence[Received]) -> dict[tuple[str, str], str]:
    """The digests of those events that are stored already, by source and id."""
    found: dict[tuple[str, str], str] = {}
    for chunk in _chunks(list({(one.source, one.id) for one in events})):
        wanted = tuple_(EVENTS.c.source, EVENTS.c.event_id).in_(chunk)
        for row in connection.execute(select(EVENTS).where(wanted)).mappings():
            found[row["source"], row["event_id"]] = row["content_sha256"]
    return found


def _digest(line: str) -> str:
    """A digest of an event that does not depend on the order of its fields."""
    return hashlib.sha256(json.dumps(json.loads(line), sort_keys=True).encode()).hexdigest()


def _chunks(items: Sequence[Any]) -> Iterable[list[Any]]:
    return ([*items[start : start + _CHUNK]] for start in range(0, len(items), _CHUNK))
