"""Where tables live: files in a lake, and a catalog that says which of them count."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from trainfare.errors import TrainfareError
from trainfare.period import Month
from trainfare.store.lake import Lake
from trainfare.store.records import Acceptance, Book, BookFiles, Closing, Delivery, NewBook, NewDelivery, Total

if TYPE_CHECKING:
    from trainfare.store.catalog import Catalog

__all__ = ["Acceptance", "Book", "BookFiles", "Closing", "Delivery", "Lake", "NewBook", "NewDelivery", "Store", "Total"]


@dataclass(frozen=True)
class Store:
    """The lake and the catalog of one workspace. The catalog never names a file that is not safely on disk."""

    lake: Lake
    catalog: "Catalog"

    @classmethod
    def open(cls, workspace: Path, catalog_url: str | None = None) -> "Store":
        """Open the store of a workspace, making what is missing. Without a URL the catalog is a file in it."""
        try:
            workspace.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            do = "Name a folder that this user may write to."
            raise TrainfareError(str(workspace), f"the workspace cannot be made: {reason}", do) from error
        # Nothing that only reads files has to wait for the database library.
        from trainfare.store.catalog import Catalog

        catalog = Catalog.open(catalog_url or workspace / "catalog.sqlite")
        lake = Lake(workspace / "lake")
        lake.claim(catalog.id)
        return cls(lake, catalog)

    def add_deliveries(self, new: Sequence[NewDelivery]) -> list[Delivery]:
        """Bring the archives onto the disk, then add all deliveries or none. Use the rows that come back: one known
        already keeps the archive it has.
        """
        self.lake.fsync(self.lake.path(one.archive) for one in new)
        return self.catalog.add_deliveries(new)

    def publish(self, month: Month, expected_version: int | None, book: NewBook) -> Book:
        """Bring the files onto the disk, then publish them as the next version, or nothing."""
        self.lake.fsync(self.lake.path(path) for path in book.files.values())
        return self.catalog.publish(month, expected_version, book)

    def files(self, book: Book) -> BookFiles:
        """Where a book's tables are."""
        paths = {name: self.lake.path(relative) for name, relative in book.files.items()}
        return BookFiles(book.month, book.version, paths, book.complete_through)

    def sweep(self) -> list[Path]:
        """Remove what neither a book nor a delivery names, and no running build is writing."""
        return self.lake.sweep(self.catalog.referenced_files)

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.catalog.dispose()
