"""`trainfare metrics` and `trainfare checkpoints`: unit costs, and how to lose less work."""

from contextlib import ExitStack
from pathlib import Path
from typing import Any

import click

from trainfare.cli import options, output, published, terminal
from trainfare.cli.output import Listing
from trainfare.query import keys
from trainfare.query import metrics as measuring
from trainfare.query.cost import Question
from trainfare.report import records
from trainfare.tables import CHECKPOINTING

SIMULATED_JOBS = 10
"""Intervals that are verified by simulation; one takes about a quarter of a second."""
ROWS_PER_METRIC = 10
"""Rows of one metric on a terminal."""
HEADINGS = {
    "job_id": "job",
    "spent": "spent",
    "saving": "saving",
    "currency": "in",
    "uptime_seconds": "uptime s",
    "writing_seconds": "writing s",
    "interval_seconds": "interval s",
    "best_seconds": "best s",
    "simulated_seconds": "simulated s",
}
"""The columns that a terminal shows, with their headings."""
OPTIONAL = ("uptime s", "writing s", "spent", "simulated s")
"""Columns that a narrow terminal leaves out, in this order."""


FIELDS = {
    "metrics": ["metric", "metric_name", "detail", "numerator", "denominator", "value", "unit", "note"],
    "checkpoints": [*CHECKPOINTING.names, "simulated_seconds"],
}
"""The header of a CSV without rows."""


@click.command()
@options.workspace_option
@options.month_option
@click.option(
    "--by", multiple=True, help="Group by up to three keys: job, team, project, a label, day ...  [default: team]"
)
@click.option("--metric", "only", multiple=True, metavar="CODE", help="Only this metric, such as M5. Repeatable.")
@options.basis_option
@options.scope_option
@options.currency_option
@options.format_option()
def metrics(
    workspace: Path,
    month: str | None,
    by: tuple[str, ...],
    only: tuple[str, ...],
    basis: str,
    scope: str,
    currency: str | None,
    format_: str,
) -> None:
    """Show the unit costs and efficiency metrics M1 to M10, each with numerator and denominator.

    \b
    trainfare metrics --by team
    trainfare metrics --metric M5 --by job --format csv
    """
    with ExitStack() as stack:
        config = options.load_settings(workspace)
        opened = published.open_book(stack, config, workspace, options.parse_month(month), with_grains=True)
        chosen = opened.currency(currency, config.currency, basis)
        question = Question(keys.parse(list(by) or ["team"], opened.engine), basis, "wall", scope, chosen)
        found = measuring.rows(opened, question, only)
    if format_ == "table":
        found = _first_of_each(found)
    _show("metrics", found, format_, {"basis": basis, "scope": scope, "currency": chosen})


def _first_of_each(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the first rows of each metric, and print how many are left out."""
    shown = []
    for code in dict.fromkeys(row["metric"] for row in found):
        rows = [row for row in found if row["metric"] == code]
        shown += rows[:ROWS_PER_METRIC]
        if len(rows) > ROWS_PER_METRIC:
            more = terminal.count(len(rows) - ROWS_PER_METRIC, "more row")
            terminal.message(f"{code}: {more}; list them with --metric {code} --format csv")
    return shown


@click.command()
@options.workspace_option
@options.month_option
@options.format_option()
def checkpoints(workspace: Path, month: str | None, format_: str) -> None:
    """Recommend how often jobs should write checkpoints: the interval that loses the least, and the monthly savings.

    The recommendations with the largest savings are verified by a simulation that uses no formula.
    """
    from trainfare.simulate.checkpoints import best_interval

    with ExitStack() as stack:
        opened = published.open_book(stack, options.load_settings(workspace), workspace, options.parse_month(month))
        found = measuring.checkpoints(opened)
    for number, row in enumerate(found):
        times = row["writing_seconds"], row["restart_seconds"], row["uptime_seconds"]
        is_simulated = number < SIMULATED_JOBS and row["best_seconds"] and row["writing_seconds"]
        row["simulated_seconds"] = round(best_interval(*times)) if is_simulated else None
    if format_ == "table":
        found = [{heading: row[name] for name, heading in HEADINGS.items()} for row in found]
    _show("checkpoints", found, format_, {})


def _show(name: str, found: list[dict[str, Any]], format_: str, facts: dict[str, Any]) -> None:
    if not found and format_ in ("table", "md"):
        terminal.message("Nothing was measured for this in the month.")
        return
    columns = list(found[0]) if found else FIELDS[name]
    if format_ == "table":
        with_values = [column for column in columns if any(row[column] is not None for row in found)]
        columns = records.fitting_columns(found, with_values, OPTIONAL, terminal.width())
    output.show(Listing(name, found, columns, facts=facts, max_rows=200), format_)
