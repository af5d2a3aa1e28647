"""The flow, one way, on one page: deliveries become facts, facts become shares, shares become a book."""

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any

import msgspec

from trainfare import adjustments, intake
from trainfare.adjustments import NOTHING_BOOKED, Adjustment, BookedRates
from trainfare.attribute import account, rules
from trainfare.config import Config, recalled, remembered
from trainfare.engine import choice
from trainfare.engine.duckdb import DuckDB
from trainfare.engine.protocol import Engine
from trainfare.engine.sql import parquet, step_text
from trainfare.errors import IncompleteError, TrainfareError
from trainfare.inputs import LAID, Inputs, Read, is_estimated
from trainfare.ledgers import delivered as ledgers
from trainfare.metrics import book
from trainfare.normalise import conversion, estimating, facts
from trainfare.normalise.conversion import Conversion
from trainfare.period import Month
from trainfare.places import Place
from trainfare.sources import deliver
from trainfare.sources.deliver import Delivered
from trainfare.store import Book, BookFiles, NewBook, Store, Total

Progress = Callable[[str], None]
fresh_engine = choice.embedded


def silent(told: str) -> None:
    """Tell nobody."""


@dataclass(frozen=True)
class Built:
    """What a build did for one month: a new version, or the standing one if nothing had changed."""

    book: Book
    is_new: bool
    is_made_again: bool = False
    """Because files of the version before were lost."""


def build(
    config: Config,
    store: Store,
    only: Month | None = None,
    progress: Progress = silent,
    as_of: datetime | None = None,
) -> list[Built]:
    """Read the sources and publish a new version of each open month that changed; of each the whole book, or nothing.

    Ledgers are laid up to `as_of`, the last full hour if it is not given.
    """
    until = as_of or ledgers.this_hour()
    lake, asked = store.lake, msgspec.structs.asdict(config.engine)
    with lake.building() as build_id, choice.chosen(lake.scratch_path(build_id), **asked) as engine:
        # Looked up before anything is read: a build that publishes meanwhile has seen newer files, and wins.
        standing = {month: store.catalog.latest(month) for month in store.catalog.months()}
        lost = store.lost_files()
        delivered = intake.into_store(engine.reader, config, store, build_id, lost, progress)
        late = adjustments.find(engine.reader, config, store, delivered, until)
        rates = _rates(engine, config, delivered, adjustments.booked_rates(engine.reader, store, late))
        read = _read(engine, config, delivered, late, rates, until, progress)
        inputs = Inputs(delivered, late, read, read.digests(engine, config, delivered), lost)
        months = sorted({*read.months, *_to_withdraw(standing, read.months)})
        if only and only not in months:
            raise _no_charges(only, read.months)
        built = [
            _build_month(config, store, build_id, engine, inputs, month, standing.get(month), progress)
            for month in months
            if only in (None, month) and not store.catalog.closing(month)
        ]
    store.sweep()
    return [one for one in built if one]


def _to_withdraw(standing: Mapping[Month, Book | None], charged: Sequence[Month]) -> list[Month]:
    """Months of which nothing is charged any more, and whose books were only adjustments and estimates. One that had a bill stands: its
    files were put away.
    """
    return [
        month
        for month, book in standing.items()
        if book and month not in charged and not book.is_withdrawn and adjustments.rests_on_nothing_else(book)
    ]


def books_of_files(
    config: Config,
    folder: Path,
    engine: Engine,
    only: Month | None = None,
    progress: Progress = silent,
    needed: Mapping[str, str] = MappingProxyType({}),
    as_of: datetime | None = None,
    only_cost: bool = False,
) -> list[BookFiles]:
    """The books of the given files, without a workspace: their tables are written below `folder`.

    `needed` has the kinds of files that must be among them, and what a user calls them. With `only_cost` there are only the tables
    that a report of cost reads.
    """
    delivered = intake.into_folder(engine.reader, config, folder, progress)
    for kind, what in needed.items():
        if not any(file.kind == kind for file in delivered):
            listed = ", ".join(f"{file.path.name} ({file.kind})" for file in delivered)
            raise TrainfareError("report", f"none of the files is a {what}: {listed}", f"Add a {what}.")
    until = as_of or ledgers.this_hour()
    read = _read(engine, config, delivered, (), _rates(engine, config, delivered), until, progress)
    if not read.months or (only and only not in read.months):
        raise _no_charges(only, read.months)
    books = []
    for month in [only] if only else read.months:
        files: dict[str, Place] = {
            name: folder / f"{name}-{month}.parquet" for name in (book.OF_COST if only_cost else book.TABLES)
        }
        if _hold(engine, config, read, month, read.relevant(engine, delivered, month)):
            through = _write_book(engine, config, month, read.kept_as_of, files, {}, progress)
            books.append(BookFiles(month, 0, files, through))
    # They are opened next in the same engine, under the same names.
    engine.drop(*book.OPENED, "attempts", "machines")
    return books


def reopen(store: Store, book_: Book, engine: DuckDB) -> tuple[list[Delivered], tuple[Delivered, ...]]:
    """Run the account of a published book again, from what it was made from; returns the deliveries, and those it takes back."""
    (settings,) = engine.row(f"SELECT settings FROM {parquet(store.files(book_).files['settings'])}")
    config, as_of = recalled(settings), adjustments.book_as_of(engine, store, book_)
    rows = store.catalog.deliveries(book_.deliveries)
    delivered = [deliver.from_catalog(row, store.lake.path(row.archive)) for row in rows]
    engine.drop("attempts", "machines", *book.OPENED)  # a book that is open here has the same names
    late = adjustments.of_book(engine, config, store, delivered, book_, as_of)
    taken_back = tuple(dict.fromkeys(file for one in late for file in one.taken_back))
    rates = _rates(engine, config, delivered, adjustments.booked_rates(engine.reader, store, late))
    read = _read(engine, config, delivered, late, rates, as_of, silent)
    _hold(engine, config, read, book_.month, read.relevant(engine, delivered, book_.month))
    account.run(engine, config, book_.month, to_open=True)
    columns = "delivery INTEGER, path VARCHAR, header_lines INTEGER, lines_per_row BIGINT"
    files = {file.number: file for file in (*delivered, *taken_back)}.values()
    told = [(file.number, str(file.path), deliver.header_lines(file), ledgers.lines_per_row(file)) for file in files]
    engine.values("delivered_files", columns, [*told, (0, "(estimated)", 0, 1)])
    return delivered, taken_back


def try_rules(
    config: Config, engine: DuckDB, only: Month | None, progress: Progress = silent
) -> tuple[Month, list[dict[str, Any]]]:
    """What each rule would take of a month (the newest, if none is asked for). Publishes nothing."""
    with tempfile.TemporaryDirectory(prefix="trainfare-") as folder:
        delivered = intake.into_folder(engine, config, Path(folder), progress)
        read = _read(engine, config, delivered, (), _rates(engine, config, delivered), ledgers.this_hour(), progress)
        if not read.months or (only and only not in read.months):
            raise _no_charges(only, read.months)
        month = only or read.months[-1]
        _hold(engine, config, read, month, read.relevant(engine, delivered, month))
        account.route(engine, config, month)
        return month, engine.records(step_text("trainfare.metrics", "taken_by_rules"))


def _rates(
    engine: Engine, config: Config, delivered: Sequence[Delivered], booked: BookedRates = NOTHING_BOOKED
) -> Conversion:
    """How charges of other currencies are converted: by the delivered rate tables, and in closed months as these were."""
    tables = {
        file.path: f"SELECT * REPLACE (line + {deliver.header_lines(file)} AS line) FROM {parquet(file.archive)}"
        for file in delivered
        if file.kind == "rates"
    }
    return conversion.prepare(
        engine.reader, config.convert.to, config.convert.days, tables, booked.currencies, booked.files
    )


def _read(
    engine: Engine,
    config: Config,
    delivered: Sequence[Delivered],
    late: Sequence[Adjustment],
    rates: Conversion,
    as_of: datetime,
    progress: Progress,
) -> "Read":
    """Make the charges from what was delivered, in the currencies that are wanted.

    Ledgers are laid over the months that bills, jobs and time entries speak of, and open no others.
    """
    progress("reading bills")
    selects = [rates.of(select) for select in deliver.charge_selects(engine.reader, config, delivered)]
    selects += [rates.of(select, one.month) for one in late for select in one.selects(engine.reader, config)]
    kinds = facts.charges(engine, selects, rules.looked_at(rules.in_force(config)))
    if ledgers.are_there(delivered):
        progress("laying ledgers")
        months = {*_months(engine), *ledgers.months_of(engine.reader, delivered)}
        ledgers.lay(engine.reader, config, delivered, sorted(months), as_of, LAID)
        kinds = facts.add_charges(engine, kinds, rates.of(f"SELECT * FROM {LAID}"))
    # Where no figure goes by the hour no book remembers it: the same files give the same bytes.
    kept = as_of.isoformat() if config.estimate or ledgers.are_there(delivered) else None
    charged = facts.charged_by_month(engine)
    return Read(sorted(charged), charged, kinds, rates, as_of, kept).with_estimated(engine, config, delivered)


def _months(engine: Engine) -> list[Month]:
    return [Month.of(day) for (day,) in engine.rows("SELECT DISTINCT month FROM charge_kinds ORDER BY month")]


def _build_month(
    config: Config,
    store: Store,
    build_id: str,
    engine: Engine,
    inputs: Inputs,
    month: Month,
    standing: Book | None,
    progress: Progress,
) -> Built | None:
    """Publish the month's next version, unless it would be made from the same things as the standing one.

    None where the month has no charges: nothing was billed, and no price is known to estimate by. If a version stands that never rested
    on a bill of the month, one without charges withdraws it.
    """
    relevant = inputs.read.relevant(engine, inputs.delivered, month)
    fingerprint = inputs.fingerprint(engine, config, month, relevant)
    lost = inputs.lost.intersection(standing.files.values()) if standing else ()
    if standing and standing.inputs_sha256 == fingerprint and not lost:
        return Built(standing, is_new=False)
    progress("reading job logs")
    if not _hold(engine, config, inputs.read, month, relevant):
        if standing and standing.is_withdrawn:
            return Built(standing, is_new=False)
        is_over = standing and adjustments.rests_on_nothing_else(standing)
        return (
            _withdraw(store, build_id, engine.reader, inputs, standing, fingerprint) if standing and is_over else None
        )
    files = {name: store.lake.book_path(name, month, build_id) for name in book.TABLES}
    stands = store.files(standing).files if standing else {}
    before = {name: path for name, path in stands.items() if store.lake.relative(path) not in inputs.lost}
    through = _write_book(engine, config, month, inputs.read.kept_as_of, files, before, progress)
    new = NewBook(
        engine=engine.name,
        inputs_sha256=fingerprint,
        complete_through=through,
        files={name: store.lake.relative(path) for name, path in files.items()},
        rows={name: engine.row(f'SELECT count(*) FROM "{table}"')[0] for name, table in book.TABLES.items()},
        totals=tuple(Total(*one) for one in book.totals(engine)),
        deliveries=tuple(file.number for file in inputs.files_of(month)),
    )
    return Built(
        store.publish(month, standing.version if standing else None, new), is_new=True, is_made_again=bool(lost)
    )


def _withdraw(store: Store, build_id: str, engine: DuckDB, inputs: Inputs, standing: Book, fingerprint: str) -> Built:
    """Publish a version of the month without charges: the tables of the standing one, with nothing in them that is of money or time."""
    before = store.files(standing).files
    files = {name: store.lake.book_path(name, standing.month, build_id) for name in before}
    for name, path in files.items():
        only = "" if name in book.OUTLASTING else " WHERE false"
        engine.write_parquet(f"SELECT * FROM {parquet(before[name])}{only}", path)
    new = NewBook(
        engine=engine.name,
        inputs_sha256=fingerprint,
        complete_through=None,
        files={name: store.lake.relative(path) for name, path in files.items()},
        rows={name: engine.row(f"SELECT count(*) FROM {parquet(path)}")[0] for name, path in files.items()},
        totals=(),
        deliveries=tuple(file.number for file in inputs.files_of(standing.month)),
    )
    return Built(store.publish(standing.month, standing.version, new), is_new=True)


def _write_book(
    engine: Engine,
    config: Config,
    month: Month,
    as_of: str | None,
    files: Mapping[str, Place],
    before: Mapping[str, Place],
    progress: Progress,
) -> datetime | None:
    """Make and write the tables of a month's book; its shares balance, or an error says where they do not."""
    progress(f"sharing {month}")
    account.run(engine, config, month)
    account.keep(engine, month, files["shares"])
    engine.values("settings", "settings VARCHAR, as_of VARCHAR", [(remembered(config), as_of)])
    through = book.run(engine, month, before, is_whole=files.keys() == book.TABLES.keys())
    progress(f"writing {month}")
    for name, path in files.items():
        if name != "shares":
            engine.write_parquet(f'SELECT * FROM "{book.TABLES[name]}"', path)
    return through


def _hold(engine: Engine, config: Config, read: Read, month: Month, relevant: Sequence[Delivered]) -> bool:
    """Make the machines, attempts, placements and measurements of a month from the deliveries that speak of its time, and no others,
    and estimate its hours without a bill; returns whether there are charges of the month.
    """
    read.rates.require(month)
    estimated = is_estimated(engine, config, month)
    if estimated:
        facts.keyed(engine, read.kinds)  # rates are looked for in the lines of other months, too
    told = {kind: deliver.row_selects(engine.reader, relevant, kind) for kind in facts.TOLD}
    if estimated:
        told["prices"] = read.rates.prices(told["prices"], month.start.date(), month.end.date())
    facts.held(engine, month, told, (estimating.month_before(engine, month) or month) if estimated else None)
    if estimated:
        estimating.run(engine, read.kinds, month, read.as_of)
    else:
        estimating.none(engine)
    facts.keyed(engine, read.kinds, month)
    return bool(engine.row(f"SELECT count(*) FROM charge_kinds WHERE month = DATE '{month}-01'")[0])


def _no_charges(month: Month | None, months: list[Month]) -> TrainfareError:
    do = f"The bills have {', '.join(map(str, months))}." if months else "Add a bill that has charges."
    return IncompleteError("bill", f"there are no charges of {month}" if month else "there are no charges in it", do)
