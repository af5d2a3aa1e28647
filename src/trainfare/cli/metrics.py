"""`trainfare metrics` and `trainfare checkpoints`: unit costs, and how to lose less work."""

from contextlib import ExitStack
from pathlib import Path
from typing import Any

import click
from rich.text import Text

from trainfare.cli import options, output, period, published, terminal
from trainfare.cli.output import Listing
from trainfare.query import keys
from trainfare.query import metrics as measuring
from trainfare.query.cost import Question
from trainfare.report import documents, records, render
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
@period.period_options
@period.where_option
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
    start: str | None,
    end: str | None,
    where: tuple[str, ...],
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
        store = published.open_store(stack, config, workspace)
        wanted = period.parse(month, start, end)
        _, opened, days = published.open_period(stack, store, wanted, with_grains=True)
        chosen = opened.currency(currency, config.currency, basis)
        grouped, filters = keys.parse(list(by) or ["team"], opened.engine), period.filters(where, opened)
        question = Question(grouped, basis, "wall", scope, chosen, days, filters)
        found = measuring.rows(opened, question, only)
        covered = documents.window(opened.covered(days))
        heading = f"{render.period(opened.covered(days))} ({chosen}, {basis} cost, {scope} scope)"
    if format_ == "table" and found:
        terminal.show(Text(f"Metrics, {heading}\n", style="bold"))
        _show_by_metric(found)
    else:
        _show("metrics", found, format_, {"basis": basis, "scope": scope, "currency": chosen, "window": covered})


def _show_by_metric(found: list[dict[str, Any]]) -> None:
    """Print one table for each metric, with its name and unit; parts of a cost are percentages."""
    for code in dict.fromkeys(row["metric"] for row in found):
        rows = [row for row in found if row["metric"] == code]
        units = {row["unit"] for row in rows}
        is_divided = any(row["denominator"] not in (None, 1) for row in rows)
        shown = [_for_people(row, with_parts=is_divided, with_unit=len(units) > 1) for row in rows]
        unit = f", {rows[0]['unit']}" if len(units) == 1 else ""
        columns = [name for name in shown[0] if any(row[name] is not None for row in shown)]
        title = f"{code} {rows[0]['metric_name']}{unit}"
        terminal.show(Text(title, style="bold"))
        terminal.show(records.as_table("", shown[:ROWS_PER_METRIC], columns))
        if len(rows) > ROWS_PER_METRIC:
            more = terminal.count(len(rows) - ROWS_PER_METRIC, "more row")
            terminal.message(f"{code}: {more}; list them with --metric {code} --format csv")
        terminal.show("")


def _for_people(row: dict[str, Any], with_parts: bool, with_unit: bool) -> dict[str, Any]:
    """Return the cells of a metric's row: its group, its value, and what is divided by what."""
    named = ("metric", "metric_name", "numerator", "denominator", "value", "unit", "note")
    cells = {name: value for name, value in row.items() if name not in named}
    value = row["value"]
    if value is not None and row["unit"].startswith("of "):
        value = f"{100 * value:.2f} %"
    parts = {"cost": row["numerator"], "divided_by": row["denominator"]} if with_parts else {}
    return cells | {"value": value} | ({"unit": row["unit"]} if with_unit else {}) | parts | {"note": row["note"]}


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
