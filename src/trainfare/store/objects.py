"""The lake in an object store. Object stores have no locks, so the catalog tracks which builds are running."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import PurePosixPath

from trainfare.errors import TrainfareError
from trainfare.files.locations import BUILD_ID, Location, ObjectLocation, remove
from trainfare.store.builds import Builds
from trainfare.store.layout import OWNER, Layout, require_owner, with_parents


@dataclass(frozen=True)
class ObjectLake(Layout):
    """Objects below a URL. The catalog says which of them are in use."""

    root: ObjectLocation
    builds: Builds

    def claim(self, catalog_id: str) -> None:
        """Mark the lake as belonging to the catalog with this id. A lake of another catalog is rejected."""
        mark = self.root / OWNER
        if not mark.exists():
            mark.write_new(f"{catalog_id}\n".encode())
        with mark.open() as opened:
            require_owner(self.root, opened.read().decode().strip(), catalog_id)

    def write_mark(self, name: str, text: str) -> None:
        """Write a small object of the lake itself."""
        with (self.root / name).open("wb") as opened:
            opened.write(f"{text}\n".encode())

    def read_mark(self, name: str) -> str | None:
        """The text of a small object of the lake itself; None if there is none."""
        mark = self.root / name
        if not mark.exists():
            return None
        with mark.open() as opened:
            return opened.read().decode(errors="replace")

    def missing(self, names: set[str]) -> set[str]:
        """The names for which no object, or folder of objects, exists."""
        return names - {_written(self.relative(location)) for location in self.root.below()}

    def make_durable(self, names: Iterable[str]) -> None:
        """Check that these exist: an object store has stored an object completely once it acknowledges it."""
        for location in (self.root / name for name in names):
            if not location.exists():
                do = "Do not remove objects of the lake by hand. Run the command again."
                raise TrainfareError(str(location), "the object was written but does not exist", do)

    def building(self) -> AbstractContextManager[str]:
        """Register a new build and yield its id. Publish inside the block: later, unnamed files are swept."""
        return self.builds.running()

    def sweep(self, referenced: Callable[[], set[str]]) -> Sequence[Location]:
        """Remove objects that no catalog row names and no running build is writing; return what was removed.

        List the objects first, then the running builds, and the references last, for the same reason as in a folder.
        """
        found = {location: _written(self.relative(location)) for location in self.root.below()}
        running = self.builds.running_ids()
        in_use = with_parents(referenced())
        unused = [
            location
            for location, name in found.items()
            if name and name not in in_use and not any(build in running for build in BUILD_ID.findall(name))
        ]
        remove(unused)
        return unused


def _written(name: str) -> str:
    """The object, or the folder of objects, whose name contains a build id; empty if there is none."""
    path = PurePosixPath(name)
    found = [step for step in (path, *path.parents) if BUILD_ID.search(step.name)]
    return str(found[-1]) if found else ""
