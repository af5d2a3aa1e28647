"""Integrity of a workspace: its files are as they were written, its catalog names them all, and neither is older.

A copy of the catalog's checksums is in the lake, so that a catalog that lost its newest rows is noticed: restored from
an older backup, or with a damaged write-ahead log.
"""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import msgspec

from trainfare.errors import DamagedError, Problems, TrainfareError
from trainfare.files import digests
from trainfare.files.digests import Digest
from trainfare.files.locations import Location
from trainfare.store.grain_files import kept_in
from trainfare.store.layout import CHECKSUMS
from trainfare.store.records import Book, Checksum, Delivery

if TYPE_CHECKING:
    from trainfare.store import Store

_REBUILT = "Restore it from a backup, or run trainfare build, which rebuilds it if its month is open."
_ARCHIVE = "Restore it from a backup, or put the delivered file back and run trainfare build, which archives it again."
_MADE_AGAIN = "Nothing is lost: the next question that needs it makes it again from the book."
_OLDER = "Restore the newest catalog. To continue with this one, remove this file."
_SAME_HEADS = ("books", "closings", "audit")
"""The tables whose rows are only ever added, so that as many rows are the same rows; a reopening removes a closing."""


def require_intact(expected: dict[Location, Digest]) -> None:
    """Require that files are as they were written. Each is read once per process."""
    for location, problem in digests.problems(expected).items():
        raise _error(location, problem, _REBUILT)


def require_intact_archive(location: Location, expected: Digest | None) -> None:
    """Require that the archive of a delivery is as it was written."""
    for problem in digests.problems({location: expected} if expected else {}).values():
        raise _error(location, problem, _ARCHIVE)


def _error(location: Location, problem: str, do: str) -> TrainfareError:
    if problem == digests.MISSING:
        return TrainfareError(str(location), "there is no such file", do)
    return DamagedError(str(location), do=do)


def unusable(store: "Store", expected: dict[str, Digest]) -> set[str]:
    """Which of these files, by their names in the catalog, are missing or damaged."""
    found = digests.problems({store.lake.path(name): one for name, one in expected.items()})
    return {store.lake.relative(location) for location in found}


def check_book(store: "Store", book: Book) -> None:
    """Require that the files and archives of a book, and the whole catalog, are as they were written.

    Everything is read again, and all problems are reported at once.
    """
    problems = Problems()
    check_files(store, [book], store.catalog.deliveries(book.deliveries), problems)
    store.catalog.check_rows(problems)
    problems.raise_if_any()


def check_everything(store: "Store", progress: Callable[[str], None] = lambda message: None) -> Problems:
    """Read the whole catalog and every file that it names, and return what is not as it was written."""
    problems = Problems()
    progress("catalog")
    store.catalog.check_rows(problems)
    require_not_older(store)
    if not problems.found:  # otherwise it is not known which files there should be
        for book in store.catalog.books():
            progress(f"{book.month} version {book.version}")
            check_files(store, [book], [], problems)
        progress("archives")
        check_files(store, [], store.catalog.all_deliveries(), problems)
        check_grains(store, problems)
    return problems


def check_files(store: "Store", books: Iterable[Book], deliveries: Iterable[Delivery], problems: Problems) -> None:
    """Report the files of books and the archives of deliveries that are not as they were written."""
    expected = {store.lake.path(book.files[name]): one for book in books for name, one in book.digests.items()}
    archives = {store.lake.path(one.archive): one.digest for one in deliveries if one.digest}
    for location, problem in digests.problems(expected | archives, again=True).items():
        error = _error(location, problem, _ARCHIVE if location in archives else _REBUILT)
        problems.add(error.where, error.what, error.do)


def check_grains(store: "Store", problems: Problems) -> None:
    """Report the files of grains on this machine that are damaged. One that is missing is made again when needed."""
    folder = kept_in(store.workspace)
    expected: dict[Location, Digest] = {folder / one.path: one.digest for one in store.catalog.grain_files.all()}
    for location, problem in digests.problems(expected, again=True).items():
        if problem == digests.DAMAGED:
            problems.add(str(location), DamagedError(str(location)).what, _MADE_AGAIN)


def record_checksums(store: "Store", notify: Callable[[str], None]) -> None:
    """Record the digests of all files that a catalog of an older Trainfare names, once.

    This takes them as they are: damage from before cannot be noticed. A missing file has no digest.
    """
    names = sorted(store.catalog.referenced_files())
    if names:
        notify(f"recording the digests of {len(names)} files")
    found = {}
    for name in names:
        try:
            found[name] = digests.digest(store.lake.path(name))
        except (OSError, TrainfareError):  # missing, which the next build reports
            continue
    store.catalog.record_checksums(found)


def copy_checksums(store: "Store", without: str = "") -> None:
    """Copy the checksums of the catalog into the lake, if they changed, `without` those of a table about to change."""
    known = sorted(store.catalog.checksums().items())
    found = {name: (one.rows, one.head) for name, one in known if name != without}
    text = msgspec.json.encode(found).decode()
    if (store.lake.read_mark(CHECKSUMS) or "").strip() != text:
        store.lake.write_mark(CHECKSUMS, text)


def require_not_older(store: "Store") -> None:
    """Reject a catalog that lost rows since its checksums were copied into the lake."""
    text = store.lake.read_mark(CHECKSUMS)  # before the catalog, which another process may extend in between
    if text is None:
        return
    where = str(store.lake.path(CHECKSUMS))
    try:
        copied = msgspec.json.decode(text, type=dict[str, tuple[int, str]])
    except (msgspec.MsgspecError, UnicodeError):
        do = "Remove it, and run trainfare verify: the next build writes it again."
        raise DamagedError(where, do=do) from None
    now = store.catalog.checksums()
    for name, (rows, head) in copied.items():
        one = now.get(name, Checksum(0, ""))
        if (
            name in ("closings", "closing keys")
            and now.get("audit", Checksum(0, "")).rows > copied.get("audit", (0, ""))[0]
        ):
            continue  # a month may have been reopened, which the audit log records
        if one.rows < rows:
            what = f"the catalog is older than the lake: it has {one.rows:,} rows of {name} where it had {rows:,}"
            raise DamagedError(where, what, _OLDER)
        if one.rows == rows and one.head != head and name in _SAME_HEADS:
            raise DamagedError(where, f"the catalog has other rows of {name} than before", _OLDER)
