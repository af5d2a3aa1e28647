"""Books of the format that stored the lost seconds of a day: migrated, each keeps the figures it showed."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from trainfare.engine.choice import embedded
from trainfare.engine.duckdb import parquet
from trainfare.store import BOOK_FORMAT, Store, checked_rows, integrity
from trainfare.store.catalog import Catalog

from .company import NOVEMBER, OCTOBER
from .folder import Workspace
from .previous_version import unpack, use_current_terms
from .previous_version.make import QUERIES

LOST = ("work_seconds", "book_work")


def _former_tables(folder: Path) -> dict[tuple[int, str], Path]:
    """The tables about lost work in the workspace of the previous version, by book."""
    with closing(sqlite3.connect(folder / "catalog.sqlite")) as catalog:
        rows = catalog.execute(
            f"SELECT book_id, table_name, path FROM book_files WHERE table_name IN {LOST}"
        ).fetchall()
    return {(book, name): folder / "lake" / path for book, name, path in rows}


@pytest.fixture
def older(tmp_path: Path) -> Workspace:
    """A workspace in format 2, with checksums."""
    former = _former_tables(unpack(tmp_path / "former"))
    workspace = Workspace(unpack(tmp_path / "older"))
    use_current_terms(workspace.folder)
    with workspace.open() as store, embedded() as engine:
        store.sweep()
        for book in store.catalog.books():
            for name, now in (("work_seconds", "work_costs"), ("book_work", "book_work")):
                columns = "* EXCLUDE (whole), whole AS total" if name == "work_seconds" else "*"
                target = store.lake.book_path(name, book.month, f"older-{book.version}")
                engine.write_parquet(f"SELECT {columns} FROM {parquet(former[book.id, name])}", target)
                (count,) = engine.row(f"SELECT count(*) FROM {parquet(target)}")
                digest = integrity.digests.digest(target)
                values = (name, store.lake.relative(target), count, digest.size, digest.sha256, book.id, now)
                _execute(
                    workspace,
                    "UPDATE book_files SET table_name = ?, path = ?, rows = ?, size = ?, sha256 = ? "
                    "WHERE book_id = ? AND table_name = ?",
                    values,
                )
        _execute(workspace, "UPDATE identity SET book_format = 2", ())
        with store.catalog._database.write() as connection:
            checked_rows.record_books(connection)
        integrity.copy_checksums(store)
    return workspace


def _execute(workspace: Workspace, statement: str, values: tuple[Any, ...]) -> None:
    with closing(sqlite3.connect(workspace.folder / "catalog.sqlite")) as catalog, catalog:
        catalog.execute(statement, values)


def _figures(workspace: Workspace) -> dict[str, str]:
    return {name: workspace.run(*QUERIES[name]).out for name in ("report", "metrics")}


def test_every_book_keeps_its_figures_and_checksums(older: Workspace, tmp_path: Path) -> None:
    """The same as from the format before it, whose figures another test compares with those of that version."""
    fresh = Workspace(unpack(tmp_path / "fresh"))
    use_current_terms(fresh.folder)
    assert _figures(older) == _figures(fresh)
    with older.open() as store:
        assert store.catalog.book_format == BOOK_FORMAT
        assert not {name for book in store.catalog.books() for name in book.files} & {"work_seconds"}
    assert older.run("verify").code == 0
    for month in (OCTOBER, NOVEMBER):
        assert older.digits(month)["work_costs"] == fresh.digits(month)["work_costs"]
        assert len(older.digits(month)["work_costs"]) > 1
    older.require_sound()


def test_a_crash_right_after_the_switch_leaves_a_readable_workspace(
    older: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The catalog names the new files, and the lake still has the checksums from before."""
    switch = Catalog.replace_files

    def dying(self: Catalog, migrated: Any) -> None:
        switch(self, migrated)
        raise KeyboardInterrupt

    monkeypatch.setattr(Catalog, "replace_files", dying)
    with pytest.raises(KeyboardInterrupt):
        Store.open(older.folder)
    monkeypatch.undo()
    assert older.run("verify").code == 0
    older.require_sound()


def test_a_damaged_file_is_not_migrated_and_stays_damaged(older: Workspace) -> None:
    """A migrated copy would have a digest of its own, and the damage could not be noticed any more."""
    with closing(sqlite3.connect(older.folder / "catalog.sqlite")) as catalog:
        (path,) = catalog.execute(
            "SELECT path FROM book_files WHERE table_name = 'work_seconds' AND book_id = 3"
        ).fetchone()
    with (older.folder / "lake" / path).open("ab") as damaged:
        damaged.write(b"x")
    with older.open() as store:
        (book,) = [book for book in store.catalog.books() if book.id == 3]
        assert book.files["work_seconds"] == path
    ran = older.run("verify")
    assert (ran.code, "the file is damaged" in ran.err) == (2, True)
