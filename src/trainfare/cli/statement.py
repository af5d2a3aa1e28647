"""`trainfare statement`: what each cost centre is charged, for filing."""

from contextlib import ExitStack
from pathlib import Path

import click

from trainfare.cli import options, published, terminal
from trainfare.tables import BASES

FORMS = ("pdf", "xlsx", "html")


@click.command()
@click.argument("values", nargs=-1, metavar="[VALUE]...")
@options.workspace_option
@options.month_option
@click.option("--by", default="cost_center", show_default=True, help="The label that statements are made by.")
@click.option("--basis", type=click.Choice(BASES), default="effective", show_default=True, help="Which cost.")
@click.option(
    "--scope",
    type=click.Choice(("full", "infra")),
    default="full",
    show_default=True,
    help="infra leaves out licences and labour.",
)
@click.option("--currency", help="Which currency, where the bill has several.")
@click.option("--format", "forms", type=click.Choice(FORMS), multiple=True, help="May be given again.  [default: html]")
@click.option(
    "--folder", type=click.Path(path_type=Path), default=Path("statements"), show_default=True, help="Where to."
)
def statement(
    values: tuple[str, ...],
    workspace: Path,
    month: str | None,
    by: str,
    basis: str,
    scope: str,
    currency: str | None,
    forms: tuple[str, ...],
    folder: Path,
) -> None:
    """Write the monthly statement of each cost centre, or of the VALUEs named: what it is charged, what for, and how that ties out."""
    from trainfare.report.cost import Question
    from trainfare.report.statements import forms as printed
    from trainfare.report.statements.statement import statements

    with ExitStack() as stack:
        config = options.settings_of(workspace)
        store = published.open_store(stack, config, workspace)
        book, opened = published.open_latest(stack, store, options.as_month(month))
        question = Question([], basis, "gpu", scope, opened.currency(currency, config.currency, basis))
        closed = printed.state_of(opened, book, store.catalog.closing(book.month))
        folder.mkdir(parents=True, exist_ok=True)
        with terminal.progress() as told:
            told(f"adding up {book.month}")
            for one in statements(opened, question, by, closed, values):
                for form in forms or ("html",):
                    path = folder / f"{one.name}.{form}"
                    told(f"writing {path.name}")
                    path.write_bytes(printed.render(one, form))
                    terminal.talk(str(path))
