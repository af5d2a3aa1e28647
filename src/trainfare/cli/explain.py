"""`trainfare explain`: where a job's money comes from."""

import json
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import click

from trainfare.cli import options, published, terminal
from trainfare.errors import TrainfareError
from trainfare.report import records
from trainfare.report.explain import Explanation
from trainfare.report.render import exact, money
from trainfare.tables import BASES


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
        book = published.latest(store, options.as_month(month))
        if version:
            book = store.catalog.book(book.month, version)
        engine = stack.enter_context(pipeline.fresh_engine())
        with terminal.progress() as told:
            told(f"opening {book.month}")
            found = reopened.explain(store, book, engine, job, basis, currency, config.currency)
    if found.opened != found.stored:
        do = "This is a fault of Trainfare: please report it."
        raise TrainfareError(f"explain {job}", f"the parts add up to {found.opened}, the book says {found.stored}", do)
    if format_ == "json":
        print(_json(found, str(book.month), book.version))
    elif format_ == "csv":
        print(records.as_csv(found.lines), end="")
    else:
        _table(found, lines, 100_000 if everything else 20)


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
