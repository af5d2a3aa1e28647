"""The files of grains: sums of a book's shares that were made once. The catalog has the digest of each.

They are next to the lake, on the machine that made them, and everything in them can be made again from the book: a row
whose file is missing or damaged is no loss.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from sqlalchemy import delete, insert, select

from trainfare.files.digests import Digest
from trainfare.store.database import Database
from trainfare.store.schema import GRAIN_FILES


def kept_in(workspace: Path) -> Path:
    """Return the folder of what is made once from a version. All of it can be deleted at any time."""
    return workspace / "cache"


@dataclass(frozen=True)
class GrainFile:
    """A file: its path below the folder of grains, its book, the part of its grains, and the steps that made it."""

    path: str
    book_id: int
    part: str
    steps: str
    digest: Digest


class GrainFiles:
    def __init__(self, database: Database) -> None:
        self._database = database

    def all(self) -> list[GrainFile]:
        """Every file that was made, on any machine, in order."""
        return self._read()

    def of_part(self, book_id: int, part: str, steps: str) -> list[GrainFile]:
        """The files of one part of a book's grains that these steps made, the newest first."""
        return [one for one in self._read(book_id) if (one.part, one.steps) == (part, steps)][::-1]

    def _read(self, book_id: int | None = None) -> list[GrainFile]:
        query = select(GRAIN_FILES).order_by(GRAIN_FILES.c.made_at, GRAIN_FILES.c.path)
        if book_id is not None:
            query = query.where(GRAIN_FILES.c.book_id == book_id)
        with self._database.read() as connection:
            return [
                GrainFile(row.path, row.book_id, row.part, row.steps, Digest(row.size, row.sha256))
                for row in connection.execute(query)
            ]

    def add(self, one: GrainFile) -> None:
        """Record a file that was made."""
        row = {"path": one.path, "book_id": one.book_id, "part": one.part, "steps": one.steps}
        row |= {"size": one.digest.size, "sha256": one.digest.sha256}
        with self._database.write() as connection:
            connection.execute(insert(GRAIN_FILES), row | {"made_at": datetime.now(UTC)})

    def remove(self, paths: Iterable[str]) -> None:
        """Forget files that were removed."""
        with self._database.write() as connection:
            for path in paths:
                connection.execute(delete(GRAIN_FILES).where(GRAIN_FILES.c.path == path))
