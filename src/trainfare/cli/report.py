"""`trainfare report`: cost per training hour, from files or from a published book."""

import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from datetime import date
from pathlib import Path

import click
import msgspec
from rich.text import Text

from trainfare.cli import options, period, published, terminal
from trainfare.cli.period import Period
from trainfare.errors import TrainfareError
from trainfare.files.locations import use_endpoint
from trainfare.query import cost, keys, month_cost
from trainfare.query.open_books import OpenBooks, open_books
from trainfare.report import documents, render
from trainfare.settings.config import Config, SourceSettings, load
from trainfare.store import Book

MAX_TABLE_GROUPS = 1000
"""Groups that a table shows by default: laying out a million rows would take minutes."""


@click.command()
@click.argument("bills", nargs=-1, metavar="[BILL]...")
@click.option("--jobs", multiple=True, help="A job log: a plain job file or a scheduler's log. Repeatable.")
@click.option("--machines", multiple=True, help="A list of machines. Repeatable.")
@click.option(
    "--with",
    "others",
    multiple=True,
    metavar="FILE",
    help="Any other file: measurements, results, prices. Repeatable.",
)
@click.option(
    "--config", "config_path", type=click.Path(path_type=Path), help="Rules and settings, without a workspace."
)
@click.option(
    "--zone", help="Time zone of times without an offset, except in bills, such as Europe/Berlin.  [default: UTC]"
)
@options.workspace_option
@period.period_options
@period.where_option
@click.option(
    "--by",
    multiple=True,
    help="Group by up to three keys: job, team, project, machine, day, a label ...  [default: team]",
)
@options.basis_option
@click.option(
    "--per",
    type=click.Choice(tuple(cost.RATE_DENOMINATORS)),
    default="wall",
    show_default=True,
    help="The hours of the rate.",
)
@click.option(
    "--productive",
    type=click.Choice(tuple(cost.PRODUCTIVE)),
    default="not_lost",
    show_default=True,
    help="Which GPU hours are productive, for --per productive.",
)
@options.scope_option
@options.currency_option
@click.option(
    "--top",
    type=click.IntRange(min=1),
    help=f"Show the top groups by cost, and the rest as one.  [default: {MAX_TABLE_GROUPS} in a table, else all]",
)
@options.format_option()
def report(
    bills: tuple[str, ...],
    jobs: tuple[str, ...],
    machines: tuple[str, ...],
    others: tuple[str, ...],
    config_path: Path | None,
    zone: str | None,
    workspace: Path,
    month: str | None,
    start: str | None,
    end: str | None,
    where: tuple[str, ...],
    by: tuple[str, ...],
    basis: str,
    per: str,
    productive: str,
    scope: str,
    currency: str | None,
    top: int | None,
    format_: str,
) -> None:
    """Report the cost per training hour by group, reconciled with the bill.

    \b
    From files:        trainfare report bill.csv --jobs jobs.csv [--machines machines.csv]
    From a workspace:  trainfare report [--month 2026-10] --by team --by project
    Some days:         trainfare report --from 2026-10-05 --to 2026-10-11 --where team=nlp
    """
    _require_productive(per)
    with ExitStack() as stack:
        wanted = period.parse(month, start, end)
        if bills or jobs or machines or others:
            config = _file_config(bills, jobs, (*machines, *others), config_path, zone)
            opened, days = _open_files(stack, config, wanted, only_cost=per != "productive")
            books: list[Book] = []
        else:
            config = options.load_settings(workspace)
            store = published.open_store(stack, config, workspace)
            books, opened, days = published.open_period(stack, store, wanted, with_grains=True)
        grouped, chosen = (
            keys.parse(list(by) or ["team"], opened.engine),
            opened.currency(currency, config.currency, basis),
        )
        filters = period.filters(where, opened)
        question = cost.Question(grouped, basis, per, scope, chosen, days, filters, productive)
        answer = cost.report(opened, question, top or (MAX_TABLE_GROUPS if format_ == "table" else None))
    show(answer, format_)
    if format_ == "table":
        _explain_selection(answer, books, where)


def _explain_selection(answer: cost.Report, books: Sequence[Book], where: tuple[str, ...]) -> None:
    """Print what is different from the figures as billed, and where nothing was found."""
    if where and not answer.total and not answer.rows:
        terminal.message(f"  Nothing matches {' and '.join(where)}. List the values of a key with --by KEY.")
    if answer.covered.is_days and not where and answer.question.scope == "full":
        billed = month_cost.as_billed(books, answer.question)
        if billed is not None and billed != answer.total:
            months = ", ".join(str(book.month) for book in month_cost.whole_months(books, answer.question))
            terminal.message(
                f"  As billed, {months} cost {render.money(billed)}: a book may have cost for days of other months "
                "(see --month)."
            )


def show(answer: cost.Report, format_: str) -> None:
    """Print a report."""
    if format_ == "json":
        print(documents.as_json(answer))
    elif format_ == "csv":
        print(documents.as_csv(answer), end="")
    elif format_ == "md":
        print(render.as_markdown(answer), end="")
    else:
        terminal.show(Text(render.headline(answer), style="bold"))
        terminal.show(render.as_table(answer, terminal.width()))
        terminal.show(render.reconciliation_text(answer))
        if hidden := render.left_out(answer, terminal.width()):
            terminal.message(f"  Columns that do not fit this terminal: {', '.join(hidden)}; --format csv has all.")
        for line in render.notes(answer):
            terminal.message(line)


def _require_productive(per: str) -> None:
    """Reject --productive where it would be ignored."""
    if per != "productive" and options.was_given("productive"):
        raise TrainfareError("--productive", f"has no effect with --per {per}", "Add --per productive.")


def _file_config(
    bills: tuple[str, ...], jobs: tuple[str, ...], others: tuple[str, ...], path: Path | None, zone: str | None
) -> Config:
    if not bills:
        raise TrainfareError("report", "no bill is given", "Write: trainfare report BILL --jobs JOBS")
    if not jobs:
        raise TrainfareError("report", "no job log is given", "Write: trainfare report BILL --jobs JOBS")
    config = load(path) if path else Config()
    use_endpoint(config.s3_endpoint)
    files = [file if "://" in file else str(Path(file).absolute()) for file in (*bills, *jobs, *others)]
    sources = tuple(SourceSettings(path=file, zone=zone or "UTC") for file in files)
    return msgspec.structs.replace(config, source=sources, folder=Path("/"))


def _open_files(
    stack: ExitStack, config: Config, wanted: Period, only_cost: bool
) -> tuple[OpenBooks, tuple[date, date] | None]:
    """Build the books of files; return them, and the days to select."""
    from trainfare.books.from_files import Selection, build_from_files
    from trainfare.engine.choice import embedded
    from trainfare.sources import deliveries
    from trainfare.sources.kinds import Kind

    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="trainfare-", ignore_cleanup_errors=True)))
    engine = stack.enter_context(embedded())
    notices: list[str] = []
    with terminal.progress() as progress:
        selection = Selection(wanted.month, only_cost, required_kinds=(Kind.BILL, Kind.JOBS))
        books = build_from_files(config, folder, engine, selection, progress, notice=notices.append)
    for notice in notices:
        terminal.message(notice)
    terminal.report_unread(deliveries.unread_columns(engine, config))
    days = wanted.window([book.month for book in books]).days if wanted.is_days else None
    return open_books(engine, books), days
