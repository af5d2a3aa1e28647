"""The tables of the catalog in their current form; `migrations` holds the steps that lead here.

Times and money are stored as text on every database: times as UTC in ISO 8601, amounts digit for digit. They read the
same everywhere, and no driver turns money into a float.
"""

from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from typing import TypeVar

from sqlalchemy import BigInteger, CheckConstraint, Column, ForeignKey, Integer, MetaData, Table, Text, UniqueConstraint
from sqlalchemy.engine import Dialect
from sqlalchemy.types import TypeDecorator

from trainfare.errors import DamagedError, TrainfareError
from trainfare.period import Month

_Value = TypeVar("_Value")

REVISION = 11
"""The schema that this code reads and writes: the revision of the last file in `migrations/versions`."""

VERSION_TABLE = "trainfare_schema"
"""Not `alembic_version`, which may belong to another application in a shared database."""


def _restored(parse: Callable[[str], _Value], value: str) -> _Value:
    """Return the value that a text stands for. Nothing else was ever written, so any other text is damage."""
    try:
        return parse(value)
    except (ValueError, ArithmeticError, TypeError, TrainfareError) as error:
        do = "Restore the catalog from a backup: its rows must not be changed by hand."
        raise DamagedError("catalog", f"it has the value {value!r:.60} where none can be", do) from error


class UtcTime(TypeDecorator[datetime]):
    """A time with a zone, stored in UTC to the microsecond, so that text order is time order."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> str | None:
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError(f"{value} has no zone")
        return value.astimezone(UTC).isoformat(timespec="microseconds")

    def process_result_value(self, value: str | None, dialect: Dialect) -> datetime | None:
        return None if value is None else _restored(datetime.fromisoformat, value)


class Money(TypeDecorator[Decimal]):
    """An exact amount, never in exponent notation."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Decimal | None, dialect: Dialect) -> str | None:
        if value is None:
            return None
        if not isinstance(value, Decimal) or not value.is_finite():
            raise ValueError(f"{value!r} is not an exact amount")
        return f"{value:f}"

    def process_result_value(self, value: str | None, dialect: Dialect) -> Decimal | None:
        return None if value is None else _restored(Decimal, value)


class MonthText(TypeDecorator[Month]):
    """A month, stored as `YYYY-MM`."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Month | None, dialect: Dialect) -> str | None:
        return None if value is None else str(value)

    def process_result_value(self, value: str | None, dialect: Dialect) -> Month | None:
        return None if value is None else _restored(Month.parse, value)


_COUNT = BigInteger().with_variant(Integer(), "sqlite")
METADATA = MetaData()

IDENTITY = Table(
    "identity",
    METADATA,
    Column("catalog_id", Text, primary_key=True),
    Column("book_format", Integer, nullable=False, server_default="1"),
    sqlite_strict=True,
)

DELIVERIES = Table(
    "deliveries",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("source", Text, nullable=False),
    Column("path", Text, nullable=False),
    Column("format", Text, nullable=False),
    Column("content_sha256", Text, nullable=False),
    Column("settings_sha256", Text, nullable=False),
    Column("archive", Text, nullable=False),
    Column("lines", _COUNT, nullable=False),
    Column("delivered_at", UtcTime, nullable=False),
    Column("archive_size", _COUNT),
    Column("archive_sha256", Text),
    Column("row_sha256", Text),
    UniqueConstraint("source", "content_sha256", "settings_sha256", name="deliveries_once"),
    sqlite_strict=True,
)

BOOKS = Table(
    "books",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("month", MonthText, nullable=False),
    Column("version", Integer, nullable=False),
    Column("built_at", UtcTime, nullable=False),
    Column("engine", Text, nullable=False),
    Column("inputs_sha256", Text, nullable=False),
    Column("complete_through", UtcTime),
    Column("row_sha256", Text),
    UniqueConstraint("month", "version", name="books_once"),
    CheckConstraint("version >= 1", name="books_version"),
    sqlite_strict=True,
)

BOOK_DELIVERIES = Table(
    "book_deliveries",
    METADATA,
    Column("book_id", Integer, ForeignKey("books.id"), primary_key=True),
    Column("delivery_id", Integer, ForeignKey("deliveries.id"), primary_key=True),
    sqlite_strict=True,
)

BOOK_FILES = Table(
    "book_files",
    METADATA,
    Column("book_id", Integer, ForeignKey("books.id"), primary_key=True),
    Column("table_name", Text, primary_key=True),
    Column("path", Text, nullable=False),
    Column("rows", _COUNT, nullable=False),
    Column("size", _COUNT),
    Column("sha256", Text),
    sqlite_strict=True,
)

GRAIN_FILES = Table(
    "grain_files",
    METADATA,
    Column("path", Text, primary_key=True),
    Column("book_id", Integer, ForeignKey("books.id"), nullable=False),
    Column("part", Text, nullable=False),
    Column("steps", Text, nullable=False),
    Column("size", _COUNT, nullable=False),
    Column("sha256", Text, nullable=False),
    Column("made_at", UtcTime, nullable=False),
    sqlite_strict=True,
)

BOOK_TOTALS = Table(
    "book_totals",
    METADATA,
    Column("book_id", Integer, ForeignKey("books.id"), primary_key=True),
    Column("source", Text, primary_key=True),
    Column("currency", Text, primary_key=True),
    Column("basis", Text, primary_key=True),
    Column("charges", Money, nullable=False),
    Column("shares", Money, nullable=False),
    sqlite_strict=True,
)

CLOSINGS = Table(
    "closings",
    METADATA,
    Column("month", MonthText, primary_key=True),
    Column("book_id", Integer, ForeignKey("books.id"), nullable=False),
    Column("closed_at", UtcTime, nullable=False),
    Column("closed_by", Text, nullable=False),
    Column("note", Text, nullable=False),
    Column("audit_rows", _COUNT),
    Column("audit_head", Text),
    Column("row_sha256", Text),
    sqlite_strict=True,
)

TABLE_CHECKSUMS = Table(
    "table_checksums",
    METADATA,
    Column("table_name", Text, primary_key=True),
    Column("rows", _COUNT, nullable=False),
    Column("head_sha256", Text, nullable=False),
    sqlite_strict=True,
)

BUILDS = Table(
    "builds",
    METADATA,
    Column("build_id", Text, primary_key=True),
    Column("heartbeat_at", UtcTime, nullable=False),
    Column("abandoned_at", UtcTime),
    sqlite_strict=True,
)

COLLECTORS = Table(
    "collectors",
    METADATA,
    Column("name", Text, primary_key=True),
    Column("system", Text, nullable=False),
    Column("cursor", Text),
    Column("complete_through", UtcTime),
    Column("last_seq", _COUNT, nullable=False),
    sqlite_strict=True,
)

OBSERVATIONS = Table(
    "observations",
    METADATA,
    Column("collector", Text, ForeignKey("collectors.name"), primary_key=True),
    Column("seq", _COUNT, primary_key=True),
    Column("system", Text, nullable=False),
    Column("cluster", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("uid", Text, nullable=False),
    Column("seen_at", UtcTime, nullable=False),
    Column("valid_at", UtcTime),
    Column("op", Text, nullable=False),
    Column("resource_version", Text, nullable=False),
    Column("fields", Text, nullable=False),
    sqlite_strict=True,
)

OBSERVED_OBJECTS = Table(
    "observed_objects",
    METADATA,
    Column("collector", Text, ForeignKey("collectors.name"), primary_key=True),
    Column("cluster", Text, primary_key=True),
    Column("kind", Text, primary_key=True),
    Column("uid", Text, primary_key=True),
    Column("is_over", Integer, nullable=False),
    Column("state_sha256", Text, nullable=False),
    Column("seen_at", UtcTime, nullable=False),
    sqlite_strict=True,
)

RECORDINGS = Table(
    "recordings",
    METADATA,
    Column("delivery_id", Integer, ForeignKey("deliveries.id"), primary_key=True),
    Column("collector", Text, ForeignKey("collectors.name"), nullable=False),
    Column("first_seq", _COUNT, nullable=False),
    Column("last_seq", _COUNT, nullable=False),
    Column("first_seen_at", UtcTime, nullable=False),
    Column("last_seen_at", UtcTime, nullable=False),
    Column("replaced_by", Integer, ForeignKey("deliveries.id")),
    CheckConstraint("last_seq >= first_seq", name="recordings_range"),
    sqlite_strict=True,
)

FINDING_SIGHTINGS = Table(
    "finding_sightings",
    METADATA,
    Column("book_id", Integer, ForeignKey("books.id"), primary_key=True),
    Column("code", Text, primary_key=True),
    Column("seen_at", UtcTime, nullable=False),
    sqlite_strict=True,
)

ACCEPTANCES = Table(
    "acceptances",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("code", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("until", Text, nullable=False),
    Column("accepted_at", UtcTime, nullable=False),
    Column("accepted_by", Text, nullable=False),
    sqlite_strict=True,
)

LABEL_OVERRIDES = Table(
    "label_overrides",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("job_id", Text, nullable=False),
    Column("attempt", Integer),
    Column("key", Text, nullable=False),
    Column("value", Text),
    Column("set_at", UtcTime, nullable=False),
    Column("set_by", Text, nullable=False),
    Column("note", Text, nullable=False),
    sqlite_strict=True,
)

USERS = Table(
    "users",
    METADATA,
    Column("name", Text, primary_key=True),
    Column("role", Text, nullable=False),
    Column("visibility", Text),
    Column("password", Text),
    Column("created_at", UtcTime, nullable=False),
    Column("disabled_at", UtcTime),
    sqlite_strict=True,
)

TOKENS = Table(
    "tokens",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("name", Text, nullable=False),
    Column("token_sha256", Text, nullable=False, unique=True),
    Column("role", Text, nullable=False),
    Column("visibility", Text),
    Column("scopes", Text, nullable=False),
    Column("created_at", UtcTime, nullable=False),
    Column("created_by", Text, nullable=False),
    Column("expires_at", UtcTime),
    Column("revoked_at", UtcTime),
    Column("last_used_at", UtcTime),
    sqlite_strict=True,
)

SESSIONS = Table(
    "sessions",
    METADATA,
    Column("session_sha256", Text, primary_key=True),
    Column("user_name", Text, ForeignKey("users.name"), nullable=False),
    Column("created_at", UtcTime, nullable=False),
    Column("expires_at", UtcTime, nullable=False),
    Column("ended_at", UtcTime),
    sqlite_strict=True,
)

RATE_LIMITS = Table(
    "rate_limits",
    METADATA,
    Column("client", Text, primary_key=True),
    Column("unused_at", _COUNT, nullable=False),
    sqlite_strict=True,
)

AUDIT = Table(
    "audit",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("at", UtcTime, nullable=False),
    Column("who", Text, nullable=False),
    Column("what", Text, nullable=False),
    Column("details", Text, nullable=False),
    Column("previous_sha256", Text, nullable=False),
    Column("sha256", Text, nullable=False, unique=True),
    sqlite_strict=True,
)
