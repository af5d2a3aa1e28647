"""`trainfare export`: chargeback as a file."""

from contextlib import ExitStack
from pathlib import Path

import click

from trainfare.cli import options, published, terminal


@click.command()
@click.argument("path", type=click.Path(path_type=Path))
@options.workspace_option
@options.month_option
@click.option("--version", type=int, help="A version of the month.  [default: the newest]")
@click.option("--focus", is_flag=True, help="FOCUS 1.3: every bill line, split across its payers.")
def export(path: Path, workspace: Path, month: str | None, version: int | None, focus: bool) -> None:
    """Write a book to PATH, as CSV (.csv, .csv.gz) or Parquet (.parquet): one row per share, or FOCUS."""
    from trainfare.engine.choice import embedded
    from trainfare.query.open_books import open_books
    from trainfare.report import chargeback
    from trainfare.report.focus import rows_of_book

    with ExitStack() as stack:
        config = options.load_settings(workspace)
        store = published.open_store(stack, config, workspace)
        book = published.latest(store, options.parse_month(month), version)
        engine = stack.enter_context(embedded())
        with terminal.progress() as progress:
            progress(f"writing {path.name}")
            if focus:
                rows = chargeback.write(engine, rows_of_book(store, book, engine), path)
            else:
                open_books(engine, [store.files(book)])
                rows = chargeback.write(engine, chargeback.select(str(book.month), book.version), path)
    terminal.message(f"{path}: {terminal.count(rows, 'row')} of {book.month} version {book.version}")
