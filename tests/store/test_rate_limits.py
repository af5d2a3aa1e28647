"""Rate limits in the catalog, compared with a plain model: a list of the times at which something was used."""

import itertools
import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trainfare.store import rate_limits
from trainfare.store.catalog import Catalog
from trainfare.store.rate_limits import MICROSECONDS, RateLimit, RateLimits

LIMIT = RateLimit(10, 60)
NUMBERS = itertools.count()
START = 1_800_000_000 * MICROSECONDS


class Clock:
    """Replaces the clock of the rate limits."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = START
        monkeypatch.setattr(rate_limits.time, "time_ns", lambda: self.now * 1000)


@pytest.fixture(scope="module")
def catalog_in_memory(tmp_path_factory: pytest.TempPathFactory) -> Catalog:
    return Catalog.open(tmp_path_factory.mktemp("limits") / "catalog.sqlite")


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 20), st.integers(1, 15)), min_size=1, max_size=25))
def test_no_period_has_more_uses_than_the_limit_and_what_came_back(
    catalog_in_memory: Catalog, uses: list[tuple[int, int]]
) -> None:
    """The model is a bucket in whole uses: full at first, one use comes back every six seconds."""
    with pytest.MonkeyPatch.context() as patch:
        clock, limits = Clock(patch), catalog_in_memory.rate_limits
        client = f"client {next(NUMBERS)}"
        granted: list[tuple[int, int]] = []
        spare = LIMIT.amount * LIMIT.interval
        for seconds, amount in uses:
            clock.now += seconds * MICROSECONDS
            spare = min(spare + seconds * MICROSECONDS, LIMIT.amount * LIMIT.interval)
            expected = min(amount, spare // LIMIT.interval)
            spare -= expected * LIMIT.interval
            assert limits.take(client, amount, LIMIT) == expected
            granted.append((clock.now, expected))
        for first in range(len(granted)):
            for last in range(first, len(granted)):
                elapsed = granted[last][0] - granted[first][0]
                used = sum(amount for _, amount in granted[first : last + 1])
                assert used <= LIMIT.amount + elapsed // LIMIT.interval


def test_a_clock_that_is_set_back_locks_nobody_out(catalog: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    clock, limits = Clock(monkeypatch), catalog.rate_limits
    assert limits.take("ana", 10, LIMIT) == 10
    clock.now -= 86400 * MICROSECONDS
    assert limits.take("ana", 1, LIMIT) == 0
    clock.now += 6 * MICROSECONDS
    assert limits.take("ana", 1, LIMIT) == 1


def test_processes_share_one_limit(catalog: Catalog) -> None:
    """Each thread has rate limits of its own, as each process has; together they get no more than the limit."""
    limit = RateLimit(30, 3600)
    found: list[int] = []

    def use() -> None:
        limits = RateLimits(catalog._database)
        found.extend(limits.take("ana", 3, limit) for _ in range(5))

    threads = [threading.Thread(target=use) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(found) == limit.amount
    assert catalog.rate_limits.take("bob", 3, limit) == 3


def test_rows_that_mean_nothing_any_more_are_removed(catalog: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    for number in range(20):
        RateLimits(catalog._database).take(f"client {number}", 1, LIMIT)
    clock.now += 61 * MICROSECONDS
    RateLimits(catalog._database).take("last", 1, LIMIT)
    with catalog._database.read() as connection:
        rows = connection.exec_driver_sql("SELECT client FROM rate_limits").fetchall()
    assert [tuple(row) for row in rows] == [("last",)]
