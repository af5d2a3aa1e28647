"""The spool: one file per job and process to which events are appended, whatever happens to the process or the disk.

A line is written as a whole or removed again, so only the last one can be incomplete. If the disk is full, training
goes on; as soon as there is space again, a `gap` event says how many events were lost, and the numbers `seq` show
which.
"""

from __future__ import annotations

import errno
import itertools
import os
import threading
import time
from typing import Any

from trainfare_sdk import event
from trainfare_sdk.settings import warn_once

RETRY_SECONDS = 1.0
"""How long nothing is written after a failure, so that a full disk costs training nothing."""


class Spool:
    """Writes the events of one process. Safe in threads and signal handlers; inert in a forked child."""

    def __init__(self, folder: str, common: dict[str, Any], program: str = "trainfare-sdk") -> None:
        """`common` is part of the data of every event."""
        self.folder = folder
        self.common = common
        self.paths: list[str] = []
        """The files so far: mostly one."""
        self._size, self._draft = 0, ""
        self._token = os.urandom(8).hex()
        self._source = f"{program}/{os.uname().nodename}/{os.getpid()}"
        self._numbers = itertools.count(1)
        self._pid = os.getpid()
        self._lock = threading.RLock()
        self._descriptor: int | None = None
        self._file = (0, 0)
        self._last = 0
        self._is_over = False
        self._lost, self._reason, self._retry_at = 0, "", 0.0

    @property
    def is_own(self) -> bool:
        """Whether this is the process that made the spool, and not one forked from it."""
        return os.getpid() == self._pid

    def write(self, type_: str, data: dict[str, Any]) -> bool:
        """Append an event and return whether it is in the file."""
        if not self.is_own:  # before the lock: a thread that does not exist here may hold it
            return False
        with self._lock:
            if self._is_over:
                return False
            self._is_over = type_ == event.END  # a heartbeat that comes too late is none
            line = self._line(type_, data)
            if self._lost and not self._close_gap():
                self._lost += 1
                return False
            return self._append(line) or self._lose()

    def synchronize(self) -> None:
        """Wait until what was written is on the disk. Only the background thread does this."""
        with self._lock:
            descriptor = os.dup(self._descriptor) if self._descriptor is not None else None
        if descriptor is not None:
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)

    def close(self) -> None:
        """Close the file. A later event opens another one."""
        if self.is_own:
            with self._lock:
                self._close_file()

    def _line(self, type_: str, data: dict[str, Any]) -> bytes:
        number = next(self._numbers)
        self._last = at = max(time.time_ns(), self._last)  # a clock that is set back would end things before they start
        return event.line(self._source, f"{self._token}-{number}", type_, at, {**self.common, "seq": number, **data})

    def _close_gap(self) -> bool:
        """Write how many events were lost, if writing works again."""
        if time.monotonic() < self._retry_at:
            return False
        if not self._append(self._line(event.GAP, {"lost": self._lost, "reason": self._reason})):
            self._retry_at = time.monotonic() + RETRY_SECONDS
            return False
        self._lost = 0
        return True

    def _lose(self) -> bool:
        self._lost += 1
        self._retry_at = time.monotonic() + RETRY_SECONDS
        warn_once("spool", f"events cannot be written to {self.folder} ({self._reason}); training goes on")
        return False

    def _append(self, line: bytes) -> bool:
        for _ in range(2):
            try:
                self._open()
                self._write_all(line)
                return True
            except OSError as error:
                self._reason = (error.strerror or "error").lower()
                self._undo()
                if error.errno != errno.EFBIG:
                    return False
                self._close_file()  # it has reached its size limit; the next one has not
        return False

    def _write_all(self, line: bytes) -> None:
        """Write the line; after the first one, the file gets its name, so that nobody ever finds an empty one."""
        assert self._descriptor is not None
        rest = line
        while rest:
            rest = rest[os.write(self._descriptor, rest) :]
        self._size += len(line)
        if self._draft:
            path = os.path.join(self.folder, os.path.basename(self._draft)[1:])
            os.rename(self._draft, path)
            self._draft = ""
            self.paths.append(path)

    def _undo(self) -> None:
        """Remove a line that was written in part."""
        if self._descriptor is None:
            return
        try:
            os.ftruncate(self._descriptor, self._size)
            if self._draft:
                os.unlink(self._draft)
                self._draft = ""
                self._close_file()
        except OSError:
            pass

    def _open(self) -> None:
        """Make sure that the descriptor is our file: a program may close all descriptors, or remove the folder."""
        if self._descriptor is not None:
            try:
                found = os.fstat(self._descriptor)
                if (found.st_dev, found.st_ino) == self._file and found.st_nlink:
                    return
            except OSError:
                pass
            self._descriptor = None  # not closed: the number may belong to someone else by now
        os.makedirs(self.folder, exist_ok=True)
        name = f".{os.uname().nodename}-{self._pid}-{time.time_ns()}.jsonl"
        draft = os.path.join(self.folder, name)
        self._descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o666)
        found = os.fstat(self._descriptor)
        self._file, self._size, self._draft = (found.st_dev, found.st_ino), 0, draft

    def _close_file(self) -> None:
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is None:
            return
        try:
            found = os.fstat(descriptor)
            if (found.st_dev, found.st_ino) == self._file:
                os.close(descriptor)
        except OSError:
            pass
