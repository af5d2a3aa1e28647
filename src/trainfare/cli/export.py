"""`trainfare export`: chargeback as a file."""

from contextlib import ExitStack
from pathlib import Path

import click

from trainfare.cli import options, period, published, terminal
from trainfare.cli.period import Period
from trainfare.errors import TrainfareError
from trainfare.settings.config import Config


@click.command()
@click.argument("path", type=click.Path(path_type=Path))
@options.workspace_option
@period.period_options
@period.where_option
@click.option("--version", type=int, help="A version of the month.  [default: the newest]")
@click.option("--focus", is_flag=True, help="FOCUS 1.3: every bill line, split across its payers.")
def export(
    path: Path,
    workspace: Path,
    month: str | None,
    start: str | None,
    end: str | None,
    where: tuple[str, ...],
    version: int | None,
    focus: bool,
) -> None:
    """Write cost to PATH, as CSV (.csv, .csv.gz) or Parquet (.parquet): one row per share, or FOCUS.

    \b
    A book, as billed:  trainfare export october.csv --month 2026-10
    Some days:          trainfare export week.csv --from 2026-10-05 --to 2026-10-11 --where team=nlp
    """
    wanted = period.parse(month, start, end)
    if focus and (wanted.is_days or where):
        do = "A bill line is never cut: leave out --from, --to and --where, or leave out --focus."
        raise TrainfareError("--focus", "has entire books", do)
    if version and wanted.is_days:
        raise TrainfareError("--version", "days are in books of several versions", "Use it with --month.")
    config = options.load_settings(workspace)
    rows, covered = (
        _write_focus(config, workspace, path, wanted, version)
        if focus
        else _write_shares(config, workspace, path, wanted, version, where)
    )
    terminal.message(f"{path}: {terminal.count(rows, 'row')} of {covered}")


def _write_focus(config: Config, workspace: Path, path: Path, wanted: Period, version: int | None) -> tuple[int, str]:
    """Write a book as FOCUS; return the number of rows, and what they cover."""
    from trainfare.engine.choice import embedded
    from trainfare.report import chargeback
    from trainfare.report.focus import rows_of_book

    with ExitStack() as stack:
        store = published.open_store(stack, config, workspace)
        book = published.latest(store, wanted.month, version)
        engine = stack.enter_context(embedded())
        with terminal.progress() as progress:
            progress(f"writing {path.name}")
            rows = chargeback.write(engine, rows_of_book(store, book, engine), path)
    return rows, f"{book.month} version {book.version}"


def _write_shares(
    config: Config, workspace: Path, path: Path, wanted: Period, version: int | None, where: tuple[str, ...]
) -> tuple[int, str]:
    """Write the selected shares; return their number, and what they cover."""
    from trainfare.report import chargeback, render

    with ExitStack() as stack:
        store = published.open_store(stack, config, workspace)
        books, opened, days = published.open_period(stack, store, wanted, version=version)
        select = chargeback.select(
            [(store.files(book), book.version) for book in books], days, period.filters(where, opened)
        )
        with terminal.progress() as progress:
            progress(f"writing {path.name}")
            rows = chargeback.write(opened.engine, select, path)
        covered = render.period(opened.covered(days)) if days else f"{books[0].month} version {books[0].version}"
    return rows, covered
