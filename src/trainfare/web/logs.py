"""What the service tells about itself: one line per event, for people on a terminal and as JSON for programs.

An answered request is one line: what was asked (never the query, headers or cookies, which may hold secrets), by whom, how it
was answered and how long that took.
"""

import logging
import sys
from datetime import UTC, datetime

import msgspec

LOG = logging.getLogger("trainfare.web")
_BESIDE = ("method", "path", "route", "status", "ms", "viewer", "request")


class _AsJson(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        told = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "event": record.getMessage(),
        }
        told |= {name: getattr(record, name) for name in _BESIDE if hasattr(record, name)}
        if record.exc_info:
            told["fault"] = self.formatException(record.exc_info)
        return msgspec.json.encode(told).decode()


class _ForPeople(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        told = " ".join(str(getattr(record, name)) for name in _BESIDE if hasattr(record, name) and name != "request")
        text = f"{datetime.fromtimestamp(record.created):%H:%M:%S} {record.levelname.lower():7} {record.getMessage()} {told}"
        return f"{text}\n{self.formatException(record.exc_info)}" if record.exc_info else text


def to_stderr(as_json: bool | None = None) -> None:
    """Log to stderr: as JSON lines if asked, or where stderr is no terminal."""
    handler = logging.StreamHandler(sys.stderr)
    is_json = not sys.stderr.isatty() if as_json is None else as_json
    handler.setFormatter(_AsJson() if is_json else _ForPeople())
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(logging.WARNING)
    LOG.setLevel(logging.INFO)
