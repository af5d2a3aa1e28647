"""The tables of the live account: what is held, what exists and what it costs, as intervals in whole UTC seconds.

An interval is never changed. When more becomes known, it is superseded, and another one takes its place, so that any
earlier state of knowledge can be replayed. `recorded_at` and `superseded_at` are microseconds since 1970, by the clock
of the process that wrote them.
"""

from sqlalchemy import BigInteger, Column, Index, Integer, MetaData, Table, Text, UniqueConstraint

from trainfare.tables import LABELS

REVISION = 2
"""The form of these tables. They are made anew from recordings, events and books when it changes."""

FOREVER = 253402300800
"""The end of what has no end yet: the first second of the year 10000."""

_LONG = BigInteger().with_variant(Integer(), "sqlite")
METADATA = MetaData()


def _interval(name: str, *columns: Column[object]) -> Table:
    table = Table(
        f"live_{name}",
        METADATA,
        Column("id", _LONG, primary_key=True),
        Column("machine", Integer),
        *columns,
        Column("starts", _LONG, nullable=False),
        Column("ends", _LONG, nullable=False),
        Column("recorded_at", _LONG, nullable=False),
        Column("superseded_at", _LONG),
        sqlite_strict=True,
    )
    Index(f"live_{name}_by_time", table.c.ends, table.c.starts)
    return table


STATE = Table(
    "live_state",
    METADATA,
    Column("key", Text, primary_key=True),
    Column("value", Text, nullable=False),
    sqlite_strict=True,
)

MACHINES = Table(
    "live_machines",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("resource", Text, nullable=False, unique=True),
    Column("machine_id", Text, nullable=False),
    Column("kind", Text),
    Column("cluster", Text),
    Column("pool", Text),
    Column("team", Text),
    Column("sources", Text, nullable=False),
    Column("billed_through", _LONG),
    Column("has_ledger", Integer, nullable=False),
    sqlite_strict=True,
)

ATTEMPTS = Table(
    "live_attempts",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("job_id", Text, nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("state", Text),
    *(Column(name, Text) for name in LABELS),
    UniqueConstraint("job_id", "attempt", name="live_attempts_once"),
    sqlite_strict=True,
)

HOLDINGS = _interval(
    "holdings",
    Column("attempt", Integer, nullable=False),
    Column("machine_name", Text, nullable=False),
    Column("amount", _LONG, nullable=False),
)
"""Which attempt held how much of a machine; without a machine, nothing knows one of that name."""

PRESENCE = _interval("presence", Column("capacity", _LONG))
"""When a machine existed, and how much of it there is to hold; null if that is unknown."""

CROWDED = _interval("crowded")
"""When more of a machine was held than there is of it, or its size is unknown."""

PRICES = _interval(
    "prices",
    Column("category", Text, nullable=False),
    Column("service", Text),
    Column("currency", Text, nullable=False),
    Column("billing_account", Text),
    Column("account", Text),
    Column("units", Text, nullable=False),
    Column("rated_seconds", _LONG, nullable=False),
    Column("method", Text, nullable=False),
    Column("price_source", Text),
)
"""What a machine costs: so many units of money, each 10^-12 of a currency, for so many seconds."""

SOURCES = Table(
    "live_sources",
    METADATA,
    Column("name", Text, primary_key=True),
    Column("complete_through", _LONG),
    Column("checked_at", _LONG, nullable=False),
    Column("problem", Text),
    sqlite_strict=True,
)

EVENTS = Table(
    "live_events",
    METADATA,
    Column("seq", _LONG, primary_key=True, autoincrement=False),
    Column("source", Text, nullable=False),
    Column("event_id", Text, nullable=False),
    Column("content_sha256", Text, nullable=False),
    Column("received_at", _LONG, nullable=False),
    Column("job", Text),
    Column("is_end", Integer, nullable=False),
    Column("sealing", Integer),
    Column("line", Text),
    UniqueConstraint("source", "event_id", name="live_events_once"),
    sqlite_strict=True,
)
"""The events that were received, in order. The line is null once a delivery in the lake has it for good."""

EVENT_JOBS = Table(
    "live_event_jobs",
    METADATA,
    Column("job", Text, primary_key=True),
    Column("label", Text, primary_key=True),
    sqlite_strict=True,
)
"""The labels that events stated of jobs, as KEY:VALUE: whose tokens may report more of them."""
