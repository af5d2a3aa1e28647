"""Output for people: data goes to stdout, everything else to stderr."""

import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.text import Text

from trainfare import quoting


def width() -> int:
    return shutil.get_terminal_size((120, 40)).columns


def is_interactive() -> bool:
    """Return whether a person can read the messages and press Ctrl-C."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def show(content: RenderableType) -> None:
    """Print to stdout in the width of the terminal.

    Without a terminal there are no colors, and a sentence stays on one line, so that it can be searched for. Text is
    shown as it is: nothing in it is markup or an escape sequence.
    """
    if isinstance(content, str):
        content = Text(content)
    if isinstance(content, Text):
        content.plain = quoting.visible(content.plain)
    is_sentence = isinstance(content, Text) and not sys.stdout.isatty()
    Console(width=width(), highlight=False, soft_wrap=is_sentence).print(content)


def show_indented(text: str, indent: int) -> None:
    """Print a sentence to stdout, indented, also where it wraps. Without a terminal it stays on one line."""
    plain = quoting.one_line(text)
    show(Padding(Text(plain), (0, 0, 0, indent)) if sys.stdout.isatty() else Text(" " * indent + plain))


def message(text: str) -> None:
    """Print to stderr, without escape sequences that the text may contain."""
    print(quoting.visible(text), file=sys.stderr)


def report_unread(columns: Mapping[Any, Sequence[str]]) -> None:
    """Print the columns of files that nothing reads, to stderr: one of them may be misspelled."""
    for path, names in columns.items():
        message(f"{path}: columns that are not read: {', '.join(names)}")


def count(number: int, noun: str) -> str:
    """Return the number with its noun, in the plural unless it is one."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


@contextmanager
def progress() -> Iterator[Callable[[str], None]]:
    """Show a progress bar, on a terminal only; yield a function that sets its description."""
    if not sys.stderr.isatty():
        yield lambda description: None
        return
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=24),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("starting", total=None)
        yield lambda description: bar.update(task, description=quoting.one_line(description))
