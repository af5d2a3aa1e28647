"""Recordings in the catalog: cursors, open segments, and which deliveries hold the sealed ones.

Observations and the cursor that they lead to are committed in one transaction, so that a collector that is killed
continues exactly where it was. Observations are numbered in the order of commits, without gaps, and sealing moves a
range of numbers from the catalog to a delivery in one transaction: a number is always in exactly one place.
"""

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from sqlalchemy import Connection, and_, delete, func, insert, select, update

from trainfare.errors import DamagedError, IncompleteError, TrainfareError
from trainfare.store import checksums, delivery_rows
from trainfare.store.builds import require_not_abandoned
from trainfare.store.database import Database
from trainfare.store.recordings.values import FINAL, Batch, CollectorState, Commit, Observed, Op, Segment
from trainfare.store.records import Delivery, NewDelivery
from trainfare.store.schema import COLLECTORS, DELIVERIES, OBSERVATIONS, OBSERVED_OBJECTS, RECORDINGS

REMEMBERED = timedelta(days=30)
"""How long an object that is over is remembered. If it is observed again later, it is recorded again, and counts once
all the same.
"""
RECEIVED = "received events"
"""The name under which events that a server received are recorded: no collector can have it."""
RECEIVER = "events"
_CHUNK = 500


class _Known(NamedTuple):
    is_over: bool
    state_sha256: str
    seen_at: datetime


_Key = tuple[str, str, str]
"""Cluster, kind and uid of an object."""


class Recordings:
    """The recordings of a catalog."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def state(self, collector: str) -> CollectorState:
        """What is committed of a collector; nothing if it never ran."""
        with self._database.read() as connection:
            row = connection.execute(select(COLLECTORS).where(COLLECTORS.c.name == collector)).mappings().first()
            opened = select(func.min(OBSERVATIONS.c.seen_at)).where(OBSERVATIONS.c.collector == collector)
            open_since = connection.execute(opened).scalar()
        if row is None:
            return CollectorState(None, None, 0, None)
        return CollectorState(row["cursor"], row["complete_through"], row["last_seq"], open_since)

    def collectors(self) -> list[str]:
        """The names of all collectors that ever ran."""
        with self._database.read() as connection:
            return list(connection.execute(select(COLLECTORS.c.name).order_by(COLLECTORS.c.name)).scalars())

    def open_uids(self, collector: str, kind: str) -> list[str]:
        """The objects of a kind that were observed and are not over, in order."""
        found = select(OBSERVED_OBJECTS.c.uid).where(
            OBSERVED_OBJECTS.c.collector == collector, OBSERVED_OBJECTS.c.kind == kind, OBSERVED_OBJECTS.c.is_over == 0
        )
        with self._database.read() as connection:
            return sorted(connection.execute(found).scalars())

    def commit(self, collector: str, system: str, after: str | None, batch: Batch, seen_at: datetime) -> Commit:
        """Add what a batch tells that is new, with its cursor, or nothing.

        `after` is the cursor that the batch started from: if another process moved it, that one observed the same.
        """
        with self._database.write() as connection:
            last_seq = _require_cursor(connection, collector, system, after)
            rows, unchanged = _new_rows(connection, collector, batch, seen_at)
            numbered = [
                {"collector": collector, "seq": seq, "system": system} | row
                for seq, row in enumerate(rows, last_seq + 1)
            ]
            for chunk in _chunks(numbered):
                connection.execute(insert(OBSERVATIONS), chunk)
            _advance(connection, collector, batch, last_seq + len(rows))
            return Commit(len(rows), unchanged)

    # Segments

    def open_segment(self, collector: str, limit: int) -> list[dict[str, Any]]:
        """The oldest observations that are not sealed yet, in order."""
        wanted = select(OBSERVATIONS).where(OBSERVATIONS.c.collector == collector).order_by(OBSERVATIONS.c.seq)
        with self._database.read() as connection:
            return [dict(row) for row in connection.execute(wanted.limit(limit)).mappings()]

    def seal(self, rows: Sequence[dict[str, Any]], new: NewDelivery) -> Delivery | None:
        """Move these observations, the oldest of a collector, into a delivery; None if another process did so."""
        first, last, collector = rows[0]["seq"], rows[-1]["seq"], rows[0]["collector"]
        held = and_(OBSERVATIONS.c.collector == collector, OBSERVATIONS.c.seq.between(first, last))
        with self._database.write() as connection:
            checksums.require_counts(connection)
            require_not_abandoned(connection, [new.archive])
            if connection.execute(select(func.count()).where(held)).scalar_one() != len(rows):
                return None
            times = [row["seen_at"] for row in rows]
            added = _add_segment(connection, new, Segment(0, collector, first, last), min(times), max(times))
            connection.execute(delete(OBSERVATIONS).where(held))
            return added

    def received(self) -> tuple[int, int | None]:
        """How often received events were sealed, and the delivery of those that will be sealed again, if any."""
        with self._database.read() as connection:
            return _received(connection)

    def seal_received(self, generation: int, finished: NewDelivery | None, unfinished: NewDelivery | None) -> bool:
        """Let deliveries hold received events: for good, and until the next generation takes their place.

        Return False if another process committed this generation.
        """
        with self._database.write() as connection:
            checksums.require_counts(connection)
            new = [one for one in (finished, unfinished) if one]
            require_not_abandoned(connection, [one.archive for one in new])
            before, replaced = _received(connection)
            if before != generation - 1:
                return False
            now = datetime.now(UTC)
            last = connection.execute(select(COLLECTORS.c.last_seq).where(COLLECTORS.c.name == RECEIVED)).scalar()
            if last is None:
                connection.execute(insert(COLLECTORS), {"name": RECEIVED, "system": RECEIVER, "last_seq": 0})
            first = (last or 0) + (0 if replaced else 1)
            added = [
                _add_segment(connection, one, Segment(0, RECEIVED, number, number), now, now)
                for number, one in enumerate(new, first)
            ]
            if replaced:
                mine = RECORDINGS.c.delivery_id == replaced
                connection.execute(update(RECORDINGS).where(mine).values(replaced_by=added[0].id))
            cursor = json.dumps({"generation": generation, "unfinished": added[-1].id if unfinished else None})
            values = {"last_seq": first + len(new) - 1, "cursor": cursor}
            connection.execute(update(COLLECTORS).where(COLLECTORS.c.name == RECEIVED).values(values))
            return True

    def replace(self, segments: Sequence[Segment], new: NewDelivery) -> Delivery | None:
        """Let one delivery hold what several consecutive segments hold; None if another process replaced them."""
        ids = [one.delivery_id for one in segments]
        current = and_(RECORDINGS.c.delivery_id.in_(ids), RECORDINGS.c.replaced_by.is_(None))
        times = select(func.count(), func.min(RECORDINGS.c.first_seen_at), func.max(RECORDINGS.c.last_seen_at))
        with self._database.write() as connection:
            checksums.require_counts(connection)
            require_not_abandoned(connection, [new.archive])
            count, first, last = connection.execute(times.where(current)).one()
            if count != len(ids):
                return None
            whole = Segment(0, segments[0].collector, segments[0].first_seq, segments[-1].last_seq)
            added = _add_segment(connection, new, whole, first, last)
            connection.execute(update(RECORDINGS).where(current).values(replaced_by=added.id))
            return added

    def segments(self) -> list[tuple[Segment, Delivery]]:
        """The sealed segments in use, by collector and number. A missing one is an error."""
        wanted = select(RECORDINGS).where(RECORDINGS.c.replaced_by.is_(None))
        with self._database.read() as connection:
            rows = connection.execute(wanted.order_by(RECORDINGS.c.collector, RECORDINGS.c.first_seq)).mappings().all()
            found = [Segment(row["delivery_id"], row["collector"], row["first_seq"], row["last_seq"]) for row in rows]
            _require_no_gap(connection, found)
            ids = [one.delivery_id for one in found]
            by_id = {
                one.id: one
                for one in delivery_rows.read(connection, select(DELIVERIES).where(DELIVERIES.c.id.in_(ids)))
            }
        return [(one, by_id[one.delivery_id]) for one in found]

    def sealed_before(self, moment: datetime) -> list[tuple[datetime, Segment]]:
        """The segments in use whose last observation was made before this moment, with the time of the first.

        Received events are no observations, and are left out.
        """
        is_observed = RECORDINGS.c.collector != RECEIVED
        wanted = select(RECORDINGS).where(
            RECORDINGS.c.replaced_by.is_(None), RECORDINGS.c.last_seen_at < moment, is_observed
        )
        with self._database.read() as connection:
            rows = connection.execute(wanted.order_by(RECORDINGS.c.collector, RECORDINGS.c.first_seq)).mappings().all()
        return [
            (row["first_seen_at"], Segment(row["delivery_id"], row["collector"], row["first_seq"], row["last_seq"]))
            for row in rows
        ]


def _received(connection: Connection) -> tuple[int, int | None]:
    cursor = connection.execute(select(COLLECTORS.c.cursor).where(COLLECTORS.c.name == RECEIVED)).scalar()
    found: dict[str, Any] = json.loads(cursor) if cursor else {"generation": 0, "unfinished": None}
    return found["generation"], found["unfinished"]


def _require_cursor(connection: Connection, collector: str, system: str, after: str | None) -> int:
    """Return the last number, provided that the cursor is still `after`. A new collector is added."""
    row = connection.execute(select(COLLECTORS).where(COLLECTORS.c.name == collector)).mappings().first()
    if row is None:
        connection.execute(insert(COLLECTORS), {"name": collector, "system": system, "last_seq": 0})
        row = {"system": system, "cursor": None, "last_seq": 0}  # type: ignore[assignment]
    assert row is not None
    if row["system"] != system:
        what = f"this name belongs to the recordings of a collector for {row['system']}"
        raise TrainfareError(f"collector {collector}", what, "Give the new collector another name.")
    if row["cursor"] != after:
        what = "another process collected at the same time"
        raise IncompleteError(f"collector {collector}", what, "Run it in one place only. Nothing was lost.")
    return int(row["last_seq"])


def _new_rows(
    connection: Connection, collector: str, batch: Batch, seen_at: datetime
) -> tuple[list[dict[str, Any]], int]:
    """Return the observations that tell something new, and how many do not; remember the state of each object."""
    known = _known(connection, collector, batch.observed)
    seen_before = {key: one.seen_at for key, one in known.items()}
    changed: dict[_Key, _Known] = {}
    rows: list[dict[str, Any]] = []
    seen: set[_Key] = set()
    unchanged = 0
    for one in batch.observed:
        key = (one.cluster, one.kind, one.uid)
        if one.op is Op.GONE:
            if key in changed:  # its last state is news, but older than this batch
                last_seen = seen_before.get(key) or one.valid_at or seen_at
                _remember(connection, collector, {key: changed.pop(key)}, last_seen)
            rows += _gone_by_name(connection, collector, one, seen_at)
            continue
        text = json.dumps(one.fields, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
        found = _Known(one.op in FINAL, hashlib.sha256(f"{one.op}|{text}".encode()).hexdigest(), seen_at)
        before = known.get(key)
        if before and (before.state_sha256 == found.state_sha256 or (before.is_over and not found.is_over)):
            unchanged += 1
            seen |= set() if before.is_over else {key}
            continue
        known[key] = changed[key] = found
        rows.append(_row(one, seen_at, text))
    _remember(connection, collector, changed, seen_at)
    _touch(connection, collector, seen, seen_at)
    for cluster, kind in sorted(batch.listed):
        listed = {one.uid for one in batch.observed if (one.cluster, one.kind) == (cluster, kind)}
        rows += _gone(connection, collector, (cluster, kind), listed, seen_at)
    return rows, unchanged


def _row(one: Observed, seen_at: datetime, fields: str) -> dict[str, Any]:
    return {
        "cluster": one.cluster,
        "kind": one.kind,
        "uid": one.uid,
        "seen_at": seen_at,
        "valid_at": one.valid_at,
        "op": str(one.op),
        "resource_version": one.resource_version,
        "fields": fields,
    }


def _known(connection: Connection, collector: str, observed: Iterable[Observed]) -> dict[_Key, _Known]:
    """What is remembered of these objects."""
    columns = OBSERVED_OBJECTS.c
    found: dict[_Key, _Known] = {}
    for (cluster, kind), names in _by_kind((one.cluster, one.kind, one.uid) for one in observed).items():
        for chunk in _chunks(sorted(set(names))):
            wanted = select(columns.uid, columns.is_over, columns.state_sha256, columns.seen_at).where(
                *_of_kind(collector, cluster, kind), columns.uid.in_(chunk)
            )
            for uid, is_over, state_sha256, seen_at in connection.execute(wanted):
                found[cluster, kind, uid] = _Known(bool(is_over), state_sha256, seen_at)
    return found


def _touch(connection: Connection, collector: str, keys: Iterable[_Key], seen_at: datetime) -> None:
    """Remember that these objects were seen again as they were."""
    for (cluster, kind), uids in _by_kind(keys).items():
        for chunk in _chunks(uids):
            seen = *_of_kind(collector, cluster, kind), OBSERVED_OBJECTS.c.uid.in_(chunk)
            connection.execute(update(OBSERVED_OBJECTS).where(*seen).values(seen_at=seen_at))


def _by_kind(keys: Iterable[_Key]) -> dict[tuple[str, str], list[str]]:
    found: dict[tuple[str, str], list[str]] = {}
    for cluster, kind, uid in keys:
        found.setdefault((cluster, kind), []).append(uid)
    return found


def _remember(connection: Connection, collector: str, changed: dict[_Key, _Known], seen_at: datetime) -> None:
    columns = OBSERVED_OBJECTS.c
    for (cluster, kind), uids in _by_kind(changed).items():
        for chunk in _chunks(uids):
            connection.execute(
                delete(OBSERVED_OBJECTS).where(*_of_kind(collector, cluster, kind), columns.uid.in_(chunk))
            )
    rows = [
        {"collector": collector, "cluster": cluster, "kind": kind, "uid": uid, "seen_at": seen_at}
        | {"is_over": int(one.is_over), "state_sha256": one.state_sha256}
        for (cluster, kind, uid), one in changed.items()
    ]
    for part in _chunks(rows):
        connection.execute(insert(OBSERVED_OBJECTS), part)
    forgotten = columns.collector == collector, columns.is_over == 1, columns.seen_at < seen_at - REMEMBERED
    connection.execute(delete(OBSERVED_OBJECTS).where(*forgotten))


def _gone(
    connection: Connection, collector: str, kind: tuple[str, str], listed: set[str], seen_at: datetime
) -> list[dict[str, Any]]:
    """Return an observation for each object that a complete listing no longer has, and forget these objects."""
    columns = OBSERVED_OBJECTS.c
    of_kind = _of_kind(collector, *kind)
    wanted = select(columns.uid, columns.is_over, columns.seen_at).where(*of_kind).order_by(columns.uid)
    missing = [row for row in connection.execute(wanted).all() if row[0] not in listed]
    for chunk in _chunks([uid for uid, _, _ in missing]):
        connection.execute(delete(OBSERVED_OBJECTS).where(*of_kind, columns.uid.in_(chunk)))
    connection.execute(update(OBSERVED_OBJECTS).where(*of_kind, columns.is_over == 0).values(seen_at=seen_at))
    return [
        _row(Observed(*kind, uid, Op.GONE, {}, last_seen), seen_at, "{}")
        for uid, is_over, last_seen in missing
        if not is_over
    ]


def _gone_by_name(connection: Connection, collector: str, one: Observed, seen_at: datetime) -> list[dict[str, Any]]:
    """Return an observation for an object that the system no longer has, if it was not over, and forget it."""
    columns = OBSERVED_OBJECTS.c
    here = columns.collector == collector, columns.kind == one.kind, columns.uid == one.uid, columns.is_over == 0
    found = connection.execute(select(columns.cluster, columns.seen_at).where(*here)).all()
    connection.execute(delete(OBSERVED_OBJECTS).where(*here))
    return [
        _row(replace(one, cluster=cluster, valid_at=max(last_seen, one.valid_at or last_seen)), seen_at, "{}")
        for cluster, last_seen in found
        if one.cluster in ("", cluster)
    ]


def _of_kind(collector: str, cluster: str, kind: str) -> tuple[Any, ...]:
    columns = OBSERVED_OBJECTS.c
    return columns.collector == collector, columns.cluster == cluster, columns.kind == kind


def _advance(connection: Connection, collector: str, batch: Batch, last_seq: int) -> None:
    """Store the cursor, and how far the recording is complete. That goes back if the clock of the system was wrong."""
    values: dict[str, Any] = {"cursor": batch.cursor, "last_seq": last_seq}
    if batch.complete_through:
        values["complete_through"] = batch.complete_through
    connection.execute(update(COLLECTORS).where(COLLECTORS.c.name == collector).values(values))


def _add_segment(
    connection: Connection, new: NewDelivery, segment: Segment, first_seen_at: datetime, last_seen_at: datetime
) -> Delivery:
    added = delivery_rows.add(connection, new)
    row = {"collector": segment.collector, "first_seq": segment.first_seq, "last_seq": segment.last_seq}
    row |= {"delivery_id": added.id, "first_seen_at": first_seen_at, "last_seen_at": last_seen_at}
    connection.execute(insert(RECORDINGS), row)
    return added


def _require_no_gap(connection: Connection, segments: Iterable[Segment]) -> None:
    """Require that the segments of each collector, and the open one after them, have every observation once."""
    restore = "Restore the catalog from a backup: its rows must not be changed by hand."
    opened = select(OBSERVATIONS.c.collector, func.min(OBSERVATIONS.c.seq)).group_by(OBSERVATIONS.c.collector)
    next_seq = {name: last + 1 for name, last in connection.execute(select(COLLECTORS.c.name, COLLECTORS.c.last_seq))}
    next_seq |= {row[0]: row[1] for row in connection.execute(opened)}
    expected: dict[str, int] = {}
    for one in segments:
        if one.first_seq != expected.setdefault(one.collector, 1):
            what = f"observation {expected[one.collector]:,} is missing, or is in two deliveries"
            raise DamagedError(f"recording {one.collector}", what, restore)
        expected[one.collector] = one.last_seq + 1
    for name, first in next_seq.items():
        if first != expected.get(name, 1):
            what = f"observation {expected.get(name, 1):,} is missing, or is in two places"
            raise DamagedError(f"recording {name}", what, restore)


def _chunks(items: Sequence[Any]) -> Iterable[list[Any]]:
    return ([*items[start : start + _CHUNK]] for start in range(0, len(items), _CHUNK))
