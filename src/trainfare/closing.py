"""Closing a month: by whoever may, once, only with what is billed, and only as it was published."""

from decimal import Decimal

from trainfare.engine.choice import embedded
from trainfare.engine.sql import parquet
from trainfare.errors import Faults, IncompleteError
from trainfare.period import Month
from trainfare.report.opened import open_books
from trainfare.report.reconcile import reconcile
from trainfare.report.render import exact
from trainfare.store import Book, Closing, Store
from trainfare.tables import BASES, ESTIMATED

_SIDES = {"bill": "bill_totals", "shared": "shares"}
"""The two sides of the account, and the file of a book that has each."""
_RESTORE = "Nothing was closed. Restore it from a backup: files of a book must not be changed by hand."


def close(store: Store, month: Month, by: str, note: str) -> Closing:
    """Close a month with its newest version. Refused if something of it is only estimated, or if its files are no longer what was
    published.
    """
    book = store.catalog.latest(month)
    if book and book.is_withdrawn:
        do = "Close it when its bill has come."
        raise IncompleteError(f"book {month}", f"version {book.version} withdrew it: nothing is charged in it", do)
    if book and any(total.source == ESTIMATED and total.charges for total in book.totals):
        do = "Build it again when the bill has come; or set estimate = false, build, and close without these hours."
        raise IncompleteError(f"book {month}", "a part of it is estimated", do)
    if book and not book.closed:
        _require_as_published(store, book)
    return store.catalog.close(month, by, note, book.version if book else None)


def _require_as_published(store: Store, book: Book) -> None:
    """Every file has the rows, and both sides of the account have the sums, that the catalog knows; all that differ are told."""
    files, faults = store.files(book), Faults()
    with embedded() as engine:
        for name, path in files.files.items():
            (rows,) = engine.row(f"SELECT count(*) FROM {parquet(path)}")
            if rows != book.rows[name]:
                faults.add(str(path), f"it has {rows:,} rows; {book.rows[name]:,} were published", _RESTORE)
        faults.refuse()
        found = reconcile(open_books(engine, [files]), "source")
    sums = {
        (side, row["source"], row["currency"], basis): row[f"{basis}_{side}"]
        for row in found
        for basis in BASES
        for side in _SIDES
    }
    published = {
        (side, total.source, total.currency, total.basis): total.charges if side == "bill" else total.shares
        for total in book.totals
        for side in _SIDES
    }
    for key in sorted({*sums, *published}):
        now, then = sums.get(key, Decimal()), published.get(key, Decimal())
        if now != then:
            side, source, currency, basis = key
            what = f"{basis} of {source} adds up to {exact(now)} {currency}; {exact(then)} were published"
            faults.add(str(files.files[_SIDES[side]]), what, _RESTORE)
    faults.refuse()
