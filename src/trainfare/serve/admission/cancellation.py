"""Cancellation: the queries of a request end when its client disconnects or its time is up.

Handlers run in threads, which cannot be stopped from outside. What can be stopped is the engine: `cancel` interrupts
the running statement of every engine that the request uses, and every further statement is refused.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from trainfare.engine.running import Stoppable
from trainfare.errors import TrainfareError


class CanceledError(TrainfareError):
    """A query that was stopped before it had a result."""


class Cancellation:
    """Whether one request is canceled, and the engines that work for it. Safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._engines: list[Stoppable] = []
        self._error: CanceledError | None = None

    def cancel(self, error: CanceledError) -> None:
        """Refuse further statements with this error, and interrupt those that run."""
        self._error = self._error or error
        self.interrupt()

    def interrupt(self) -> None:
        """Interrupt the statements that run now. One that is about to start is missed, so call this until all end."""
        with self._lock:
            for engine in self._engines:
                engine.stop()

    def check(self) -> None:
        """Raise the error if the request is canceled."""
        if self._error:
            raise self._error

    @contextmanager
    def stops(self, engine: Stoppable) -> Iterator[None]:
        """Let `cancel` interrupt this engine within the block. An error that follows from that becomes the error."""
        with self._lock:
            self._engines.append(engine)
        try:
            self.check()
            yield
        except Exception as error:
            if self._error and error is not self._error:
                raise self._error from error
            raise
        finally:
            with self._lock:
                self._engines.remove(engine)


_CURRENT: ContextVar[Cancellation | None] = ContextVar("cancellation", default=None)


def begin() -> Cancellation:
    """Start a cancellation for this request; threads that work for the request inherit it."""
    cancellation = Cancellation()
    _CURRENT.set(cancellation)
    return cancellation


def current() -> Cancellation:
    """The cancellation of the request that this thread works for; without a request, one that nobody cancels."""
    return _CURRENT.get() or Cancellation()
