"""`trainfare metrics` and `trainfare checkpoints`: what training costs by every measure, and how to lose less of it."""

from contextlib import ExitStack
from pathlib import Path
from typing import Any

import click

from trainfare.cli import options, published, terminal
from trainfare.report import cost, keys, records
from trainfare.report import metrics as measuring
from trainfare.report.cost import Question
from trainfare.tables import BASES

CHECKED = 10
"""Intervals that are tried in a simulation; one takes about a quarter of a second."""
SHOWN = 10
"""Rows of one metric on a terminal."""
SHORT = {
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
"""What a terminal shows of the advice, and under which name."""

SPARED = ("uptime s", "writing s", "spent", "simulated s")
"""Columns that a narrow terminal does without, in this order."""


@click.command()
@options.workspace_option
@options.month_option
@click.option("--by", multiple=True, help="Group by up to three: job, team, project, a label, day ...  [default: team]")
@click.option("--metric", "only", multiple=True, metavar="CODE", help="Only this one, such as M5. May be given again.")
@click.option("--basis", type=click.Choice(BASES), default="effective", show_default=True, help="Which cost.")
@click.option("--scope", type=click.Choice(cost.SCOPES), default="full", show_default=True, help="Which part of it.")
@click.option("--currency", help="Which currency, where the bill has several.")
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
    """M1 to M10: what training costs by every measure, each with what was divided by what.

    \b
    trainfare metrics --by team
    trainfare metrics --metric M5 --by job --format csv
    """
    with ExitStack() as stack:
        config = options.settings_of(workspace)
        opened = published.open_book(stack, config, workspace, options.as_month(month), by_digest=True)
        chosen = opened.currency(currency, config.currency, basis)
        question = Question(keys.parse(list(by) or ["team"], opened.engine), basis, "wall", scope, chosen)
        found = measuring.rows(opened, question, only)
    if format_ == "table":
        found = _first_of_each(found)
    _show("metrics", found, format_, basis=basis, scope=scope, currency=chosen)


def _first_of_each(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The first rows of each metric; what is left out is told."""
    kept = []
    for code in dict.fromkeys(row["metric"] for row in found):
        rows = [row for row in found if row["metric"] == code]
        kept += rows[:SHOWN]
        if len(rows) > SHOWN:
            terminal.talk(f"{code}: {len(rows) - SHOWN} more; see them with --metric {code} --format csv")
    return kept


@click.command()
@options.workspace_option
@options.month_option
@options.format_option()
def checkpoints(workspace: Path, month: str | None, format_: str) -> None:
    """How often jobs should save their work: the interval that loses least, and what it saves of the month's money.

    The dearest are checked by a simulation that knows no formula.
    """
    from trainfare.simulate.checkpoints import best_interval

    with ExitStack() as stack:
        opened = published.open_book(stack, options.settings_of(workspace), workspace, options.as_month(month))
        found = measuring.checkpoints(opened)
    for number, row in enumerate(found):
        asked = row["writing_seconds"], row["restart_seconds"], row["uptime_seconds"]
        is_checked = number < CHECKED and row["best_seconds"] and row["writing_seconds"]
        row["simulated_seconds"] = round(best_interval(*asked)) if is_checked else None
    if format_ == "table":
        found = [{shown: row[name] for name, shown in SHORT.items()} for row in found]
    _show("checkpoints", found, format_)


def _show(name: str, found: list[dict[str, Any]], format_: str, **beside: Any) -> None:
    if format_ == "json":
        print(records.as_json(name, found, **beside))
    elif format_ == "csv":
        print(records.as_csv(found), end="")
    elif not found:
        terminal.talk("Nothing of the kind was measured in this month.")
    elif format_ == "md":
        print(records.as_markdown(found, list(found[0])), end="")
    else:
        told = [column for column in found[0] if _is_told(found, column)]
        columns = records.fitting(found, told, SPARED, terminal.width())
        terminal.show(records.as_table(name, found, columns, most=200))


def _is_told(found: list[dict[str, Any]], column: str) -> bool:
    return any(row[column] is not None for row in found)
