"""The rows of the catalog as values, each verified against its checksum when it is read."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, RowMapping, Select, Table, func, select, update

from trainfare.errors import DamagedError, Problems
from trainfare.files.digests import Digest
from trainfare.store import checksums
from trainfare.store.checksums import CHECKED, EMPTY, RESTORE
from trainfare.store.records import Book, Checksum, Closing, Delivery, Total
from trainfare.store.schema import BOOK_DELIVERIES, BOOK_FILES, BOOK_TOTALS, BOOKS, CLOSINGS, DELIVERIES


def with_closing() -> Select[Any]:
    """A query of books, and whether their month was closed with them."""
    closed = CLOSINGS.c.book_id.is_not(None).label("closed")
    return select(BOOKS, closed).select_from(BOOKS.outerjoin(CLOSINGS, CLOSINGS.c.book_id == BOOKS.c.id))


def books(connection: Connection, query: Select[Any], is_checked: bool = True) -> list[Book]:
    """The books that a query of `with_closing` finds, with their parts."""
    heads = connection.execute(query).mappings().all()
    files = _parts(connection, BOOK_FILES, query)
    totals = _parts(connection, BOOK_TOTALS, query)
    deliveries = _parts(connection, BOOK_DELIVERIES, query)
    found = []
    for head in heads:
        columns = {name: value for name, value in head.items() if name != "row_sha256"}
        book = Book(
            **columns,
            files={row["table_name"]: row["path"] for row in files[head["id"]]},
            rows={row["table_name"]: row["rows"] for row in files[head["id"]]},
            digests={
                row["table_name"]: Digest(row["size"], row["sha256"]) for row in files[head["id"]] if row["sha256"]
            },
            totals=tuple(
                Total(row["source"], row["currency"], row["basis"], row["charges"], row["shares"])
                for row in totals[head["id"]]
            ),
            deliveries=tuple(row["delivery_id"] for row in deliveries[head["id"]]),
        )
        if is_checked:
            checksums.require_row(_name(book), head["row_sha256"], checksums.of_book(book))
        found.append(book)
    return found


def _name(book: Book) -> str:
    return f"book {book.month} version {book.version}"


def _parts(connection: Connection, table: Table, books: Select[Any]) -> dict[int, list[RowMapping]]:
    """The rows of a table that belong to these books, by book id, ordered by primary key."""
    ids = books.with_only_columns(BOOKS.c.id)
    rows = connection.execute(select(table).where(table.c.book_id.in_(ids)).order_by(*table.primary_key))
    found: dict[int, list[RowMapping]] = defaultdict(list)
    for row in rows.mappings():
        found[row["book_id"]].append(row)
    return found


def delivery(row: RowMapping, is_checked: bool = True) -> Delivery:
    columns = {name: value for name, value in row.items() if name != "row_sha256"}
    found = Delivery(**columns)
    if is_checked:
        checksums.require_row(f"delivery {found.id}", row["row_sha256"], checksums.of_delivery(found))
    return found


def closed() -> Select[Any]:
    """A query of closings, for `closing`."""
    columns = (CLOSINGS.c.month, BOOKS.c.version, CLOSINGS.c.closed_at, CLOSINGS.c.closed_by, CLOSINGS.c.note)
    last_columns = (CLOSINGS.c.audit_rows, CLOSINGS.c.audit_head, CLOSINGS.c.row_sha256)
    return select(*columns, *last_columns).select_from(CLOSINGS.outerjoin(BOOKS, CLOSINGS.c.book_id == BOOKS.c.id))


def closing(row: Sequence[Any], is_checked: bool = True) -> Closing:
    *values, row_sha256 = row
    found = Closing(*values)
    if is_checked:
        checksums.require_row(f"closing of {found.month}", row_sha256, checksums.of_closing(found))
    return found


# Closings are added in any order of months, and clocks may be set back, but the audit log only grows.
_ORDER: dict[Table, tuple[ColumnElement[Any], ...]] = {
    BOOKS: (BOOKS.c.id,),
    DELIVERIES: (DELIVERIES.c.id,),
    CLOSINGS: (func.coalesce(CLOSINGS.c.audit_rows, 0), CLOSINGS.c.month),
}


def _in_order(connection: Connection, table: Table) -> list[str | None]:
    """The checksums of a table's rows, in the order in which they were added."""
    return list(connection.execute(select(table.c.row_sha256).order_by(*_ORDER[table])).scalars())


def record_closings(connection: Connection) -> None:
    """Record the checksums of the closings after one was removed."""
    checksums.replace(connection, CLOSINGS, (row or "" for row in _in_order(connection, CLOSINGS)))


def record_all(connection: Connection, digests: Mapping[str, Digest]) -> None:
    """Record the digests of all files that a catalog of an older Trainfare names, and the checksums of its rows."""
    for path, one in digests.items():
        connection.execute(update(BOOK_FILES).where(BOOK_FILES.c.path == path).values(size=one.size, sha256=one.sha256))
        values = {"archive_size": one.size, "archive_sha256": one.sha256}
        connection.execute(update(DELIVERIES).where(DELIVERIES.c.archive == path).values(values))
    record_books(connection)
    for row in connection.execute(closed()).all():
        one_closing = closing(row, is_checked=False)
        values = {"row_sha256": checksums.of_closing(one_closing)}
        connection.execute(update(CLOSINGS).where(CLOSINGS.c.month == one_closing.month).values(values))
    record_deliveries(connection)
    for table in CHECKED:
        checksums.replace(connection, table, (row or "" for row in _in_order(connection, table)))


def record_books(connection: Connection) -> None:
    """Record the checksums of all books, and of the whole table."""
    for book in books(connection, with_closing(), is_checked=False):
        values = {"row_sha256": checksums.of_book(book)}
        connection.execute(update(BOOKS).where(BOOKS.c.id == book.id).values(values))
    checksums.replace(connection, BOOKS, (row or "" for row in _in_order(connection, BOOKS)))


def record_books_again(connection: Connection) -> None:
    """Record the checksums of all books whose files were migrated, if the catalog has checksums."""
    if checksums.recorded(connection):
        record_books(connection)


def record_deliveries(connection: Connection, ids: Iterable[int] | None = None) -> None:
    """Record the checksums of these deliveries, by default all, and of the whole table."""
    query = select(DELIVERIES) if ids is None else select(DELIVERIES).where(DELIVERIES.c.id.in_(list(ids)))
    for row in connection.execute(query).mappings().all():
        values = {"row_sha256": checksums.of_delivery(delivery(row, is_checked=False))}
        connection.execute(update(DELIVERIES).where(DELIVERIES.c.id == row["id"]).values(values))
    checksums.replace(connection, DELIVERIES, (row or "" for row in _in_order(connection, DELIVERIES)))


def require_table(connection: Connection, table: Table) -> None:
    """Require that a table has exactly the rows that were added to it."""
    found = EMPTY
    for row_sha256 in _in_order(connection, table):
        found = checksums.plus(found, row_sha256 or "")
    expected = checksums.recorded(connection).get(table.name)
    if expected is not None and found != expected:
        what = f"{_counted(found)} {table.name} do not match the {_counted(expected)} that were added"
        raise DamagedError("catalog", f"its {what}", RESTORE)


def _counted(found: Checksum) -> str:
    return f"{found.rows:,}"


def check_all(connection: Connection, problems: Problems) -> None:
    """Report every row that was changed, and every table that lost or gained rows."""
    ids = connection.execute(select(BOOKS.c.id).order_by(BOOKS.c.id)).scalars().all()
    for book_id in ids:
        _report(problems, lambda book_id=book_id: books(connection, with_closing().where(BOOKS.c.id == book_id)))
    for row in connection.execute(select(DELIVERIES).order_by(DELIVERIES.c.id)).mappings().all():
        _report(problems, lambda row=row: delivery(row))
    for closed_row in connection.execute(closed()).all():
        _report(problems, lambda row=closed_row: closing(row))
    for table in CHECKED:
        _report(problems, lambda table=table: require_table(connection, table))


def _report(problems: Problems, check: Any) -> None:
    try:
        check()
    except DamagedError as error:
        problems.add(error.where, error.what, error.do)
