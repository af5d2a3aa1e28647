"""Readiness: new books are prepared once, however many clients ask whether the service is ready."""

import asyncio
import threading
from collections.abc import Callable


class Readiness:
    """Runs one preparation at a time in a thread of its own. For one event loop."""

    def __init__(self, prepare: Callable[[], None]) -> None:
        self._prepare = prepare
        self._running: asyncio.Future[None] | None = None

    async def wait(self) -> None:
        """Wait until the current books are prepared. An error of the preparation is raised for all who wait."""
        if self._running is None or self._running.done():
            loop = asyncio.get_running_loop()
            self._running = loop.create_future()
            # A daemon: when the service stops, it does not wait for a book to be prepared.
            threading.Thread(target=self._run, args=(loop, self._running), daemon=True).start()
        await asyncio.shield(self._running)

    def _run(self, loop: asyncio.AbstractEventLoop, running: "asyncio.Future[None]") -> None:
        error: Exception | None = None
        try:
            self._prepare()
        except Exception as found:
            error = found
        if not loop.is_closed():
            loop.call_soon_threadsafe(_finish, running, error)


def _finish(running: "asyncio.Future[None]", error: Exception | None) -> None:
    if running.done():
        return
    if error:
        running.set_exception(error)
        running.exception()  # it counts as retrieved, even if everybody who waited has left
    else:
        running.set_result(None)
