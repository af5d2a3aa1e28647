"""Where tables live: files in a lake, and a catalog that says which of them count."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from trainfare.errors import TrainfareError
from trainfare.period import Month
from trainfare.places import Place, Remote, place
from trainfare.store.lake import Lake
from trainfare.store.records import Acceptance, Book, BookFiles, Closing, Delivery, NewBook, NewDelivery, Total

if TYPE_CHECKING:
    from trainfare.store.catalog import Catalog
    from trainfare.store.objects import ObjectLake

__all__ = ["Acceptance", "Book", "BookFiles", "Closing", "Delivery", "Lake", "NewBook", "NewDelivery", "Store", "Total"]


@dataclass(frozen=True)
class Store:
    """The lake and the catalog of one workspace. The catalog never names a file that is not safely written."""

    workspace: Path
    lake: "Lake | ObjectLake"
    catalog: "Catalog"

    @classmethod
    def open(cls, workspace: Path, catalog_url: str | None = None, lake_at: str | None = None) -> "Store":
        """Open the store of a workspace, making what is missing. What is not said to be elsewhere is in the workspace."""
        try:
            workspace.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            do = "Name a folder that this user may write to."
            raise TrainfareError(str(workspace), f"the workspace cannot be made: {reason}", do) from error
        # Nothing that only reads files has to wait for the database library.
        from trainfare.store.catalog import Catalog

        catalog = Catalog.open(catalog_url or workspace / "catalog.sqlite")
        lake = _lake(place(lake_at or "lake", workspace), catalog)
        lake.claim(catalog.id)
        return cls(workspace, lake, catalog)

    def add_deliveries(self, new: Sequence[NewDelivery]) -> list[Delivery]:
        """See that the archives are safely written, then add all deliveries or none. Use the rows that come back: one known
        already keeps the archive it has.
        """
        self.lake.settle(one.archive for one in new)
        return self.catalog.add_deliveries(new)

    def publish(self, month: Month, expected_version: int | None, book: NewBook) -> Book:
        """See that the files are safely written, then publish them as the next version, or nothing."""
        self.lake.settle(book.files.values())
        return self.catalog.publish(month, expected_version, book)

    def files(self, book: Book) -> BookFiles:
        """Where a book's tables are."""
        paths = {name: self.lake.path(relative) for name, relative in book.files.items()}
        return BookFiles(book.month, book.version, paths, book.complete_through)

    def lost_files(self) -> set[str]:
        """What the catalog names and the lake has no longer: somebody removed it, or a backup did not have it. A lake that has nothing of
        it is most likely not where it should be, and is refused.
        """
        named = self.catalog.referenced_files()
        lost = self.lake.lost(named)
        if named and lost == named:
            what = f"none of the {len(named)} files that the catalog names is there"
            do = "Mount the lake or restore it from a backup; or move the catalog away, too, and build again."
            raise TrainfareError(str(self.lake.root), what, do)
        return lost

    def sweep(self) -> Sequence[Place]:
        """Remove what neither a book nor a delivery names, and no running build is writing."""
        return self.lake.sweep(self.catalog.referenced_files)

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.catalog.dispose()


def _lake(root: Place, catalog: "Catalog") -> "Lake | ObjectLake":
    if isinstance(root, Remote):
        from trainfare.store.objects import ObjectLake

        return ObjectLake(root, catalog.builds)
    return Lake(root)
