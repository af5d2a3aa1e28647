"""Find what arrived for closed months: later bills and ledgers, which are booked, and other job logs, which are not.

What is booked is the difference between what the files say now and what is already booked.
"""

import json
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
from trainfare.sources.kinds import Kind
from trainfare.store import Book, Store
from trainfare.tables import ESTIMATED

_ADJUSTMENT = re.compile(rf"{ADJUSTING}\d{{4}}-\d{{2}}$")
_LOGS = (Kind.JOBS, Kind.USAGE)
"""The records of jobs, which a closed month is rebuilt from as they are today."""


@dataclass(frozen=True)
class ClosedMonth:
    """A closed month: what it is rebuilt from today, what its booked figures were built from, and what differs."""

    month: Month
    into: Month
    """The next open month, in which adjustments are booked."""
    closing: Book
    """The version that was closed."""
    adjusting: tuple[Book, ...]
    """The later closed books that adjust it."""
    files: tuple[DeliveredFile, ...]
    """Today's bills, ledgers and job logs of the month, with the machine files of its closing."""
    booked_files: tuple[DeliveredFile, ...]
    """What everything that is booked for the month was built from."""
    billed_changes: tuple[str, ...]
    """The bills and ledgers that are new or gone, as lines of a fingerprint. Without any, nothing is booked."""
    log_changes: tuple[str, ...]
    """The job logs and measurements that are new or gone, as lines of a fingerprint."""

    @property
    def is_adjusted(self) -> bool:
        return bool(self.billed_changes)

    def contents(self) -> list[str]:
        """What changed, as lines of a fingerprint."""
        return [*self.billed_changes, *self.log_changes]


@dataclass(frozen=True)
class BookedRates:
    """The exchange rates of closed books."""

    currencies: Mapping[Month, str | None]
    """By closed month, the currency that its book was converted to."""
    files: tuple[tuple[Month, Month, Location], ...]
    """The files with the rates: the month they apply to, the month of the book, and the path."""


NOTHING_BOOKED = BookedRates({}, ())


def booked_rates(engine: DuckDB, store: Store, one: ClosedMonth) -> BookedRates:
    """The exchange rates of a closed month, from its closed book and from closed books that adjust it."""
    found = ((book.month, store.table(book, "conversions")) for book in (one.closing, *one.adjusting))
    listed = tuple((one.month, month, path) for month, path in found if path)
    return BookedRates({one.month: settings_of(engine, store, one.closing)[0].convert.to}, listed)


def find(context: BuildContext, store: Store, delivered: Sequence[DeliveredFile]) -> list[ClosedMonth]:
    """Compare what the files say about each closed month now with what is booked."""
    closed = _closed_books(store)
    return _Comparison(context, store, closed).months(closed, delivered)


def find_again(context: BuildContext, store: Store, book: Book) -> list[ClosedMonth]:
    """Find the closed months that a published book adjusts, as they were when it was built."""
    earlier = {month: closed for month, closed in _closed_books(store).items() if month < book.month}
    comparison = _Comparison(context, store, earlier)
    found = []
    for month in (month for month in earlier if _adjusts(book, month)):
        now = comparison.deliveries(_built_from(context.reader, store, book, month))
        found += comparison.months([month], now, book.month)
    return found


def has_only_adjustments(book: Book) -> bool:
    """Whether a book has only adjustments of closed months and estimates, and never had a bill or ledger of its own."""
    return all(total.source == ESTIMATED or _ADJUSTMENT.search(total.source) for total in book.totals)


def settings_of(engine: DuckDB, store: Store, book: Book) -> tuple[Config, datetime]:
    """The settings of a published book, and the time up to which it was amortized and estimated."""
    path = store.table(book, "settings")
    assert path is not None, "every book has its settings"
    stored = engine.records(f"SELECT * FROM {parquet(path)}")[0]
    as_of = stored.get("as_of") or "2199-12-31T00:00:00+00:00"
    return restore_settings(stored["settings"]), datetime.fromisoformat(as_of)


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
    _months: dict[int, set[Month]] = field(default_factory=dict)

    def months(
        self, months: Iterable[Month], delivered: Sequence[DeliveredFile], into: Month | None = None
    ) -> list[ClosedMonth]:
        return [self._month(month, delivered, into) for month in months]

    def _month(self, month: Month, delivered: Sequence[DeliveredFile], into: Month | None) -> ClosedMonth:
        adjusting = [book for after, book in sorted(self.closed.items()) if after > month and _adjusts(book, month)]
        last = adjusting[-1] if adjusting else self.closed[month]
        booked = self.deliveries(_built_from(self.context.reader, self.store, last, month))
        into = into or _next_open(month, self.closed)
        bills, changed_bills = self._bills(month, into, booked, delivered)
        as_of = settings_of(self.context.reader, self.store, last)[1]
        kept, changed_ledgers = self._ledgers(month, (booked, as_of), delivered)
        logs, changed_logs = self._logs(month, booked, delivered)
        machines = [file for file in booked if file.kind is Kind.MACHINES]
        rates = [file for file in delivered if file.is_rate_table]
        files = (*bills, *kept, *logs, *machines, *rates)
        return ClosedMonth(
            month,
            into,
            self.closed[month],
            tuple(adjusting),
            tuple({file.number: file for file in files}.values()),
            tuple(booked),
            (*changed_bills, *changed_ledgers),
            tuple(changed_logs),
        )

    def _bills(
        self, month: Month, into: Month, booked: Sequence[DeliveredFile], delivered: Sequence[DeliveredFile]
    ) -> tuple[list[DeliveredFile], list[str]]:
        """The bills that the month is rebuilt from, and what differs from the booked ones."""
        before = {self._content(file, month): file for file in booked if self._bills_month(file, month)}
        now = {self._content(file, month): file for file in delivered if self._bills_month(file, month)}
        # Removing a bill reverses nothing: only another bill of the same month can.
        now = now or {self._content(file, month): file for file in self._removed(month, into)} or before
        changed = [f"added|{month}|{file.sha256}" for content, file in now.items() if content not in before]
        changed += [f"replaced|{month}|{file.sha256}" for content, file in before.items() if content not in now]
        # A commitment covers usage that the bill of another month may have.
        others = [
            file for file in delivered if file.is_bill and file.number not in {one.number for one in now.values()}
        ]
        has_commitments = any(file.kind is Kind.COMMITMENTS for file in (*booked, *delivered))
        return [*now.values(), *(others if has_commitments else ())], changed

    def _bills_month(self, file: DeliveredFile, month: Month) -> bool:
        if not file.is_bill:
            return False
        if file.number not in self._months:
            self._months[file.number] = deliveries.billed_months(self.context.reader, self.context.config, file)
        return month in self._months[file.number]

    def _content(self, file: DeliveredFile, month: Month) -> str:
        """What distinguishes the content of a bill for a month."""
        if len(self._months[file.number]) == 1:
            return file.sha256
        if file.number not in self._digests:
            self._digests[file.number] = deliveries.month_digests(self.context.reader, self.context.config, file)
        return self._digests[file.number][month]

    def _removed(self, month: Month, into: Month) -> list[DeliveredFile]:
        """The bills by which the current book of `into` adjusts a closed month, if no file covers the month any more.

        A bill that also covers an open month is withdrawn there, and therefore here, too.
        """
        current = self.store.catalog.latest(into)
        if not current or not _adjusts(current, month):
            return []
        files = self.deliveries(_built_from(self.context.reader, self.store, current, month))
        return [
            file for file in files if self._bills_month(file, month) and self._months[file.number] <= self.closed.keys()
        ]

    def _ledgers(
        self, month: Month, booked: tuple[Sequence[DeliveredFile], datetime], delivered: Sequence[DeliveredFile]
    ) -> tuple[list[DeliveredFile], list[str]]:
        """The ledgers that the month is rebuilt from, and those whose charges in the month are new or gone.

        As with bills, removing a ledger reverses nothing: only another ledger of the same kind can.
        """
        before = self._amortized(month, *booked)
        now = self._amortized(month, delivered, self.context.as_of)
        kinds = {kind for kind, _ in now}
        changed = [f"gone|{month}|{key[1]}" for key in before if key not in now and key[0] in kinds]
        changed += [f"new|{month}|{key[1]}" for key in now if key not in before]
        old, new = ([file for file in files if file.is_ledger] for files in (booked[0], delivered))
        missing = ({kind for kind, _ in before} - kinds) | ({file.kind for file in old} - {file.kind for file in new})
        kept = [file for file in old if file.kind in missing]
        return [*kept, *(file for file in new if file.kind not in missing)], changed

    def _amortized(
        self, month: Month, files: Sequence[DeliveredFile], as_of: datetime
    ) -> dict[tuple[Kind, str], DeliveredFile]:
        """The ledgers with charges in a month, by kind and digest of these charges."""
        if not ledgers.has_ledgers(files):
            return {}
        engine = self.context.reader
        ledgers.amortize(engine, self.context.config, files, [month], as_of, "closed_ledgers")
        digests = ledgers.digests(engine, "closed_ledgers", month)
        engine.drop("closed_ledgers")
        return {(file.kind, digests[file.number]): file for file in files if file.number in digests}

    def _logs(
        self, month: Month, booked: Sequence[DeliveredFile], delivered: Sequence[DeliveredFile]
    ) -> tuple[list[DeliveredFile], list[str]]:
        """The job logs and measurements that the month is rebuilt from, and what differs from the booked ones.

        If no file of a kind covers the month any more, the booked ones count: logs are removed after some months.
        Recordings are never removed, but their segments are merged: those of today count, and are not compared.
        """
        used = [file for file in delivered if file.is_recording]
        changed: list[str] = []
        for kind in _LOGS:
            before, now = (
                {file.sha256: file for file in files if file.kind is kind and not file.is_recording}
                for files in (booked, delivered)
            )
            added = [sha for sha, file in now.items() if sha not in before and self._covers(file, month)]
            gone = [sha for sha, file in before.items() if sha not in now and self._covers(file, month)]
            if gone and not added and not any(self._covers(now[sha], month) for sha in now if sha in before):
                used += before.values()
            else:
                used += now.values()
                changed += [f"log|{month}|{sha}" for sha in sorted((*added, *gone))]
        return used, changed

    def _covers(self, log: DeliveredFile, month: Month) -> bool:
        engine = self.context.reader
        during = (
            f"started < TIMESTAMP '{month.next()}-01' AND coalesce(ended, started) >= TIMESTAMP '{month}-01' "
            "OR ended IS NULL"
        )
        return bool(engine.row(f"SELECT EXISTS (SELECT 1 FROM ({log.select(engine)}) WHERE {during})")[0])

    def deliveries(self, numbers: Iterable[int]) -> list[DeliveredFile]:
        rows = self.store.catalog.deliveries(numbers)
        return [deliveries.from_catalog(row, self.store.archive(row)) for row in rows]


def _built_from(engine: DuckDB, store: Store, book: Book, month: Month) -> Sequence[int]:
    """The numbers of the deliveries from which a book has the figures of a month: its own, or one that it adjusts."""
    path = store.table(book, "closed_months") if book.month != month else None
    if path:
        found = engine.rows(
            f"SELECT built_from FROM {parquet(path)} WHERE month = '{month}' AND built_from IS NOT NULL"
        )
        if found:
            return [int(number) for number in json.loads(found[0][0])]
    return book.deliveries


def _closed_books(store: Store) -> dict[Month, Book]:
    closings = (store.catalog.closing(month) for month in store.catalog.months())
    return {one.month: store.catalog.book(one.month, one.version) for one in closings if one}


def _next_open(month: Month, closed: Mapping[Month, Book]) -> Month:
    """The next open month after a closed one."""
    after = month.next()
    while after in closed:
        after = after.next()
    return after


def _adjusts(book: Book, month: Month) -> bool:
    return any(total.source.endswith(f"{ADJUSTING}{month}") for total in book.totals)
