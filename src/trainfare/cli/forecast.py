"""`trainfare forecast`: the cost of this month and the next, compared with budgets."""

from contextlib import ExitStack
from pathlib import Path
from typing import Any

import click

from trainfare.cli import options, output, published, terminal
from trainfare.cli.output import Listing
from trainfare.query.cost import Question
from trainfare.report import outlook
from trainfare.report.forecast import INTERVAL_PERCENT
from trainfare.report.outlook import Outlook

COLUMNS = ("scope", "month", "so_far", "forecast", "low", "high", "budget", "used", "expected", "method", "error")
FRACTIONS = ("used", "expected", "error")
HEADINGS = {"error": "mean error"}


@click.command()
@options.workspace_option
@click.option(
    "--by",
    type=click.Choice(outlook.BUDGET_LABELS),
    help="Also forecast each value of this label, with or without a budget.",
)
@options.basis_option
@options.scope_option
@options.currency_option
@options.format_option()
def forecast(workspace: Path, by: str | None, basis: str, scope: str, currency: str | None, format_: str) -> None:
    """Forecast the cost of the newest month and the next, with a prediction interval, and compare it with budgets.

    Three methods, and two more with the extra `forecast`, are backtested on the days of the published books; the most
    accurate one is used and named with its mean error. With too few days for a backtest there is no forecast.
    """
    config = options.load_settings(workspace)
    with ExitStack() as stack:
        store = published.open_store(stack, config, workspace)
        _, newest = published.open_latest(stack, store, None, with_grains=True)
        chosen = newest.currency(currency, config.currency, basis)
        question = Question([], basis, "wall", scope, chosen)
        books = [
            outlook.book_spend(
                published.open_latest(stack, store, month, with_grains=True)[1], question, outlook.BUDGET_LABELS
            )
            for month in published.charged_months(store)[-outlook.HISTORY_MONTHS :]
        ]
    budgets = outlook.applicable_budgets(config.budgets(chosen), question)
    found = outlook.outlooks(books, budgets, outlook.label_payers(books, by) if by else ())
    rows = [one.record() for one in found]
    names = [name for name in COLUMNS if name == "forecast" or any(row[name] is not None for row in rows)]
    columns = [HEADINGS.get(name, name) for name in (names if format_ == "table" else COLUMNS)]
    title = f"Forecast ({chosen}, {basis} cost, {scope} scope)"
    facts = {"currency": chosen, "basis": basis, "scope": scope, "band_percent": INTERVAL_PERCENT}
    output.show(Listing("forecast", rows, columns, title, _displayed(rows), facts=facts), format_)
    if format_ == "table":
        if any(row["low"] is not None for row in rows):
            terminal.show(f"low to high: {INTERVAL_PERCENT} % prediction interval")
        for line in dict.fromkeys(_explanation(one) for one in found):
            terminal.show(line)
    for payer, closest in outlook.unmatched_budgets(books, budgets).items():
        label, _, name = payer.partition(":")
        meant = f"Did you mean '{closest}'?" if closest else "Check its spelling."
        terminal.message(f"[budget] {label}: no cost of the books is for '{name}'. {meant}")
    if config.budget and config.budget_currency != chosen:
        terminal.message(
            f"The budget is in {config.budget_currency}, the forecast in {chosen}: the budget is left out."
        )


def _displayed(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the rows as people read them: fractions as percentages, under the headings of the table."""
    percents = [row | {name: f"{row[name]:.1%}" for name in FRACTIONS if row[name] is not None} for row in rows]
    return [{HEADINGS.get(name, name): value for name, value in row.items()} for row in percents]


def _explanation(one: Outlook) -> str:
    """Return how a forecast was made, or why there is none."""
    return f"{one.scope} {one.month}: {one.explanation}"
