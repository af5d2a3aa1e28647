"""Build a database file from a published version, in a separate process so that its memory is returned afterwards."""

import fcntl
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from trainfare.books import reopen
from trainfare.errors import IncompleteError, TrainfareError, UnreachableError
from trainfare.period import Month
from trainfare.query.grains import parts
from trainfare.settings.config import FILE_NAME, load
from trainfare.store import Book, Store

MEMORY = "1GB"
FAILED = 3
FILES_PER_MONTH = 2
"""How many of the most recently built files of a month are kept, in addition to the one of the newest version."""


def build(kind: str, workspace: Path, book: Book, path: Path, others: Sequence[Book] = ()) -> None:
    """Build the grains or account of a book at this path. If another process is building it, wait for that one.

    `others` are the books that have shares for days of this one.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with (path.parent / f".{kind}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if path.is_file():
            return
        versions = [f"{one.month}:{one.version}" for one in (book, *others)]
        command = [sys.executable, "-m", __name__, kind, str(workspace), str(path), *versions]
        ran = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
        if kind == "account":
            remove_old(path)
    if ran.returncode == FAILED:
        raise IncompleteError(f"book {book.month}", ran.stdout.strip(), "Restore its files, or build it again.")
    if ran.returncode == UnreachableError.exit_code:
        raise UnreachableError(
            f"book {book.month}", ran.stdout.strip(), "Try again when the object store is available."
        )
    if ran.returncode:
        raise RuntimeError(f"building the {kind} of {book.month} version {book.version} failed: {ran.stderr}")


def remove_old(built: Path) -> None:
    """Remove the files of earlier versions of a month, and drafts of builds that were killed.

    A process that has a removed file open can still read all of it. A later request for that version rebuilds the file.
    """
    prefix, _, _ = built.name.rpartition("-v")
    found = sorted(built.parent.glob(f"{prefix}-v*.duckdb"), key=lambda path: path.stat().st_mtime, reverse=True)
    retained = {*found[:FILES_PER_MONTH], *sorted(found, key=_version, reverse=True)[:1]}
    for path in (*found, *built.parent.glob(f".{prefix}-v*.draft*")):
        if path not in retained:
            path.unlink(missing_ok=True)


def _version(path: Path) -> int:
    match = re.search(r"-v(\d+)-", path.name)
    return int(match[1]) if match else 0


def main(kind: str, workspace: str, path: str, *versions: str) -> None:
    os.nice(5)
    folder = Path(workspace)
    config = load(folder / FILE_NAME)
    try:
        with Store.open(folder, config.catalog, config.lake) as store:
            named = (one.split(":") for one in versions)
            book, *others = (store.catalog.book(Month.parse(month), int(version)) for month, version in named)
            if kind == "grains":
                os.environ.setdefault("TRAINFARE_MEMORY_LIMIT", MEMORY)
                parts.GrainFolder(store, book, tuple(others)).make(*parts.PARTS)
            else:
                reopen.store_account(store, book, Path(path))
    except TrainfareError as error:
        print(f"{error.where}: {error.what}")
        raise SystemExit(error.exit_code if isinstance(error, UnreachableError) else FAILED) from None


if __name__ == "__main__":
    main(*sys.argv[1:])
