"""The lake in a folder. A build holds an operating system lock while it runs.

The system releases the lock however the build ends, so the files of a killed build can be distinguished from those that
a running build is about to publish.
"""

import errno
import fcntl
import os
import secrets
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from trainfare.errors import TrainfareError, UnwritableError
from trainfare.files.locations import BUILD_ID, Location, fsync
from trainfare.store.layout import OWNER, Layout, new_build_id, require_owner, with_parents

_LOCKS = ".building"


@dataclass(frozen=True)
class Lake(Layout):
    """A folder of files. The catalog says which of them are in use."""

    root: Path

    def claim(self, catalog_id: str) -> None:
        """Create the lake if it does not exist, for the catalog with this id. A lake of another catalog is rejected.

        A sweep by the wrong catalog would remove everything, because that catalog names none of these files.
        """
        with _translate_errors(self.root):
            if not self.root.is_dir():
                self.root.mkdir(parents=True, exist_ok=True)
                fsync(self.root.parent)
            mark = self.root / OWNER
            if not mark.exists():
                self.write_mark(OWNER, catalog_id)
            owner = mark.read_text(encoding="utf-8").strip()
        require_owner(self.root, owner, catalog_id)

    def write_mark(self, name: str, text: str) -> None:
        """Write a small file of the lake itself, completely or not at all."""
        mark = self.root / name
        draft = mark.with_name(f"{name}.{secrets.token_hex(4)}")
        with _translate_errors(self.root):
            try:
                draft.write_text(f"{text}\n", encoding="utf-8")
                fsync(draft)
                draft.replace(mark)
            finally:
                draft.unlink(missing_ok=True)
            fsync(self.root)

    def read_mark(self, name: str) -> str | None:
        """The text of a small file of the lake itself; None if there is none."""
        try:
            return (self.root / name).read_text(encoding="utf-8", errors="replace")
        except FileNotFoundError:
            return None

    def missing(self, names: set[str]) -> set[str]:
        """The names for which no file exists."""
        return {name for name in names if not (self.root / name).exists()}

    def make_durable(self, names: Iterable[str]) -> None:
        """Flush files, and every folder that leads to them, to disk."""
        folders: set[Path] = set()
        for path in (self.root / name for name in names):
            with _translate_errors(path):
                for written in (path, *path.rglob("*")):
                    fsync(written)
            folders.update(self.root / parent for parent in path.relative_to(self.root).parents)
        for folder in sorted(folders, reverse=True):
            with _translate_errors(folder):
                fsync(folder)

    @contextmanager
    def building(self) -> Iterator[str]:
        """Hold the lock of a new build and yield its id. Publish inside the block: later, unnamed files are swept."""
        if not os.access(self.root, os.W_OK):
            raise UnwritableError(str(self.root))
        with _translate_errors(self.root):
            (self.root / _LOCKS).mkdir(parents=True, exist_ok=True)
            build_id, held = self._new_lock()
        try:
            yield build_id
        finally:
            (self.root / _LOCKS / build_id).unlink(missing_ok=True)
            os.close(held)

    def _new_lock(self) -> tuple[str, int]:
        while True:
            build_id = new_build_id()
            path = self.root / _LOCKS / build_id
            held = os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o666)
            fcntl.flock(held, fcntl.LOCK_EX)
            # Between the two calls, a sweep may have mistaken the file for a dead build's and removed it.
            if path.exists():
                return build_id, held
            os.close(held)

    def sweep(self, referenced: Callable[[], set[str]]) -> Sequence[Location]:
        """Remove files that no catalog row names and no running build is writing; return what was removed.

        The order makes this safe: list the files first, then the running builds, and the references last. A build that
        ended before its lock was checked had published by then, so the references include its files.
        """
        with _translate_errors(self.root):
            found = list(_written_by_builds(self.root)) if self.root.is_dir() else []
            running = self._running()
            in_use = with_parents(referenced())
            return [path for path in found if not self._is_needed(path, in_use, running) and _removed(path)]

    def _is_needed(self, path: Path, in_use: set[str], running: set[str]) -> bool:
        builds = BUILD_ID.findall(path.name)
        return self.relative(path) in in_use or any(build in running for build in builds)

    def _running(self) -> set[str]:
        """The ids of builds that hold their lock. Lock files that nobody holds any more are removed."""
        locks = self.root / _LOCKS
        return {path.name for path in locks.iterdir() if _is_held(path)} if locks.is_dir() else set()


def _is_held(lock: Path) -> bool:
    try:
        descriptor = os.open(lock, os.O_RDWR)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        lock.unlink(missing_ok=True)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def _written_by_builds(folder: Path) -> Iterator[Path]:
    """Files and folders whose name contains a build id. An engine may write a table as a folder, or a draft first."""
    with os.scandir(folder) as entries:
        for entry in sorted(entries, key=lambda each: each.name):
            if BUILD_ID.search(entry.name):
                yield Path(entry.path)
            elif entry.is_dir(follow_symlinks=False) and entry.name != _LOCKS:
                yield from _written_by_builds(Path(entry.path))


def _removed(path: Path) -> bool:
    """Remove a file or folder; return False if another process removed it first."""
    try:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()
    except FileNotFoundError:
        return False
    return True


@contextmanager
def _translate_errors(path: Path) -> Iterator[None]:
    """Report a file system error with the path it concerns."""
    try:
        yield
    except OSError as error:
        where = str(error.filename or path)
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise TrainfareError(where, "the disk is full", "Free some space and run the command again.") from error
        if isinstance(error, FileNotFoundError):
            do = "Do not move or remove files of the lake by hand. trainfare build rebuilds those of open months."
            raise TrainfareError(where, "there is no such file", do) from error
        reason = (error.strerror or str(error)).lower()
        do = "Use a folder that this user may write to."
        raise TrainfareError(where, f"the lake cannot be used: {reason}", do) from error
