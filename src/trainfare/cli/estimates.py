"""`trainfare estimates`: what was estimated, and what the bill then said."""

from contextlib import ExitStack
from pathlib import Path

import click

from trainfare.cli import options, published, terminal
from trainfare.report import records
from trainfare.report.estimated import ERRORS, accuracy, errors

SPARED = ("price_source", "kind", "machine_hours")
"""Columns that a narrow terminal does without, in this order."""


@click.command()
@options.workspace_option
@options.month_option
@options.format_option()
def estimates(workspace: Path, month: str | None, format_: str) -> None:
    """How good estimates were: what was estimated, and what the bill said when it came."""
    with ExitStack() as stack:
        config = options.settings_of(workspace)
        opened = published.open_book(stack, config, workspace, options.as_month(month))
        found = errors(opened)
        told = [(currency, accuracy(opened, currency)) for currency in sorted({one["currency"] for one in found})]
    columns = [*ERRORS, "machine_hours", "estimated", "billed", "error", "currency"]
    if format_ == "json":
        print(records.as_json("errors", found, month=str(opened.books[0].month)))
    elif format_ == "csv":
        print(records.as_csv(found), end="")
    elif format_ == "md":
        print(records.as_markdown(found, columns), end="")
    elif not found:
        terminal.show("Nothing that was estimated has been billed yet.")
    else:
        columns = records.fitting(found, columns, SPARED, terminal.width())
        terminal.show(records.as_table(f"Estimates of {opened.books[0].month} and the bill", found, columns))
        for currency, good in told:
            if good and good.off is not None:
                terminal.talk(
                    f"{currency}: within {good.off:.1%} of the bill over the last {good.days} days that were estimated."
                )
