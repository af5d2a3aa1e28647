"""Storage: files in a lake, and a catalog that says which of them are in use."""

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from trainfare.errors import TrainfareError
from trainfare.files import digests
from trainfare.files.locations import Location, ObjectLocation, locate
from trainfare.period import Month
from trainfare.store import integrity
from trainfare.store.lake import Lake
from trainfare.store.records import Acceptance, Book, BookFiles, Closing, Delivery, NewBook, NewDelivery, Total

if TYPE_CHECKING:
    from trainfare.store.catalog import Catalog
    from trainfare.store.objects import ObjectLake

BOOK_FORMAT = 4
"""The format of stored books and archives that this code reads and writes; `book_migration.py` leads to it."""

__all__ = ["Acceptance", "Book", "BookFiles", "Closing", "Delivery", "Lake", "NewBook", "NewDelivery", "Store", "Total"]


@dataclass(frozen=True)
class Store:
    """The lake and the catalog of one workspace. The catalog never names a file that is not safely on disk."""

    workspace: Path
    lake: "Lake | ObjectLake"
    catalog: "Catalog"

    @classmethod
    def open(
        cls,
        workspace: Path,
        catalog_url: str | None = None,
        lake_at: str | None = None,
        notify: Callable[[str], None] = lambda message: None,
    ) -> "Store":
        """Open the store of a workspace, and create what does not exist yet.

        Catalog and lake are in the workspace by default. A store that an older Trainfare wrote is migrated first.
        """
        try:
            workspace.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            do = "Choose a folder that this user may write to."
            raise TrainfareError(str(workspace), f"the workspace cannot be created: {reason}", do) from error
        # Importing the database library takes time that commands without a store should not spend.
        from trainfare.store.catalog import Catalog

        catalog = Catalog.open(catalog_url or workspace / "catalog.sqlite")
        lake = _lake(locate(lake_at or "lake", workspace), catalog)
        lake.claim(catalog.id)
        store = cls(workspace, lake, catalog)
        if catalog.book_format < BOOK_FORMAT:
            from trainfare.store.book_migration import migrate_books

            migrate_books(store, notify)
        if not catalog.has_checksums:
            integrity.record_checksums(store, notify)
        integrity.require_not_older(store)
        return store

    def add_deliveries(self, new: Sequence[NewDelivery]) -> list[Delivery]:
        """Make the archives durable, then add all deliveries or none. Use the returned rows: a delivery that is already
        known keeps its archive.
        """
        self.lake.make_durable(one.archive for one in new)
        written = [(one, digests.digest(self.lake.path(one.archive))) for one in new]
        added = self.catalog.add_deliveries(
            [replace(one, archive_size=found.size, archive_sha256=found.sha256) for one, found in written]
        )
        integrity.copy_checksums(self)
        return added

    def replace_archives(self, archives: Mapping[int, str]) -> None:
        """Use new archives for deliveries, by id, whose archives were lost or damaged."""
        self.lake.make_durable(archives.values())
        found = {number: (name, digests.digest(self.lake.path(name))) for number, name in archives.items()}
        self.catalog.replace_archives(found)

    def publish(self, month: Month, expected_version: int | None, book: NewBook) -> Book:
        """Make the files durable, then publish them as the next version, or publish nothing."""
        self.lake.make_durable(book.files.values())
        found = {name: digests.digest(self.lake.path(path)) for name, path in book.files.items()}
        published = self.catalog.publish(month, expected_version, replace(book, digests=found))
        integrity.copy_checksums(self)
        return published

    def close(self, month: Month, by: str, note: str, version: int | None = None) -> Closing:
        """Close a month with its latest version, provided that is still `version`."""
        closing = self.catalog.close(month, by, note, version)
        integrity.copy_checksums(self)
        return closing

    def reopen(self, month: Month, by: str, note: str) -> Closing:
        """Reopen a closed month, and return how it was closed."""
        closing = self.catalog.reopen(month, by, note)
        integrity.copy_checksums(self)
        return closing

    def files(self, book: Book, without: Set[str] = frozenset(), others: Sequence[Book] = ()) -> BookFiles:
        """The locations of a book's tables, which are as they were published; `without` names files to leave out.

        `others` are the books that have shares for days of this one: see `others_of`.
        """
        paths = {name: self.lake.path(path) for name, path in book.files.items() if path not in without}
        integrity.require_intact({path: book.digests[name] for name, path in paths.items() if name in book.digests})
        with_shares = tuple(self.files(other) for other in others)
        return BookFiles(book.month, book.version, paths, book.complete_through, with_shares)

    def others_of(self, book: Book, published: Sequence[Book] | None = None) -> tuple[Book, ...]:
        """The other books whose shares count in the unit cost of this one, of those published, the last month first."""
        from trainfare.store import other_months

        return other_months.others(self, book.month, self.catalog.books() if published is None else published)

    def table(self, book: Book, name: str) -> Location | None:
        """The location of one table of a book, which is as it was published; None if the book does not have it."""
        if name not in book.files:
            return None
        path = self.lake.path(book.files[name])
        integrity.require_intact({path: book.digests[name]} if name in book.digests else {})
        return path

    def archive(self, delivery: Delivery) -> Location:
        """The location of a delivery's archive, which is as it was written."""
        location = self.lake.path(delivery.archive)
        integrity.require_intact_archive(location, delivery.digest)
        return location

    def is_usable(self, delivery: Delivery) -> bool:
        """Whether the archive of a delivery is as it was written."""
        return not delivery.digest or not integrity.unusable(self, {delivery.archive: delivery.digest})

    def unusable_files(self) -> set[str]:
        """The missing files, and the damaged ones of the newest versions of open months: a build writes them again."""
        missing = self.missing_files()
        open_months = [month for month in self.catalog.months() if not self.catalog.closing(month)]
        newest = [book for month in open_months if (book := self.catalog.latest(month))]
        expected = {
            path: book.digests[name]
            for book in newest
            for name, path in book.files.items()
            if name in book.digests and path not in missing
        }
        return missing | integrity.unusable(self, expected)

    def missing_files(self) -> set[str]:
        """The files that the catalog names and the lake no longer has: removed by hand, or not in a restored backup.

        If all of them are missing, the lake is most likely not mounted, and that is an error.
        """
        named = self.catalog.referenced_files()
        missing = self.lake.missing(named)
        if named and missing == named:
            what = f"none of the {len(named)} files that the catalog names exists"
            do = "Mount or restore the lake. To start over, move the catalog away, too, and build again."
            raise TrainfareError(str(self.lake.root), what, do)
        return missing

    def sweep(self) -> Sequence[Location]:
        """Remove files that no book and no delivery names and no running build is writing."""
        return self.lake.sweep(self.catalog.referenced_files)

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.catalog.dispose()


def _lake(root: Location, catalog: "Catalog") -> "Lake | ObjectLake":
    if isinstance(root, ObjectLocation):
        from trainfare.store.objects import ObjectLake

        return ObjectLake(root, catalog.builds)
    return Lake(root)
