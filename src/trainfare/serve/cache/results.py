"""The result cache: query results and response bytes of published versions, which never change."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future, wait
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, TypeVar, cast

from trainfare import __version__
from trainfare.serve.admission import cancellation
from trainfare.serve.admission.cancellation import CanceledError

MAX_BYTES = 288 * 1024 * 1024
MAX_RESULT_BYTES = 16 * 1024 * 1024
SMALL_BYTES = 64 * 1024
"""Results up to this size are stored at once; larger ones when somebody asks for them a second time."""
MAX_REMEMBERED = 10_000
"""How many questions with a large result are remembered."""
WAIT_SECONDS = 0.1
BYTES_PER_VALUE = 100
"""Estimated memory of one value of a query result."""


@dataclass(frozen=True)
class ResultKey:
    """Everything that a result depends on. Two viewers share a result only if they have the same visibility."""

    published: Hashable
    """The published versions that the result was computed from."""
    question: Hashable
    visibility: Hashable

    @property
    def etag(self) -> str:
        """The HTTP entity tag of this result."""
        return f'"{sha256(repr((__version__, self)).encode()).hexdigest()[:32]}"'


@dataclass(frozen=True)
class QueryResult:
    columns: list[str]
    rows: list[tuple[Any, ...]]


Result = TypeVar("Result", bytes, QueryResult)


class ResultCache:
    """A bounded, thread-safe cache. The least recently used results are evicted first.

    A large result is stored the second time that it is computed: whoever asks one large question after another, each
    only once, neither fills the memory nor evicts what others use.

    When several threads request the same result at once, one computes it and the others wait for it. An error is passed
    to all of them and is not stored; if it was canceled, one of the others computes it.
    """

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        self._lock = threading.Lock()
        self._results: OrderedDict[ResultKey, bytes | QueryResult] = OrderedDict()
        self._pending: dict[ResultKey, Future[Any]] = {}
        self._computed_once: OrderedDict[int, None] = OrderedDict()
        self._bytes = 0

    def get(self, key: ResultKey, compute: Callable[[], Result]) -> Result:
        """Return the stored result, or compute and store it."""
        while True:
            with self._lock:
                if key in self._results:
                    self._results.move_to_end(key)
                    return cast(Result, self._results[key])
                pending = self._pending.get(key)
                if pending is None:
                    ours = self._pending[key] = Future[Any]()
            if pending is None:
                return self._compute(key, compute, ours)
            with suppress(CanceledError):  # whoever computed it was canceled, so somebody else has to
                return cast(Result, _wait_for(pending))
            cancellation.current().check()

    def _compute(self, key: ResultKey, compute: Callable[[], Result], pending: "Future[Any]") -> Result:
        try:
            result = compute()
            self._store(key, result)
            pending.set_result(result)
            return result
        except BaseException as error:
            pending.set_exception(error)
            raise
        finally:
            with self._lock:
                del self._pending[key]

    def _store(self, key: ResultKey, result: bytes | QueryResult) -> None:
        if _size(result) > MAX_RESULT_BYTES:
            return
        with self._lock:
            if _size(result) > SMALL_BYTES and not self._was_computed_before(key):
                return
            self._results[key] = result
            self._bytes += _size(result)
            while self._bytes > self._max_bytes:
                _, evicted = self._results.popitem(last=False)
                self._bytes -= _size(evicted)

    def _was_computed_before(self, key: ResultKey) -> bool:
        """Whether this large result was computed once already; if not, it is remembered that it was now."""
        fingerprint = hash(key)
        if fingerprint in self._computed_once:
            del self._computed_once[fingerprint]
            return True
        self._computed_once[fingerprint] = None
        if len(self._computed_once) > MAX_REMEMBERED:
            self._computed_once.popitem(last=False)
        return False


def _wait_for(pending: "Future[Any]") -> Any:
    """Wait for a result that another thread computes, as long as nobody cancels this request."""
    while not wait([pending], WAIT_SECONDS).done:
        cancellation.current().check()
    return pending.result()


def _size(result: bytes | QueryResult) -> int:
    if isinstance(result, bytes):
        return len(result)
    return BYTES_PER_VALUE * (1 + len(result.columns) * len(result.rows))
