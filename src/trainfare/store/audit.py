"""The audit log: every change is a row that names who, what and when, and holds the fingerprint of the row before it.

A row that is changed, taken out or put in between breaks the chain from there on. Rows cut off at the end leave a whole chain:
who keeps a fingerprint elsewhere finds that out, too.
"""

import getpass
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

from sqlalchemy import Connection, insert, select

from trainfare.store.database import Database
from trainfare.store.schema import AUDIT

FIRST = "0" * 64
"""Stands before the first row."""


@dataclass(frozen=True)
class Entry:
    """One change. `details` is JSON."""

    id: int
    at: datetime
    who: str
    what: str
    details: str
    previous_sha256: str
    sha256: str

    def fingerprint(self) -> str:
        return fingerprint(self.at, self.who, self.what, self.details, self.previous_sha256)


@dataclass(frozen=True)
class Verified:
    """`broken` is the first row that does not follow from the one before it; None if every row does."""

    rows: int
    head: str
    broken: int | None = None


def person() -> str:
    """Who is at the command line."""
    return getpass.getuser()


def append(connection: Connection, who: str, what: str, details: Mapping[str, Any]) -> None:
    """Add a row within the transaction that makes the change: both are there, or neither."""
    last = connection.execute(select(AUDIT.c.sha256).order_by(AUDIT.c.id.desc()).limit(1)).scalar()
    at, told, previous = datetime.now(UTC), json.dumps(details, sort_keys=True), last or FIRST
    row = {"at": at, "who": who, "what": what, "details": told, "previous_sha256": previous}
    connection.execute(insert(AUDIT), row | {"sha256": fingerprint(at, who, what, told, previous)})


def fingerprint(at: datetime, who: str, what: str, details: str, previous: str) -> str:
    told = json.dumps([at.astimezone(UTC).isoformat(timespec="microseconds"), who, what, details, previous])
    return sha256(told.encode()).hexdigest()


class Audit:
    """The audit log of a catalog. Rows are added by those who change something, and never changed."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def entries(self) -> Iterator[Entry]:
        """Every row, in order."""
        with self._database.read() as connection:
            for row in connection.execute(select(AUDIT).order_by(AUDIT.c.id)).mappings():
                yield Entry(**row)

    def verify(self) -> Verified:
        """Follow the chain from its start."""
        head, rows = FIRST, 0
        for entry in self.entries():
            if entry.previous_sha256 != head or entry.fingerprint() != entry.sha256:
                return Verified(rows, head, entry.id)
            head, rows = entry.sha256, rows + 1
        return Verified(rows, head)
