"""The lake in an object store. There is nothing to lock there, so the catalog knows which builds are running."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import PurePosixPath

from trainfare.errors import TrainfareError
from trainfare.places import BUILD_ID, Place, Remote, remove
from trainfare.store.builds import Builds
from trainfare.store.layout import OWNER, Layout, require_owner, with_parents


@dataclass(frozen=True)
class ObjectLake(Layout):
    """Objects below an address. Which of them count, the catalog says."""

    root: Remote
    builds: Builds

    def claim(self, catalog_id: str) -> None:
        """Mark the lake as that of the catalog of this id. A lake of another catalog is refused."""
        mark = self.root / OWNER
        if not mark.exists():
            mark.write_new(f"{catalog_id}\n".encode())
        with mark.open() as opened:
            require_owner(self.root, opened.read().decode().strip(), catalog_id)

    def lost(self, names: set[str]) -> set[str]:
        """Those of these objects, or folders of them, that are not there."""
        return names - {_written(self.relative(place)) for place in self.root.below()}

    def settle(self, names: Iterable[str]) -> None:
        """See that these are there: an object store has what it was given, whole, as soon as it says so."""
        for place in (self.root / name for name in names):
            if not place.exists():
                do = "Objects of the lake must not be removed by hand; run the command again."
                raise TrainfareError(str(place), "what was just written is not there", do)

    def building(self) -> AbstractContextManager[str]:
        """Enter a new build and give its id. Publish before leaving: after that, the rest is rubbish."""
        return self.builds.running()

    def sweep(self, referenced: Callable[[], set[str]]) -> Sequence[Place]:
        """Remove what no catalog row names and no running build is writing; say what was removed.

        First the objects, then who is running, and only then what is referenced: as in a folder, and for the same reason.
        """
        found = {place: _written(self.relative(place)) for place in self.root.below()}
        running = self.builds.alive()
        kept = with_parents(referenced())
        rubbish = [
            place
            for place, name in found.items()
            if name and name not in kept and not any(build in running for build in BUILD_ID.findall(name))
        ]
        remove(rubbish)
        return rubbish


def _written(name: str) -> str:
    """What a build wrote: the object, or the folder of them, whose name holds the build's id; empty if none did."""
    path = PurePosixPath(name)
    found = [step for step in (path, *path.parents) if BUILD_ID.search(step.name)]
    return str(found[-1]) if found else ""
