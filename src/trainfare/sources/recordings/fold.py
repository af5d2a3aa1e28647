"""The fold: observations in, one history per object out. A pure function, for books and for the live account.

- Observations are taken in the order in which they were recorded. Repeating any of them changes nothing.
- A state that the system dates before the one already known is late news, and changes nothing.
- What is over stays over: only a later final state replaces a final one.
- An object that a complete listing no longer had ended between the last time it was seen and that listing. If it is
  seen again, the listing was incomplete, and it never ended.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from trainfare.store.recordings.values import FINAL, Observation, Op

ENDED_BETWEEN = "ended_between"
"""The label of attempts whose end is not known exactly: the two times between which they ended."""


@dataclass(frozen=True, slots=True)
class History:
    """What is known about one object."""

    system: str
    cluster: str
    kind: str
    uid: str
    fields: Mapping[str, Any]
    """Its last known state."""
    op: Op
    """SEEN while it exists; otherwise how it is known to be over."""
    seq: int
    """The observation that shows its last known state."""
    valid_at: datetime | None
    """When the system says it was in that state."""
    first_seen: datetime
    last_seen: datetime
    """The last time at which it is known to have been in that state, by the clock of the collector."""
    deleted_at: datetime | None = None
    """When the system removed it: by its own account, else when the collector heard of it."""
    gone: tuple[datetime, datetime] | None = None
    """Without a known end: the two times between which it disappeared."""

    @property
    def key(self) -> tuple[str, str, str, str]:
        return self.system, self.cluster, self.kind, self.uid


def fold(observations: Iterable[Observation]) -> list[History]:
    """Return the history of each object, in the order in which they were first observed."""
    found: dict[tuple[str, str, str, str], History] = {}
    for one in observations:
        key = (one.system, one.cluster, one.kind, one.uid)
        before = found.get(key)
        if before is not None:
            found[key] = _next(before, one)
        elif one.op is not Op.GONE:  # nothing is known of an object of which only the absence was seen
            found[key] = _first(one)
    return list(found.values())


def _first(one: Observation) -> History:
    key = (one.system, one.cluster, one.kind, one.uid)
    deleted_at = (one.valid_at or one.seen_at) if one.op is Op.DELETED else None
    return History(*key, one.fields, one.op, one.seq, one.valid_at, one.seen_at, one.seen_at, deleted_at)


def _next(before: History, one: Observation) -> History:
    """Return the history after one more observation."""
    if one.op is Op.GONE:
        return _missed(before, one)
    latest = _first(one)
    if before.op in FINAL and one.op not in FINAL:
        return before
    if before.op is Op.ENDED and one.op is Op.DELETED:  # the removal of what is over says nothing about its end
        return replace(before, deleted_at=before.deleted_at or latest.deleted_at)
    if before.op is Op.DELETED and one.op is Op.ENDED:
        return replace(latest, first_seen=before.first_seen, deleted_at=before.deleted_at)
    is_late = before.valid_at is not None and one.valid_at is not None and one.valid_at < before.valid_at
    if is_late and (before.op in FINAL or one.op not in FINAL):
        return before
    if before.op is Op.DELETED:
        return before
    return replace(latest, first_seen=before.first_seen, deleted_at=latest.deleted_at or before.deleted_at)


def _missed(before: History, one: Observation) -> History:
    if before.op in FINAL or before.op is Op.GONE:
        return before
    # The clock of the collector may have been set back in between.
    last_seen, missed = sorted((one.valid_at or before.last_seen, one.seen_at))
    return replace(before, op=Op.GONE, last_seen=last_seen, gone=(last_seen, missed))


def ended_between(one: History) -> str:
    """Return the two times between which an object disappeared, as the text of a label."""
    assert one.gone
    return " and ".join(f"{time:%Y-%m-%dT%H:%M:%SZ}" for time in one.gone)
