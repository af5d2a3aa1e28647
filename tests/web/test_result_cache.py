"""The result cache: bounded, shared by threads, and never across visibilities."""

import threading
from dataclasses import replace

import pytest

from trainfare.serve.cache.results import (
    BYTES_PER_VALUE,
    MAX_RESULT_BYTES,
    SMALL_BYTES,
    QueryResult,
    ResultCache,
    ResultKey,
)

KEY = ResultKey((7,), "SELECT 1", ("team:nlp",))


def unexpected() -> bytes:
    raise AssertionError("it was cached")


def test_a_result_is_computed_once() -> None:
    cache = ResultCache()
    assert cache.get(KEY, lambda: b"first") == cache.get(KEY, unexpected) == b"first"


@pytest.mark.parametrize(
    "other",
    [
        replace(KEY, published=(8,)),
        replace(KEY, question="SELECT 2"),
        replace(KEY, visibility=("team:vision",)),
        replace(KEY, visibility=()),
        replace(KEY, visibility=None),
    ],
)
def test_version_question_and_visibility_each_have_their_own_result(other: ResultKey) -> None:
    cache = ResultCache()
    cache.get(KEY, lambda: b"first")
    assert cache.get(other, lambda: b"second") == b"second"
    assert cache.get(KEY, unexpected) == b"first"
    assert other.etag != KEY.etag


def test_the_least_recently_used_results_are_evicted() -> None:
    cache = ResultCache(max_bytes=300)
    first, second, third = (replace(KEY, published=number) for number in range(3))
    cache.get(first, lambda: bytes(100))
    cache.get(second, lambda: QueryResult(["a"], [(1,)]))
    cache.get(first, unexpected)
    cache.get(third, lambda: bytes(100))
    cache.get(first, unexpected)
    assert cache.get(second, lambda: QueryResult(["a"], [(2,)])).rows == [(2,)]


@pytest.mark.parametrize(
    "large", [bytes(MAX_RESULT_BYTES + 1), QueryResult(["a"], [(0,)] * (MAX_RESULT_BYTES // BYTES_PER_VALUE))]
)
def test_a_very_large_result_is_not_stored(large: bytes | QueryResult) -> None:
    cache = ResultCache()
    for _ in range(2):
        computed: list[object] = []

        def compute(computed: list[object] = computed) -> bytes | QueryResult:
            computed.append(large)
            return large

        cache.get(KEY, compute)  # type: ignore[type-var]
        assert computed


def test_a_large_result_is_stored_when_it_is_asked_for_again() -> None:
    cache = ResultCache()
    first, second = (character * (SMALL_BYTES + 1) for character in (b"1", b"2"))
    assert cache.get(KEY, lambda: first) == first
    assert cache.get(KEY, lambda: second) == second
    assert cache.get(KEY, unexpected) == second


def test_large_results_that_are_asked_for_once_evict_nothing() -> None:
    cache = ResultCache(max_bytes=4 * SMALL_BYTES)
    cache.get(KEY, lambda: b"of somebody else")
    for number in range(20):
        cache.get(replace(KEY, published=number), lambda: bytes(SMALL_BYTES + 1))
    assert cache.get(KEY, unexpected) == b"of somebody else"


def test_an_error_is_raised_and_not_stored() -> None:
    cache = ResultCache()

    def fail() -> bytes:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        cache.get(KEY, fail)
    assert cache.get(KEY, lambda: b"later") == b"later"


def test_concurrent_requests_compute_a_result_once() -> None:
    cache, started, finish = ResultCache(), threading.Event(), threading.Event()
    results: list[bytes] = []

    def slow() -> bytes:
        started.set()
        finish.wait(10)
        return b"slow"

    first = threading.Thread(target=lambda: results.append(cache.get(KEY, slow)))
    first.start()
    started.wait(10)
    others = [threading.Thread(target=lambda: results.append(cache.get(KEY, unexpected))) for _ in range(3)]
    for thread in others:
        thread.start()
    finish.set()
    for thread in (first, *others):
        thread.join(10)
    assert results == [b"slow"] * 4
