"""Random faults in a workspace: in the files of its lake, and in the catalog, as a file and row by row."""

import gc
import os
import random
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

CHECKED_TABLES = ("books", "book_files", "book_totals", "book_deliveries", "deliveries", "closings", "table_checksums")


@dataclass(frozen=True)
class Fault:
    """What was done, and whether it must be reported even if no figure depends on it."""

    what: str
    must_be_reported: bool


@dataclass
class Faults:
    """Causes one fault at a time in a workspace, and undoes it."""

    folder: Path
    chance: random.Random
    older_catalog: Path
    """The catalog as it was before the newest version was published."""
    _touched: dict[Path, bytes | None] = field(default_factory=dict)

    @property
    def catalog(self) -> Path:
        return self.folder / "catalog.sqlite"

    def cause(self) -> Fault:
        kinds: list[Callable[[], Fault]] = [
            *[self.flip_a_bit] * 5,
            *[self.change_a_row] * 5,
            *[self.flip_a_bit_of_the_catalog] * 3,
            self.truncate,
            self.swap,
            self.remove,
            self.use_an_older_file,
            self.use_the_older_catalog,
            self.truncate_the_catalog,
            self.flip_a_bit_of_the_copied_checksums,
        ]
        self._close_connections()
        return self.chance.choice(kinds)()

    def undo(self) -> None:
        self._close_connections()
        for suffix in ("-wal", "-shm"):
            self.catalog.with_name(f"{self.catalog.name}{suffix}").unlink(missing_ok=True)
        for path, content in self._touched.items():
            if content is None:
                path.unlink(missing_ok=True)
            else:
                path.write_bytes(content)
        self._touched.clear()

    def undo_all(self, kept: Path) -> None:
        """Return to a copy of the whole workspace, for instance after a build on top of a fault."""
        self._close_connections()
        shutil.rmtree(self.folder)
        shutil.copytree(kept, self.folder)
        self._touched.clear()

    def _close_connections(self) -> None:
        """Close the pooled connections of this process, which would write their log into the replaced catalog."""
        gc.collect()
        opened = [os.readlink(one) for one in Path("/proc/self/fd").iterdir() if one.is_symlink()]
        assert not [one for one in opened if one.startswith(str(self.catalog))]

    def _touch(self, path: Path) -> bytes:
        content = path.read_bytes()
        self._touched.setdefault(path, content)
        return content

    def files(self) -> list[Path]:
        return sorted((self.folder / "lake").rglob("*.parquet"))

    def flip_a_bit(self) -> Fault:
        path = self.chance.choice(self.files())
        return Fault(self._flip(path), must_be_reported=True)

    def flip_a_bit_of_the_catalog(self) -> Fault:
        return Fault(self._flip(self.catalog), must_be_reported=False)

    def _flip(self, path: Path) -> str:
        content = bytearray(self._touch(path))
        at = self.chance.randrange(len(content) * 8)
        content[at // 8] ^= 1 << at % 8
        path.write_bytes(content)
        return f"bit {at} of {path.relative_to(self.folder)}"

    def truncate(self) -> Fault:
        path = self.chance.choice(self.files())
        content = self._touch(path)
        path.write_bytes(content[: self.chance.randrange(len(content))])
        return Fault(f"truncated {path.relative_to(self.folder)}", must_be_reported=True)

    def swap(self) -> Fault:
        one, other = self.chance.sample(self.files(), 2)
        first, second = self._touch(one), self._touch(other)
        one.write_bytes(second)
        other.write_bytes(first)
        return Fault(f"swapped {one.relative_to(self.folder)} and {other.name}", must_be_reported=first != second)

    def remove(self) -> Fault:
        path = self.chance.choice(self.files())
        self._touch(path)
        path.unlink()
        return Fault(f"removed {path.relative_to(self.folder)}", must_be_reported=True)

    def use_an_older_file(self) -> Fault:
        """The same table of the version before, as a restored backup would have it."""
        tables = [path for path in self.files() if len(list(path.parent.glob("*.parquet"))) > 1]
        path = self.chance.choice([one for one in tables if one.parent.name != "deliveries"])
        older = sorted(path.parent.glob("*.parquet"))[0]
        before, content = self._touch(path), older.read_bytes()
        path.write_bytes(content)
        return Fault(f"older {path.relative_to(self.folder)}", must_be_reported=before != content)

    def use_the_older_catalog(self) -> Fault:
        self._touch(self.catalog)
        shutil.copyfile(self.older_catalog, self.catalog)
        return Fault("older catalog", must_be_reported=True)

    def truncate_the_catalog(self) -> Fault:
        content = self._touch(self.catalog)
        self.catalog.write_bytes(content[: self.chance.randrange(1, len(content) - 1)])
        return Fault("truncated catalog", must_be_reported=False)

    def flip_a_bit_of_the_copied_checksums(self) -> Fault:
        return Fault(self._flip(self.folder / "lake" / ".checksums"), must_be_reported=False)

    def change_a_row(self) -> Fault:
        """Change one value, remove a row, or give it the value of another row; triggers would only stop an accident."""
        self._touch(self.catalog)
        table = self.chance.choice((*CHECKED_TABLES, "audit"))
        with closing(sqlite3.connect(self.catalog, isolation_level=None)) as connection:
            for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'trigger'").fetchall():
                connection.execute(f"DROP TRIGGER {name}")
            columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
            rows = connection.execute(f"SELECT rowid, {', '.join(columns)} FROM {table}").fetchall()
            row = self.chance.choice(rows)
            before = connection.execute(f"SELECT * FROM {table} ORDER BY rowid").fetchall()
            if self.chance.random() < 0.2:
                connection.execute(f"DELETE FROM {table} WHERE rowid = ?", (row[0],))
                what = f"removed row {row[0]} of {table}"
            else:
                index = self.chance.randrange(len(columns))
                value = self._other(row[index + 1], [one[index + 1] for one in rows])
                change = f"UPDATE OR IGNORE {table} SET {columns[index]} = ? WHERE rowid = ?"
                try:
                    connection.execute(change, (value, row[0]))
                except sqlite3.IntegrityError:  # the column allows no null
                    connection.execute(f"DELETE FROM {table} WHERE rowid = ?", (row[0],))
                what = f"{table}.{columns[index]} of row {row[0]} set to {value!r:.40}"
            after = connection.execute(f"SELECT * FROM {table} ORDER BY rowid").fetchall()
        return Fault(what, must_be_reported=before != after)

    def _other(self, value: object, others: list[object]) -> object:
        if self.chance.random() < 0.3:
            return self.chance.choice(others)
        if value is None or self.chance.random() < 0.1:
            return None
        if isinstance(value, int):
            return value + self.chance.choice((-1, 1, 1000))
        text = str(value)
        at = self.chance.randrange(len(text)) if text else 0
        return text[:at] + self.chance.choice("0123456789abcdef-") + text[at + 1 :]
