"""`trainfare init` and `trainfare build`."""

import time
from collections.abc import Iterator
from contextlib import ExitStack
from decimal import Decimal
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

import click

from trainfare.cli import interrupts, options, published, setup, terminal
from trainfare.errors import TrainfareError
from trainfare.money import decimal_text
from trainfare.period import Month
from trainfare.settings.config import FILE_NAME, Config
from trainfare.settings.sections import ENGINES

if TYPE_CHECKING:
    from trainfare.books.build import BuildResult
    from trainfare.store import Book, Store


@click.command()
@click.argument("folder", type=click.Path(path_type=Path), default=Path())
@setup.system_options
@click.option("--kubeconfig", metavar="PATH", help="A kubeconfig.  [default: the one that kubectl uses]")
@click.option("--context", metavar="NAME", help="A context of the kubeconfig.  [default: the current one]")
def init(folder: Path, system: str | None, kubeconfig: str | None, context: str | None) -> None:
    """Create a workspace: a folder with commented settings.

    With a system to collect from, it is asked first: what is missing is reported, the settings are ready for
    `trainfare collect`, and the output is the least privilege with a manifest to run it next to that system.
    """
    path = folder / FILE_NAME
    if path.exists():
        raise TrainfareError(str(path), "the settings exist already", "Edit them, or choose another folder.")
    text = resources.files("trainfare.settings").joinpath("workspace.toml").read_text(encoding="utf-8")
    given = {"kubeconfig": kubeconfig, "context": context}
    found = setup.ask(folder, system, {name: value for name, value in given.items() if value})
    try:
        folder.mkdir(parents=True, exist_ok=True)
        path.write_text(text + (setup.settings(system, found) if system and found else ""), encoding="utf-8")
    except OSError as error:
        raise TrainfareError(
            str(path), f"cannot be written ({error.strerror})", "Choose a folder you may write to."
        ) from None
    if found:
        setup.report(folder, found)
        return
    line = options.command("build", folder)
    terminal.message(f"Created {path}. Add your bill and job log as sources there, then run: {line}")


@click.command()
@options.workspace_option
@click.option("--month", metavar="YYYY-MM", help="Only this month.  [default: every open month]")
@click.option(
    "--as-of",
    metavar="TIME",
    help="Amortize ledgers and estimate up to this time, such as 2026-10-15T12:00Z.  [default: the last full hour]",
)
@click.option(
    "--engine", type=click.Choice(ENGINES), help="The engine that runs the build.  [default: from the settings]"
)
@click.option("--spark-master", metavar="URL", help="The Spark master: spark://..., sc://..., local[*], yarn.")
def build(workspace: Path, month: str | None, as_of: str | None, engine: str | None, spark_master: str | None) -> None:
    """Read the sources and publish a new version of each open month that changed."""
    from trainfare.books.build import build_books

    config = options.with_engine(options.load_settings(workspace), engine, spark_master)
    if not config.source:
        do = 'Add [[source]] path = "bills/*.csv" for the bill, and one for the job log.'
        raise TrainfareError(str(workspace / FILE_NAME), "there is no source", do)
    only = options.parse_month(month)
    started = time.monotonic()
    notices: list[str] = []
    with ExitStack() as stack:
        store = published.open_store(stack, config, workspace)
        before = _versions(store)
        with interrupts.reported_as(lambda: _interruption(before, _versions(store))), terminal.progress() as progress:
            until = options.parse_time(as_of, "--as-of")
            built = build_books(config, store, only, progress, until, notices.append)
        for one in built:
            terminal.message(_summary(one, time.monotonic() - started))
        _report_unread(config)
        for line in [*_other_months(store, {one.book.month for one in built}, only), *notices]:
            terminal.message(line)
        if charged := [one.book.month for one in built if not one.book.is_withdrawn]:
            terminal.message(f"next: {options.command(f'report --month {charged[-1]}')}")


def _report_unread(config: Config) -> None:
    """Report the columns of machine files that nothing reads."""
    from trainfare.engine.choice import embedded
    from trainfare.sources import deliveries

    with embedded() as engine:
        terminal.report_unread(deliveries.unread_columns(engine, config))


def _versions(store: "Store") -> dict[Month, int]:
    """Return the newest version of each month."""
    found = {month: store.catalog.latest(month) for month in store.catalog.months()}
    return {month: book.version for month, book in found.items() if book}


def _interruption(before: dict[Month, int], after: dict[Month, int]) -> str:
    """Return what an interrupted build published: each month completely, or not at all."""
    new = [f"{month} version {version}" for month, version in after.items() if before.get(month) != version]
    return f"interrupted; published before that: {', '.join(new)}" if new else "interrupted; nothing was published"


def _summary(built: "BuildResult", seconds: float) -> str:
    """Return one line per month, with a sum that can be checked against the bill."""
    book = built.book
    if book.is_withdrawn:
        return _withdrawn(book)
    if not built.is_new:
        return f"{book.month}  unchanged: version {book.version}"
    sums: dict[str, Decimal] = {}
    for total in book.totals:
        if total.basis == "effective":
            sums[total.currency] = sums.get(total.currency, Decimal(0)) + total.charges
    money = ", ".join(f"{Decimal(str(decimal_text(amount))):,f} {currency}" for currency, amount in sums.items())
    why = "; rebuilt because files of the previous version were missing or damaged" if built.is_restored else ""
    if built.is_upgraded:
        why += "; rebuilt because an older Trainfare built the previous version"
    return f"{book.month}  version {book.version}: {money} allocated (100 % of the bill){why}  ({seconds:.1f} s)"


def _withdrawn(book: "Book") -> str:
    return f"{book.month}  withdrawn by version {book.version}: it has no charges any more"


def _other_months(store: "Store", built: set[Month], only: Month | None) -> Iterator[str]:
    """Yield the months that were not built, and why."""
    for month in store.catalog.months():
        if closing := store.catalog.closing(month):
            yield f"{month}  closed with version {closing.version}{_adjustments(store, month, only)}"
        elif month not in built and only is None:
            book = store.catalog.latest(month)
            if book and book.is_withdrawn:
                yield _withdrawn(book)
                continue
            yield f"{month}  unchanged: no source has charges for it any more"


def _adjustments(store: "Store", closed: Month, only: Month | None) -> str:
    """Return where changes after the closing are booked; empty if there are none."""
    from trainfare.sources.deliveries import ADJUSTING

    books = [store.catalog.latest(month) for month in store.catalog.months()]
    mark = f"{ADJUSTING}{closed}"
    into = [str(book.month) for book in books if book and any(one.source.endswith(mark) for one in book.totals)]
    if into:
        return f"; later changes are in {' and '.join(into)}"
    return "; later changes are booked in the next open month" if only == closed else ""
