"""`trainfare init` and `trainfare build`."""

import time
from collections.abc import Iterator
from contextlib import ExitStack
from decimal import Decimal
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

import click

from trainfare.cli import interrupts, options, published, terminal
from trainfare.config import FILE_NAME
from trainfare.errors import TrainfareError
from trainfare.period import Month
from trainfare.sections import ENGINES

if TYPE_CHECKING:
    from trainfare.pipeline import Built
    from trainfare.store import Book, Store


@click.command()
@click.argument("folder", type=click.Path(path_type=Path), default=Path())
def init(folder: Path) -> None:
    """Make a workspace: a folder with commented settings."""
    path = folder / FILE_NAME
    if path.exists():
        raise TrainfareError(str(path), "there are settings already", "Edit them, or name another folder.")
    text = resources.files("trainfare").joinpath("workspace.toml").read_text(encoding="utf-8")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise TrainfareError(
            str(path), f"cannot be written ({error.strerror})", "Name a folder you may write to."
        ) from None
    terminal.talk(f"Made {path}. Name your bill and job log there, then run: {options.command('build', folder)}")


@click.command()
@options.workspace_option
@click.option("--month", metavar="YYYY-MM", help="Only this month.  [default: every open month]")
@click.option(
    "--as-of",
    metavar="TIME",
    help="Lay ledgers and estimate up to this time, such as 2026-10-15T12:00Z.  [default: the last full hour]",
)
@click.option("--engine", type=click.Choice(ENGINES), help="What runs the account.  [default: as in the settings]")
@click.option("--spark-master", metavar="URL", help="Where Spark is: spark://..., sc://..., local[*], yarn.")
def build(workspace: Path, month: str | None, as_of: str | None, engine: str | None, spark_master: str | None) -> None:
    """Read the sources and publish a new version of each open month that changed."""
    from trainfare import pipeline

    config = options.with_engine(options.settings_of(workspace), engine, spark_master)
    if not config.source:
        do = 'Add [[source]] path = "bills/*.csv" for the bill, and one for the job log.'
        raise TrainfareError(str(workspace / FILE_NAME), "no source is named", do)
    only = options.as_month(month)
    started = time.monotonic()
    with ExitStack() as stack:
        store = published.open_store(stack, config, workspace)
        before = _versions(store)
        with interrupts.told_as(lambda: _interrupted(before, _versions(store))), terminal.progress() as told:
            built = pipeline.build(config, store, only, told, options.as_moment(as_of, "--as-of"))
        for one in built:
            terminal.talk(_told(one, time.monotonic() - started))
        for line in _standing(store, {one.book.month for one in built}, only):
            terminal.talk(line)
        if charged := [one.book.month for one in built if not one.book.is_withdrawn]:
            terminal.talk(f"next: {options.command(f'report --month {charged[-1]}')}")


def _versions(store: "Store") -> dict[Month, int]:
    """The newest version of each month."""
    found = {month: store.catalog.latest(month) for month in store.catalog.months()}
    return {month: book.version for month, book in found.items() if book}


def _interrupted(before: dict[Month, int], after: dict[Month, int]) -> str:
    """What stands after a build that did not come to its end: each month is published whole or not at all."""
    new = [f"{month} version {version}" for month, version in after.items() if before.get(month) != version]
    return f"interrupted; published before that: {', '.join(new)}" if new else "interrupted; nothing was published"


def _told(built: "Built", seconds: float) -> str:
    """One line per month, with a sum that can be checked against the bill."""
    from trainfare.report.render import exact

    book = built.book
    if book.is_withdrawn:
        return _withdrawn(book)
    if not built.is_new:
        return f"{book.month}  nothing changed: version {book.version} stands"
    sums: dict[str, Decimal] = {}
    for total in book.totals:
        if total.basis == "effective":
            sums[total.currency] = sums.get(total.currency, Decimal(0)) + total.charges
    money = ", ".join(f"{exact(amount)} {currency}" for currency, amount in sums.items())
    again = "; made again, as files of the version before were lost" if built.is_made_again else ""
    return f"{book.month}  version {book.version}: {money} shared, every unit of it{again}  ({seconds:.1f} s)"


def _withdrawn(book: "Book") -> str:
    return f"{book.month}  withdrawn with version {book.version}: nothing is charged in it any more"


def _standing(store: "Store", built: set[Month], only: Month | None) -> Iterator[str]:
    """Months that were not built, and why their books stand as they are."""
    for month in store.catalog.months():
        if closing := store.catalog.closing(month):
            yield f"{month}  closed with version {closing.version}{_later(store, month, only)}"
        elif month not in built and only is None:
            book = store.catalog.latest(month)
            if book and book.is_withdrawn:
                yield _withdrawn(book)
                continue
            yield f"{month}  no source has charges of it any more: its last version stands"


def _later(store: "Store", closed: Month, only: Month | None) -> str:
    """Where that stands which came after a month was closed; nothing, if nothing came."""
    from trainfare.sources.deliver import ADJUSTING

    books = [store.catalog.latest(month) for month in store.catalog.months()]
    mark = f"{ADJUSTING}{closed}"
    into = [str(book.month) for book in books if book and any(one.source.endswith(mark) for one in book.totals)]
    if into:
        return f"; what came later is in {' and '.join(into)}"
    return "; what comes later is booked in the next open month" if only == closed else ""
