"""Ctrl-C: print one short line instead of a traceback, whenever it is pressed.

An interrupted query ends with an error of the engine, and a library may turn that into any other. So Ctrl-C is
recorded, and every error after it is attributed to it. The engine's threads are stopped, too: otherwise the engine
waits until each has finished its part of the query, which takes many seconds in a large month.
"""

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from trainfare.engine import running

EXIT_CODE = 130
"""The exit code that a shell reports for a command ended by Ctrl-C."""


class InterruptedCommandError(Exception):
    """Ctrl-C, with its consequence for the user as the message."""


class _Interrupt:
    is_requested = False


def report(message: str = "interrupted") -> int:
    """Print the message and return the exit code."""
    print(message, file=sys.stderr)
    return EXIT_CODE


def caused(error: BaseException) -> bool:
    """Return whether Ctrl-C caused this error."""
    return _Interrupt.is_requested or isinstance(error, KeyboardInterrupt)


@contextmanager
def recorded() -> Iterator[None]:
    """Record Ctrl-C. A process that ignores it, or has its own handler, keeps that."""
    _Interrupt.is_requested = False
    is_default = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if not is_default or threading.current_thread() is not threading.main_thread():
        yield
        return
    signal.signal(signal.SIGINT, _record)
    try:
        yield
    finally:
        # A second Ctrl-C, during cleanup, ends the process at once and without output.
        signal.signal(signal.SIGINT, signal.SIG_DFL if _Interrupt.is_requested else signal.default_int_handler)


def _record(number: int, frame: FrameType | None) -> None:
    _Interrupt.is_requested = True
    running.stop()
    raise KeyboardInterrupt


@contextmanager
def reported_as(message: Callable[[], str]) -> Iterator[None]:
    """Report this message if Ctrl-C is pressed within the block."""
    try:
        yield
    except BaseException as error:
        if caused(error):
            raise InterruptedCommandError(message()) from None
        raise
