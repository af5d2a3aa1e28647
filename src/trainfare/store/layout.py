"""How a lake is laid out, wherever it is: Parquet under new names, written once, never changed.

Every name holds the id of the build that wrote it.
"""

import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import PurePosixPath

from trainfare.errors import TrainfareError
from trainfare.period import Month
from trainfare.places import Place

OWNER = ".catalog"
"""Names the catalog that the lake belongs to."""

_DELIVERIES = "deliveries"
_SCRATCH = ".scratch"


@dataclass(frozen=True)
class Layout:
    """Where everything in a lake is."""

    root: Place

    def path(self, relative: str) -> Place:
        """Where a file is that the catalog names."""
        return self.root / relative

    def relative(self, path: Place) -> str:
        """The name by which the catalog knows a file of this lake."""
        return PurePosixPath(str(path)).relative_to(str(self.root)).as_posix()

    def book_path(self, table: str, month: Month, build_id: str) -> Place:
        return self.root / table / f"month={month}" / f"{build_id}.parquet"

    def delivery_path(self, sha256: str, build_id: str, suffix: str = ".parquet") -> Place:
        """A new name at every call, so that nothing archived is ever written over, even for equal content."""
        return self.root / _DELIVERIES / f"{sha256[:16]}-{secrets.token_hex(4)}.{build_id}{suffix}"

    def scratch_path(self, build_id: str) -> Place:
        """A folder for what a build keeps only while it runs. What a killed build left there is swept."""
        return self.root / _SCRATCH / build_id


def new_build_id() -> str:
    """A name for a build that no other has; they sort by time."""
    return f"{datetime.now(UTC):%Y%m%dT%H%M%S%fZ}-{secrets.token_hex(4)}"


def require_owner(root: Place, owner: str, catalog_id: str) -> None:
    """Refuse a lake of another catalog: sweeping by the wrong one would remove everything, as it names none of these files."""
    if owner != catalog_id:
        raise TrainfareError(
            str(root),
            "these files belong to another catalog",
            "Name the catalog they were built with, or restore it; to start anew, move this folder away.",
        )


def with_parents(names: Iterable[str]) -> set[str]:
    """These names and those of all folders they are in."""
    return {str(path) for name in names for path in (PurePosixPath(name), *PurePosixPath(name).parents)}
