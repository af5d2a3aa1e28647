"""`trainfare demo`: a simulated company, built and reported, without any file of your own."""

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import click

from trainfare.cli import options, published, terminal
from trainfare.cli.report import show
from trainfare.errors import TrainfareError
from trainfare.query import cost

if TYPE_CHECKING:
    from trainfare.simulate import SimulatedMonth

SETTINGS = """\
# The demo's workspace. Everything else uses the defaults.
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
# Earlier, smaller months: the history for trends and forecasts.
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
"""The size of the earlier months, the latest first."""
JOB_NUMBERS_PER_MONTH = 20_000
"""The distance between the first job numbers of consecutive months."""
TOP_JOB = (
    "SELECT job_id FROM shares WHERE job_id IS NOT NULL GROUP BY job_id ORDER BY sum(effective) DESC, job_id LIMIT 1"
)


@click.command()
@click.option(
    "--folder",
    type=click.Path(path_type=Path),
    default=Path("trainfare-demo"),
    show_default=True,
    help="Where to write it.",
)
@click.option("--seed", type=int, default=1, show_default=True, help="The random seed: another seed, another month.")
@click.option(
    "--months",
    type=click.IntRange(1, len(SCALES) + 1),
    default=1,
    show_default=True,
    help="How many months; earlier ones are smaller.",
)
@click.option("--serve", "is_serving", is_flag=True, help="Then open it in the browser. Stop with Ctrl-C.")
@click.option("--port", type=click.IntRange(0, 65535), default=8765, show_default=True, help="The port for --serve.")
def demo(folder: Path, seed: int, months: int, is_serving: bool, port: int) -> None:
    """Simulate a month of a company, build its book and report it. Needs no network and no settings, only a folder."""
    from trainfare.books.build import build_books
    from trainfare.engine.choice import embedded
    from trainfare.query.open_books import open_books

    if folder.exists() and not (folder / "truth.json").exists() and any(folder.iterdir()):
        raise TrainfareError(str(folder), "the folder is not empty", "Choose another one with --folder.")
    with ExitStack() as stack:
        with terminal.progress() as progress:
            progress("simulating a month")
            simulated = _write(folder, seed, months)
            config = options.load_settings(folder)
            store = published.open_store(stack, config, folder)
            built = build_books(config, store, None, progress)
        engine = stack.enter_context(embedded())
        opened = open_books(engine, [store.files(built[-1].book, others=store.others_of(built[-1].book))])
        show(cost.report(opened, cost.Question(["team"])), "table")
        (top_job,) = engine.row(TOP_JOB)
    terminal.message(f"\nSimulated and built in {folder}: {simulated.summary}. Try next:")
    lines = ["report --by project --by day --per gpu", f"explain {top_job}", "rules test", "reconcile"]
    for line in lines if is_serving else [*lines, "serve"]:
        terminal.message(f"  {options.command(line, folder)}")
    if is_serving:
        _serve(folder, port)


def _write(folder: Path, seed: int, months: int) -> "SimulatedMonth":
    """Write the workspace: the newest month, and each earlier one in a folder of its own."""
    from trainfare.settings.config import FILE_NAME
    from trainfare.simulate import DEFAULT_MONTH, write

    try:
        simulated = write(folder, seed)
        month = DEFAULT_MONTH
        for number, scale in enumerate(SCALES[: months - 1], 1):
            month = month.previous()
            write(folder / "earlier" / str(month), seed + number, month, scale, number * JOB_NUMBERS_PER_MONTH)
        (folder / FILE_NAME).write_text(SETTINGS + (EARLIER if months > 1 else ""), encoding="utf-8")
    except OSError as error:
        what = f"cannot be written ({error.strerror})"
        raise TrainfareError(str(folder), what, "Choose another folder.") from None
    return simulated


def _serve(folder: Path, port: int) -> None:
    """Serve the pages until Ctrl-C and open a browser; without a terminal, where Ctrl-C is impossible, only say how."""
    import webbrowser
    from threading import Timer

    from trainfare.cli.serve import serve

    if not terminal.is_interactive():
        terminal.message(f"\nServe the pages with: {options.command(f'serve --port {port}', folder)}")
        return
    Timer(1.5, webbrowser.open, [f"http://127.0.0.1:{port}/"]).start()
    click.get_current_context().invoke(serve, workspace=folder, port=port)
