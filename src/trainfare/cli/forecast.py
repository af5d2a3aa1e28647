"""`trainfare forecast`: how the month may end, what the next may cost, and the budgets beside it."""

from contextlib import ExitStack
from pathlib import Path
from typing import Any

import click

from trainfare.cli import options, published, terminal
from trainfare.report import cost, outlook, records
from trainfare.report.cost import Question
from trainfare.report.forecast import BAND
from trainfare.report.outlook import Outlook
from trainfare.tables import BASES

COLUMNS = ("of", "month", "so_far", "forecast", "low", "high", "budget", "used", "expected", "method", "error")
PARTS = ("used", "expected", "error")


@click.command()
@options.workspace_option
@click.option(
    "--by", type=click.Choice(outlook.LABELS), help="Tell these apart, too, whether they have a budget or not."
)
@click.option("--basis", type=click.Choice(BASES), default="effective", show_default=True, help="Which cost.")
@click.option("--scope", type=click.Choice(cost.SCOPES), default="full", show_default=True, help="Which part of it.")
@click.option("--currency", help="Which currency, where the bill has several.")
@options.format_option()
def forecast(workspace: Path, by: str | None, basis: str, scope: str, currency: str | None, format_: str) -> None:
    """How the newest month may end and what the next may cost, with a band, and the budgets beside it.

    Three methods, and two more with the extra `forecast`, are tested on the days of the published books; the one that was least wrong is
    taken, and named with its error. With too few days to test it, there is no forecast.
    """
    config = options.settings_of(workspace)
    with ExitStack() as stack:
        store = published.open_store(stack, config, workspace)
        _, newest = published.open_latest(stack, store, None)
        chosen = newest.currency(currency, config.currency, basis)
        question = Question([], basis, "wall", scope, chosen)
        books = [
            outlook.seen(published.open_latest(stack, store, month)[1], question, outlook.LABELS)
            for month in published.charged_months(store)[-outlook.MONTHS :]
        ]
    budgets = outlook.allowed(config.budgets(chosen), question)
    found = outlook.outlooks(books, budgets, outlook.values(books, by) if by else ())
    told = [one.record() for one in found]
    if format_ == "json":
        print(records.as_json("forecast", told, currency=chosen, basis=basis, scope=scope, band_percent=BAND))
    elif format_ == "csv":
        print(records.as_csv(told), end="")
    elif format_ == "md":
        print(records.as_markdown(_shown(told), COLUMNS), end="")
    else:
        columns = [name for name in COLUMNS if name == "forecast" or any(row[name] is not None for row in told)]
        terminal.show(records.as_table(f"Forecast ({chosen}, {basis} cost, {scope} scope)", _shown(told), columns))
        for line in dict.fromkeys(_why(one) for one in found):
            terminal.show(line)
    if config.budget and config.budget_currency != chosen:
        terminal.talk(f"The budget is in {config.budget_currency}, and this is in {chosen}: it is left out.")


def _shown(told: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Records for eyes: parts of a whole as percentages."""
    return [row | {name: f"{row[name]:.1%}" for name in PARTS if row[name] is not None} for row in told]


def _why(one: Outlook) -> str:
    """How a figure came about, or why there is none."""
    return f"{one.of} {one.month}: {one.told}"
