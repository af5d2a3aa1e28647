"""`trainfare rules test`: what each rule takes, and what is left."""

from contextlib import ExitStack
from pathlib import Path

import click

from trainfare.cli import options, terminal
from trainfare.report import records


@click.group()
def rules() -> None:
    """Look at the rules in force."""


@rules.command()
@options.workspace_option
@click.option("--month", metavar="YYYY-MM", help="The month.  [default: the newest on the bill]")
@options.format_option()
def test(workspace: Path, month: str | None, format_: str) -> None:
    """What each rule takes of the month's charges, with the settings as they are now. Publishes nothing."""
    from trainfare import pipeline

    with ExitStack() as stack:
        config = options.settings_of(workspace)
        engine = stack.enter_context(pipeline.fresh_engine())
        with terminal.progress() as told:
            tested, found = pipeline.try_rules(config, engine, options.as_month(month), told)
    columns = ["rule", "kinds", "lines", "effective", "billed", "currency", "goes_to"]
    if format_ == "json":
        print(records.as_json("rules", found, month=str(tested)))
    elif format_ == "csv":
        print(records.as_csv(found), end="")
    elif format_ == "md":
        print(records.as_markdown(found, columns), end="")
    else:
        terminal.show(records.as_table(f"Rules in force, charges of {tested}", found, columns))
