"""Observations and recordings as immutable values."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any


class Op(StrEnum):
    """What was observed of an object."""

    SEEN = "seen"
    """It exists, and is not over."""
    ENDED = "ended"
    """It exists in a final state, which never changes back."""
    DELETED = "deleted"
    """The system reported its removal, with the last state it had."""
    GONE = "gone"
    """A complete listing no longer has it. It ended at some time after it was last listed."""


FINAL = frozenset({Op.ENDED, Op.DELETED})


@dataclass(frozen=True)
class Observed:
    """One object as a running system described it."""

    cluster: str
    kind: str
    uid: str
    """Unique in the cluster for objects of this kind, forever: a name that is used again is not enough."""
    op: Op
    fields: Mapping[str, Any]
    """The fields on the collector's allow-list, and no others: objects may carry secrets."""
    valid_at: datetime | None = None
    """When the system says it was in this state; None if it does not say. For an object that is gone, a time until
    which it is known to have existed, if that is known.
    """
    resource_version: str = ""
    """The system's own version of the object, if it has one."""


@dataclass(frozen=True)
class Batch:
    """What one query found. It is committed with its cursor, completely or not at all."""

    observed: tuple[Observed, ...]
    cursor: str
    """Where the next query continues. Only the collector itself reads it."""
    complete_through: datetime | None
    """Everything up to this time has been observed, by the clock of the system; None if that is not known."""
    listed: frozenset[tuple[str, str]] = frozenset()
    """The clusters and kinds of which `observed` is the complete list: whatever it lacks is gone."""


@dataclass(frozen=True, slots=True)
class Observation:
    """One recorded observation. Within a collector, `seq` counts from 1 without gaps, in the order of commits."""

    seq: int
    system: str
    cluster: str
    kind: str
    uid: str
    seen_at: datetime
    """When the collector saw it, by its own clock. For an object that is gone, when it was missed."""
    valid_at: datetime | None
    """When the system says it was in this state. For an object that is gone, when it was last seen."""
    op: Op
    resource_version: str
    fields: Mapping[str, Any]


@dataclass(frozen=True)
class CollectorState:
    """What is committed of one collector."""

    cursor: str | None
    complete_through: datetime | None
    last_seq: int
    open_since: datetime | None
    """When the first observation of the open segment was made; None if there is none."""


@dataclass(frozen=True)
class Commit:
    """The outcome of committing a batch."""

    recorded: int
    unchanged: int
    """Observations that say nothing new, and were not recorded again."""


@dataclass(frozen=True)
class Segment:
    """A sealed part of a recording: the delivery that holds it, and its observations by number."""

    delivery_id: int
    collector: str
    first_seq: int
    last_seq: int
