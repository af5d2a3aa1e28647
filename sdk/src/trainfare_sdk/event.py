"""One event is one line of JSON: a CloudEvent 1.0 whose `data` says what happened to which attempt."""

from __future__ import annotations

import json
import time
from typing import Any

VERSION = 1
"""The version of `data`. It changes only when a reader of the previous version would misread an event."""
PREFIX = "trainfare."

START, RUNNING, STEP, USAGE, LABEL, SIGNAL, END, GAP = (
    PREFIX + name for name in ("start", "running", "step", "usage", "label", "signal", "end", "gap")
)
CHECKPOINT_BEGIN, CHECKPOINT_END = PREFIX + "checkpoint_begin", PREFIX + "checkpoint_end"

_encode = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode


def timestamp(nanoseconds: int) -> str:
    """Return a time since 1970 in UTC, to the microsecond."""
    seconds, rest = divmod(nanoseconds, 1_000_000_000)
    return f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(seconds))}.{rest // 1000:06d}Z"


def line(source: str, id_: str, type_: str, at: int, data: dict[str, Any]) -> bytes:
    """Return an event as one line. JSON escapes line breaks, so a line is never more than one event."""
    event = {"specversion": "1.0", "id": id_, "source": source, "type": type_, "time": timestamp(at), "data": data}
    return _encode(event).encode("ascii") + b"\n"
