"""Adjustments: charges that arrive after a month was closed are booked in the next open month.

What is booked is the difference between what the files say now and what is already booked.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from trainfare.books.context import BuildContext
from trainfare.engine.duckdb import DuckDB, parquet
from trainfare.files.locations import Location
from trainfare.normalize.amortization import ledgers
from trainfare.period import Month
from trainfare.settings.config import Config, restore_settings
from trainfare.sources import deliveries
from trainfare.sources.deliveries import ADJUSTING, DeliveredFile
from trainfare.store import Book, Store
from trainfare.tables import ESTIMATED

_ADJUSTMENT = re.compile(rf"{ADJUSTING}\d{{4}}-\d{{2}}$")


@dataclass(frozen=True)
class AmortizedLedger:
    """The amortized charges of one ledger in a closed month, to be booked (sign 1) or reversed (sign -1)."""

    file: DeliveredFile
    table: str
    digest: str
    sign: int


@dataclass(frozen=True)
class Adjustment:
    """The later bills and ledgers of a closed month, and those they replace, to be booked in an open month."""

    month: Month
    into: Month
    added: tuple[DeliveredFile, ...]
    replaced: tuple[DeliveredFile, ...]
    ledgers: tuple[AmortizedLedger, ...] = ()
    removed_files: tuple[DeliveredFile, ...] = ()
    """The last bills of the month, if their files were removed and no other file covers the month."""

    def selects(self, engine: DuckDB, config: Config) -> list[str]:
        """SELECTs of its charges: those that arrived later, and those booked before with reversed sign."""
        return [
            select
            for files, sign in ((self.added, 1), (self.replaced, -1))
            for select in deliveries.adjustment_selects(engine, config, files, self.month, self.into, sign)
        ] + [
            deliveries.adjustment_select(
                f"SELECT * FROM {one.table} WHERE delivery = {one.file.number}", self.month, self.into, one.sign
            )
            for one in self.ledgers
        ]

    @property
    def reversed_files(self) -> tuple[DeliveredFile, ...]:
        """The files with reversed charges."""
        return (*self.replaced, *(one.file for one in self.ledgers if one.sign < 0))

    def contents(self) -> list[str]:
        """Its contents, as lines of a fingerprint."""
        return [
            f"{sign}|{self.month}|{file.sha256}"
            for files, sign in ((self.added, "added"), (self.replaced, "replaced"))
            for file in files
        ] + [f"{one.sign}|{self.month}|{one.digest}" for one in self.ledgers]


@dataclass(frozen=True)
class BookedRates:
    """The exchange rates of closed books."""

    currencies: Mapping[Month, str | None]
    """By closed month, the currency that its book was converted to."""
    files: tuple[tuple[Month, Month, Location], ...]
    """The files with the rates: the month they apply to, the month of the book, and the path."""


NOTHING_BOOKED = BookedRates({}, ())


def booked_rates(engine: DuckDB, store: Store, adjustments: Sequence[Adjustment]) -> BookedRates:
    """The exchange rates of the adjusted months, from their closed books and from closed books that adjust them."""
    closed = _closed_books(store) if adjustments else {}
    currencies = {one.month: _settings(engine, store, closed[one.month])[0].convert.to for one in adjustments}
    files = {book.month: store.table(book, "conversions") for book in closed.values()}
    listed = [
        (month, book_month, path)
        for month in currencies
        for book_month, path in sorted(files.items())
        if path and book_month >= month
    ]
    return BookedRates(currencies, tuple(listed))


def find(context: BuildContext, store: Store, delivered: Sequence[DeliveredFile]) -> list[Adjustment]:
    """Find what the bills and ledgers say about closed months now, beyond what is booked."""
    closed = _closed_books(store)
    return _Comparison(context, store, closed).adjustments(closed, delivered)


def find_again(context: BuildContext, store: Store, delivered: Sequence[DeliveredFile], book: Book) -> list[Adjustment]:
    """Find the adjustments in a published book again, from its own deliveries."""
    earlier = {month: closed for month, closed in _closed_books(store).items() if month < book.month}
    adjusted = [month for month in earlier if _adjusts(book, month)]
    return _Comparison(context, store, earlier).adjustments(adjusted, delivered)


def has_only_adjustments(book: Book) -> bool:
    """Whether a book has only adjustments of closed months and estimates, and never had a bill or ledger of its own."""
    return all(total.source == ESTIMATED or _ADJUSTMENT.search(total.source) for total in book.totals)


def book_as_of(engine: DuckDB, store: Store, book: Book) -> datetime:
    """The time up to which a published book was amortized and estimated."""
    return _settings(engine, store, book)[1]


@dataclass(frozen=True)
class _Comparison:
    """Compares deliveries with what the closed books have booked.

    Bills are compared by content: the same file under another name or source is no difference. For a bill of several
    months, only the part that concerns the month counts.
    """

    context: BuildContext
    store: Store
    closed: Mapping[Month, Book]
    _digests: dict[int, dict[Month, str]] = field(default_factory=dict)

    def adjustments(self, months: Iterable[Month], delivered: Sequence[DeliveredFile]) -> list[Adjustment]:
        booked = {
            file.number: file
            for file in self._deliveries({number for book in self.closed.values() for number in book.deliveries})
        }
        billed = self._billed_months((booked | {file.number: file for file in delivered}).values())
        found = (self._adjustment(month, delivered, booked, billed) for month in months)
        return [one for one in found if one.added or one.replaced or one.ledgers]

    def _adjustment(
        self,
        month: Month,
        delivered: Sequence[DeliveredFile],
        booked: Mapping[int, DeliveredFile],
        billed: Mapping[int, set[Month]],
    ) -> Adjustment:
        into, last = _booked_by(month, self.closed)
        files = [booked[number] for number in last.deliveries]
        before = {self._content(file, month, billed): file for file in files if month in billed.get(file.number, ())}
        now = {self._content(file, month, billed): file for file in delivered if month in billed.get(file.number, ())}
        # Removing a bill reverses nothing: only another bill of the same month can.
        removed_files = () if now else self._removed_files(month, into)
        now = now or {self._content(file, month, billed): file for file in removed_files} or before
        added = tuple(file for content, file in now.items() if content not in before)
        replaced = tuple(file for content, file in before.items() if content not in now)
        changed = self._changed_ledgers(month, (files, book_as_of(self.context.reader, self.store, last)), delivered)
        return Adjustment(month, into, added, replaced, changed, removed_files)

    def _content(self, file: DeliveredFile, month: Month, billed: Mapping[int, set[Month]]) -> str:
        """What distinguishes the content of a bill for a month."""
        if len(billed.get(file.number, ())) == 1:
            return file.sha256
        if file.number not in self._digests:
            self._digests[file.number] = deliveries.month_digests(self.context.reader, self.context.config, file)
        digests = self._digests[file.number]
        return digests[month] if len(digests) > 1 else file.sha256

    def _removed_files(self, month: Month, into: Month) -> tuple[DeliveredFile, ...]:
        """The bills by which the current book of `into` adjusts a closed month, if no file covers the month any more.

        A bill that also covers an open month is withdrawn there, and therefore here, too.
        """
        current = self.store.catalog.latest(into)
        if not current or not _adjusts(current, month):
            return ()
        files = self._deliveries(current.deliveries)
        billed = self._billed_months(files)
        return tuple(
            file for file in files if month in billed.get(file.number, ()) and billed[file.number] <= self.closed.keys()
        )

    def _changed_ledgers(
        self, month: Month, booked: tuple[Sequence[DeliveredFile], datetime], delivered: Sequence[DeliveredFile]
    ) -> tuple[AmortizedLedger, ...]:
        """The ledgers whose charges in a closed month are new or gone.

        As with bills, removing a ledger reverses nothing: only another ledger of the same kind can.
        """
        before = self._amortized(f"ledgers_booked_{month.year}_{month.number}", month, *booked, -1)
        now = self._amortized(f"ledgers_now_{month.year}_{month.number}", month, delivered, self.context.as_of, 1)
        kinds = {kind for kind, _ in now}
        gone = [ledger for key, ledger in before.items() if key not in now and key[0] in kinds]
        return (*gone, *(ledger for key, ledger in now.items() if key not in before))

    def _amortized(
        self, table: str, month: Month, files: Sequence[DeliveredFile], as_of: datetime, sign: int
    ) -> dict[tuple[str, str], AmortizedLedger]:
        """Amortize ledgers into `table`, by kind and digest of the month."""
        if not ledgers.has_ledgers(files):
            return {}
        engine = self.context.reader
        ledgers.amortize(engine, self.context.config, files, [month], as_of, table)
        digests = ledgers.digests(engine, table, month)
        return {
            (file.kind, digests[file.number]): AmortizedLedger(file, table, digests[file.number], sign)
            for file in files
            if file.number in digests
        }

    def _deliveries(self, numbers: Iterable[int]) -> list[DeliveredFile]:
        rows = self.store.catalog.deliveries(numbers)
        return [deliveries.from_catalog(row, self.store.archive(row)) for row in rows]

    def _billed_months(self, files: Iterable[DeliveredFile]) -> dict[int, set[Month]]:
        """The months of each bill; nothing is read if no month is closed."""
        return {
            file.number: deliveries.billed_months(self.context.reader, self.context.config, file)
            for file in files
            if self.closed and file.is_bill
        }


def _closed_books(store: Store) -> dict[Month, Book]:
    closings = (store.catalog.closing(month) for month in store.catalog.months())
    return {one.month: store.catalog.book(one.month, one.version) for one in closings if one}


def _settings(engine: DuckDB, store: Store, book: Book) -> tuple[Config, datetime]:
    """The settings of a published book, and the time up to which it was amortized and estimated."""
    path = store.table(book, "settings")
    assert path is not None, "every book has its settings"
    stored = engine.records(f"SELECT * FROM {parquet(path)}")[0]
    as_of = stored.get("as_of") or "2199-12-31T00:00:00+00:00"
    return restore_settings(stored["settings"]), datetime.fromisoformat(as_of)


def _booked_by(month: Month, closed: Mapping[Month, Book]) -> tuple[Month, Book]:
    """The next open month after a closed one, and the last closed book that booked the closed month.

    A closed book that adjusts the month supersedes earlier ones. A closed book that does not may be older than the
    closing of the month, and built from bills that were replaced since, so its deliveries say nothing about the month.
    """
    last, after = closed[month], month.next()
    while after in closed:
        if _adjusts(closed[after], month):
            last = closed[after]
        after = after.next()
    return after, last


def _adjusts(book: Book, month: Month) -> bool:
    return any(total.source.endswith(f"{ADJUSTING}{month}") for total in book.totals)
