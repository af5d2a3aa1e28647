"""What the catalog keeps, as values."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal

from trainfare.period import Month
from trainfare.places import Place


@dataclass(frozen=True, kw_only=True)
class NewDelivery:
    """A file that a source delivered, archived in the lake and not yet known to the catalog."""

    source: str
    path: str
    """The file as the user knows it."""
    format: str
    content_sha256: str
    settings_sha256: str
    """Fingerprint of the settings it was read with: read otherwise, it is another delivery."""
    archive: str
    """The archived Parquet, relative to the lake."""
    lines: int


@dataclass(frozen=True, kw_only=True)
class Delivery(NewDelivery):
    id: int
    delivered_at: datetime


@dataclass(frozen=True)
class Total:
    """The money of one source, currency and basis: on the bill, and given to payers. Always the same."""

    source: str
    currency: str
    basis: str
    charges: Decimal
    shares: Decimal


@dataclass(frozen=True, kw_only=True)
class NewBook:
    """The account of a month as a build made it, not yet published."""

    engine: str
    inputs_sha256: str
    complete_through: datetime | None
    """Up to when the inputs tell everything; null if that is not known."""
    files: Mapping[str, str]
    """For each table its file, relative to the lake."""
    rows: Mapping[str, int]
    """For each of these tables how many rows it has."""
    totals: tuple[Total, ...]
    deliveries: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class Book(NewBook):
    """One published version of a month. Never changes, but that its month may be closed with it."""

    id: int
    month: Month
    version: int
    built_at: datetime
    closed: bool
    """Whether the month was closed with this version."""

    @property
    def is_withdrawn(self) -> bool:
        """Whether it says that nothing is charged in the month any more: no other version is without charges."""
        return not self.totals


@dataclass(frozen=True)
class Closing:
    month: Month
    version: int
    closed_at: datetime
    closed_by: str
    note: str


@dataclass(frozen=True)
class BookFiles:
    """One month's book as files, published or not; version 0 was never published."""

    month: Month
    version: int
    files: Mapping[str, Place]
    complete_through: datetime | None


@dataclass(frozen=True)
class Acceptance:
    """Somebody looked at a finding and lets it stand for a while."""

    code: str
    reason: str
    until: date
    """The last day on which it holds."""
    accepted_at: datetime
    accepted_by: str
