"""What a collector is: one module per running system that queries it from a cursor on.

A module satisfies `Collector` by defining its members at the top level. It writes nothing: `collect/run.py` commits
each batch with its cursor, leaves out what is known already, and seals recordings. So a collector may be killed,
repeated and overlap with itself; all it has to guarantee is that a query from a cursor finds everything after that
cursor, again and again.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Protocol

from trainfare.store.recordings.values import Batch, Observed, Op

__all__ = ("Batch", "Collector", "Observed", "Op", "Query", "Setup")


@dataclass(frozen=True)
class Query:
    """What a collector is to query."""

    name: str
    """Its name in the settings, for messages."""
    since: date | None
    """The first day, if nothing was collected before."""
    options: dict[str, str]
    folder: Path
    """The folder of the settings, which relative paths start from."""
    token: str | None
    """The secret itself. It must appear in no message and no observation."""
    cursor: str | None
    """Where the last committed batch ended; None at the first time."""
    open_uids: Callable[[str], list[str]]
    """Returns the recorded objects of a kind that are not over."""
    wait_seconds: float = 0.0
    """How long to stay and listen, for a system that reports changes by itself."""


@dataclass(frozen=True)
class Setup:
    """What is needed to collect from a system, for `trainfare init`."""

    name: str
    """A name for the collector: what the system calls itself."""
    options: dict[str, str]
    """Its options in the settings."""
    found: tuple[str, ...]
    """What will be queried."""
    missing: tuple[str, ...]
    """Which permissions are missing, in sentences; none if everything can be queried."""
    manifest: str
    """The least privilege, and how to run it next to the system, in a form that can be applied."""


class Collector(Protocol):
    """Queries one kind of system."""

    SYSTEM: str
    """The name of the system in the settings."""
    OPTIONS: tuple[str, ...]
    """The options that it reads."""
    DESCRIPTION: str
    """What is queried, for people."""

    def collect(self, query: Query) -> Iterator[Batch]:
        """Yield what there is after the cursor, in batches that each can be committed on their own.

        Each batch is committed before the next is requested. A system that cannot be reached, or that refuses, is a
        TrainfareError, best an UnreachableError; what was committed before it stays.
        """

    def prepare(self, query: Query) -> Setup:
        """Return what is needed to collect from a system, without recording or changing anything."""
