"""Admission: each request gets a place of its lane, and a query has a time limit and ends with its client.

Lanes keep requests apart that must not wait for each other. Queries and sign-ins have places; health, static files and
public pages have none, because they never leave the event loop for long.
"""

import asyncio
import os
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from litestar.enums import ScopeType
from litestar.middleware import ASGIMiddleware
from litestar.types import ASGIApp, Message, Receive, Scope, Send

from trainfare.serve.admission import cancellation
from trainfare.serve.admission.cancellation import CanceledError, Cancellation
from trainfare.serve.admission.fair_queue import FairQueue, Holder, Place
from trainfare.serve.admission.rates import RequestRates
from trainfare.serve.forwarded import client_address
from trainfare.serve.problems import BusyError, TimeLimitError

READERS = max(8, 2 * (os.cpu_count() or 1))
"""How many requests query books at once, in each process."""
PORTION = READERS // 4
"""How many of them one user or token may hold; a team with all its users and tokens may hold twice as many."""
SIGN_INS = 2
"""How many passwords are checked at once: each takes a processor core and 64 MB for a moment."""
MAX_WAITING = 32
MAX_WAITING_SIGN_INS = 8
OTHER_THREADS = 8
THREADS = READERS + SIGN_INS + OTHER_THREADS
"""Threads for handlers: one per place, and some for short work without a place."""
GRACE_SECONDS = 2
"""How long a canceled query may take to end before its client gets the response anyway."""
INTERRUPT_SECONDS = 0.05

SIGN_IN = {"lane": "sign-in"}
UNCOUNTED = {"uncounted": True}
"""For a route that the limit on requests does not cover."""


@dataclass(frozen=True)
class Limits:
    """What the settings allow."""

    query_seconds: float
    is_shared: bool
    """Whether several people use the service; one person alone may use all of it."""


class Admission(ASGIMiddleware):
    scopes = (ScopeType.HTTP,)

    def __init__(self, limits: Limits, rates: RequestRates) -> None:
        self._limits = limits
        self._rates = rates
        portion = PORTION if limits.is_shared else READERS
        self._queries = FairQueue(READERS, portion, MAX_WAITING if limits.is_shared else 8 * MAX_WAITING)
        self._sign_ins = FairQueue(SIGN_INS, 1, MAX_WAITING_SIGN_INS)

    async def handle(self, scope: Scope, receive: Receive, send: Send, next_app: ASGIApp) -> None:
        options, viewer = scope["route_handler"].opt, scope.get("user")
        address = client_address(scope)
        if not options.get("uncounted"):
            await self._rates.take(f"viewer {viewer.name}" if viewer and viewer.name else f"address {address}")
        if options.get("lane") == SIGN_IN["lane"]:
            async with self._sign_ins.place(Holder(address)):
                await next_app(scope, receive, send)
        elif options.get("public"):
            await next_app(scope, receive, send)
        else:
            assert viewer is not None
            holder = Holder(viewer.name, viewer.visibility)
            await _Query(self._limits.query_seconds, self._queries, holder).run(scope, receive, send, next_app)


class _Query:
    """One request that queries books: it waits for a place, works, and is canceled if it may not go on."""

    def __init__(self, seconds: float, queue: FairQueue, holder: Holder) -> None:
        self._seconds = seconds
        self._queue = queue
        self._holder = holder
        self._has_started = asyncio.Event()
        self._is_abandoned = False

    async def run(self, scope: Scope, receive: Receive, send: Send, next_app: ASGIApp) -> None:
        reads_only = scope["method"] in ("GET", "HEAD")  # type: ignore[typeddict-item]
        gone = asyncio.create_task(wait_until_gone(receive) if reads_only else asyncio.Event().wait())
        try:
            place = await self._place(gone)
            canceled = cancellation.begin()
            work = asyncio.create_task(self._work(scope, receive, send, next_app, place))
            if reads_only:
                await self._supervise(work, gone, canceled)
            else:
                await work
        finally:
            gone.cancel()

    async def _place(self, gone: "asyncio.Task[Any]") -> Place:
        """Wait for a place, as long as the client does."""
        turn = asyncio.create_task(self._queue.acquire(self._holder))
        try:
            await asyncio.wait({turn, gone}, timeout=self._seconds, return_when=asyncio.FIRST_COMPLETED)
            if turn.done():
                return turn.result()
            if gone.done():
                raise _left()
            do = "Send fewer requests at once, or try again later."
            raise BusyError("requests", f"no reader was free for {self._seconds:g} seconds", do)
        finally:
            turn.cancel()

    async def _work(self, scope: Scope, receive: Receive, send: Send, next_app: ASGIApp, place: Place) -> None:
        async def send_on(message: Message) -> None:
            if message["type"] == "http.response.start":
                place.release()  # whatever remains is sending, which needs no reader
                self._has_started.set()
            if not self._is_abandoned:
                await send(message)

        try:
            await next_app(scope, receive, send_on)
        finally:
            place.release()

    async def _supervise(self, work: "asyncio.Task[None]", gone: "asyncio.Task[Any]", canceled: Cancellation) -> None:
        """Wait for the work. Cancel it when the client leaves or the time is up, and respond even if it goes on."""
        started = asyncio.create_task(self._has_started.wait())
        try:
            done = await _first({work, gone, started}, self._seconds)
            if work in done or started in done:
                await work
                return
            error: CanceledError = _left() if gone in done else _too_long(self._seconds)
            canceled.cancel(error)
            deadline = asyncio.get_running_loop().time() + GRACE_SECONDS
            while not work.done() and not started.done():
                await _first({work, started}, INTERRUPT_SECONDS)
                canceled.interrupt()
                if asyncio.get_running_loop().time() > deadline:
                    self._abandon(work)
                    raise error
            await work
        finally:
            started.cancel()

    def _abandon(self, work: "asyncio.Task[None]") -> None:
        """Let the work go on without a client. It keeps its place, so whoever sent it has one less."""
        self._is_abandoned = True
        work.add_done_callback(_ignore_result)


def _ignore_result(work: "asyncio.Task[None]") -> None:
    with suppress(asyncio.CancelledError):
        work.exception()


async def _first(tasks: set["asyncio.Task[Any]"], seconds: float) -> set["asyncio.Task[Any]"]:
    done, _ = await asyncio.wait(tasks, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    return done


async def wait_until_gone(receive: Receive) -> None:
    """Wait until the client disconnects. For requests without a body."""
    while (await receive())["type"] != "http.disconnect":
        pass


def _left() -> CanceledError:
    return CanceledError("request", "its client disconnected", "Send it again.")


def _too_long(seconds: float) -> CanceledError:
    do = "Ask for a shorter period or fewer groups, or add a filter. [serve] query_seconds sets the limit."
    return TimeLimitError("query", f"it took longer than {seconds:g} seconds and was canceled", do)
