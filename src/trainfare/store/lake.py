"""The lake in a folder: a build holds an operating system lock for as long as it runs; the system frees it however the
build ends, so what a killed build left can be told from what a running one is about to publish.
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
from trainfare.places import BUILD_ID, Place, fsync
from trainfare.store.layout import OWNER, Layout, new_build_id, require_owner, with_parents

_LOCKS = ".building"


@dataclass(frozen=True)
class Lake(Layout):
    """A folder of files. Which of them count, the catalog says."""

    root: Path

    def claim(self, catalog_id: str) -> None:
        """Make the lake if it is not there, for the catalog of this id. A lake of another catalog is refused.

        Sweeping by the wrong catalog would remove everything, as that one names none of these files.
        """
        with _told(self.root):
            if not self.root.is_dir():
                self.root.mkdir(parents=True, exist_ok=True)
                fsync(self.root.parent)
            mark = self.root / OWNER
            if not mark.exists():
                self._write_mark(mark, catalog_id)
            owner = mark.read_text(encoding="utf-8").strip()
        require_owner(self.root, owner, catalog_id)

    def _write_mark(self, mark: Path, catalog_id: str) -> None:
        draft = mark.with_name(f"{OWNER}.{secrets.token_hex(4)}")
        draft.write_text(f"{catalog_id}\n", encoding="utf-8")
        fsync(draft)
        draft.replace(mark)
        fsync(self.root)

    def lost(self, names: set[str]) -> set[str]:
        """Those of these files that are not there."""
        return {name for name in names if not (self.root / name).exists()}

    def settle(self, names: Iterable[str]) -> None:
        """Bring files, and every folder on the way down to them, onto the disk."""
        folders: set[Path] = set()
        for path in (self.root / name for name in names):
            with _told(path):
                for written in (path, *path.rglob("*")):
                    fsync(written)
            way = path.relative_to(self.root).parents
            folders.update(self.root / step for step in way)
        for folder in sorted(folders, reverse=True):
            with _told(folder):
                fsync(folder)

    @contextmanager
    def building(self) -> Iterator[str]:
        """Hold the lock of a new build and give its id. Publish before leaving: after that, the rest is rubbish."""
        if not os.access(self.root, os.W_OK):
            raise UnwritableError(str(self.root))
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
            build_id = new_build_id()
            path = self.root / _LOCKS / build_id
            held = os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o666)
            fcntl.flock(held, fcntl.LOCK_EX)
            # A sweep may have come between the two calls, taken the file for a dead build's and removed it.
            if path.exists():
                return build_id, held
            os.close(held)

    def sweep(self, referenced: Callable[[], set[str]]) -> Sequence[Place]:
        """Remove what no catalog row names and no running build is writing; say what was removed.

        The order is what makes it safe: first the files, then who is running, and only then what is referenced.
        A build that ended before we looked at its lock had published before that, so the answer names its files.
        """
        with _told(self.root):
            found = list(_written_by_builds(self.root)) if self.root.is_dir() else []
            running = self._running()
            kept = with_parents(referenced())
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
            do = "Files of the lake must not be moved or removed by hand; trainfare build makes those of open months again."
            raise TrainfareError(where, "there is no such file", do) from error
        reason = (error.strerror or str(error)).lower()
        do = "Use a folder that this user may write to."
        raise TrainfareError(where, f"the lake cannot be used: {reason}", do) from error
