"""The background scrub: every stored file and row is read again within `scrub_hours`, and damage is reported.

One of the service's processes does it, the one that holds the lock; all of them report the result: in the log, as
metrics, and by number in `/readyz`, which names no files because it is public.
"""

import fcntl
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
from prometheus_client.core import GaugeMetricFamily, Metric

from trainfare.errors import TrainfareError
from trainfare.serve.logs import LOG
from trainfare.store import Store, integrity
from trainfare.store.grain_files import kept_in

RETRY_SECONDS = 60.0
"""How often a process looks whether a scrub is due and nobody else does it."""


class ScrubResult(msgspec.Struct, frozen=True):
    """The outcome of the last scrub: when it ended, and the problems it found, each with its place."""

    ended_at: float
    seconds: float
    problems: tuple[str, ...] = ()


class _StoppedError(Exception):
    """The service stops while a scrub runs."""


class Scrub:
    """Reads everything that is stored, once per period, in a thread of its own."""

    def __init__(self, store: Store, hours: float) -> None:
        self._store = store
        self._period = hours * 3600
        self._folder = kept_in(store.workspace)
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="scrub", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join(RETRY_SECONDS)

    @property
    def _result_path(self) -> Path:
        return self._folder / "scrub.json"

    def last(self) -> ScrubResult | None:
        """The result of the last scrub of any process; None before the first."""
        try:
            return msgspec.json.decode(self._result_path.read_bytes(), type=ScrubResult)
        except (OSError, msgspec.MsgspecError):
            return None

    def _run(self) -> None:
        while not self._stopping.wait(self._seconds_until_due()):
            try:
                self._scrub_if_alone()
            except _StoppedError:
                return
            except Exception:  # whatever it is, the service goes on, and the next scrub reports it again
                LOG.exception("the scrub failed")
                self._stopping.wait(min(RETRY_SECONDS, self._period))

    def _seconds_until_due(self) -> float:
        due_in = self._due_in()
        return min(due_in, RETRY_SECONDS) if due_in > 0 else 0.01

    def _due_in(self) -> float:
        """The seconds until the next scrub. If the clock was set back since the last, it is due at once."""
        last, now = self.last(), time.time()
        return last.ended_at + self._period - now if last and last.ended_at <= now else 0.0

    def _scrub_if_alone(self) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        with (self._folder / "scrub.lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                self._stopping.wait(min(RETRY_SECONDS, self._period))
                return
            if self._due_in() <= 0:
                self._scrub()

    def _scrub(self) -> None:
        started = time.monotonic()
        try:
            problems = integrity.check_everything(self._store, self._continue)
            found = tuple(f"{one.where}: {one.what}" for one in problems.found)
        except TrainfareError as error:
            found = (f"{error.where}: {error.what}",)
        result = ScrubResult(time.time(), time.monotonic() - started, found)
        draft = self._result_path.with_suffix(".new")
        draft.write_bytes(msgspec.json.encode(result))
        draft.replace(self._result_path)
        for problem in found:
            LOG.error("the scrub found damage: %s", problem)

    def _continue(self, message: str) -> None:
        if self._stopping.is_set():
            raise _StoppedError

    def note(self) -> str:
        """One line for monitoring, without names; empty if nothing is damaged."""
        last = self.last()
        count = len(last.problems) if last else 0
        return f"damaged: {count}; see the log, or run trainfare verify\n" if count else ""

    def collect(self) -> Iterator[Metric]:
        """The metrics of the last scrub."""
        if last := self.last():
            yield _gauge(
                "trainfare_scrub_problems", "Damaged files and rows that the last scrub found.", len(last.problems)
            )
            yield _gauge("trainfare_scrub_timestamp_seconds", "When the last scrub ended.", last.ended_at)
            yield _gauge("trainfare_scrub_duration_seconds", "How long the last scrub took.", last.seconds)


def _gauge(name: str, text: str, value: float) -> Metric:
    gauge = GaugeMetricFamily(name, text)
    gauge.add_metric([], value)
    return gauge
