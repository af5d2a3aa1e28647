"""Ctrl-C: one short line instead of a traceback, wherever it comes.

A query that is interrupted ends with an error of the engine's own, and a library may turn it into any other. So it is
remembered that Ctrl-C was pressed, and whatever comes after it is its doing. The engine's threads are stopped, too: by
itself the engine waits until each has done its part of the query, which takes many seconds in a large month.
"""

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from trainfare.engine import running

EXIT_CODE = 130
"""What a shell gives for a command that Ctrl-C ended."""


class PressedError(Exception):
    """Ctrl-C, with what that means for the user."""


class _Pressed:
    is_so = False


def tell(what: str = "interrupted") -> int:
    """Say it, and give the exit code."""
    print(what, file=sys.stderr)
    return EXIT_CODE


def is_one(error: BaseException) -> bool:
    """Whether this error is Ctrl-C, under whatever name."""
    return _Pressed.is_so or isinstance(error, KeyboardInterrupt)


@contextmanager
def noticed() -> Iterator[None]:
    """Remember Ctrl-C. A process that ignores it, or has its own way with it, keeps that."""
    _Pressed.is_so = False
    is_usual = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if not is_usual or threading.current_thread() is not threading.main_thread():
        yield
        return
    signal.signal(signal.SIGINT, _remember)
    try:
        yield
    finally:
        # The second Ctrl-C, in the midst of tidying up, ends the process at once and without a word.
        signal.signal(signal.SIGINT, signal.SIG_DFL if _Pressed.is_so else signal.default_int_handler)


def _remember(number: int, frame: FrameType | None) -> None:
    _Pressed.is_so = True
    running.stop()
    raise KeyboardInterrupt


@contextmanager
def told_as(what: Callable[[], str]) -> Iterator[None]:
    """Say this if Ctrl-C comes within."""
    try:
        yield
    except BaseException as error:
        if is_one(error):
            raise PressedError(what()) from None
        raise
