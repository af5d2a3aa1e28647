"""What arrives after a month was closed: booked in the next open month, as the difference to what is booked already."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from trainfare.config import Config, recalled
from trainfare.engine.duckdb import DuckDB, parquet
from trainfare.ledgers import delivered as ledgers
from trainfare.period import Month
from trainfare.places import Place
from trainfare.sources import deliver
from trainfare.sources.deliver import ADJUSTING, Delivered
from trainfare.store import Book, Store
from trainfare.tables import ESTIMATED

_ADJUSTMENT = re.compile(rf"{ADJUSTING}\d{{4}}-\d{{2}}$")


@dataclass(frozen=True)
class Laid:
    """What a ledger says of a closed month: a delivery in a table of laid charges, to be booked or taken back."""

    file: Delivered
    table: str
    digest: str
    sign: int


@dataclass(frozen=True)
class Adjustment:
    """The bills of a closed month that came later, and those they replaced, to be booked in an open one; so for ledgers."""

    month: Month
    into: Month
    added: tuple[Delivered, ...]
    removed: tuple[Delivered, ...]
    laid: tuple[Laid, ...] = ()
    put_away: tuple[Delivered, ...] = ()
    """Bills of the month of which no file is there any more, and which were the last that spoke of it."""

    def selects(self, engine: DuckDB, config: Config) -> list[str]:
        """The charges of it: what came later, and what was booked before with its sign turned."""
        return [
            select
            for files, sign in ((self.added, 1), (self.removed, -1))
            for select in deliver.adjusting_selects(engine, config, files, self.month, self.into, sign)
        ] + [
            deliver.adjusting(
                f"SELECT * FROM {one.table} WHERE delivery = {one.file.number}", self.month, self.into, one.sign
            )
            for one in self.laid
        ]

    @property
    def taken_back(self) -> tuple[Delivered, ...]:
        """The files of which lines are taken back."""
        return (*self.removed, *(one.file for one in self.laid if one.sign < 0))

    def contents(self) -> list[str]:
        """What it is made from, as a fingerprint sees it."""
        return [
            f"{sign}|{self.month}|{file.sha256}"
            for files, sign in ((self.added, "added"), (self.removed, "removed"))
            for file in files
        ] + [f"{one.sign}|{self.month}|{one.digest}" for one in self.laid]


@dataclass(frozen=True)
class BookedRates:
    """By closed month the currency its book was converted to, and the files that have the rates: of which month, of which book."""

    currencies: Mapping[Month, str | None]
    files: tuple[tuple[Month, Month, Place], ...]


NOTHING_BOOKED = BookedRates({}, ())


def booked_rates(engine: DuckDB, store: Store, late: Sequence[Adjustment]) -> BookedRates:
    """What the months of these adjustments were converted to and by. Their closed books have it, and closed books that adjust them."""
    closed = _closed(store) if late else {}
    currencies = {one.month: _settings(engine, store, closed[one.month])[0].convert.to for one in late}
    files = {book.month: store.files(book).files.get("conversions") for book in closed.values()}
    kept = [(month, of, path) for month in currencies for of, path in sorted(files.items()) if path and of >= month]
    return BookedRates(currencies, tuple(kept))


def find(
    engine: DuckDB, config: Config, store: Store, delivered: Sequence[Delivered], as_of: datetime
) -> list[Adjustment]:
    """What the bills and ledgers say of closed months now, beyond what is booked of them."""
    closed = _closed(store)
    return _differences(engine, config, store, delivered, closed, closed, as_of)


def of_book(
    engine: DuckDB, config: Config, store: Store, delivered: Sequence[Delivered], book: Book, as_of: datetime
) -> list[Adjustment]:
    """The adjustments that a published book was made with, found again from its own deliveries."""
    earlier = {month: closed for month, closed in _closed(store).items() if month < book.month}
    named = [month for month in earlier if _adjusts(book, month)]
    return _differences(engine, config, store, delivered, named, earlier, as_of)


def rests_on_nothing_else(book: Book) -> bool:
    """Whether a book has only adjustments of closed months and estimates: no bill or ledger of its own month ever spoke of it."""
    return all(total.source == ESTIMATED or _ADJUSTMENT.search(total.source) for total in book.totals)


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
    as_of: datetime,
) -> list[Adjustment]:
    """Bills are told apart by content: the same file under another name or source is no difference. Of one that speaks of several months
    only what it says of the month counts.
    """
    rows = store.catalog.deliveries({number for book in closed.values() for number in book.deliveries})
    booked = {row.id: deliver.from_catalog(row, store.lake.path(row.archive)) for row in rows}
    spoken = {
        number: deliver.billed_months(engine, config, file)
        for number, file in (booked | {file.number: file for file in delivered}).items()
        if closed and file.kind == "bill"
    }
    told: dict[int, dict[Month, str]] = {}

    def content(file: Delivered, month: Month) -> str:
        if len(spoken.get(file.number, ())) == 1:
            return file.sha256
        if file.number not in told:
            told[file.number] = deliver.digests(engine, config, file)
        return told[file.number][month] if len(told[file.number]) > 1 else file.sha256

    found = []
    for month in months:
        into, numbers, by = _booked(month, closed)
        before = {content(booked[n], month): booked[n] for n in numbers if month in spoken.get(n, ())}
        now = {content(file, month): file for file in delivered if month in spoken.get(file.number, ())}
        # Bills that were put away say nothing: only a bill of the same month can take back what they said.
        put_away = () if now else _put_away(engine, config, store, month, into, closed)
        now = now or {content(file, month): file for file in put_away} or before
        added = tuple(file for said, file in now.items() if said not in before)
        removed = tuple(file for said, file in before.items() if said not in now)
        laid = _laid_differently(
            engine, config, month, [booked[n] for n in numbers], book_as_of(engine, store, by), delivered, as_of
        )
        if added or removed or laid:
            found.append(Adjustment(month, into, added, removed, laid, put_away))
    return found


def _put_away(
    engine: DuckDB, config: Config, store: Store, month: Month, into: Month, closed: Mapping[Month, Book]
) -> tuple[Delivered, ...]:
    """The bills of a closed month by which the standing book of `into` adjusts it, where no file speaks of the month any more.

    One that also speaks of an open month is withdrawn there, and so it is here.
    """
    standing = store.catalog.latest(into)
    if not standing or not _adjusts(standing, month):
        return ()
    rows = store.catalog.deliveries(standing.deliveries)
    files = [deliver.from_catalog(row, store.lake.path(row.archive)) for row in rows]
    spoken = {file.number: deliver.billed_months(engine, config, file) for file in files if file.kind == "bill"}
    return tuple(
        file for file in files if month in spoken.get(file.number, ()) and spoken[file.number] <= closed.keys()
    )


def _laid_differently(
    engine: DuckDB,
    config: Config,
    month: Month,
    booked: Sequence[Delivered],
    booked_as_of: datetime,
    delivered: Sequence[Delivered],
    as_of: datetime,
) -> tuple[Laid, ...]:
    """What ledgers say of a closed month now and did not, and what they said and do not any more.

    As with bills, a ledger that was put away says nothing: only one of the same kind can take back what it said.
    """
    found: list[dict[tuple[str, str], Laid]] = []
    for name, files, until, sign in (("then", booked, booked_as_of, -1), ("now", delivered, as_of, 1)):
        table = f"laid_{name}_{month.year}_{month.number}"
        found.append({})
        if ledgers.are_there(files):
            ledgers.lay(engine, config, files, [month], until, table)
            digests = ledgers.digests(engine, table, month)
            found[-1] = {
                (file.kind, digests[file.number]): Laid(file, table, digests[file.number], sign)
                for file in files
                if file.number in digests
            }
    then, now = found
    spoken = {kind for kind, _ in now}
    gone = [laid for key, laid in then.items() if key not in now and key[0] in spoken]
    return (*gone, *(laid for key, laid in now.items() if key not in then))


def book_as_of(engine: DuckDB, store: Store, book: Book) -> datetime:
    """The moment up to which a published book was laid and estimated."""
    return _settings(engine, store, book)[1]


def _settings(engine: DuckDB, store: Store, book: Book) -> tuple[Config, datetime]:
    """The settings a published book was made with, and the moment up to which it was laid and estimated."""
    kept = engine.records(f"SELECT * FROM {parquet(store.files(book).files['settings'])}")[0]
    return recalled(kept["settings"]), datetime.fromisoformat(kept.get("as_of") or "2199-12-31T00:00:00+00:00")


def _booked(month: Month, closed: Mapping[Month, Book]) -> tuple[Month, tuple[int, ...], Book]:
    """The next open month after a closed one, the deliveries from which the closed books have booked it, and the last of them.

    A closed book that adjusts the month speaks for it from then on. One that does not may have been made before the
    month was closed, from bills that were replaced since, so what it was made from says nothing about this month.
    """
    last, after = closed[month], month.next()
    while after in closed:
        if _adjusts(closed[after], month):
            last = closed[after]
        after = after.next()
    return after, last.deliveries, last


def _adjusts(book: Book, month: Month) -> bool:
    return any(total.source.endswith(f"{ADJUSTING}{month}") for total in book.totals)
