"""Published books, opened for a command."""

from contextlib import ExitStack
from pathlib import Path

from trainfare.cli import options
from trainfare.config import Config
from trainfare.errors import IncompleteError
from trainfare.period import Month
from trainfare.report.opened import Opened, open_books
from trainfare.store import Book, Store


def open_store(stack: ExitStack, config: Config, workspace: Path) -> Store:
    return stack.enter_context(Store.open(workspace, config.catalog, config.lake))


def latest(store: Store, month: Month | None) -> Book:
    """The newest version of the month, or of the newest month; with no book at all there is nothing to show."""
    months = store.catalog.months()
    wanted = month or (months[-1] if months else None)
    book = store.catalog.latest(wanted) if wanted else None
    if book is None:
        what = f"there is no book of {wanted}" if wanted else "nothing has been built yet"
        do = f"Build one with: {options.command('build')}"
        told = f"There are books of {', '.join(map(str, months))}." if months else do
        raise IncompleteError("workspace", what, told)
    return book


def open_book(stack: ExitStack, config: Config, workspace: Path, month: Month | None) -> Opened:
    """The newest version of a month, ready to be asked."""
    _, opened = open_latest(stack, open_store(stack, config, workspace), month)
    return opened


def open_latest(stack: ExitStack, store: Store, month: Month | None) -> tuple[Book, Opened]:
    """The newest version of a month as the catalog has it, and ready to be asked."""
    from trainfare.pipeline import fresh_engine

    book = latest(store, month)
    engine = stack.enter_context(fresh_engine())
    return book, open_books(engine, [store.files(book)])
