"""Build books from files alone, without a workspace."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from trainfare.allocate import account
from trainfare.books import intake, tables, unbilled
from trainfare.books.context import BuildContext, Progress, no_progress
from trainfare.books.inputs import load_charges, no_charges
from trainfare.books.month import normalize_month
from trainfare.engine.protocol import Engine
from trainfare.engine.sql import parquet
from trainfare.errors import TrainfareError
from trainfare.files.locations import Location
from trainfare.measures import lost_work
from trainfare.normalize.amortization import ledgers
from trainfare.period import Month
from trainfare.settings.config import Config
from trainfare.sources.kinds import Kind
from trainfare.store import BookFiles
from trainfare.tables import OTHER_MONTHS


@dataclass(frozen=True)
class Selection:
    """What to build: one month or all, and only the tables that a cost report reads, or all."""

    month: Month | None = None
    only_cost: bool = False
    required_kinds: tuple[Kind, ...] = ()
    """The kinds of files that must be among the given ones."""


EVERYTHING = Selection()


def build_from_files(
    config: Config,
    folder: Path,
    engine: Engine,
    selection: Selection = EVERYTHING,
    progress: Progress = no_progress,
    as_of: datetime | None = None,
    notice: Progress = no_progress,
) -> list[BookFiles]:
    """Build the books of the files that the settings name, and write their tables below `folder`."""
    context = BuildContext(engine, config, as_of or ledgers.last_full_hour(), progress, notice)
    delivered = intake.into_folder(engine.reader, config, folder, progress)
    for kind in selection.required_kinds:
        if not any(file.kind == kind for file in delivered):
            listed = ", ".join(f"{file.path.name} ({file.kind})" for file in delivered)
            raise TrainfareError("report", f"none of the files is a {kind.label}: {listed}", f"Add a {kind.label}.")
    charges = load_charges(context, delivered)
    if not charges.months or (selection.month and selection.month not in charges.months):
        raise no_charges(selection.month, charges.months)
    unbilled.report_jobs(context, delivered, set(charges.months))
    books = []
    for month in _months(engine, selection.month, charges.months):
        if normalize_month(context, charges, month, charges.relevant(engine, delivered, month), delivered):
            files: dict[str, Location] = {
                name: folder / f"{name}-{month}.parquet"
                for name in (tables.COST_TABLES if selection.only_cost else tables.TABLES)
            }
            progress(f"allocating {month}")
            if not selection.only_cost:
                lost_work.find_spans(engine)
            account.run(engine, config, month, divides_work=not selection.only_cost)
            account.write_shares(engine, month, files["shares"])
            tables.make_settings(context, charges.recorded_as_of)
            complete_through = tables.measure(engine, month, only_cost=selection.only_cost, labels=config.labels)
            progress(f"writing {month}")
            tables.write(engine, files)
            books.append(BookFiles(month, 0, files, complete_through))
    # The books are opened next in the same engine, under the same names.
    engine.drop(*tables.READABLE_NAMES, "attempts", "machines")
    months = {book.month: _other_months(engine, book) for book in books}
    return [
        replace(book, others=tuple(one for one in reversed(books) if book.month in months[one.month]))
        for book in books
        if selection.month in (None, book.month)
    ]


def _months(engine: Engine, wanted: Month | None, charged: Sequence[Month]) -> list[Month]:
    """Return the months to build: all, or the wanted one and those whose bills have charges for its days."""
    if wanted is None:
        return list(charged)
    first, end = (f"TIMESTAMP '{moment:%Y-%m-%d %H:%M:%S}'" for moment in (wanted.start, wanted.end))
    found = engine.rows(f"SELECT DISTINCT month FROM charge_kinds WHERE last_end > {first} AND first_start < {end}")
    return [month for month in charged if month == wanted or month in {Month.of(day) for (day,) in found}]


def _other_months(engine: Engine, book: BookFiles) -> set[Month]:
    path = book.files[OTHER_MONTHS.name]
    return {Month.of(day) for (day,) in engine.reader.rows(f"SELECT month FROM {parquet(path)}")}
