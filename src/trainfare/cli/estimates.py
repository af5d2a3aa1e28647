"""`trainfare estimates`: the accuracy of estimates, once the bill has arrived."""

from contextlib import ExitStack
from pathlib import Path

import click

from trainfare.cli import options, output, published, terminal
from trainfare.cli.output import Listing
from trainfare.query.estimates import ERROR_KEYS, accuracy, estimate_errors
from trainfare.report import records

FIELDS = (*ERROR_KEYS, "currency", "first_day", "last_day", "machine_hours", "estimated", "billed", "error")
OPTIONAL = ("price_source", "kind", "machine_hours")
"""Columns that a narrow terminal leaves out, in this order."""


@click.command()
@options.workspace_option
@options.month_option
@options.format_option()
def estimates(workspace: Path, month: str | None, format_: str) -> None:
    """Compare estimates with what was billed for the same hours later."""
    with ExitStack() as stack:
        config = options.load_settings(workspace)
        opened = published.open_book(stack, config, workspace, options.parse_month(month))
        found = estimate_errors(opened)
        accuracies = {currency: accuracy(opened, currency) for currency in sorted({one["currency"] for one in found})}
    if format_ == "table" and not found:
        terminal.show("No estimate has been billed yet.")
        return
    columns = [*ERROR_KEYS, "machine_hours", "estimated", "billed", "error", "currency"]
    if format_ == "table":
        columns = records.fitting_columns(found, columns, OPTIONAL, terminal.width())
    book = opened.books[0].month
    title, facts = f"Estimated and billed cost of {book}", {"month": str(book)}
    output.show(Listing("errors", found, columns, title, fields=FIELDS, facts=facts), format_)
    for currency, one in accuracies.items() if format_ == "table" else ():
        if one and one.relative_error is not None:
            days = terminal.count(one.days, "estimated day")
            terminal.message(f"{currency}: within {one.relative_error:.1%} of the bill over the last {days}.")
