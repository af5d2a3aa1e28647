"""The audit log: every change is a row with who, what and when, and the fingerprint of the previous row.

Changing, removing or inserting a row breaks the chain from there on. Removing rows at the end leaves an intact chain;
the number of rows and the last fingerprint, which the catalog keeps in another table, the lake in a file and each
closing for its own time, reveal that. Who may write to all three can hide it, but not from a copy of the last
fingerprint that is stored elsewhere.
"""

import getpass
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

from sqlalchemy import Connection, func, insert, select

from trainfare.store import checksums
from trainfare.store.database import Database
from trainfare.store.records import Checksum
from trainfare.store.schema import AUDIT, CLOSINGS

FIRST = "0" * 64
"""The fingerprint that precedes the first row."""


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
    """The result of a verification. `broken` is the first row that does not follow its predecessor; None if all do."""

    rows: int
    head: str
    broken: int | None = None
    cut: str | None = None
    """Why the log must have had other rows, although those that it has follow each other."""

    @property
    def problem(self) -> str | None:
        """What is wrong with the log; None if nothing is."""
        if self.broken is not None:
            return f"entry {self.broken} does not match the one before it: the log was changed"
        return self.cut


def current_user() -> str:
    """The user who runs the command."""
    return getpass.getuser()


def append(connection: Connection, who: str, what: str, details: Mapping[str, Any]) -> None:
    """Add a row in the transaction that makes the change, so that both are committed or neither."""
    last = connection.execute(select(AUDIT.c.sha256).order_by(AUDIT.c.id.desc()).limit(1)).scalar()
    recorded = checksums.recorded(connection).get(AUDIT.name)
    # After the entry that was recorded as the last: if that was removed, the chain shows it for good.
    previous = recorded.head if recorded else last or FIRST
    at, text = datetime.now(UTC), json.dumps(details, sort_keys=True)
    row = {"at": at, "who": who, "what": what, "details": text, "previous_sha256": previous}
    sha256 = fingerprint(at, who, what, text, previous)
    connection.execute(insert(AUDIT), row | {"sha256": sha256})
    checksums.append_to_audit(connection, sha256)


def checksum(connection: Connection) -> Checksum:
    """The number of rows of the log and the fingerprint of the last, as they are."""
    last = connection.execute(select(AUDIT.c.sha256).order_by(AUDIT.c.id.desc()).limit(1)).scalar()
    return Checksum(connection.execute(select(func.count()).select_from(AUDIT)).scalar_one(), last or FIRST)


def fingerprint(at: datetime, who: str, what: str, details: str, previous: str) -> str:
    content = json.dumps([at.astimezone(UTC).isoformat(timespec="microseconds"), who, what, details, previous])
    return sha256(content.encode()).hexdigest()


class Audit:
    """The audit log of a catalog. Rows are added with each change, and never changed."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def entries(self) -> Iterator[Entry]:
        """Every row, in order."""
        with self._database.read() as connection:
            for row in connection.execute(select(AUDIT).order_by(AUDIT.c.id)).mappings():
                yield Entry(**row)

    def verify(self) -> Verified:
        """Verify the chain from its first row, and that it has every row that was recorded elsewhere in the catalog."""
        heads = [FIRST]
        for entry in self.entries():
            if entry.previous_sha256 != heads[-1] or entry.fingerprint() != entry.sha256:
                return Verified(len(heads) - 1, heads[-1], entry.id)
            heads.append(entry.sha256)
        return Verified(len(heads) - 1, heads[-1], cut=self._cut(heads))

    def _cut(self, heads: Sequence[str]) -> str | None:
        """Why the log must have had other rows, given the fingerprints before and after each row that it has."""
        with self._database.read() as connection:
            recorded = checksums.recorded(connection).get(AUDIT.name)
            wanted = select(CLOSINGS.c.month, CLOSINGS.c.audit_rows, CLOSINGS.c.audit_head)
            closed = connection.execute(wanted.where(CLOSINGS.c.audit_rows.is_not(None))).all()
        if recorded and (recorded.rows, recorded.head) != (len(heads) - 1, heads[-1]):
            return f"it has {len(heads) - 1:,} entries where it had {recorded.rows:,}: entries were removed"
        for month, rows, head in closed:
            if heads[rows : rows + 1] != [head]:
                return f"entry {rows:,} is not the one with which {month} was closed: entries were removed"
        return None
