"""`trainfare simulate` and `trainfare gameday`: months whose truth is known."""

import time
from collections.abc import Callable, Sequence
from pathlib import Path

import click

from trainfare.cli import options, terminal
from trainfare.errors import TrainfareError

FEWEST, MOST = 8, 5000
COLUMNS = [
    *("day", "seeds", "right", "found", "missed", "false", "jobs", "wrong_jobs", "worst_job", "error_of_bill"),
    *("stake_off_median", "stake_off_most", "estimate_off_median", "estimate_off_most"),
]
PRINTED = """\
<!-- Printed by `make scorecard`. Do not edit. -->
# Score card

Months with known truth, invented by `trainfare simulate`, built and checked: seeds {first} to {last}, {machines} machines. What the
columns mean: [game days](howto/gameday.md).

"""


def machines_option(default: int) -> Callable[[options.Command], options.Command]:
    size = click.IntRange(FEWEST, MOST)
    return click.option("--machines", type=size, default=default, show_default=True, help="Places for machines.")


@click.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--seed", type=int, default=1, show_default=True, help="Another number is another month.")
@machines_option(40)
@click.option("--fault", "faults", multiple=True, metavar="CODE[:SIZE][@DAY]", help="What goes wrong, as in F7:2@10.")
@click.option(
    "--billed-through",
    type=click.IntRange(2, 30),
    metavar="DAY",
    help="The bills as they were when they had come this far; run it again without, and they are complete.",
)
def simulate(folder: Path, seed: int, machines: int, faults: Sequence[str], billed_through: int | None) -> None:
    """Invent a month of a cluster in FOLDER: its records as a company gets them, and the truth behind them."""
    from trainfare.simulate.cluster import parse, play
    from trainfare.simulate.cluster.gameday import OCTOBER

    wanted = parse(faults, OCTOBER)
    if folder.exists() and not (folder / "truth.json").exists() and any(folder.iterdir()):
        raise TrainfareError(str(folder), "this folder has something else in it", "Name another one.")
    started = time.monotonic()
    with terminal.progress() as told:
        told("running the cluster")
        played = play(folder, seed, machines, wanted, OCTOBER, billed_through)
    for code, money in played.stakes.items():
        terminal.talk(f"{code}: {money:,.2f} USD are at stake")
    terminal.talk(f"{folder}: {played.summary}  ({time.monotonic() - started:.1f} s)")
    terminal.talk(f"next: {options.command('build', folder)}; {options.command('check', folder)}")


@click.command()
@click.option(
    "--seeds", type=click.IntRange(1, 1000), default=3, show_default=True, help="How many months of each kind."
)
@click.option("--first", type=int, default=1, show_default=True, help="The first seed.")
@machines_option(24)
@click.option(
    "--fault", "faults", multiple=True, metavar="CODE[:SIZE][@DAY]", help="Only these.  [default: every fault]"
)
@click.option("--workers", type=click.IntRange(1, 64), default=2, show_default=True, help="Months played at once.")
@options.format_option()
def gameday(seeds: int, first: int, machines: int, faults: Sequence[str], workers: int, format_: str) -> None:
    """Play months with known truth and one fault each; build, check, and print a score card. Exit code 1 if a goal is missed."""
    from trainfare import gameday as days
    from trainfare.report import records
    from trainfare.simulate.cluster.faults import KINDS, parse

    parse(faults, days.MONTH)
    asked = [days.COMPLETE, *(faults or KINDS)]
    with terminal.progress() as told:
        scores = list(days.run(asked, range(first, first + seeds), machines, workers, told))
    lines = [score.record() for score in scores]
    if format_ == "json":
        print(records.as_json("days", lines, machines=machines))
    elif format_ == "csv":
        print(records.as_csv(lines), end="")
    elif format_ == "md":
        print(PRINTED.format(first=first, last=first + seeds - 1, machines=machines), end="")
        print(records.as_markdown(lines, COLUMNS), end="")
    else:
        terminal.show(records.as_table(f"Game days, {machines} machines", lines, COLUMNS))
    for score in scores:
        for one in score.results:
            if not one.is_right:
                terminal.talk(f"{one.day} seed {one.seed}: found {sorted(one.found)}, stake off {one.stake_error:.2%}")
    if not all(score.is_reached for score in scores):
        raise click.exceptions.Exit(1)
