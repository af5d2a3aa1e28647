"""Sums over the intervals of a window: SQL adds up seconds, and leaves every multiplication by money to Python.

A window is cut at every full UTC hour. Each part of it is a bucket, by its position.
"""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    FromClause,
    Integer,
    Select,
    Table,
    and_,
    case,
    cast,
    column,
    func,
    or_,
    select,
    values,
)

from trainfare.store.live.tables import CROWDED, HOLDINGS, PRESENCE, PRICES

HOUR = 3600
_MOST_BUCKETS = 200
"""The most buckets of one statement: databases limit how many values it may have."""


@dataclass(frozen=True)
class Slice:
    """The time and the machines that are summed, and what was known when."""

    starts: int
    ends: int
    machines: frozenset[int] | None
    """None: all of them."""
    known_at: int
    """Microseconds since 1970."""

    @property
    def buckets(self) -> list[tuple[int, int]]:
        """The window, cut at every full hour."""
        if self.ends <= self.starts:
            return []
        cuts = [self.starts, *range((self.starts // HOUR + 1) * HOUR, self.ends, HOUR), self.ends]
        return list(itertools.pairwise(cuts))


def presence(connection: Connection, given: Slice) -> list[Mapping[str, Any]]:
    """How long each machine existed in each bucket, and how much there was of it to hold."""
    return _each(connection, given, _presence)


def charges(connection: Connection, given: Slice) -> list[Mapping[str, Any]]:
    """How long each price of each machine applied while it existed, from when to when, bucket by bucket."""
    return _each(connection, given, _charges)


def weights(connection: Connection, given: Slice) -> list[Mapping[str, Any]]:
    """What each attempt held of each machine in each bucket: amounts times seconds."""
    return _each(connection, given, _weights)


def crowded(connection: Connection, given: Slice) -> set[tuple[int, int]]:
    """The machines and buckets in which more was held than there was."""
    return {(row["machine"], row["bucket"]) for row in _each(connection, given, _crowded)}


def holdings(connection: Connection, given: Slice) -> list[Mapping[str, Any]]:
    """The holdings themselves, within the window; those of unknown machines too."""
    return _intervals(connection, given, HOLDINGS)


def presence_spans(connection: Connection, given: Slice) -> list[Mapping[str, Any]]:
    """When machines existed, within the window."""
    return _intervals(connection, given, PRESENCE)


def _intervals(connection: Connection, given: Slice, table: Table) -> list[Mapping[str, Any]]:
    wanted = select(table).where(_known(table, given), table.c.ends > given.starts, table.c.starts < given.ends)
    found = connection.execute(wanted.order_by(table.c.id)).mappings().all()
    return [dict(row) for row in found if given.machines is None or row["machine"] in given.machines]


def _each(connection: Connection, given: Slice, query: Any) -> list[Mapping[str, Any]]:
    """Run a query for some buckets at a time; numbers are those of the whole window."""
    rows: list[Mapping[str, Any]] = []
    numbered = list(enumerate(given.buckets))
    for first in range(0, len(numbered), _MOST_BUCKETS):
        chunk = numbered[first : first + _MOST_BUCKETS]
        part = Slice(chunk[0][1][0], chunk[-1][1][1], given.machines, given.known_at)
        rows += [{**row} for row in connection.execute(query(part, _buckets(chunk))).mappings()]
    wanted = given.machines
    return [row for row in rows if wanted is None or row["machine"] in wanted]


def _buckets(numbered: Iterable[tuple[int, tuple[int, int]]]) -> FromClause:
    listed = [(number, starts, ends) for number, (starts, ends) in numbered]
    names = column("bucket", Integer), column("starts", BigInteger), column("ends", BigInteger)
    return values(*names, name="buckets").data(listed).cte("buckets")


def _presence(given: Slice, buckets: FromClause) -> Select[Any]:
    table = PRESENCE
    starts, ends = _later(table.c.starts, buckets.c.starts), _earlier(table.c.ends, buckets.c.ends)
    return (
        select(
            table.c.machine,
            buckets.c.bucket,
            func.max(table.c.capacity).label("capacity"),
            _sum(ends - starts).label("seconds"),
        )
        .select_from(table.join(buckets, _overlap(table, buckets)))
        .where(*_within(table, given))
        .group_by(table.c.machine, buckets.c.bucket)
    )


def _charges(given: Slice, buckets: FromClause) -> Select[Any]:
    both = and_(PRESENCE.c.machine == PRICES.c.machine, _overlap(PRESENCE, PRICES))
    starts = _later(_later(PRESENCE.c.starts, PRICES.c.starts), buckets.c.starts)
    ends = _earlier(_earlier(PRESENCE.c.ends, PRICES.c.ends), buckets.c.ends)
    shown: Sequence[ColumnElement[Any]] = (
        *(PRICES.c.id, PRICES.c.machine, buckets.c.bucket, PRICES.c.category, PRICES.c.service, PRICES.c.currency),
        *(PRICES.c.billing_account, PRICES.c.account, PRICES.c.units, PRICES.c.rated_seconds, PRICES.c.method),
        PRICES.c.price_source,
    )
    bounds = func.min(starts).label("starts"), func.max(ends).label("ends")
    return (
        select(*shown, *bounds, _sum(ends - starts).label("seconds"))
        .select_from(PRICES.join(PRESENCE, both).join(buckets, _overlap(PRICES, buckets)))
        .where(*_within(PRICES, given), *_within(PRESENCE, given), ends > starts)
        .group_by(*shown)
    )


def _weights(given: Slice, buckets: FromClause) -> Select[Any]:
    table = HOLDINGS
    starts, ends = _later(table.c.starts, buckets.c.starts), _earlier(table.c.ends, buckets.c.ends)
    return (
        select(
            table.c.machine, buckets.c.bucket, table.c.attempt, _sum((ends - starts) * table.c.amount).label("weight")
        )
        .select_from(table.join(buckets, _overlap(table, buckets)))
        .where(*_within(table, given), table.c.machine.is_not(None), table.c.amount > 0)
        .group_by(table.c.machine, buckets.c.bucket, table.c.attempt)
    )


def _crowded(given: Slice, buckets: FromClause) -> Select[Any]:
    joined = CROWDED.join(buckets, _overlap(CROWDED, buckets))
    return select(CROWDED.c.machine, buckets.c.bucket).select_from(joined).where(*_within(CROWDED, given)).distinct()


def _within(table: Table, given: Slice) -> tuple[ColumnElement[bool], ...]:
    return _known(table, given), table.c.ends > given.starts, table.c.starts < given.ends


def _known(table: Table, given: Slice) -> ColumnElement[bool]:
    superseded = or_(table.c.superseded_at.is_(None), table.c.superseded_at > given.known_at)
    return and_(table.c.recorded_at <= given.known_at, superseded)


def _overlap(one: FromClause, other: FromClause) -> ColumnElement[bool]:
    return and_(one.c.starts < other.c.ends, one.c.ends > other.c.starts)


def _later(one: ColumnElement[Any], other: ColumnElement[Any]) -> ColumnElement[Any]:
    return case((one > other, one), else_=other)


def _earlier(one: ColumnElement[Any], other: ColumnElement[Any]) -> ColumnElement[Any]:
    return case((one < other, one), else_=other)


def _sum(seconds: ColumnElement[Any]) -> ColumnElement[Any]:
    """A sum as an integer: PostgreSQL adds up to a decimal."""
    return cast(func.sum(seconds), BigInteger)
