"""The limit on requests per minute, which holds for all processes together.

What was used is kept in the catalog. To write there at most some fifty times a minute for anybody, a process takes
requests in batches and hands them out itself. If the catalog is busy or read-only, a process counts on its own.
"""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field

from trainfare.errors import TrainfareError
from trainfare.serve.admission.fair_queue import REFUSAL_SECONDS
from trainfare.serve.problems import TooManyRequestsError
from trainfare.store.rate_limits import RateLimit

BATCHES = 50
MAX_KNOWN = 4096
WAIT_SECONDS = 0.25
"""How long a request waits for the catalog before it is counted here."""


@dataclass
class _Allowance:
    """What one client may still send, and until when it is refused without asking the catalog again."""

    left: int = 0
    refused_until: float = 0.0
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held while the catalog is asked, so that it is asked once for all who wait."""


class RequestRates:
    """Requests of clients by name. `take` is for the event loop."""

    def __init__(self, take: Callable[[str, int, RateLimit], int], limit: RateLimit | None) -> None:
        self._take = take
        self._limit = limit
        self._batch = max(1, limit.amount // BATCHES) if limit else 0
        self._known: OrderedDict[str, _Allowance] = OrderedDict()
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="rates")

    async def take(self, client: str) -> None:
        """Count a request, or refuse it."""
        if self._limit is None:
            return
        allowance = self._allowance(client)
        async with allowance.lock:
            if allowance.left < 1 and time.monotonic() >= allowance.refused_until:
                await self._refill(client, allowance, self._limit)
        if allowance.left < 1:
            await asyncio.sleep(REFUSAL_SECONDS)
            what = f"more than {self._limit.amount} requests in {self._limit.seconds} seconds"
            raise TooManyRequestsError("requests", what, "Wait a moment, then send fewer.")
        allowance.left -= 1

    def _allowance(self, client: str) -> _Allowance:
        allowance = self._known.setdefault(client, _Allowance())
        self._known.move_to_end(client)
        if len(self._known) > MAX_KNOWN:
            self._known.popitem(last=False)
        return allowance

    async def _refill(self, client: str, allowance: _Allowance, limit: RateLimit) -> None:
        loop = asyncio.get_running_loop()
        taking = loop.run_in_executor(self._writer, self._granted, client, limit)
        granted = self._batch
        with suppress(TimeoutError):
            granted = await asyncio.wait_for(asyncio.shield(taking), WAIT_SECONDS)
        allowance.left += granted
        if not granted:
            allowance.refused_until = time.monotonic() + limit.seconds / limit.amount

    def _granted(self, client: str, limit: RateLimit) -> int:
        try:
            return self._take(client, self._batch, limit)
        except TrainfareError:
            return self._batch  # the catalog is busy or read-only, which must not stop anybody from reading

    def close(self) -> None:
        self._writer.shutdown(wait=False, cancel_futures=True)
