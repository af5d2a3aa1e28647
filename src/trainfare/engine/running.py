"""The embedded engines of this process, so that whoever hears that the work is over can stop what they are at."""

from typing import Protocol
from weakref import WeakSet


class Stoppable(Protocol):
    """Something at work."""

    def stop(self) -> None:
        """Give up the statement that is running, if one is; the next one runs as usual."""


ENGINES: WeakSet[Stoppable] = WeakSet()
"""Those that were not given up yet."""


def stop() -> None:
    """Stop all of them. May be called at any moment, also from a signal's handler in the midst of a statement."""
    for engine in [*ENGINES]:
        engine.stop()
