"""What is made once from a published version, in a process of its own: the memory it takes goes with it."""

import fcntl
import os
import re
import subprocess
import sys
from pathlib import Path

from trainfare import reopened
from trainfare.config import FILE_NAME, load
from trainfare.errors import IncompleteError, TrainfareError, UnreachableError
from trainfare.period import Month
from trainfare.report import digest
from trainfare.store import Book, Store

MEMORY = "1GB"
FAILED = 3
KEPT_OF_A_MONTH = 2
"""How many versions of a month are kept, beside the newest: those that were made last."""


def make(kind: str, workspace: Path, book: Book, path: Path) -> None:
    """Make the digest or the account of a book under this name, unless somebody else does: then wait until it is there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with (path.parent / f".{kind}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if path.exists():
            return
        command = [sys.executable, "-m", __name__, kind, str(workspace), str(book.month), str(book.version), str(path)]
        ran = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
        sweep(path)
    if ran.returncode == FAILED:
        raise IncompleteError(f"book {book.month}", ran.stdout.strip(), "Restore its files, or build it again.")
    if ran.returncode == UnreachableError.exit_code:
        raise UnreachableError(f"book {book.month}", ran.stdout.strip(), "Ask again when the object store answers.")
    if ran.returncode:
        raise RuntimeError(f"{kind} of {book.month} version {book.version} could not be made: {ran.stderr}")


def sweep(made: Path) -> None:
    """Remove what earlier versions of a month left, and drafts of whoever was killed while making one.

    Who has opened a file that goes can read it to the end; whoever asks for that version later has it made again.
    """
    of_month, _, _ = made.name.rpartition("-v")
    found = sorted(made.parent.glob(f"{of_month}-v*.duckdb"), key=lambda path: path.stat().st_mtime, reverse=True)
    kept = {*found[:KEPT_OF_A_MONTH], *sorted(found, key=_version, reverse=True)[:1]}
    for path in (*found, *made.parent.glob(f".{of_month}-v*.draft*")):
        if path not in kept:
            path.unlink(missing_ok=True)


def _version(path: Path) -> int:
    told = re.search(r"-v(\d+)-", path.name)
    return int(told[1]) if told else 0


def main(kind: str, workspace: str, month: str, version: str, path: str) -> None:
    os.nice(5)
    folder = Path(workspace)
    config = load(folder / FILE_NAME)
    try:
        with Store.open(folder, config.catalog, config.lake) as store:
            book = store.catalog.book(Month.parse(month), int(version))
            if kind == "digest":
                digest.write(store.files(book), Path(path), os.environ.get("TRAINFARE_MEMORY_LIMIT", MEMORY))
            else:
                reopened.keep_account(store, book, Path(path))
    except TrainfareError as error:
        print(f"{error.where}: {error.what}")
        raise SystemExit(error.exit_code if isinstance(error, UnreachableError) else FAILED) from None


if __name__ == "__main__":
    main(*sys.argv[1:])
