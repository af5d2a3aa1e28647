"""Open published books for a command."""

from collections.abc import Sequence
from contextlib import ExitStack
from datetime import date
from pathlib import Path

from trainfare.cli import options, terminal
from trainfare.cli.period import Period
from trainfare.errors import IncompleteError
from trainfare.period import Month
from trainfare.query.open_books import OpenBooks, open_books
from trainfare.settings.config import Config
from trainfare.store import Book, Store


def open_store(stack: ExitStack, config: Config, workspace: Path) -> Store:
    return stack.enter_context(Store.open(workspace, config.catalog, config.lake, terminal.message))


def latest(store: Store, month: Month | None, version: int | None = None) -> Book:
    """Return a version of a month, by default the newest version of the newest month.

    A withdrawn month is an error unless a version is given.
    """
    book = newest(store, month)
    if version:
        return store.catalog.book(book.month, version)
    if book.is_withdrawn:
        do = f"See the previous version with: {options.command(f'diff --month {book.month}')}"
        raise IncompleteError(f"book {book.month}", f"withdrawn by version {book.version}: it has no charges", do)
    return book


def charged_months(store: Store) -> list[Month]:
    """Return the months with a book, except withdrawn ones."""
    books = (store.catalog.latest(month) for month in store.catalog.months())
    return [book.month for book in books if book and not book.is_withdrawn]


def newest(store: Store, month: Month | None) -> Book:
    """Return the newest version of the month, even if it withdraws it; default: the newest month with charges."""
    months = charged_months(store)
    wanted = month or (months[-1] if months else None)
    book = store.catalog.latest(wanted) if wanted else None
    if book is None:
        what = f"there is no book for {wanted}" if wanted else "nothing has been built yet"
        do = f"Build one with: {options.command('build')}"
        raise IncompleteError("workspace", what, f"Months with books: {', '.join(map(str, months))}." if months else do)
    return book


def open_period(
    stack: ExitStack, store: Store, period: Period, with_grains: bool = False, version: int | None = None
) -> tuple[list[Book], OpenBooks, tuple[date, date] | None]:
    """Open the newest versions of the books that a period is answered from; return them, and the days to select.

    Days are also in books of other months: in what these adjust, and in what was billed a month late.
    """
    if not period.is_days:
        book, opened = open_latest(stack, store, period.month, with_grains, version)
        return [book], opened, None
    from trainfare.engine.choice import embedded
    from trainfare.query.stored import cost_days

    months = charged_months(store) or [newest(store, None).month]
    window = period.window(months)
    engine = stack.enter_context(embedded())
    books = [
        book
        for book in (latest(store, month) for month in months)
        if window.overlaps(book.month) or window.has_any(cost_days(engine, store.files(book)))
    ]
    files = [store.files(book, others=store.others_of(book)) for book in books]
    return books, with_files(open_books(engine, files), store, books, with_grains), window.days


def with_files(opened: OpenBooks, store: Store, books: Sequence[Book], with_grains: bool) -> OpenBooks:
    """Answer from the files of the grains of these books, which are made if they do not exist, or from the books."""
    from trainfare.query.grains import files
    from trainfare.query.grains.parts import GrainFolder

    folders = [GrainFolder(store, book, store.others_of(book)) for book in books]
    return files.with_files(opened, folders) if with_grains else opened


def open_book(
    stack: ExitStack, config: Config, workspace: Path, month: Month | None, with_grains: bool = False
) -> OpenBooks:
    """Open the newest version of a month for queries."""
    _, opened = open_latest(stack, open_store(stack, config, workspace), month, with_grains)
    return opened


def open_latest(
    stack: ExitStack, store: Store, month: Month | None, with_grains: bool = False, version: int | None = None
) -> tuple[Book, OpenBooks]:
    """Return a version of a month, by default the newest, and open it for queries.

    With `with_grains`, answers come from the files of its grains, which are made if they do not exist.
    """
    from trainfare.engine.choice import embedded

    book = latest(store, month, version)
    engine = stack.enter_context(embedded())
    opened = open_books(engine, [store.files(book, others=store.others_of(book))])
    return book, with_files(opened, store, [book], with_grains)
