"""`trainfare label`: labels of jobs that the job log does not have, or has wrong."""

import re
import shlex
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import click

from trainfare.cli import options, output, published, terminal
from trainfare.cli.output import Listing
from trainfare.errors import TrainfareError
from trainfare.query.stored import select_of

if TYPE_CHECKING:
    from trainfare.period import Month
    from trainfare.store import Store

COLUMNS = ("job_id", "attempt", "key", "value", "set_at", "set_by", "note")


@click.command()
@click.argument("job")
@click.argument("labels", nargs=-1, metavar="[KEY=VALUE]...")
@options.workspace_option
@click.option("--attempt", type=click.IntRange(1), help="Label one attempt only.  [default: all attempts of the job]")
@click.option("--note", default="", help="Why, for the audit log.")
@options.format_option()
def label(job: str, labels: tuple[str, ...], workspace: Path, attempt: int | None, note: str, format_: str) -> None:
    """Give JOB labels that count more than those of its log, such as team=nlp. KEY= withdraws what was given.

    Every change is in the audit log. It takes effect when an open month is built next; closed months keep their labels.
    Without labels, list what was given to JOB.
    """
    given = _parse(labels)
    with ExitStack() as stack:
        store = published.open_store(stack, options.load_settings(workspace), workspace)
        job_id, months = _find(stack, store, job)
        overrides = store.catalog.label_overrides
        if given:
            from trainfare.store.audit import current_user

            overrides.set(job_id, attempt, given, current_user(), note)
            _announce(store, job_id, months)
        else:
            rows = [{name: getattr(one, name) for name in COLUMNS} for one in overrides.history(job_id)]
            output.show(Listing("labels", rows, COLUMNS, f"Labels given to {job_id}"), format_)


def _parse(labels: tuple[str, ...]) -> dict[str, str | None]:
    """Return the given labels; None for one that is withdrawn."""
    found: dict[str, str | None] = {}
    for text in labels:
        key, mark, value = text.partition("=")
        if not mark or not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_.-]*", key):
            raise TrainfareError("label", f"'{text}' is not KEY=VALUE", "Write, for example, team=nlp.")
        if key in found:
            raise TrainfareError("label", f"{key} is given twice", "Give each label once.")
        found[key] = value.strip() or None
    return found


def _find(stack: ExitStack, store: "Store", name: str) -> tuple[str, "list[Month]"]:
    """Return the id of a job in the published books, and the months that have it."""
    from trainfare.engine.choice import embedded
    from trainfare.engine.sql import quoted
    from trainfare.query import explain

    engine = stack.enter_context(embedded())
    books = [book for month in published.charged_months(store) if (book := store.catalog.latest(month))]
    if not books:
        published.newest(store, None)
    selects = (
        f"SELECT job_id, {quoted(book.month)} AS month FROM ({select_of(store.files(book), 'book_attempts')})"
        for book in books
    )
    engine.view("attempts", " UNION ALL ".join(selects))
    job_id = explain.require_job(engine, name, f"{books[0].month} to {books[-1].month}")
    found = {month for (month,) in engine.rows(f"SELECT DISTINCT month FROM attempts WHERE job_id = {quoted(job_id)}")}
    return job_id, [book.month for book in books if str(book.month) in found]


def _announce(store: "Store", job_id: str, months: "list[Month]") -> None:
    """Say in which months the labels take effect."""
    closed = [str(month) for month in months if store.catalog.closing(month)]
    is_open = [str(month) for month in months if str(month) not in closed]
    if is_open:
        terminal.message(f"{job_id}: in effect for {', '.join(is_open)} after: {options.command('build')}")
    if closed:
        terminal.message(f"{job_id}: {', '.join(closed)} is closed and keeps its labels")
    terminal.message(f"See what was given with: {options.command(f'label {shlex.quote(job_id)}')}")
