"""The lake: Parquet in a folder, written once under new names, never changed.

Every name holds the id of the build that wrote it. A build holds an operating system lock for as long as it
runs; the system frees it however the build ends, so what a killed build left can be told from what a running
one is about to publish.
"""

import errno
import fcntl
import os
import re
import secrets
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath

from trainfare.errors import TrainfareError
from trainfare.period import Month

BUILD_ID = re.compile(r"\d{8}T\d{12}Z-[0-9a-f]{8}")

_DELIVERIES = "deliveries"
_LOCKS = ".building"
_SCRATCH = ".scratch"
_OWNER = ".catalog"


@dataclass(frozen=True)
class Lake:
    """A folder of files. Which of them count, the catalog says."""

    root: Path

    def path(self, relative: str) -> Path:
        """Where a file is that the catalog names."""
        return self.root / relative

    def relative(self, path: Path) -> str:
        """The name by which the catalog knows a file of this lake."""
        return path.relative_to(self.root).as_posix()

    def book_path(self, table: str, month: Month, build_id: str) -> Path:
        return self.root / table / f"month={month}" / f"{build_id}.parquet"

    def delivery_path(self, sha256: str, build_id: str, suffix: str = ".parquet") -> Path:
        """A new name at every call, so that nothing archived is ever written over, even for equal content."""
        return self.root / _DELIVERIES / f"{sha256[:16]}-{secrets.token_hex(4)}.{build_id}{suffix}"

    def scratch_path(self, build_id: str) -> Path:
        """A folder for what a build keeps only while it runs. What a killed build left there is swept."""
        return self.root / _SCRATCH / build_id

    def claim(self, catalog_id: str) -> None:
        """Make the lake if it is not there, for the catalog of this id. A lake of another catalog is refused.

        Sweeping by the wrong catalog would remove everything, as that one names none of these files.
        """
        with _told(self.root):
            if not self.root.is_dir():
                self.root.mkdir(parents=True, exist_ok=True)
                _fsync(self.root.parent)
            mark = self.root / _OWNER
            if not mark.exists():
                self._write_mark(mark, catalog_id)
            owner = mark.read_text(encoding="utf-8").strip()
        if owner != catalog_id:
            raise TrainfareError(
                str(self.root),
                "these files belong to another catalog",
                "Name the catalog they were built with, or restore it; to start anew, move this folder away.",
            )

    def _write_mark(self, mark: Path, catalog_id: str) -> None:
        draft = mark.with_name(f"{_OWNER}.{secrets.token_hex(4)}")
        draft.write_text(f"{catalog_id}\n", encoding="utf-8")
        _fsync(draft)
        draft.replace(mark)
        _fsync(self.root)

    def fsync(self, paths: Iterable[Path]) -> None:
        """Bring files, and every folder on the way down to them, onto the disk."""
        folders: set[Path] = set()
        for path in paths:
            with _told(path):
                for written in (path, *path.rglob("*")):
                    _fsync(written)
            way = path.relative_to(self.root).parents
            folders.update(self.root / step for step in way)
        for folder in sorted(folders, reverse=True):
            with _told(folder):
                _fsync(folder)

    @contextmanager
    def building(self) -> Iterator[str]:
        """Hold the lock of a new build and give its id. Publish before leaving: after that, the rest is rubbish."""
        with _told(self.root):
            (self.root / _LOCKS).mkdir(parents=True, exist_ok=True)
            build_id, held = self._new_lock()
        try:
            yield build_id
        finally:
            (self.root / _LOCKS / build_id).unlink(missing_ok=True)
            os.close(held)

    def _new_lock(self) -> tuple[str, int]:
        while True:
            build_id = f"{datetime.now(UTC):%Y%m%dT%H%M%S%fZ}-{secrets.token_hex(4)}"
            path = self.root / _LOCKS / build_id
            held = os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o666)
            fcntl.flock(held, fcntl.LOCK_EX)
            # A sweep may have come between the two calls, taken the file for a dead build's and removed it.
            if path.exists():
                return build_id, held
            os.close(held)

    def sweep(self, referenced: Callable[[], set[str]]) -> list[Path]:
        """Remove what no catalog row names and no running build is writing; say what was removed.

        The order is what makes it safe: first the files, then who is running, and only then what is referenced.
        A build that ended before we looked at its lock had published before that, so the answer names its files.
        """
        with _told(self.root):
            found = list(_written_by_builds(self.root)) if self.root.is_dir() else []
            running = self._running()
            kept = _with_parents(referenced())
            return [path for path in found if not self._is_kept(path, kept, running) and _removed(path)]

    def _is_kept(self, path: Path, kept: set[str], running: set[str]) -> bool:
        builds = BUILD_ID.findall(path.name)
        return self.relative(path) in kept or any(build in running for build in builds)

    def _running(self) -> set[str]:
        """The ids of builds that hold their lock. Locks nobody holds any more are removed."""
        locks = self.root / _LOCKS
        return {path.name for path in locks.iterdir() if _is_held(path)} if locks.is_dir() else set()


def _is_held(lock: Path) -> bool:
    try:
        opened = os.open(lock, os.O_RDWR)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
        lock.unlink(missing_ok=True)
    except BlockingIOError:
        return True
    finally:
        os.close(opened)
    return False


def _written_by_builds(folder: Path) -> Iterator[Path]:
    """Files and folders whose name holds a build's id. An engine may write a table as a folder, or a draft first."""
    with os.scandir(folder) as entries:
        for entry in sorted(entries, key=lambda each: each.name):
            if BUILD_ID.search(entry.name):
                yield Path(entry.path)
            elif entry.is_dir(follow_symlinks=False) and entry.name != _LOCKS:
                yield from _written_by_builds(Path(entry.path))


def _with_parents(names: Iterable[str]) -> set[str]:
    return {str(path) for name in names for path in (PurePosixPath(name), *PurePosixPath(name).parents)}


def _removed(path: Path) -> bool:
    """Remove a file or folder; false if somebody else did so first."""
    try:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()
    except FileNotFoundError:
        return False
    return True


def _fsync(path: Path) -> None:
    opened = os.open(path, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


@contextmanager
def _told(path: Path) -> Iterator[None]:
    """Tell a fault of the file system with the path it is about."""
    try:
        yield
    except OSError as error:
        where = str(error.filename or path)
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise TrainfareError(where, "the disk is full", "Free some space and run the command again.") from error
        if isinstance(error, FileNotFoundError):
            do = "Files of the lake must not be moved or removed by hand; build the month again."
            raise TrainfareError(where, "there is no such file", do) from error
        reason = (error.strerror or str(error)).lower()
        do = "Use a folder that this user may write to."
        raise TrainfareError(where, f"the lake cannot be used: {reason}", do) from error
