"""Rate limits that hold for all processes: one row per client who used something lately.

A row says when its client has used nothing any more: each use moves that time further away, and a client for whom it
is a whole period away has used everything. Rows whose time has passed mean nothing and are removed.
"""

import time
from dataclasses import dataclass

from sqlalchemy import delete, insert, select, update

from trainfare.store.database import Database
from trainfare.store.schema import RATE_LIMITS

MICROSECONDS = 1_000_000
CLEANUP_SECONDS = 60


@dataclass(frozen=True)
class RateLimit:
    """So many uses in so many seconds. Uses come back evenly, one after another."""

    amount: int
    seconds: int

    @property
    def interval(self) -> int:
        """The time in which one use comes back."""
        return max(1, self.seconds * MICROSECONDS // self.amount)


class RateLimits:
    """The rate limits of a catalog."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._cleaned_at = 0.0

    def take(self, client: str, amount: int, limit: RateLimit) -> int:
        """Use up to `amount`, and return how much that was: less if the limit is near, 0 if it is reached."""
        now = time.time_ns() // 1000
        mine = RATE_LIMITS.c.client == client
        with self._database.write() as connection:
            found = connection.execute(select(RATE_LIMITS.c.unused_at).where(mine)).scalar()
            # After the clock was set back, a row may lie further ahead than any use can move it.
            unused_at = min(max(found or 0, now), now + limit.seconds * MICROSECONDS)
            free = limit.amount - -(-(unused_at - now) // limit.interval)
            granted = max(0, min(amount, free))
            unused_at += granted * limit.interval
            if found is None:
                connection.execute(insert(RATE_LIMITS), {"client": client, "unused_at": unused_at})
            elif unused_at != found:
                connection.execute(update(RATE_LIMITS).where(mine).values(unused_at=unused_at))
            if time.monotonic() - self._cleaned_at > CLEANUP_SECONDS:
                self._cleaned_at = time.monotonic()
                connection.execute(delete(RATE_LIMITS).where(RATE_LIMITS.c.unused_at < now))
        return granted
