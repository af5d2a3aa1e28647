"""Close a month: once, only if nothing in it is estimated, and only if its files are as published."""

from decimal import Decimal

from trainfare.engine.choice import embedded
from trainfare.engine.sql import parquet
from trainfare.errors import IncompleteError, Problems
from trainfare.money import decimal_text
from trainfare.period import Month
from trainfare.query.open_books import open_books
from trainfare.query.reconcile import reconcile
from trainfare.store import Book, Closing, Store, integrity
from trainfare.tables import BASES, ESTIMATED

_SIDES = {"bill": "bill_totals", "shared": "shares"}
"""The two sides of the account, and the file of a book that has each."""
_RESTORE = "Nothing was closed. Restore the file from a backup: files of a book must not be changed by hand."


def close_month(store: Store, month: Month, by: str, note: str) -> Closing:
    """Close a month with its latest version. Reject a month that is partly estimated or whose files were changed."""
    book = store.catalog.latest(month)
    if book and book.is_withdrawn:
        do = "Close it when its bill has arrived."
        raise IncompleteError(f"book {month}", f"withdrawn by version {book.version}: it has no charges", do)
    if book and any(total.source == ESTIMATED and total.charges for total in book.totals):
        do = "Build again when the bill has arrived; or set estimate = false, build, and close without these hours."
        raise IncompleteError(f"book {month}", "part of it is estimated", do)
    if book and not book.closed:
        integrity.check_book(store, book)
        _require_as_published(store, book)
    return store.close(month, by, note, book.version if book else None)


def _require_as_published(store: Store, book: Book) -> None:
    """Require that every file has the rows, and both sides of the account the sums, that the catalog has recorded.

    All differences are reported at once.
    """
    files, problems = store.files(book), Problems()
    with embedded() as engine:
        for name, path in files.files.items():
            (rows,) = engine.row(f"SELECT count(*) FROM {parquet(path)}")
            if rows != book.rows[name]:
                problems.add(str(path), f"it has {rows:,} rows; {book.rows[name]:,} were published", _RESTORE)
        problems.raise_if_any()
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
            what = f"{basis} of {source} adds up to {decimal_text(now)} {currency}; {decimal_text(then)} was published"
            problems.add(str(files.files[_SIDES[side]]), what, _RESTORE)
    problems.raise_if_any()
