"""Receive events of jobs: take the body apart, check every event, store the new ones, and account for each."""

import json
import threading
import time
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from trainfare.errors import TrainfareError
from trainfare.serve.auth.viewer import Viewer
from trainfare.serve.problems import TooLargeError, TooManyRequestsError
from trainfare.sources.telemetry import received
from trainfare.sources.telemetry.received import Event, Refusal
from trainfare.store import Store
from trainfare.store.live import events as stored
from trainfare.store.live.database import LiveDatabase, open_live

MAX_BODY_BYTES = 1024 * 1024
"""The most bytes of a request, as they are sent."""
MAX_CONTENT_BYTES = 8 * 1024 * 1024
"""The most bytes of a request, once decompressed."""
MAX_EVENTS = 5_000
EVENTS_PER_MINUTE = 120_000
"""The most events that one token may send in a minute, to each process of the service."""
LINES = ("application/x-ndjson", "application/jsonl", "application/jsonlines")
JSON = ("application/json", "application/cloudevents+json", "application/cloudevents-batch+json")
_CONFLICT = Refusal(
    "its id stands for another event, too", "Every event has an id that no other event of its source has."
)
_FORBIDDEN = Refusal(
    "this token is not for its job",
    "Use a token of the job's team. A job without a scheduler states its labels in its first event.",
)
_SPLIT = "Send it in several requests."


@dataclass
class _Allowance:
    """What a token may still send: refilled evenly."""

    left: int = EVENTS_PER_MINUTE
    at: float = field(default_factory=time.monotonic)


@dataclass(frozen=True)
class Receipt:
    """What became of the events of a request."""

    accepted: int
    duplicates: int
    rejected: list[dict[str, Any]]
    """Position from 0, source and id if they can be read, what is wrong and what to do."""


class Receiver:
    """Stores events in the live account of a store. Safe to use from many threads."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._database: LiveDatabase | None = None
        self._lock = threading.Lock()
        self._allowances: dict[str, _Allowance] = {}

    def close(self) -> None:
        if self._database:
            self._database.close()

    def receive(self, viewer: Viewer, body: bytes, media_type: str, encoding: str) -> Receipt:
        """Check and store the events of a request body. Those that are refused do not stop the others."""
        given = list(_events(_decompressed(body, encoding), media_type))
        if len(given) > MAX_EVENTS:
            raise TooLargeError("events", f"more than {MAX_EVENTS:,} events in one request", _SPLIT)
        self._take(viewer.name, len(given))
        now = datetime.now(UTC)
        checked = [one if isinstance(one, Refusal) else received.check(one, now) for one in given]
        events = [(position, one) for position, one in enumerate(checked) if isinstance(one, Event)]
        refused = {position: one for position, one in enumerate(checked) if isinstance(one, Refusal)}
        outcome = stored.Stored([], [], [], [])
        if events:
            with self._open().write() as connection:
                outcome = stored.store(connection, [one for _, one in events], viewer.visibility)
        refused |= {events[index][0]: _CONFLICT for index in outcome.conflicts}
        refused |= {events[index][0]: _FORBIDDEN for index in outcome.forbidden}
        rejected = [_rejected(position, given[position], one) for position, one in sorted(refused.items())]
        return Receipt(len(outcome.accepted), len(outcome.duplicates), rejected)

    def _open(self) -> LiveDatabase:
        with self._lock:
            self._database = self._database or open_live(self._store)
            return self._database

    def _take(self, name: str, count: int) -> None:
        with self._lock:
            one = self._allowances.setdefault(name, _Allowance())
            now = time.monotonic()
            one.left = min(EVENTS_PER_MINUTE, one.left + int((now - one.at) * EVENTS_PER_MINUTE / 60))
            one.at = now
            if count > one.left:
                what = f"more than {EVENTS_PER_MINUTE:,} events in a minute"
                raise TooManyRequestsError("events", what, "Send them again later: the SDK does so by itself.")
            one.left -= count


def _rejected(position: int, given: Any, refusal: Refusal) -> dict[str, Any]:
    named = given if isinstance(given, dict) else {}
    keys = {name: named[name] for name in ("source", "id") if isinstance(named.get(name), str)}
    return {"index": position, **keys, "what": refusal.what, "do": refusal.do}


def _decompressed(body: bytes, encoding: str) -> bytes:
    """Return the content of a body, never more than the limit: a small one may expand to gigabytes."""
    if encoding in ("", "identity"):
        content = body
    elif encoding == "gzip":
        unpacked = zlib.decompressobj(31)
        try:
            content = unpacked.decompress(body, MAX_CONTENT_BYTES + 1)
        except zlib.error:
            raise TrainfareError("body", "it is not gzip, as its header says", "Compress it again.") from None
        if not unpacked.eof and len(content) <= MAX_CONTENT_BYTES:
            raise TrainfareError("body", "the gzip data is cut off", "Send it again.")
    else:
        do = "Use gzip, or leave the header out."
        raise TrainfareError("Content-Encoding", f"'{encoding[:40]}' is not supported", do)
    if len(content) > MAX_CONTENT_BYTES:
        raise TooLargeError("body", f"more than {MAX_CONTENT_BYTES // 1024 // 1024} MB of events", _SPLIT)
    return content


def _events(content: bytes, media_type: str) -> Iterator[Any]:
    """Yield each event as a value, or the reason why it cannot be read."""
    kind = media_type.partition(";")[0].strip().lower()
    if kind not in (*LINES, *JSON):
        do = f"Use {LINES[0]} for one event per line, or {JSON[-1]} for a list of them."
        raise TrainfareError("Content-Type", f"'{media_type[:60]}' is not a type of events", do)
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        raise TrainfareError("body", "it is not UTF-8", "Write events in UTF-8.") from None
    if kind in LINES:
        yield from (_parsed(line) for line in text.split("\n") if line.strip())
        return
    whole = _parsed(text)
    if isinstance(whole, Refusal):
        raise TrainfareError("body", "it is not JSON", "Send a JSON list of events, or one event.")
    if kind == JSON[-1] and not isinstance(whole, list):
        raise TrainfareError("body", "it is not a JSON list", f"Use {JSON[1]} for a single event.")
    yield from whole if isinstance(whole, list) else [whole]


def _parsed(text: str) -> Any:
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        return Refusal("it is not JSON", "Write one event per line, as JSON.")


def _refuse_constant(name: str) -> Any:
    raise ValueError(name)
