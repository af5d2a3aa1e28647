"""Close a month, in order, only if it is billed and nothing in it is estimated, and only if its files are as published.

Reopening one is an audited exception: the last closed month first.
"""

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from trainfare.engine.choice import embedded
from trainfare.engine.duckdb import DuckDB
from trainfare.engine.sql import parquet, quoted
from trainfare.errors import IncompleteError, Problems, TrainfareError
from trainfare.money import decimal_text
from trainfare.period import Month
from trainfare.query.open_books import open_books
from trainfare.query.reconcile import reconcile
from trainfare.sources.deliveries import ADJUSTING
from trainfare.store import Book, Closing, Store, integrity
from trainfare.tables import BASES, ESTIMATED

_SIDES = {"bill": "bill_totals", "shared": "shares"}
"""The two sides of the account, and the file of a book that has each."""
_RESTORE = "Nothing was closed. Restore the file from a backup: files of a book must not be changed by hand."


@dataclass(frozen=True)
class Frozen:
    """What closing a version freezes: cost by kind of payer, findings, exchange rates, and whether it has a bill."""

    book: Book
    payers: list[dict[str, Any]]
    findings: list[dict[str, Any]]
    rates: list[dict[str, Any]]
    has_bill: bool

    @property
    def estimated(self) -> dict[str, Decimal]:
        """The estimated cost by currency; a month that has any cannot be closed."""
        totals = (total for total in self.book.totals if total.source == ESTIMATED and total.basis == "effective")
        return {total.currency: total.charges for total in totals if total.charges}


def preview_closing(store: Store, month: Month) -> Frozen | None:
    """Return what closing the latest version of a month would freeze; None if there is no book."""
    book = store.catalog.latest(month)
    if book is None:
        return None
    with embedded() as engine:
        open_books(engine, [store.files(book)])
        payers = engine.records(
            "SELECT payer_kind, currency, sum(effective) AS effective, sum(billed) AS billed FROM shares "
            "GROUP BY payer_kind, currency ORDER BY currency, abs(sum(effective)) DESC, payer_kind"
        )
        findings = engine.records("SELECT code, what, rows, at_stake, currency FROM findings ORDER BY code, currency")
        rates = engine.records(
            "SELECT converted_from, currency, min(rate) AS lowest, max(rate) AS highest, count(DISTINCT day) AS days "
            "FROM conversions GROUP BY converted_from, currency ORDER BY converted_from, currency"
        )
        return Frozen(book, payers, findings, rates, _has_bill(engine))


def _has_bill(engine: DuckDB) -> bool:
    """Return whether the open book has a bill of its own month."""
    own = f"origin = 'bill' AND source NOT LIKE {quoted(f'%{ADJUSTING}%')}"
    return bool(engine.row(f"SELECT count(*) FROM bill_totals WHERE {own}")[0])


def reopen_month(store: Store, month: Month, by: str, note: str) -> Closing:
    """Reopen the last closed month, so that the next build applies today's rules to it. A reason is required."""
    if not note.strip():
        raise TrainfareError(f"book {month}", "a reason is required to reopen a month", "Add one with --note.")
    return store.reopen(month, by, note)


def close_month(store: Store, month: Month, by: str, note: str, without_bill: bool = False) -> Closing:
    """Close a month with its latest version.

    Reject a month that is partly estimated, has no bill (unless `without_bill` is set), follows an open month, or whose
    files were changed.
    """
    book = store.catalog.latest(month)
    if book and book.is_withdrawn:
        do = "Close it when its bill has arrived."
        raise IncompleteError(f"book {month}", f"withdrawn by version {book.version}: it has no charges", do)
    if book and any(total.source == ESTIMATED and total.charges for total in book.totals):
        do = "Build again when the bill has arrived; or set estimate = false, build, and close without these hours."
        raise IncompleteError(f"book {month}", "part of it is estimated", do)
    if book and not book.closed:
        _require_order(store, month)
        integrity.check_book(store, book)
        _require_as_published(store, book, without_bill)
    return store.close(month, by, note, book.version if book else None)


def _require_order(store: Store, month: Month) -> None:
    """Require that no earlier month with charges is open: its adjustments would have no fixed place."""
    books = (store.catalog.latest(one) for one in store.catalog.months() if one < month)
    if still_open := [str(one.month) for one in books if one and not one.is_withdrawn and not one.closed]:
        what = f"earlier months are still open: {', '.join(still_open)}"
        raise IncompleteError(f"book {month}", what, f"Close them first: trainfare close {still_open[0]}")


def _require_as_published(store: Store, book: Book, without_bill: bool) -> None:
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
        if not without_bill and not _has_bill(engine):
            do = "Close it when its bill has arrived; if there will be none, close it with --without-bill."
            raise IncompleteError(f"book {book.month}", "this month has no bill, only ledgers or adjustments", do)
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
