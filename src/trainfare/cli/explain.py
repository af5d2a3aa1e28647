"""`trainfare explain`: where a job's money comes from."""

import json
import shlex
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from trainfare.cli import options, published, terminal
from trainfare.errors import TrainfareError
from trainfare.report import records
from trainfare.report.explain import Explanation, NoJobError
from trainfare.report.opened import select_of
from trainfare.report.render import exact, money
from trainfare.tables import BASES

if TYPE_CHECKING:
    from trainfare.engine.duckdb import DuckDB
    from trainfare.store import Book, Store


@click.command()
@click.argument("job")
@options.workspace_option
@options.month_option
@click.option("--version", type=int, help="A version of the month.  [default: the newest]")
@click.option("--basis", type=click.Choice(BASES), default="effective", show_default=True, help="Which cost.")
@click.option("--currency", help="Which currency, where the bill has several.")
@click.option("--lines", is_flag=True, help="Show the bill lines too.")
@click.option("--all", "everything", is_flag=True, help="Show every row, not only the first.")
@options.format_option("table", "json", "csv")
def explain(
    job: str,
    workspace: Path,
    month: str | None,
    version: int | None,
    basis: str,
    currency: str | None,
    lines: bool,
    everything: bool,
    format_: str,
) -> None:
    """Where JOB's money comes from: rules, pots, weights and bill lines, adding up to the published figure."""
    from trainfare import pipeline, reopened

    with ExitStack() as stack:
        config = options.settings_of(workspace)
        store = published.open_store(stack, config, workspace)
        book = published.latest(store, options.as_month(month), version)
        engine = stack.enter_context(pipeline.fresh_engine())
        with terminal.progress() as told:
            told(f"opening {book.month}")
            try:
                found = reopened.explain(store, book, engine, job, basis, currency, config.currency)
            except NoJobError as error:
                raise _no_job(store, book, engine, job, error.near) from None
    if found.opened != found.stored:
        do = "This is a fault of Trainfare: please report it."
        raise TrainfareError(f"explain {job}", f"the parts add up to {found.opened}, the book says {found.stored}", do)
    if format_ == "json":
        print(_json(found, str(book.month), book.version))
    elif format_ == "csv":
        print(records.as_csv(found.lines), end="")
    else:
        _table(found, lines, 100_000 if everything else 20)


def _no_job(store: "Store", book: "Book", engine: "DuckDB", job: str, near: list[str]) -> TrainfareError:
    """The job is not in this book: say which others have it, or how to see what there is."""
    from trainfare.engine.sql import quoted

    month, there = str(book.month), []
    for other in (store.catalog.latest(one) for one in store.catalog.months() if one != book.month):
        kept = select_of(store.files(other), "book_attempts") if other else "SELECT NULL AS job_id"
        if other and engine.row(f"SELECT count(*) FROM ({kept}) WHERE job_id = {quoted(job)}")[0]:
            there.append(str(other.month))
    listed_with = options.command(f"report --by job --month {month}")
    error = NoJobError(job, month, near, listed_with)
    if there:
        line = options.command(f"explain {shlex.quote(job)} --month {there[-1]}")
        return TrainfareError(error.where, error.what, f"It is in {', '.join(there)}: {line}")
    return error


def _table(found: Explanation, lines: bool, most: int) -> None:
    title = f"Job {found.job_id}: {money(found.stored)} {found.currency} ({found.basis} cost)"
    terminal.show(
        records.as_table(title, found.rules, ["rule", "among", "weighed_by", "category", "pots", "cost"], most)
    )
    wide = terminal.width() >= 120
    columns = [
        "when",
        "attempt",
        *(["rule"] if wide else []),
        "scope",
        "category",
        "pot",
        *(["weight", "whole"] if wide else ["of_all"]),
        "part",
    ]
    pots = [pot | {"when": _when(pot), "of_all": f"{pot['weight'] / pot['whole']:.2%}"} for pot in found.pots]
    pots.sort(key=lambda pot: -abs(pot["part"]))
    terminal.show(records.as_table("\nPots, dearest first: part = pot x weight / whole weight", pots, columns, most))
    if lines:
        is_converted = any(line["converted_from"] for line in found.lines)
        columns = [
            "when",
            "file",
            "file_line",
            "description",
            *(["converted"] if is_converted else []),
            "line_amount",
            "part",
        ]
        told = [line | {"when": _when(line), "converted": _converted(line)} for line in found.lines]
        terminal.show(records.as_table("\nBill lines", told, columns, most))
        if spent := sum(pot["part"] for pot in found.pots if pot["period_start"] is None):
            terminal.show(f"\nand {exact(spent)} of pots that follow spend: a part of every line their rules take")
    terminal.show(f"\nadds up: {exact(found.opened)} {found.currency}, and the book says {exact(found.stored)}")
    if not lines:
        terminal.talk("The bill lines: --lines. Every row: --all.")


def _converted(line: dict[str, Any]) -> str:
    """What a line was before it was converted, and by which rate."""
    if not line["converted_from"]:
        return ""
    rate = f"{line['rate'].normalize():f} of {line['rate_day']}, {line['rate_source']}"
    return f"{exact(line['original'])} {line['converted_from']} x {rate}"


def _when(pot: dict[str, Any]) -> str:
    """The time a pot is for, short: its start and how long it is; pots by spend are for the month, shown by day."""
    if pot["period_start"] is None:
        return f"{pot['day']}"
    hours = (pot["period_end"] - pot["period_start"]).total_seconds() / 3600
    length = f"{hours:g} h" if hours < 24 else f"{hours / 24:g} d"
    return f"{pot['period_start']:%m-%d %H:%M} +{length}"


def _json(found: Explanation, month: str, version: int) -> str:
    def plain(rows: list[dict[str, object]]) -> list[dict[str, object]]:
        return [{key: records.plain(value) for key, value in row.items()} for row in rows]

    return json.dumps(
        {
            "schema_version": 1,
            "job": found.job_id,
            "month": month,
            "version": version,
            "basis": found.basis,
            "currency": found.currency,
            "cost": exact(found.stored),
            "opened": exact(found.opened),
            "rules": plain(found.rules),
            "pots": plain(found.pots),
            "lines": plain(found.lines),
        },
        indent=2,
    )
