"""What arrives after a month was closed: booked in the next open month, as the difference to what is booked already."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from trainfare.config import Config
from trainfare.engine.duckdb import DuckDB
from trainfare.period import Month
from trainfare.sources import deliver
from trainfare.sources.deliver import ADJUSTING, Delivered
from trainfare.store import Book, Store


@dataclass(frozen=True)
class Adjustment:
    """The bills of a closed month that came later, and those they replaced, to be booked in an open one."""

    month: Month
    into: Month
    added: tuple[Delivered, ...]
    removed: tuple[Delivered, ...]

    def selects(self, engine: DuckDB, config: Config) -> list[str]:
        """The charges of it: what came later, and what was booked before with its sign turned."""
        return [
            select
            for files, sign in ((self.added, 1), (self.removed, -1))
            for select in deliver.adjusting_selects(engine, config, files, self.month, self.into, sign)
        ]

    def contents(self) -> list[str]:
        """What it is made from, as a fingerprint sees it."""
        return [
            f"{sign}|{self.month}|{file.sha256}"
            for files, sign in ((self.added, "added"), (self.removed, "removed"))
            for file in files
        ]


def find(engine: DuckDB, config: Config, store: Store, delivered: Sequence[Delivered]) -> list[Adjustment]:
    """What the bills say of closed months now, beyond what is booked of them."""
    closed = _closed(store)
    return _differences(engine, config, store, delivered, closed, closed)


def of_book(
    engine: DuckDB, config: Config, store: Store, delivered: Sequence[Delivered], book: Book
) -> list[Adjustment]:
    """The adjustments that a published book was made with, found again from its own deliveries."""
    earlier = {month: closed for month, closed in _closed(store).items() if month < book.month}
    named = [month for month in earlier if _adjusts(book, month)]
    return _differences(engine, config, store, delivered, named, earlier)


def _closed(store: Store) -> dict[Month, Book]:
    closings = (store.catalog.closing(month) for month in store.catalog.months())
    return {one.month: store.catalog.book(one.month, one.version) for one in closings if one}


def _differences(
    engine: DuckDB,
    config: Config,
    store: Store,
    delivered: Sequence[Delivered],
    months: Iterable[Month],
    closed: Mapping[Month, Book],
) -> list[Adjustment]:
    """Bills are told apart by content: the same file under another name or source is no difference."""
    rows = store.catalog.deliveries({number for book in closed.values() for number in book.deliveries})
    booked = {row.id: deliver.from_catalog(row, store.lake.path(row.archive)) for row in rows}
    spoken = {
        number: deliver.billed_months(engine, config, file)
        for number, file in (booked | {file.number: file for file in delivered}).items()
        if closed and file.kind == "bill"
    }
    found = []
    for month in months:
        into, numbers = _booked(month, closed)
        before = {booked[number].sha256: booked[number] for number in numbers if month in spoken.get(number, ())}
        now = {file.sha256: file for file in delivered if month in spoken.get(file.number, ())}
        # Bills that were put away say nothing: only a bill of the same month can take back what they said.
        if now and now.keys() != before.keys():
            added = tuple(file for content, file in now.items() if content not in before)
            removed = tuple(file for content, file in before.items() if content not in now)
            found.append(Adjustment(month, into, added, removed))
    return found


def _booked(month: Month, closed: Mapping[Month, Book]) -> tuple[Month, tuple[int, ...]]:
    """The next open month after a closed one, and the deliveries from which the closed books have booked it.

    A closed book that adjusts the month speaks for it from then on. One that does not may have been made before the
    month was closed, from bills that were replaced since, so what it was made from says nothing about this month.
    """
    numbers, after = closed[month].deliveries, month.next()
    while after in closed:
        if _adjusts(closed[after], month):
            numbers = closed[after].deliveries
        after = after.next()
    return after, numbers


def _adjusts(book: Book, month: Month) -> bool:
    return any(total.source.endswith(f"{ADJUSTING}{month}") for total in book.totals)
