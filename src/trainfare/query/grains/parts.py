"""The files of a book's grains: each has one part of them, is made once, and its digest is in the catalog.

They are in the folder `cache` of the workspace. The build makes the parts that most questions need; the others are made
when a question needs them first. A file that is missing or damaged is made again from the book.
"""

import fcntl
import re
import secrets
import shutil
from collections.abc import Mapping
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from trainfare.engine.duckdb import DuckDB, quoted
from trainfare.errors import DamagedError, IncompleteError, TrainfareError, UnreachableError
from trainfare.files import digests
from trainfare.files.locations import fsync
from trainfare.query.grains import texts
from trainfare.query.grains.making import Maker
from trainfare.store import Book, BookFiles, Store
from trainfare.store.grain_files import GrainFile, kept_in

LABELS = "labels"
PARTS = {
    LABELS: (
        *("sets", "attempts", "machine_groups", "machine_names", "machines", "kinds", "currencies"),
        *("ways_1", "ways_2", "ways_3", "payers", "incomplete", "cost_d", "fact_sd", "fact_s", "pattern_s"),
    ),
    "work": (
        "work",
        "phases",
        "hours_s_not_lost",
        "pattern_s_not_lost",
        "egress",
        "egress_s",
        "usage",
        "usage_s",
        "cost_b",
    ),
    "machines": ("fact_m", "pattern_m", "cost_m"),
    "pools": ("hours_c", "fact_cd", "fact_c", "pattern_c", "cost_c"),
    "jobs": ("jobs",),
    "charges": ("cost_w",),
    "finest": ("shares", "placements", "hours_f", "pattern_f", "uses", "hours_f_not_lost", "pattern_f_not_lost"),
}
"""The grains of each file. Others are made in memory."""
BUILT = (LABELS, "work", "machines")
"""The parts that a build makes."""
PART_OF = {name: part for part, names in PARTS.items() for name in names}
SMALL_BOOK = 20_000
"""Shares of a book that needs no files: making its grains takes less time than reading them."""
BOOKS_PER_MONTH = 2
"""How many of the most recently made folders of a month are kept, in addition to the one of the newest version."""


@dataclass(frozen=True)
class GrainFolder:
    """The files of one book's grains."""

    store: Store
    book: Book
    others: tuple[Book, ...] = ()
    """The books that have shares for days of this one."""

    @property
    def root(self) -> Path:
        return kept_in(self.store.workspace)

    @cached_property
    def files(self) -> BookFiles:
        return self.store.files(self.book, others=self.others)

    @cached_property
    def steps(self) -> str:
        """A hash of what the grains are made from, and how."""
        return texts.fingerprint(
            tuple(PART_OF), [name for one in (self.book, *self.others) for name in one.files.values()]
        )

    @property
    def name(self) -> str:
        return f"grains-{self.book.month}-v{self.book.version}-{self.steps}"

    @property
    def is_worth_it(self) -> bool:
        """Whether the book is so large that files of its grains save time."""
        return self.book.rows["shares"] >= SMALL_BOOK

    def find(self, part: str) -> Path | None:
        """Return the file of a part if it is as it was made. One that is not is removed."""
        for one in self.store.catalog.grain_files.of_part(self.book.id, part, self.steps):
            path = self.root / one.path
            problem = digests.problems({path: one.digest}).get(path)
            if not problem:
                return path
            if problem == digests.DAMAGED:
                self._remove(path, one)
        return None

    def open(self, part: str) -> Path | None:
        """Return the file of a part, made if necessary; None if it cannot be stored, or is not worth it."""
        found = self.find(part)
        if found or not self.is_worth_it:
            return found
        try:
            self.make(part)
            return self.find(part)
        except (IncompleteError, DamagedError, UnreachableError):
            raise
        except (OSError, TrainfareError):  # no space, or no right to write here: answers do not depend on it
            return None

    def make(self, *parts: str) -> None:
        """Make the files of parts that do not exist, and of the labels that all need.

        If another process is making some, wait for it.
        """
        self.store.catalog.require_writable()
        self.root.mkdir(parents=True, exist_ok=True)
        with (self.root / ".grain-files.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if missing := [part for part in dict.fromkeys((LABELS, *parts)) if not self.find(part)]:
                self._make(missing)
                self._remove_old()

    def _make(self, parts: list[str]) -> None:
        token = secrets.token_hex(4)
        names = {part: f"{self.name}/{part}-{token}.duckdb" for part in parts}
        drafts = {part: (self.root / name).with_suffix(".draft") for part, name in names.items()}
        (self.root / self.name).mkdir(parents=True, exist_ok=True)
        try:
            write(self.files, drafts, None if LABELS in parts else self.find(LABELS))
            for part, draft in drafts.items():
                fsync(draft)
                digest = digests.digest(draft)
                draft.replace(self.root / names[part])
                self.store.catalog.grain_files.add(GrainFile(names[part], self.book.id, part, self.steps, digest))
        finally:
            for draft in drafts.values():
                draft.unlink(missing_ok=True)

    def _remove(self, path: Path, one: GrainFile) -> None:
        with suppress(OSError, TrainfareError):
            path.unlink(missing_ok=True)
            self.store.catalog.grain_files.remove([one.path])

    def _remove_old(self) -> None:
        """Remove the folders of earlier versions of the month. Who has a removed file open can still read all of it."""
        removed = {folder.name for folder in old_folders(self.root, self.name)}
        for folder in removed:
            shutil.rmtree(self.root / folder, ignore_errors=True)
        if removed:
            known = (one.path for one in self.store.catalog.grain_files.all())
            self.store.catalog.grain_files.remove(path for path in known if path.partition("/")[0] in removed)


def old_folders(root: Path, newest: str) -> list[Path]:
    """Return the folders of the same month that are neither among the last made nor of the last version."""
    prefix, _, _ = newest.rpartition("-v")
    found = sorted(root.glob(f"{prefix}-v*"), key=lambda path: path.stat().st_mtime, reverse=True)
    retained = {*found[:BOOKS_PER_MONTH], *sorted(found, key=_version, reverse=True)[:1], root / newest}
    return [path for path in found if path not in retained]


def _version(path: Path) -> int:
    match = re.search(r"-v(\d+)-", path.name)
    return int(match[1]) if match else 0


def write(book: BookFiles, paths: Mapping[str, Path], labels: Path | None = None) -> None:
    """Make parts of the grains of a book in new files; all are numbered by the file of labels, if it is another one."""
    folder = next(iter(paths.values())).parent
    with closing(DuckDB(spill=folder / ".spill")) as engine:
        for part, path in paths.items():
            engine.run(f'ATTACH {quoted(path)} AS "{part}"')
        maker = Maker(engine, book, {name: part for part in paths for name in PARTS[part]})
        if labels:
            engine.run(f'ATTACH {quoted(labels)} AS "{LABELS}" (READ_ONLY)')
            for name in PARTS[LABELS]:
                maker.take(name, f'"{LABELS}".main.grain_{name}')
        for part in paths:
            for name in PARTS[part]:
                maker.make(name)
        for part in paths:
            engine.run(f'DETACH "{part}"')


def make_built(store: Store, book: Book) -> None:
    """Make the grains that most questions about a new book need, if it is large."""
    folder = GrainFolder(store, book, store.others_of(book))
    if folder.is_worth_it:
        folder.make(*BUILT)
