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

[[source]]
path = "measurements.csv"
"""


EARLIER = """
# The months before, smaller: they give the trend its past.
[[source]]
name = "cloud"
path = "earlier/*/bill-cloud.csv"

[[source]]
name = "owned"
path = "earlier/*/bill-owned.csv"

[[source]]
path = "earlier/*/jobs.csv"

[[source]]
path = "earlier/*/machines.csv"

[[source]]
path = "earlier/*/measurements.csv"
"""
SCALES = (0.82, 0.7, 0.88, 0.62, 0.55)
"""How large the months before are, the last one first."""
JOBS_APART = 20_000
"""The numbers of the jobs of different months are this far apart."""


@click.command()
@click.option(
    "--folder",
    type=click.Path(path_type=Path),
    default=Path("trainfare-demo"),
    show_default=True,
    help="Where to put it.",
)
@click.option("--seed", type=int, default=1, show_default=True, help="Another number is another month.")
@click.option(
    "--months",
    type=click.IntRange(1, len(SCALES) + 1),
    default=1,
    show_default=True,
    help="How many; those before are smaller.",
)
@click.option("--serve", "serving", is_flag=True, help="Then show it in the browser. Ctrl-C ends it.")
@click.option("--port", type=click.IntRange(0, 65535), default=8765, show_default=True, help="The port for --serve.")
def demo(folder: Path, seed: int, months: int, serving: bool, port: int) -> None:
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
                _write_earlier(folder, seed, months - 1)
                (folder / FILE_NAME).write_text(SETTINGS + (EARLIER if months > 1 else ""), encoding="utf-8")
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
        "report --by project --by day --per gpu",
        f"explain {dearest}",
        "rules test",
        "reconcile",
        *(() if serving else ("serve",)),
    ):
        terminal.talk(f"  {options.command(line, folder)}")
    if serving:
        _serve(folder, port)


def _write_earlier(folder: Path, seed: int, months: int) -> None:
    """Invent the months before the demo's, each in a folder of its own."""
    from trainfare.simulate import DEFAULT_MONTH, write

    month = DEFAULT_MONTH
    for number, scale in enumerate(SCALES[:months], 1):
        month = month.previous()
        write(folder / "earlier" / str(month), seed + number, month, scale, number * JOBS_APART)


def _serve(folder: Path, port: int) -> None:
    """Show the pages until Ctrl-C, with a browser if this machine has one. Without a terminal nobody could end it."""
    import webbrowser
    from threading import Timer

    from trainfare.cli.serve import serve

    if not terminal.is_interactive():
        terminal.talk(f"\nThe pages: {options.command(f'serve --port {port}', folder)}")
        return
    Timer(1.5, webbrowser.open, [f"http://127.0.0.1:{port}/"]).start()
    click.get_current_context().invoke(serve, workspace=folder, port=port)
