"""`trainfare rules test`: what each rule would match."""

from contextlib import ExitStack
from pathlib import Path

import click

from trainfare.cli import options, output, terminal
from trainfare.cli.output import Listing


@click.group()
def rules() -> None:
    """Preview the allocation rules."""


@rules.command()
@options.workspace_option
@click.option("--month", metavar="YYYY-MM", help="The month.  [default: the newest on the bill]")
@options.format_option()
def test(workspace: Path, month: str | None, format_: str) -> None:
    """Show which charges of a month each rule matches under the current settings. Publishes nothing."""
    from trainfare.books.preview import preview_rules
    from trainfare.engine.choice import embedded

    with ExitStack() as stack:
        config = options.load_settings(workspace)
        engine = stack.enter_context(embedded())
        with terminal.progress() as progress:
            tested, found = preview_rules(config, engine, options.parse_month(month), progress)
    columns = ["rule", "kinds", "lines", "effective", "billed", "currency", "goes_to"]
    title, facts = f"Rules and their charges in {tested}", {"month": str(tested)}
    output.show(Listing("rules", found, columns, title, facts=facts), format_)
