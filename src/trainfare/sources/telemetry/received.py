"""Check events one by one, as a server receives them. What is accepted here, the reader of files accepts, too.

The reader checks whole files in SQL, and rejects a file as a whole; a sender needs to know of each event. A test
compares the two.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal, InvalidOperation
from typing import Any

from trainfare.sources.telemetry import event_format
from trainfare.sources.telemetry.events import STATED_MEASURES

MAX_EVENT_BYTES = 64 * 1024
MAX_NAME = 1024
AHEAD = timedelta(hours=24)
"""How far a clock may be ahead of ours before its events are refused: they would end up in another month."""
_OFFSET = re.compile(r"(Z|z|[+-]\d{2}:?\d{2})$")
_WRITE_TIME = "Write it with its offset, as in 2026-10-01T00:00:00Z."
_SEE = "See docs/reference/events.md for the fields of each type."
_EVENT_ID = "Every event has an id that no other event of its source has."
_WHOLE = {"attempt": (1, 10**9), "seq": (1, 10**18), "step": (0, 10**18)}
_LARGEST = 10**18 - 1


@dataclass(frozen=True)
class Refusal:
    """Why an event is not accepted, and what to do."""

    what: str
    do: str


@dataclass(frozen=True)
class Event:
    """An accepted event, with what decides who may send it and whether it is known already."""

    source: str
    id: str
    type: str
    job: str | None
    labels: frozenset[str]
    """The labels it states, as KEY:VALUE."""
    line: str
    """The event as it was received, on one line."""

    @property
    def is_end(self) -> bool:
        """Whether its process is over."""
        return self.type == event_format.END


class _RefusedError(Exception):
    def __init__(self, what: str, do: str) -> None:
        super().__init__(what)
        self.refusal = Refusal(what, do)


def check(given: Any, now: datetime) -> Event | Refusal:
    """Return an event, or why it is not one. Types that are not known are accepted: somebody may read them later."""
    try:
        return _check(given, now)
    except _RefusedError as error:
        return error.refusal


def _check(given: Any, now: datetime) -> Event:
    if not isinstance(given, dict):
        raise _RefusedError(f"{_shown(given)} is not a JSON object", _SEE)
    line = json.dumps(given, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    if len(line.encode("utf-8", "surrogatepass")) > MAX_EVENT_BYTES:
        raise _RefusedError(f"the event has more than {MAX_EVENT_BYTES // 1024} KB", "Report less in one event.")
    if re.search("[\ud800-\udfff]|\\\\u0000", line):
        raise _RefusedError("a text has characters that are none", "Write texts in UTF-8, without the character NUL.")
    for name, do in (("id", _EVENT_ID), ("source", "Every event names who sent it."), ("type", _SEE)):
        _name(given.get(name), name, do)
    time = _time(given.get("time"), "time")
    if time > now + AHEAD:
        raise _RefusedError(f"time {_shown(given['time'])} is in the future", "Set the clock of the sender.")
    data = given.get("data")
    if data is not None and not isinstance(data, dict):
        raise _RefusedError(f"data {_shown(data)} is not a JSON object", _SEE)
    if given["type"] in event_format.TYPES and _is_version_1(data or {}):
        _check_data(given["type"], data or {}, time)
    job = (data or {}).get("job")
    labels = (data or {}).get("labels")
    return Event(
        given["source"], given["id"], given["type"], job if isinstance(job, str) else None, _labels(labels), line
    )


def _is_version_1(data: Mapping[str, Any]) -> bool:
    return data.get("v") in (None, 1, "1") and data.get("v") is not True


def _check_data(type_: str, data: Mapping[str, Any], time: datetime) -> None:
    """Check the fields of a known event, in the order in which a reader meets them."""
    for name, do in (("job", "Every event is about one job."), ("machine", "Every event names its machine.")):
        _name(data.get(name), f"data.{name}", do)
    _whole(data, "attempt", "Count attempts from 1.")
    if type_ in event_format.WITH_STEP:
        _whole(data, "step", "Write the number of the step.")
    if data.get("seq") is not None:
        _whole(data, "seq", "Number the events of a process from 1.")
    if data.get("gpus") is not None and not _is_number(data["gpus"], 10**6 - Decimal("0.000001")):
        do = "Write how many GPUs the attempt holds on this machine, such as 8 or 0.5, or leave it out."
        raise _RefusedError(f"data.gpus {_shown(data['gpus'])} is not a number of GPUs", do)
    if data.get("started") is not None and _time(data["started"], "data.started") > time:
        raise _RefusedError(f"data.started {_shown(data['started'])} is after the event", "Check the clock.")
    for name in ("labels", "native"):
        _flat(data.get(name), f"data.{name}")
    for name in ("cluster", "reason", "from_region", "to_region", "state"):
        if isinstance(data.get(name), dict | list):
            raise _RefusedError(f"data.{name} {_shown(data[name])} is not a text", _SEE)
    if type_ == event_format.USAGE:
        _check_values(data.get("values"))


def _check_values(values: Any) -> None:
    do = 'Write measured values of 0 or more, as in {"gpu_busy_seconds": 1200}.'
    if values is None:
        raise _RefusedError("data.values is empty", _SEE)
    if not isinstance(values, dict):
        raise _RefusedError(f"data.values {_shown(values)} is not an object of numbers", do)
    for name in STATED_MEASURES:
        if name in values and not _is_number(values[name], Decimal(_LARGEST)):
            raise _RefusedError(f"data.values {name} {_shown(values[name])} is no measurement", do)


def _name(value: Any, name: str, do: str) -> None:
    if value is None or (isinstance(value, str) and not value.strip()):
        raise _RefusedError(f"{name} is empty", do)
    if not isinstance(value, str):
        raise _RefusedError(f"{name} {_shown(value)} is not a text", do)
    if len(value) > MAX_NAME:
        raise _RefusedError(f"{name} {_shown(value)} has more than {MAX_NAME} characters", "Use a shorter one.")


def _whole(data: Mapping[str, Any], name: str, do: str) -> None:
    value, (least, limit) = data.get(name), _WHOLE[name]
    if value is None:
        raise _RefusedError(f"data.{name} is empty", do)
    text = str(value) if isinstance(value, int | str) and not isinstance(value, bool) else ""
    if not re.fullmatch("[0-9]{1,18}", text) or not least <= int(text) < limit:
        raise _RefusedError(f"data.{name} {_shown(value)} is not a whole number from {least}", do)


def _is_number(value: Any, most: Decimal) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return False
    try:
        number = Decimal(str(value))
    except InvalidOperation:
        return False
    return number.is_finite() and 0 <= number <= most


def _time(value: Any, name: str) -> datetime:
    if value is None or value == "":
        raise _RefusedError(f"{name} is empty", "Every event has a time." if name == "time" else _WRITE_TIME)
    try:
        found = datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        found = None
    if found is None or not re.match(r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}", value):
        raise _RefusedError(f"{name} {_shown(value)} is not a time", _WRITE_TIME)
    if found.tzinfo is None or not _OFFSET.search(value):
        raise _RefusedError(f"{name} {_shown(value)} has no offset from UTC", _WRITE_TIME)
    if not 1970 <= found.year <= 9999:
        raise _RefusedError(f"{name} {_shown(value)} is before 1970", _WRITE_TIME)
    return found.astimezone(UTC)


def _flat(value: Any, name: str) -> None:
    if value is None:
        return
    if not isinstance(value, dict) or any(isinstance(one, dict | list) for one in value.values()):
        do = 'Write {"team": "vision", "project": "segmentation"}.'
        raise _RefusedError(f"{name} {_shown(value)} is not an object of texts", do)


def _labels(value: Any) -> frozenset[str]:
    return frozenset(f"{key}:{one}" for key, one in value.items()) if isinstance(value, dict) else frozenset()


def _shown(value: Any) -> str:
    """Return a value as a message shows it: short."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=True, default=str)
    return f"'{text[:40]}{'...' if len(text) > 40 else ''}'"
