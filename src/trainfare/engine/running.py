"""The embedded engines of this process, so that a signal handler can interrupt them."""

from typing import Protocol
from weakref import WeakSet


class Stoppable(Protocol):
    """Something that may be running a statement."""

    def stop(self) -> None:
        """Interrupt the running statement, if any; the next one runs as usual."""


ENGINES: WeakSet[Stoppable] = WeakSet()
"""Engines that are open."""


def stop() -> None:
    """Interrupt all engines. Safe at any moment, even from a signal handler during a statement."""
    for engine in [*ENGINES]:
        engine.stop()
