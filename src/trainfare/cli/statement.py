"""`trainfare statement`: monthly statements of cost centers."""

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from trainfare.cli import options, published, terminal
from trainfare.errors import Problems, TrainfareError

if TYPE_CHECKING:
    from trainfare.report.statements.statement import Statement

FORMATS = ("pdf", "xlsx", "html")


@click.command()
@click.argument("values", nargs=-1, metavar="[VALUE]...")
@options.workspace_option
@options.month_option
@click.option("--by", default="cost_center", show_default=True, help="The label that gets one statement per value.")
@options.basis_option
@options.scope_option
@options.currency_option
@click.option("--format", "formats", type=click.Choice(FORMATS), multiple=True, help="Repeatable.  [default: html]")
@click.option(
    "--folder", type=click.Path(path_type=Path), default=Path("statements"), show_default=True, help="Where to write."
)
def statement(
    values: tuple[str, ...],
    workspace: Path,
    month: str | None,
    by: str,
    basis: str,
    scope: str,
    currency: str | None,
    formats: tuple[str, ...],
    folder: Path,
) -> None:
    """Write the monthly statement of each cost center, or of the given VALUEs: its cost, reconciled with the bill."""
    from trainfare.query.cost import Question
    from trainfare.report.statements import formats as rendering
    from trainfare.report.statements.statement import statements

    with ExitStack() as stack:
        config = options.load_settings(workspace)
        store = published.open_store(stack, config, workspace)
        book, opened = published.open_latest(stack, store, options.parse_month(month), with_grains=True)
        question = Question([], basis, "gpu", scope, opened.currency(currency, config.currency, basis))
        closing_state = rendering.book_state(opened, book, store.catalog.closing(book.month))
        folder.mkdir(parents=True, exist_ok=True)
        run = Run()
        with terminal.progress() as progress:
            progress(f"adding up {book.month}")
            for one in statements(opened, question, by, closing_state, values):
                for format_ in formats or ("html",):
                    path = folder / f"{one.name}.{format_}"
                    progress(f"writing {path.name}")
                    run.write(path, one, partial(rendering.render, one, format_))
    run.summarize(folder, by)


@dataclass
class Run:
    """The files written so far, whose they are, and what went wrong with the others."""

    written: int = 0
    values: set[str] = field(default_factory=set)
    problems: Problems = field(default_factory=Problems)

    def write(self, path: Path, statement: "Statement", render: Callable[[], bytes]) -> None:
        """Write one statement. Whatever is wrong with it does not keep the others from being written."""
        from trainfare.report.statements.statement import MissingPackageError

        try:
            path.write_bytes(render())
        except MissingPackageError:
            raise
        except TrainfareError as error:
            self.problems.add(statement.title, error.what, error.do)
        except OSError as error:
            self.problems.add(
                str(path), f"cannot be written ({error.strerror})", "Choose another folder with --folder."
            )
        except Exception as error:  # a defect of ours in one group; the others are complete
            what = f"{path.suffix[1:]} could not be made ({error})"
            self.problems.add(statement.title, what, "Internal error; please report it. Use another --format.")
        else:
            terminal.message(str(path))
            self.written += 1
            self.values.add(statement.value)

    def summarize(self, folder: Path, by: str) -> None:
        """State what was written; raise an error that lists what was not."""
        files, groups = terminal.count(self.written, "file"), terminal.count(len(self.values), by.replace("_", " "))
        terminal.message(f"Wrote {files} for {groups} to {folder}.")
        self.problems.raise_if_any()
