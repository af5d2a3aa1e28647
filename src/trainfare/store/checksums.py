"""Checksums of the catalog's own rows, so that a changed, lost or added row is noticed.

Every book, delivery and closing has a checksum of its row and of the rows that belong to it. `table_checksums` has, for
each of these tables and for the audit log, the number of rows and a fingerprint of all their checksums in order, and
for books and closings a fingerprint of the columns by which they are found: a version that moved to another month would
otherwise make an older one the newest. All are written in the transaction that adds the row.

A row's checksum is verified whenever the row is read, and the numbers of rows and the keys with it; all fingerprints
are verified by `close`, `check`, `reconcile`, `verify` and the service. This shows damage and changes by hand. It does
not stop somebody who may write to the database and computes all of them again: the lake has a copy of the fingerprints,
closings have that of the audit log, and `audit verify` prints it so that it can be stored elsewhere.
"""

import hashlib
import json
from collections.abc import Iterable
from typing import Any

from sqlalchemy import Column, Connection, Table, func, insert, select, update

from trainfare.errors import DamagedError
from trainfare.store.records import Book, Checksum, Closing, Delivery
from trainfare.store.schema import AUDIT, BOOKS, CLOSINGS, DELIVERIES, TABLE_CHECKSUMS

CHECKED = (BOOKS, DELIVERIES, CLOSINGS)
"""The tables whose rows have a checksum. The audit log has its own chain."""
KEYS: dict[Table, tuple[str, tuple[Column[Any], ...]]] = {
    BOOKS: ("book keys", (BOOKS.c.id, BOOKS.c.month, BOOKS.c.version)),
    CLOSINGS: ("closing keys", (CLOSINGS.c.month, CLOSINGS.c.book_id)),
}
"""The columns by which rows are found, and the name of their fingerprint. Deliveries are found by their content."""
RESTORE = "Restore the catalog from a backup: its rows must not be changed by hand."


EMPTY = Checksum(0, "0" * 64)
"""The checksum of a table without rows."""


def plus(before: Checksum, row_sha256: str) -> Checksum:
    """The checksum of a table after a row was added."""
    return Checksum(before.rows + 1, _sha256([before.head, row_sha256]))


def of_book(book: Book) -> str:
    """The checksum of a book with its files, totals and deliveries."""
    files = [
        [name, path, book.rows[name], *((one.size, one.sha256) if (one := book.digests.get(name)) else (None, None))]
        for name, path in sorted(book.files.items())
    ]
    totals = sorted([t.source, t.currency, t.basis, f"{t.charges:f}", f"{t.shares:f}"] for t in book.totals)
    head = [str(book.month), book.version, book.built_at, book.engine, book.inputs_sha256, book.complete_through]
    return _sha256([*head, files, totals, sorted(book.deliveries)])


def of_delivery(one: Delivery) -> str:
    content = [one.id, one.source, one.path, one.format, one.content_sha256, one.settings_sha256, one.lines]
    return _sha256([*content, one.delivered_at, one.archive, one.archive_size, one.archive_sha256])


def of_closing(one: Closing) -> str:
    content = [str(one.month), one.version, one.closed_at, one.closed_by, one.note]
    return _sha256([*content, one.audit_rows, one.audit_head])


def _sha256(content: list[Any]) -> str:
    return hashlib.sha256(json.dumps(content, default=lambda time: time.isoformat()).encode()).hexdigest()


def require_row(where: str, expected: str | None, actual: str) -> None:
    """Require that a row is as it was added."""
    if expected != actual:
        raise DamagedError(where, "its rows in the catalog were changed or damaged", RESTORE)


def recorded(connection: Connection) -> dict[str, Checksum]:
    """The checksums of all tables, by name; empty if the catalog of an older Trainfare has none yet."""
    rows = connection.execute(select(TABLE_CHECKSUMS))
    return {name: Checksum(count, head) for name, count, head in rows}


def require_counts(connection: Connection) -> bool:
    """Require that no row was removed, added or moved by hand. Return whether the catalog has checksums."""
    found = recorded(connection)
    for table in CHECKED if found else ():
        count = connection.execute(select(func.count()).select_from(table)).scalar_one()
        expected = found.get(table.name, EMPTY).rows
        if count != expected:
            what = f"the catalog has {count} {table.name} where it had {expected}"
            raise DamagedError("catalog", what, RESTORE)
        name = KEYS[table][0] if table in KEYS else ""
        if name in found and found[name] != _keys(connection, table):
            raise DamagedError("catalog", f"its {table.name} are not those that were added", RESTORE)
    return bool(found)


def _keys(connection: Connection, table: Table) -> Checksum:
    """The number of rows and the fingerprint of the columns by which they are found."""
    columns = KEYS[table][1]
    rows = [[str(value) for value in row] for row in connection.execute(select(*columns).order_by(*columns))]
    return Checksum(len(rows), _sha256(rows))


def _record_keys(connection: Connection, table: Table) -> None:
    if table in KEYS:
        _set(connection, KEYS[table][0], _keys(connection, table))


def extend(connection: Connection, table: Table, row_sha256: str) -> None:
    """Record the checksum of a row that was added to a table."""
    before = recorded(connection).get(table.name)
    if before is not None:
        _set(connection, table.name, plus(before, row_sha256))
        _record_keys(connection, table)


def append_to_audit(connection: Connection, head: str) -> None:
    """Record the fingerprint of a new last entry of the audit log."""
    before = recorded(connection).get(AUDIT.name)
    if before is not None:
        _set(connection, AUDIT.name, Checksum(before.rows + 1, head))


def replace(connection: Connection, table: Table, rows: Iterable[str]) -> None:
    """Record the checksums of all rows of a table, in order."""
    found = EMPTY
    for row_sha256 in rows:
        found = plus(found, row_sha256)
    _set(connection, table.name, found)
    _record_keys(connection, table)


def record_audit(connection: Connection, found: Checksum) -> None:
    _set(connection, AUDIT.name, found)


def _set(connection: Connection, name: str, found: Checksum) -> None:
    values = {"rows": found.rows, "head_sha256": found.head}
    if not connection.execute(
        update(TABLE_CHECKSUMS).where(TABLE_CHECKSUMS.c.table_name == name).values(values)
    ).rowcount:
        connection.execute(insert(TABLE_CHECKSUMS), values | {"table_name": name})
