"""Talking to a person: what is data goes to stdout, everything else to stderr."""

import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console, RenderableType
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn


def width() -> int:
    return shutil.get_terminal_size((120, 40)).columns


def is_interactive() -> bool:
    """Whether somebody sits there who can read and press Ctrl-C."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def show(what: RenderableType) -> None:
    """Print to stdout as wide as the terminal is; without a terminal, without colours."""
    Console(width=width(), highlight=False, soft_wrap=False).print(what)


def talk(text: str) -> None:
    print(text, file=sys.stderr)


@contextmanager
def progress() -> Iterator[Callable[[str], None]]:
    """A bar that says what is being done, on a terminal only."""
    if not sys.stderr.isatty():
        yield lambda told: None
        return
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(bar_width=24), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("starting", total=None)
        yield lambda told: bar.update(task, description=told)
