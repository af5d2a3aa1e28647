"""`trainfare report`: from two files, or from the published book."""

import tempfile
from contextlib import ExitStack
from pathlib import Path

import click
import msgspec
from rich.text import Text

from trainfare.cli import options, published, terminal
from trainfare.config import Config, Source, load
from trainfare.errors import TrainfareError
from trainfare.period import Month
from trainfare.places import seek
from trainfare.report import cost, keys, render
from trainfare.report.opened import Opened, open_books
from trainfare.tables import BASES

IN_A_TABLE = 1000
"""Groups that a table tells one by one. Nobody reads more, and a million lines take minutes to lay out."""


@click.command()
@click.argument("bills", nargs=-1, metavar="[BILL]...")
@click.option("--jobs", multiple=True, help="A job log: ours, or sacct output. May be given again.")
@click.option("--machines", multiple=True, help="A list of machines. May be given again.")
@click.option(
    "--with",
    "others",
    multiple=True,
    metavar="FILE",
    help="Any other file: measurements, results, prices. May be given again.",
)
@click.option(
    "--config", "config_path", type=click.Path(path_type=Path), help="Rules and settings, without a workspace."
)
@click.option(
    "--zone", help="Time zone of times without an offset in all files but bills, such as Europe/Berlin.  [default: UTC]"
)
@options.workspace_option
@options.month_option
@click.option(
    "--by", multiple=True, help="Group by up to three: job, team, project, machine, day, a label ...  [default: team]"
)
@click.option("--basis", type=click.Choice(BASES), default="effective", show_default=True, help="Which cost.")
@click.option("--per", type=click.Choice(tuple(cost.PRICED)), default="wall", show_default=True, help="Which hours.")
@click.option(
    "--productive",
    type=click.Choice(tuple(cost.PRODUCTIVE)),
    default="not_lost",
    show_default=True,
    help="Which GPU hours are productive, for --per productive.",
)
@click.option(
    "--scope",
    type=click.Choice(cost.SCOPES),
    default="full",
    show_default=True,
    help="infra leaves out licences and labour.",
)
@click.option("--currency", help="Which currency, where the bill has several.")
@click.option(
    "--top",
    type=click.IntRange(min=1),
    help=f"Tell this many groups, the dearest, and the others together.  [default: {IN_A_TABLE} in a table, else all]",
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
    by: tuple[str, ...],
    basis: str,
    per: str,
    productive: str,
    scope: str,
    currency: str | None,
    top: int | None,
    format_: str,
) -> None:
    """Cost per training hour, grouped as asked and tied to the bill.

    \b
    From files:        trainfare report bill.csv --jobs jobs.csv [--machines machines.csv]
    From a workspace:  trainfare report [--month 2026-10] --by team --by project
    """
    _require_productive(per)
    with ExitStack() as stack:
        wanted = options.as_month(month)
        if bills or jobs or machines or others:
            config = _config_of_files(bills, jobs, (*machines, *others), config_path, zone)
            opened = _open_files(stack, config, wanted, only_cost=per != "productive")
        else:
            config = options.settings_of(workspace)
            opened = published.open_book(stack, config, workspace, wanted, by_digest=True)
        question = cost.Question(
            keys.parse(list(by) or ["team"], opened.engine),
            basis,
            per,
            scope,
            opened.currency(currency, config.currency, basis),
            productive=productive,
        )
        show(cost.report(opened, question, top or (IN_A_TABLE if format_ == "table" else None)), format_)


def show(answer: cost.Report, format_: str) -> None:
    """Print an answered report."""
    if format_ == "json":
        print(render.as_json(answer))
    elif format_ == "csv":
        print(render.as_csv(answer), end="")
    elif format_ == "md":
        print(render.as_markdown(answer), end="")
    else:
        terminal.show(Text(render.headline(answer), style="bold"))
        terminal.show(render.as_table(answer, terminal.width()))
        terminal.show(render.tie(answer))
        for line in render.notes(answer):
            terminal.talk(line)


def _require_productive(per: str) -> None:
    """What would be left unread without a word is refused."""
    if per != "productive" and options.is_given("productive"):
        raise TrainfareError("--productive", f"means nothing with --per {per}", "Add --per productive.")


def _config_of_files(
    bills: tuple[str, ...], jobs: tuple[str, ...], others: tuple[str, ...], path: Path | None, zone: str | None
) -> Config:
    if not bills:
        raise TrainfareError("report", "no bill is given", "Name it: trainfare report BILL --jobs JOBS")
    if not jobs:
        raise TrainfareError("report", "no job log is given", "Name it: trainfare report BILL --jobs JOBS")
    config = load(path) if path else Config()
    seek(config.s3_endpoint)
    named = [name if "://" in name else str(Path(name).absolute()) for name in (*bills, *jobs, *others)]
    sources = [Source(path=name, zone=zone or "UTC") for name in named]
    return msgspec.structs.replace(config, source=tuple(sources), folder=Path("/"))


def _open_files(stack: ExitStack, config: Config, month: Month | None, only_cost: bool) -> Opened:
    from trainfare import pipeline

    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="trainfare-", ignore_cleanup_errors=True)))
    engine = stack.enter_context(pipeline.fresh_engine())
    with terminal.progress() as told:
        books = pipeline.books_of_files(
            config, folder, engine, month, told, {"bill": "bill", "jobs": "job log"}, only_cost=only_cost
        )
        return open_books(engine, books)
