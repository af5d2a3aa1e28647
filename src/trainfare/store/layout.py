"""The paths of files in a lake, in a folder or an object store.

Every file is Parquet, written once under a new name and never changed. Its name contains the id of the build that
wrote it.
"""

import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import PurePosixPath

from trainfare.errors import TrainfareError
from trainfare.files.locations import Location
from trainfare.period import Month

OWNER = ".catalog"
"""The file that names the catalog a lake belongs to."""

CHECKSUMS = ".checksums"
"""The file with a copy of the catalog's checksums."""

_DELIVERIES = "deliveries"
_SCRATCH = ".scratch"


@dataclass(frozen=True)
class Layout:
    """The paths of a lake."""

    root: Location

    def path(self, relative: str) -> Location:
        """The location of a file that the catalog names."""
        return self.root / relative

    def relative(self, path: Location) -> str:
        """The name of a file in the catalog."""
        return PurePosixPath(str(path)).relative_to(str(self.root)).as_posix()

    def book_path(self, table: str, month: Month, build_id: str) -> Location:
        return self.root / table / f"month={month}" / f"{build_id}.parquet"

    def delivery_path(self, sha256: str, build_id: str, suffix: str = ".parquet") -> Location:
        """A new name on every call, so that no archive is ever overwritten, even by equal content."""
        return self.root / _DELIVERIES / f"{sha256[:16]}-{secrets.token_hex(4)}.{build_id}{suffix}"

    def scratch_path(self, build_id: str) -> Location:
        """A folder for a build's temporary files. Whatever a killed build leaves there is swept."""
        return self.root / _SCRATCH / build_id


def new_build_id() -> str:
    """A unique name for a build. Names sort by time."""
    return f"{datetime.now(UTC):%Y%m%dT%H%M%S%fZ}-{secrets.token_hex(4)}"


def require_owner(root: Location, owner: str, catalog_id: str) -> None:
    """Reject a lake of another catalog, which names none of its files: a sweep would remove them all."""
    if owner != catalog_id:
        raise TrainfareError(
            str(root),
            "these files belong to another catalog",
            "Use the catalog they were built with, or restore it. To start over, move this folder away.",
        )


def with_parents(names: Iterable[str]) -> set[str]:
    """These names and the names of all their parent folders."""
    return {str(path) for name in names for path in (PurePosixPath(name), *PurePosixPath(name).parents)}
