"""A fair queue: a fixed number of requests work at once, and nobody holds more than a portion of the places."""

import asyncio
from collections import Counter, OrderedDict, deque
from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

from trainfare.serve.problems import TooManyRequestsError

HALF_LIFE_SECONDS = 10
"""After this time, half of what somebody used is forgotten."""
HEAVY_SECONDS = 5.0
"""Whoever used more than this lately holds one place at a time, and their group no more than a portion."""
REFUSAL_SECONDS = 1.0
"""How long a refusal is held back, so that a client in a loop costs little."""
MAX_KNOWN = 4096
"""How many holders are remembered at most."""


@dataclass(frozen=True)
class Holder:
    """Who asks for a place, and the group (a team, say) whose members together hold no more than twice a portion."""

    name: Hashable
    group: Hashable = None


@dataclass
class Place:
    """A place that is held until `release`, which may be called more than once."""

    queue: "FairQueue"
    holder: Holder
    since: float
    is_held: bool = True

    def release(self) -> None:
        if self.is_held:
            self.is_held = False
            self.queue.give_back(self)


@dataclass
class FairQueue:
    """For one event loop. A free place goes to whoever has used least lately, so nobody waits behind a crowd.

    Whoever used much lately gets fewer places, even if others are free: their work would take the processor from
    everybody who comes next. A queue whose portion is all of it is for one person, and has no such limit.
    """

    total: int
    portion: int
    max_waiting: int
    """How many requests of one holder may wait."""
    _held: Counter[Hashable] = field(default_factory=Counter)
    _waiting: OrderedDict[Holder, deque["asyncio.Future[Place]"]] = field(default_factory=OrderedDict)
    _used: OrderedDict[Hashable, tuple[float, float]] = field(default_factory=OrderedDict)

    @asynccontextmanager
    async def place(self, holder: Holder) -> AsyncIterator[Place]:
        """Hold a place within the block, or until it is released earlier."""
        place = await self.acquire(holder)
        try:
            yield place
        finally:
            place.release()

    async def acquire(self, holder: Holder) -> Place:
        """Wait for a place. Whoever stops waiting (because the task is canceled) leaves the queue."""
        turns = self._waiting.setdefault(holder, deque())
        if len(turns) >= self.max_waiting:
            await asyncio.sleep(REFUSAL_SECONDS)
            do = f"Send at most {self.max_waiting} requests at a time, and wait for their responses."
            raise TooManyRequestsError("requests", "too many of your requests are waiting", do)
        turn: asyncio.Future[Place] = asyncio.get_running_loop().create_future()
        turns.append(turn)
        self._hand_out()
        try:
            return await turn
        except asyncio.CancelledError:
            self._forget(holder, turn)
            with suppress(asyncio.CancelledError):  # unless it was given a place in the same moment
                turn.result().release()
            raise

    def give_back(self, place: Place) -> None:
        now = asyncio.get_running_loop().time()
        self._held -= _counted(place.holder)
        for used in (("name", place.holder.name), ("group", place.holder.group)):
            self._used[used] = (self._recent_seconds(used, now) + now - place.since, now)
            self._used.move_to_end(used)
        while len(self._used) > MAX_KNOWN:
            self._used.popitem(last=False)
        self._hand_out()

    def _hand_out(self) -> None:
        """Give free places to those who wait, as long as somebody may have one."""
        now = asyncio.get_running_loop().time()
        while self._held["all"] < self.total:
            entitled = [holder for holder, turns in self._waiting.items() if turns and self._is_entitled(holder, now)]
            if not entitled:
                return
            holder = min(
                entitled,
                key=lambda one: (self._held["name", one.name], self._recent_seconds(("name", one.name), now)),
            )
            turn = self._waiting[holder].popleft()
            self._forget(holder, turn)
            if not turn.done():
                self._held += _counted(holder)
                turn.set_result(Place(self, holder, now))

    def _is_entitled(self, holder: Holder, now: float) -> bool:
        own, group = ("name", holder.name), ("group", holder.group)
        most = 1 if self._is_heavy(own, now) else self.portion
        most_in_group = self.portion if self._is_heavy(group, now) else 2 * self.portion
        in_group = holder.group is None or self._held[group] < most_in_group
        return self._held[own] < most and in_group

    def _is_heavy(self, used: Hashable, now: float) -> bool:
        return self.portion < self.total and self._recent_seconds(used, now) > HEAVY_SECONDS

    def _recent_seconds(self, used: Hashable, now: float) -> float:
        """How long a holder or group held places lately, with older use counting less."""
        seconds, at = self._used.get(used, (0.0, now))
        remaining: float = 0.5 ** ((now - at) / HALF_LIFE_SECONDS)
        return seconds * remaining

    def _forget(self, holder: Holder, turn: "asyncio.Future[Place]") -> None:
        """Remove a turn from the queue, and its holder if none of theirs is left."""
        turns = self._waiting.get(holder, deque())
        if turn in turns:
            turns.remove(turn)
        if not turns:
            self._waiting.pop(holder, None)


def _counted(holder: Holder) -> Counter[Hashable]:
    return Counter(["all", ("name", holder.name), ("group", holder.group)])
