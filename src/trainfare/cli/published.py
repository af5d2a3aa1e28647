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


def latest(store: Store, month: Month | None, version: int | None = None) -> Book:
    """This version of the month, the newest if none is asked for; of the newest month, if none is. With no book at all there is nothing to
    show, and what was withdrawn is shown only to who asks for a version.
    """
    book = newest(store, month)
    if version:
        return store.catalog.book(book.month, version)
    if book.is_withdrawn:
        do = f"What was in it before: {options.command(f'diff --month {book.month}')}"
        raise IncompleteError(f"book {book.month}", f"version {book.version} withdrew it: nothing is charged in it", do)
    return book


def charged_months(store: Store) -> list[Month]:
    """The months with a book, but for those that were withdrawn."""
    books = (store.catalog.latest(month) for month in store.catalog.months())
    return [book.month for book in books if book and not book.is_withdrawn]


def newest(store: Store, month: Month | None) -> Book:
    """The newest version of the month, also one that withdraws it, or of the newest month that was not."""
    months = charged_months(store)
    wanted = month or (months[-1] if months else None)
    book = store.catalog.latest(wanted) if wanted else None
    if book is None:
        what = f"there is no book of {wanted}" if wanted else "nothing has been built yet"
        do = f"Build one with: {options.command('build')}"
        told = f"There are books of {', '.join(map(str, months))}." if months else do
        raise IncompleteError("workspace", what, told)
    return book


def open_book(
    stack: ExitStack, config: Config, workspace: Path, month: Month | None, by_digest: bool = False
) -> Opened:
    """The newest version of a month, ready to be asked."""
    _, opened = open_latest(stack, open_store(stack, config, workspace), month, by_digest)
    return opened


def open_latest(stack: ExitStack, store: Store, month: Month | None, by_digest: bool = False) -> tuple[Book, Opened]:
    """The newest version of a month as the catalog has it, and ready to be asked; `by_digest` if the service has made one of it, for who
    wants the answer and not the proof.
    """
    from trainfare.pipeline import fresh_engine
    from trainfare.report import digest

    book = latest(store, month)
    engine = stack.enter_context(fresh_engine())
    opened = open_books(engine, [store.files(book)])
    return book, digest.quickened(opened, digest.kept_in(store.workspace)) if by_digest else opened
