"""The records of the catalog as immutable values."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal

from trainfare.files.digests import Digest
from trainfare.files.locations import Location
from trainfare.period import Month


@dataclass(frozen=True, kw_only=True)
class NewDelivery:
    """A file that a source delivered: archived in the lake, not yet in the catalog."""

    source: str
    path: str
    """The path as the user wrote it."""
    format: str
    content_sha256: str
    settings_sha256: str
    """Fingerprint of the settings it was read with. The same file read with other settings is another delivery."""
    archive: str
    """The archived Parquet, relative to the lake."""
    lines: int
    archive_size: int | None = None
    archive_sha256: str | None = None
    """The digest of the archive; None if it was missing when digests were introduced."""


@dataclass(frozen=True, kw_only=True)
class Delivery(NewDelivery):
    id: int
    delivered_at: datetime

    @property
    def digest(self) -> Digest | None:
        return Digest(self.archive_size or 0, self.archive_sha256) if self.archive_sha256 else None


@dataclass(frozen=True)
class Total:
    """The money of one source, currency and basis: as charged and as allocated. Both are always equal."""

    source: str
    currency: str
    basis: str
    charges: Decimal
    shares: Decimal


@dataclass(frozen=True, kw_only=True)
class NewBook:
    """The account of a month that a build produced and has not published yet."""

    engine: str
    inputs_sha256: str
    complete_through: datetime | None
    """The time through which the inputs are complete; None if unknown."""
    files: Mapping[str, str]
    """The file of each table, relative to the lake."""
    rows: Mapping[str, int]
    """The number of rows of each table."""
    totals: tuple[Total, ...]
    deliveries: tuple[int, ...]
    digests: Mapping[str, Digest] = field(default_factory=dict)
    """The digest of each table's file, except those that were missing when digests were introduced."""


@dataclass(frozen=True, kw_only=True)
class Book(NewBook):
    """One published version of a month. It never changes, except that its month may be closed with it."""

    id: int
    month: Month
    version: int
    built_at: datetime
    closed: bool
    """Whether the month was closed with this version."""

    @property
    def is_withdrawn(self) -> bool:
        """Whether this version withdraws the month, which has no charges any more. Only such versions have none."""
        return not self.totals


@dataclass(frozen=True)
class Closing:
    month: Month
    version: int
    closed_at: datetime
    closed_by: str
    note: str
    audit_rows: int | None = None
    """The number of entries in the audit log after the closing, and the fingerprint of the last; None if not known."""
    audit_head: str | None = None


@dataclass(frozen=True)
class BookFiles:
    """One month's book as files, published or not. Version 0 was never published."""

    month: Month
    version: int
    files: Mapping[str, Location]
    complete_through: datetime | None
    others: tuple["BookFiles", ...] = ()
    """The other books that have shares for days of this month or bill hours of it, the newest month first."""


@dataclass(frozen=True)
class MigratedFiles:
    """The files of all books and deliveries in a new format."""

    book_format: int
    tables: Mapping[tuple[int, str], tuple[str, str]]
    """By book id and old table name, the new table name and the path relative to the lake."""
    archives: Mapping[int, tuple[str, str]]
    """By delivery id, the new format and the path of the archive relative to the lake."""
    rows: Mapping[tuple[int, str], int] = field(default_factory=dict)
    """By book id and new table name, the number of rows where it changed."""
    digests: Mapping[str, Digest] = field(default_factory=dict)
    """The digests of new files by path, for a catalog that records digests."""

    def changes(self, book_id: int, name: str, path: str) -> dict[str, str | int]:
        """The new values in the row of a table, by its new name and path."""
        values: dict[str, str | int] = {"table_name": name, "path": path}
        if (book_id, name) in self.rows:
            values["rows"] = self.rows[book_id, name]
        if path in self.digests:
            values |= {"size": self.digests[path].size, "sha256": self.digests[path].sha256}
        return values

    @property
    def paths(self) -> set[str]:
        return {path for _, path in (*self.tables.values(), *self.archives.values())}


@dataclass(frozen=True)
class Acceptance:
    """A finding that somebody reviewed and accepted for a limited time."""

    code: str
    reason: str
    until: date
    """The last day of the acceptance."""
    accepted_at: datetime
    accepted_by: str


@dataclass(frozen=True)
class Checksum:
    """The number of rows of a table of the catalog, and a fingerprint of all of them."""

    rows: int
    head: str
