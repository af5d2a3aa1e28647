"""A workspace in a test: write files, run commands, read books back digit for digit."""

import contextlib
import io
import re
import sqlite3
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from trainfare.cli import main
from trainfare.engine.duckdb import DuckDB
from trainfare.engine.sql import parquet
from trainfare.period import Month
from trainfare.query.stored import select_of
from trainfare.settings import config
from trainfare.store import Book, Store
from trainfare.tables import BASES

from . import company
from .company import Line

COMMAND = Path(sys.executable).with_name("trainfare")

Digits = dict[str, list[tuple[str, ...]]]

_SECONDS = re.compile(r"  \([\d.]+ s\)$")


@dataclass(frozen=True)
class Ran:
    """A command that ended: its exit code, its output and its messages."""

    code: int
    out: str
    err: str


@dataclass(frozen=True)
class Workspace:
    folder: Path

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def write_bill(self, month: Month, lines: Iterable[Line], name: str = "") -> Path:
        return self.write(f"bills/{name or month}.csv", company.bill(month, lines))

    def write_one_bill(self, months: Mapping[Month, Iterable[Line]]) -> Path:
        """Write one bill for all of these months instead of one each."""
        parts = [company.bill(month, lines).splitlines() for month, lines in months.items()]
        for month in months:
            (self.folder / "bills" / f"{month}.csv").unlink(missing_ok=True)
        return self.write("bills/all.csv", "\n".join([parts[0][0], *(line for part in parts for line in part[1:]), ""]))

    def write_jobs(self, month: Month, seed: int = 1, name: str = "") -> Path:
        return self.write(f"jobs/{name or month}.csv", company.jobs(month, seed))

    def run(self, command: str, *arguments: object) -> Ran:
        """Run a command on this workspace, in this process."""
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                main([command, *map(str, arguments), "-w", str(self.folder)])
                code = 0
            except SystemExit as left:
                code = int(left.code or 0)
        return Ran(code, out.getvalue(), err.getvalue())

    def build(self) -> list[str]:
        """Build, and return the message for each month."""
        ran = self.run("build")
        assert ran.code == 0, ran.err
        return [_SECONDS.sub("", line) for line in ran.err.splitlines() if not line.startswith("next:")]

    def close(self, month: Month) -> None:
        assert self.run("close", month).code == 0

    def open(self) -> Store:
        """Open the store as commands do, with the catalog and the lake of the settings."""
        settings = config.load(self.folder / config.FILE_NAME)
        return Store.open(self.folder, settings.catalog, settings.lake)

    def forget_digests(self) -> None:
        """Remove every digest and checksum, so that the next command records the files as they are now."""
        (self.folder / "lake" / ".checksums").unlink()
        with contextlib.closing(sqlite3.connect(self.folder / "catalog.sqlite", isolation_level=None)) as catalog:
            for table in ("books", "deliveries", "closings"):
                catalog.execute(f"UPDATE {table} SET row_sha256 = NULL")
            catalog.execute("DELETE FROM table_checksums")
        self.open().catalog.dispose()

    def books(self) -> list[tuple[str, int]]:
        with self.open() as store:
            return [(str(book.month), book.version) for book in store.catalog.books()]

    def book(self, month: Month, version: int | None = None) -> Book:
        with self.open() as store:
            found = store.catalog.book(month, version) if version else store.catalog.latest(month)
        assert found
        return found

    def total(self, month: Month, version: int | None = None, source: str | None = None) -> Decimal:
        """The effective cost of a book, or of one of its sources."""
        totals = [one for one in self.book(month, version).totals if one.basis == "effective"]
        return sum((one.charges for one in totals if source in (None, one.source)), Decimal())

    def sources(self, month: Month) -> set[str]:
        return {total.source for total in self.book(month).totals}

    def digits(self, month: Month, version: int | None = None) -> Digits:
        """All tables of a book as text, in an order that does not depend on how they were written."""
        with self.open() as store:
            files = store.files(self.book(month, version))
        with contextlib.closing(DuckDB()) as engine:
            return {name: _rows(engine, select_of(files, name)) for name in files.files}

    def listing(self) -> dict[str, int]:
        """Every file of the lake, and when it was last changed."""
        lake = self.folder / "lake"
        return {str(path.relative_to(lake)): path.stat().st_mtime_ns for path in lake.rglob("*") if path.is_file()}

    def unreferenced(self) -> set[str]:
        """Tables and archives in the lake that the catalog does not name."""
        with self.open() as store:
            return {name for name in self.listing() if name.endswith(".parquet")} - store.catalog.referenced_files()

    def require_sound(self, latest: bool = False) -> None:
        """Require that every version of every month (or the latest of each) can be read completely, and that its shares
        add up to its charges on every basis.
        """
        with self.open() as store:
            newest = [store.catalog.latest(month) for month in store.catalog.months()]
            books = [(book, store.files(book)) for book in (newest if latest else store.catalog.books()) if book]
        assert books
        with contextlib.closing(DuckDB()) as engine:
            for book, files in books:
                counted = {
                    name: engine.row(f"SELECT count(*) FROM {parquet(path)}")[0] for name, path in files.files.items()
                }
                assert counted == book.rows
                assert _sums(engine, select_of(files, "shares")) == {_key(t): t.charges for t in book.totals}
                assert all(total.shares == total.charges for total in book.totals)


def _key(total: Any) -> tuple[str, str, str]:
    return total.source, total.currency, total.basis


def _sums(engine: DuckDB, shares: str) -> dict[tuple[str, str, str], Decimal]:
    sums = ", ".join(f"sum({basis}) AS {basis}" for basis in BASES)
    found = engine.records(f"SELECT source, currency, {sums} FROM ({shares}) GROUP BY ALL")
    return {(row["source"], row["currency"], basis): row[basis] for row in found for basis in BASES}


def _rows(engine: DuckDB, select: str) -> list[tuple[str, ...]]:
    names = engine.columns(f"({select})")
    texts = ", ".join(f'CAST("{name}" AS VARCHAR)' for name in names)
    return [tuple(names), *engine.rows(f"SELECT {texts} FROM ({select}) ORDER BY ALL")]
