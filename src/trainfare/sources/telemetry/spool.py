"""The spool of `trainfare run`: a file of events, and the numbering of attempts where no scheduler numbers them.

Both follow the SDK, so that code that uses it and the command that starts this code report the same attempt.
"""

import contextlib
import hashlib
import json
import os
import re
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from trainfare.sources.telemetry import event_format

ATTEMPTS = "attempts"
MOST_ATTEMPTS = 100_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def claim_attempt(folder: Path, job: str, run: str) -> int:
    """Return the attempt of `run`: the one it has already, or the first one of the job that no other run has claimed.

    A claim appears together with its content (a hard link), so two processes never read half of one.
    """
    name = re.sub("[^A-Za-z0-9.-]", "-", job)[:40].lstrip(".-")
    claims = folder / ATTEMPTS / f"{name}-{hashlib.sha256(job.encode('utf-8', 'surrogatepass')).hexdigest()[:12]}"
    claims.mkdir(parents=True, exist_ok=True)
    draft = claims / f".{os.urandom(6).hex()}-{os.getpid()}"
    draft.write_text(run, encoding="utf-8")
    try:
        for number in range(1, MOST_ATTEMPTS):
            claim = claims / str(number)
            try:
                claim.hardlink_to(draft)
            except FileExistsError:
                if claim.read_text(encoding="utf-8") != run:
                    continue
            return number
    finally:
        draft.unlink()
    raise OSError("no free attempt")


@dataclass
class Spool:
    """A file to which events are appended. On a full disk events are lost and counted; nothing raises."""

    folder: Path
    common: dict[str, Any]
    """Fields of the data of every event."""
    path: Path | None = None
    lost: int = 0
    reason: str = ""
    _sent: int = 0
    _last: int = 0
    _size: int = 0
    _token: str = field(default_factory=lambda: os.urandom(8).hex())

    def write(self, type_: str, **data: Any) -> None:
        """Append an event; before the first one after a failure, an event that says how many are missing."""
        line = self._line(type_, data)
        if self.lost and not self._append(self._line(event_format.GAP, {"lost": self.lost, "reason": self.reason})):
            self.lost += 1
            return
        self.lost = 0 if self._append(line) else 1

    def _line(self, type_: str, data: dict[str, Any]) -> bytes:
        self._sent += 1
        self._last = max(time.time_ns(), self._last)
        event = {
            "specversion": "1.0",
            "id": f"{self._token}-{self._sent}",
            "source": f"trainfare-run/{os.uname().nodename}/{os.getpid()}",
            "type": type_,
            "time": _text(self._last),
            "data": {**self.common, "seq": self._sent, **data},
        }
        return json.dumps(event, separators=(",", ":")).encode("ascii") + b"\n"

    def _append(self, line: bytes) -> bool:
        """Append a line as a whole, or not at all. The file has its name from its first line on, so none is empty."""
        path = self.path or self.folder / f".{os.uname().nodename}-{os.getpid()}-{time.time_ns()}.jsonl"
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with path.open("ab", buffering=0) as file:
                try:
                    rest = line
                    while rest:
                        rest = rest[file.write(rest) or 0 :]
                except OSError:
                    file.truncate(self._size)
                    raise
            if self.path is None:
                self.path = path.rename(path.with_name(path.name[1:]))
        except OSError as error:
            self.reason = (error.strerror or "error").lower()
            if self.path is None:
                with contextlib.suppress(OSError):
                    path.unlink()
            return False
        self._size += len(line)
        return True


def span_start(seconds: float) -> str:
    """Return the time that was this many seconds ago, as events write it."""
    return _text(time.time_ns() - int(seconds * 1e9))


def _text(nanoseconds: int) -> str:
    return f"{(_EPOCH + timedelta(microseconds=nanoseconds // 1000)).isoformat(timespec='microseconds')[:-6]}Z"
