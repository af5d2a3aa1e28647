"""Who may work, for how long, and what happens to a query nobody waits for."""

import asyncio
import threading
import time
from collections import Counter
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import TypeVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trainfare.engine.duckdb import DuckDB
from trainfare.serve.admission import cancellation, fair_queue
from trainfare.serve.admission.cancellation import CanceledError, Cancellation
from trainfare.serve.admission.fair_queue import FairQueue, Holder
from trainfare.serve.admission.rates import RequestRates
from trainfare.serve.cache.results import ResultCache, ResultKey
from trainfare.serve.problems import TooManyRequestsError
from trainfare.store.rate_limits import RateLimit

ENDLESS = "SELECT count(*) FROM range(100000000000) a, range(1000) b WHERE a.range + b.range = -1"
GONE = CanceledError("request", "its client disconnected", "Send it again.")
Result = TypeVar("Result")


def in_a_new_loop(work: Coroutine[object, object, Result]) -> Result:
    """Run in a thread of its own: the browser of other tests leaves a running loop in this one."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, work).result()


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 2), st.integers(1, 4)), min_size=1, max_size=60),
    st.integers(1, 6),
    st.integers(1, 3),
)
def test_nobody_ever_holds_more_than_a_portion_and_everybody_is_served(
    requests: list[tuple[int, int, int]], total: int, portion: int
) -> None:
    async def run() -> int:
        queue, held, served = FairQueue(total, portion, 100), Counter[object](), 0

        async def request(name: int, group: int, steps: int) -> None:
            nonlocal served
            async with queue.place(Holder(name, group)):
                held.update([("name", name), ("group", group), "all"])
                assert held["name", name] <= portion
                assert held["group", group] <= 2 * portion
                assert held["all"] <= total
                for _ in range(steps):
                    await asyncio.sleep(0)
                held.subtract([("name", name), ("group", group), "all"])
                served += 1

        await asyncio.gather(*(request(*one) for one in requests))
        assert not queue._waiting
        return served

    assert in_a_new_loop(run()) == len(requests)


def test_a_crowd_of_one_holder_delays_nobody_else() -> None:
    async def run() -> list[str]:
        queue, order = FairQueue(2, 2, 100), list[str]()

        async def request(name: str) -> None:
            async with queue.place(Holder(name)):
                order.append(name)
                await asyncio.sleep(0.01)

        crowd = [asyncio.create_task(request("crowd")) for _ in range(20)]
        await asyncio.sleep(0.015)
        late = asyncio.create_task(request("late"))
        await asyncio.gather(*crowd, late)
        return order

    order = in_a_new_loop(run())
    assert order.index("late") <= 6, "it came after at most those that were being served"


def most_at_once(queue: FairQueue, holders: list[Holder], seconds: float) -> int:
    """How many of these requests hold a place at the same time."""

    async def run() -> int:
        held, most = 0, 0

        async def request(holder: Holder) -> None:
            nonlocal held, most
            async with queue.place(holder):
                held += 1
                most = max(most, held)
                await asyncio.sleep(seconds)
                held -= 1

        await asyncio.gather(*(request(one) for one in holders))
        most = 0
        await asyncio.gather(*(request(one) for one in holders))
        return most

    return in_a_new_loop(run())


@pytest.mark.parametrize(("heavy_seconds", "most"), [(0.01, 1), (1000.0, 2)])
def test_who_used_much_lately_holds_one_place(monkeypatch: pytest.MonkeyPatch, heavy_seconds: float, most: int) -> None:
    monkeypatch.setattr(fair_queue, "HEAVY_SECONDS", heavy_seconds)
    assert most_at_once(FairQueue(8, 2, 100), [Holder("a")] * 6, 0.02) == most


@pytest.mark.parametrize(("heavy_seconds", "most"), [(0.01, 2), (1000.0, 4)])
def test_a_group_that_used_much_lately_holds_a_portion(
    monkeypatch: pytest.MonkeyPatch, heavy_seconds: float, most: int
) -> None:
    monkeypatch.setattr(fair_queue, "HEAVY_SECONDS", heavy_seconds)
    assert most_at_once(FairQueue(8, 2, 100), [Holder(name, "team") for name in "abcdef"], 0.02) == most


def test_one_person_alone_may_use_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fair_queue, "HEAVY_SECONDS", 0.01)
    assert most_at_once(FairQueue(4, 4, 100), [Holder("a")] * 8, 0.02) == 4


def test_a_client_that_leaves_gives_up_its_place_in_the_queue() -> None:
    async def run() -> None:
        queue = FairQueue(1, 1, 100)
        first = await queue.acquire(Holder("a"))
        leaving = asyncio.create_task(queue.acquire(Holder("b")))
        await asyncio.sleep(0)
        leaving.cancel()
        first.release()  # in the same moment in which the other one leaves
        first.release()
        with pytest.raises(asyncio.CancelledError):
            await leaving
        again = await asyncio.wait_for(queue.acquire(Holder("c")), 1)
        again.release()
        assert (queue._held.total(), len(queue._waiting)) == (0, 0)

    in_a_new_loop(run())


def test_too_many_waiting_requests_are_refused_after_a_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fair_queue, "REFUSAL_SECONDS", 0.01)

    async def run() -> None:
        queue = FairQueue(1, 1, 2)
        held = await queue.acquire(Holder("a"))
        waiting = [asyncio.create_task(queue.acquire(Holder("a"))) for _ in range(2)]
        await asyncio.sleep(0)
        with pytest.raises(TooManyRequestsError, match="too many of your requests are waiting"):
            await queue.acquire(Holder("a"))
        other = asyncio.create_task(queue.acquire(Holder("b")))
        await asyncio.sleep(0)
        held.release()
        assert (await asyncio.wait_for(other, 1)).holder.name == "b"
        for one in waiting:
            one.cancel()

    in_a_new_loop(run())


def in_thread(canceled: Cancellation, sql: str) -> None:
    cancellation._CURRENT.set(canceled)
    with closing(DuckDB()) as engine, cancellation.current().stops(engine):
        engine.rows(sql)


def test_a_canceled_query_ends_at_once_with_the_reason() -> None:
    canceled = Cancellation()
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(in_thread, canceled, ENDLESS)
        time.sleep(0.3)
        assert not running.done()
        started = time.monotonic()
        canceled.cancel(GONE)
        while not running.done():
            canceled.interrupt()
            time.sleep(0.02)
        assert time.monotonic() - started < 60, "the query would take hours"
    with pytest.raises(CanceledError, match="its client disconnected"):
        running.result()


def test_a_canceled_request_starts_no_further_query() -> None:
    canceled = Cancellation()
    canceled.cancel(GONE)
    with pytest.raises(CanceledError):
        in_thread(canceled, "SELECT 1")


def test_an_error_before_any_cancellation_stays_what_it_is() -> None:
    with pytest.raises(Exception, match="no_such_table"):
        in_thread(Cancellation(), "SELECT * FROM no_such_table")


def test_those_who_wait_for_a_canceled_result_compute_it_themselves() -> None:
    """One viewer closes the browser while a colleague waits for the same page."""
    results, key = ResultCache(), ResultKey((1,), "page", None)
    computing, go_on = threading.Event(), threading.Event()

    def canceled() -> bytes:
        computing.set()
        go_on.wait()
        raise GONE

    with ThreadPoolExecutor(3) as pool:
        first = pool.submit(results.get, key, canceled)
        computing.wait()
        others = [pool.submit(results.get, key, lambda: b"page") for _ in range(2)]
        go_on.set()
        assert [one.result(60) for one in others] == [b"page", b"page"]
        with pytest.raises(CanceledError):
            first.result(60)


def test_somebody_who_waits_for_a_result_can_be_canceled_too() -> None:
    results, key, canceled = ResultCache(), ResultKey((1,), "page", None), Cancellation()
    computing, go_on = threading.Event(), threading.Event()

    def slow() -> bytes:
        computing.set()
        go_on.wait()
        return b"page"

    def wait() -> bytes:
        cancellation._CURRENT.set(canceled)
        return results.get(key, lambda: b"never")

    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(results.get, key, slow)
        computing.wait()
        waiting = pool.submit(wait)
        time.sleep(0.05)  # usually it waits by now; it must not matter
        canceled.cancel(GONE)
        with pytest.raises(CanceledError):
            waiting.result(60)
        go_on.set()
        assert first.result(60) == b"page"


class Bucket:
    """A catalog with one limit, which counts how often it is asked."""

    def __init__(self, amount: int) -> None:
        self.left, self.asked = amount, 0

    def take(self, client: str, amount: int, limit: RateLimit) -> int:
        self.asked += 1
        granted = min(amount, self.left)
        self.left -= granted
        return granted


def test_a_process_asks_the_catalog_for_requests_in_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trainfare.serve.admission.rates.REFUSAL_SECONDS", 0)
    bucket = Bucket(1200)
    rates = RequestRates(bucket.take, RateLimit(1200, 60))

    async def run() -> None:
        await asyncio.gather(*(rates.take("ana") for _ in range(1200)))
        with pytest.raises(TooManyRequestsError, match="more than 1200 requests in 60 seconds"):
            await rates.take("ana")

    in_a_new_loop(run())
    assert bucket.asked == 51


def test_a_catalog_that_does_not_answer_stops_nobody() -> None:
    asked, answer = threading.Event(), threading.Event()

    def busy(client: str, amount: int, limit: RateLimit) -> int:
        asked.set()
        assert answer.wait(600), "the request waited for the catalog"
        return 0

    rates = RequestRates(busy, RateLimit(1200, 60))
    try:
        in_a_new_loop(rates.take("ana"))
        assert asked.wait(60)
    finally:
        answer.set()
