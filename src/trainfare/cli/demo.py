"""`trainfare demo`: a whole company's month without any file of your own."""

from contextlib import ExitStack
from pathlib import Path

import click

from trainfare.cli import options, published, terminal
from trainfare.cli.report import show
from trainfare.errors import TrainfareError
from trainfare.report import cost

SETTINGS = """\
# The demo's workspace: everything else is as built in.
[[source]]
name = "cloud"
path = "bill-cloud.csv"

[[source]]
name = "owned"
path = "bill-owned.csv"

[[source]]
path = "jobs.csv"

[[source]]
path = "machines.csv"
"""


@click.command()
@click.option(
    "--folder",
    type=click.Path(path_type=Path),
    default=Path("trainfare-demo"),
    show_default=True,
    help="Where to put it.",
)
@click.option("--seed", type=int, default=1, show_default=True, help="Another number is another month.")
def demo(folder: Path, seed: int) -> None:
    """Invent a month of a company, build its book and report it. No network, no settings, nothing but one folder."""
    from trainfare import pipeline
    from trainfare.config import FILE_NAME
    from trainfare.simulate import write

    if folder.exists() and not (folder / "truth.json").exists() and any(folder.iterdir()):
        raise TrainfareError(str(folder), "this folder has something else in it", "Name another one with --folder.")
    with ExitStack() as stack:
        with terminal.progress() as told:
            told("inventing a month")
            try:
                invented = write(folder, seed)
                (folder / FILE_NAME).write_text(SETTINGS, encoding="utf-8")
            except OSError as error:
                raise TrainfareError(
                    str(folder), f"cannot be written ({error.strerror})", "Name another folder."
                ) from None
            config = options.settings_of(folder)
            store = published.open_store(stack, config, folder)
            built = pipeline.build(config, store, None, told)
        engine = stack.enter_context(pipeline.fresh_engine())
        from trainfare.report.opened import open_books

        opened = open_books(engine, [store.files(built[-1].book)])
        show(cost.report(opened, cost.Question(["team"])), "table")
        (dearest,) = engine.row(
            "SELECT job_id FROM shares WHERE job_id IS NOT NULL GROUP BY job_id ORDER BY sum(effective) DESC, job_id LIMIT 1"
        )
    terminal.talk(f"\nInvented and built in {folder}: {invented.summary}. Try next:")
    for line in (
        "trainfare report --by project --by day --per gpu",
        f"trainfare explain {dearest}",
        "trainfare rules test",
        "trainfare reconcile",
    ):
        terminal.talk(f"  {line} -w {folder}")
