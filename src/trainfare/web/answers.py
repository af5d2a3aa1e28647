"""Answers kept: a published version never changes, so whoever asks the same of it again gets the same bytes."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future

MOST_BYTES = 96 * 1024 * 1024
LARGEST_BYTES = 4 * 1024 * 1024


class Answers:
    """Answers by what they depend on: the address, the versions of the books, and what the viewer may see.

    Of many who ask the same at once one finds the answer, and the others wait for it. Those not asked for longest go first.
    """

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        self._lock = threading.Lock()
        self._kept: OrderedDict[Hashable, bytes] = OrderedDict()
        self._finding: dict[Hashable, Future[bytes]] = {}
        self._bytes = 0

    def ask(self, key: Hashable, find: Callable[[], bytes]) -> bytes:
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
            found = self._finding.get(key)
            is_ours = found is None
            if found is None:
                found = self._finding[key] = Future()
        if not is_ours:
            return found.result()
        try:
            answer = find()
            found.set_result(answer)
            self._keep(key, answer)
            return answer
        except BaseException as error:
            found.set_exception(error)
            raise
        finally:
            with self._lock:
                del self._finding[key]

    def _keep(self, key: Hashable, answer: bytes) -> None:
        if len(answer) > LARGEST_BYTES:
            return
        with self._lock:
            self._kept[key] = answer
            self._bytes += len(answer)
            while self._bytes > self._most_bytes:
                _, gone = self._kept.popitem(last=False)
                self._bytes -= len(gone)
