"""The log of the service: one line per event, as text on a terminal and as JSON otherwise.

A request is one line: method and path (never the query, headers or cookies, which may contain secrets), viewer, status
and duration.
"""

import logging
import sys
from datetime import UTC, datetime

import msgspec

from trainfare import quoting

LOG = logging.getLogger("trainfare.serve")
_FIELDS = ("method", "path", "route", "status", "ms", "viewer", "request")


class _JsonFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        fields = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "event": record.getMessage(),
        }
        fields |= {name: getattr(record, name) for name in _FIELDS if hasattr(record, name)}
        if record.exc_info:
            fields["error"] = self.formatException(record.exc_info)
        return quoting.json_document(msgspec.json.encode(fields)).decode()


class _TextFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        time = f"{datetime.fromtimestamp(record.created):%H:%M:%S}"
        fields = [str(getattr(record, name)) for name in _FIELDS if hasattr(record, name) and name != "request"]
        text = f"{time} {record.levelname.lower():7} {record.getMessage()} {' '.join(fields)}"
        return quoting.visible(f"{text}\n{self.formatException(record.exc_info)}" if record.exc_info else text)


def to_stderr(as_json: bool | None = None) -> None:
    """Log to stderr. Without a choice, log JSON unless stderr is a terminal."""
    handler = logging.StreamHandler(sys.stderr)
    is_json = not sys.stderr.isatty() if as_json is None else as_json
    handler.setFormatter(_JsonFormatter() if is_json else _TextFormatter())
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(logging.WARNING)
    LOG.setLevel(logging.INFO)
