"""The closings of months in the catalog: found with their checksums, and removed when a month is reopened."""

from sqlalchemy import Connection, delete, insert, select

from trainfare.errors import IncompleteError, TrainfareError
from trainfare.period import Month
from trainfare.store import checked_rows, checksums
from trainfare.store.records import Closing
from trainfare.store.schema import CLOSINGS


def of_month(connection: Connection, month: Month) -> Closing | None:
    """Return how a month was closed; None if it is open."""
    is_checked = checksums.require_counts(connection)
    row = connection.execute(checked_rows.closed().where(CLOSINGS.c.month == month)).first()
    return checked_rows.closing(row, is_checked) if row else None


def add(connection: Connection, closing: Closing, book_id: int) -> None:
    """Add the closing of a month with a book."""
    row_sha256 = checksums.of_closing(closing)
    row = {name: value for name, value in vars(closing).items() if name != "version"}
    connection.execute(insert(CLOSINGS), row | {"book_id": book_id, "row_sha256": row_sha256})
    checksums.extend(connection, CLOSINGS, row_sha256)


def remove(connection: Connection, month: Month) -> Closing:
    """Remove the closing of the last closed month and return it."""
    closing = of_month(connection, month)
    if closing is None:
        raise TrainfareError(f"book {month}", "this month is not closed", "There is nothing to reopen.")
    later = select(CLOSINGS.c.month).where(CLOSINGS.c.month > month).order_by(CLOSINGS.c.month.desc())
    if after := [str(one) for one in connection.execute(later).scalars()]:
        what = f"later months are closed, and their books may adjust it: {', '.join(after)}"
        raise IncompleteError(f"book {month}", what, f"Reopen the last one first: trainfare reopen {after[0]}")
    connection.execute(delete(CLOSINGS).where(CLOSINGS.c.month == month))
    checked_rows.record_closings(connection)
    return closing
