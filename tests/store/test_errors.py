"""Problems in the environment of the store are reported with a path and a remedy, never as a traceback."""

import random
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, event, text

from trainfare.errors import IncompleteError, TrainfareError
from trainfare.store import Store, database, schema
from trainfare.store.catalog import Catalog
from trainfare.store.database import Database, UnreachableError

from .building import OCTOBER, Workspace, a_book, publish, write


def test_a_newer_catalog_is_rejected(store: Store, workspace: Workspace) -> None:
    with store.catalog._database.write() as connection:
        connection.execute(text(f"UPDATE {schema.VERSION_TABLE} SET version_num = '99'"))
    with pytest.raises(TrainfareError) as caught:
        workspace.open()
    assert (
        caught.value.what
        == f"the catalog was written by a newer Trainfare (schema 99; this version supports {schema.REVISION})"
    )
    assert caught.value.do == "Upgrade: pip install --upgrade trainfare"


def test_the_migrations_lead_to_the_schema_of_the_code(store: Store) -> None:
    scripts = ScriptDirectory(str(Path(schema.__file__).parent / "migrations"))
    assert scripts.get_heads() == [str(schema.REVISION)]
    options = {"version_table": schema.VERSION_TABLE, "compare_type": True}
    with store.catalog._database.read() as connection:
        context = MigrationContext.configure(connection, opts=options)
        assert compare_metadata(context, schema.METADATA) == []


def test_a_database_that_is_used_by_another_application_is_left_alone(postgres_url: str, tmp_path: Path) -> None:
    """MLflow and others have an `alembic_version`, too. It must not be mistaken for ours, nor their tables."""
    shared = Database(postgres_url)
    with shared.write() as connection:
        connection.execute(
            text(
                "DROP TABLE trainfare_schema, recordings, observations, observed_objects, collectors, finding_sightings, "
                "acceptances, closings, book_files, book_totals, "
                "book_deliveries, identity"
            )
        )
        connection.execute(text("DROP TABLE deliveries"))
        connection.execute(text("CREATE TABLE alembic_version AS SELECT 'f00' AS version_num"))
    with pytest.raises(TrainfareError, match="the database has a table of the same name from another application"):
        Store.open(tmp_path, postgres_url)
    with shared.read() as connection:
        assert connection.execute(text("SELECT to_regclass('deliveries')")).scalar() is None
        assert connection.execute(text("SELECT version_num FROM alembic_version")).scalar() == "f00"


@pytest.mark.parametrize("size", [100, 5000, 100_000])
def test_a_damaged_catalog_is_reported(tmp_path: Path, size: int) -> None:
    path = tmp_path / "catalog.sqlite"
    path.write_bytes(random.Random(size).randbytes(size))
    with pytest.raises(TrainfareError, match="this is not a catalog, or it is damaged") as caught:
        Store.open(tmp_path)
    assert caught.value.where == str(path)


def test_a_catalog_with_damaged_pages_is_reported(tmp_path: Path) -> None:
    with Store.open(tmp_path) as store:
        publish(store)
    path = tmp_path / "catalog.sqlite"
    whole = path.read_bytes()
    path.write_bytes(whole[:4096] + random.Random(1).randbytes(len(whole) - 4096))
    with pytest.raises(TrainfareError, match="this is not a catalog, or it is damaged"), Store.open(tmp_path) as store:
        store.catalog.books()


def test_a_workspace_below_a_file_is_reported(tmp_path: Path) -> None:
    below = write(tmp_path / "file") / "workspace"
    with pytest.raises(TrainfareError, match="the workspace cannot be created: not a directory") as caught:
        Store.open(below)
    assert caught.value.where == str(below)


def test_a_workspace_that_cannot_be_written_is_reported() -> None:
    with pytest.raises(TrainfareError, match="/proc/self/task/trainfare: the workspace cannot be created"):
        Store.open(Path("/proc/self/task/trainfare"))
    with pytest.raises(TrainfareError, match=r"catalog\.sqlite: the catalog cannot be opened"):
        Store.open(Path("/proc/self/task"))


def test_a_lake_that_is_a_file_is_reported(tmp_path: Path) -> None:
    write(tmp_path / "lake")
    with pytest.raises(TrainfareError, match="lake: the lake cannot be used: file exists"):
        Store.open(tmp_path)


def test_a_catalog_that_is_a_folder_is_reported(tmp_path: Path) -> None:
    (tmp_path / "catalog.sqlite").mkdir()
    with pytest.raises(TrainfareError, match=r"catalog\.sqlite: the catalog cannot be opened"):
        Store.open(tmp_path)


def test_a_full_disk_is_reported_and_nothing_is_published(tmp_path: Path) -> None:
    """SQLite is limited to its current size, and reports that like a full disk."""
    with Store.open(tmp_path) as store:
        event.listen(store.catalog._database.engine, "begin", _allow_no_more_pages)
        with pytest.raises(TrainfareError, match=r"catalog\.sqlite: the disk is full"):
            publish(store, engine="x" * 200_000)
    with Store.open(tmp_path) as store:
        assert store.catalog.books() == []


def _allow_no_more_pages(connection: Connection) -> None:
    connection.exec_driver_sql("PRAGMA max_page_count = 1")


def test_a_missing_file_is_not_published(store: Store) -> None:
    book = a_book(store, "b1")
    gone = store.lake.path(book.files["shares"])
    gone.unlink()
    with pytest.raises(TrainfareError, match="there is no such file") as caught:
        store.publish(OCTOBER, None, book)
    assert caught.value.where == str(gone)
    assert store.catalog.books() == []


def test_a_writer_does_not_wait_for_ever(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "WAIT_SECONDS", 1)
    with workspace.open() as slow, workspace.open() as waiting:
        with slow.catalog._database.write(), pytest.raises(IncompleteError, match="another process has been writing"):
            publish(waiting)
        assert publish(waiting).version == 1


def test_readers_do_not_wait_for_a_writer(store: Store, workspace: Workspace) -> None:
    publish(store)
    with workspace.open() as other, other.catalog._database.write():
        latest = store.catalog.latest(OCTOBER)
    assert latest
    assert latest.version == 1


def test_a_replaced_catalog_is_rejected(tmp_path: Path) -> None:
    """A new catalog names no file, so a sweep by it would empty the lake."""
    with Store.open(tmp_path) as store:
        publish(store)
    for path in tmp_path.glob("catalog.sqlite*"):
        path.unlink()
    with pytest.raises(TrainfareError, match="these files belong to another catalog"):
        Store.open(tmp_path)


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("mysql://root:secret@db/x", "'mysql' is not a supported database for a catalog"),
        ("sqlite://", "'sqlite' is not a supported database for a catalog"),
        ("postgresql://me:secret@host:port/x", "its URL is invalid"),
        ("postgresql://me:a@secret@host/x", "its URL has an unescaped @ in the password"),
        ("postgresql:///me:secret@host/x", "its URL has an @ after the host"),
        ("postgresql:/me:secret@host/x", "its URL is mistyped: :// is missing"),
        ("postgresql//me:secret@host/x", "its URL is mistyped: :// is missing"),
        ("postgresql:me:secret@host/x", "its URL is mistyped: :// is missing"),
        ("me:secret@host/x", "its URL is mistyped: :// is missing"),
    ],
)
def test_an_invalid_url_is_reported_without_its_password(url: str, message: str) -> None:
    with pytest.raises(TrainfareError, match=message) as caught:
        Catalog.open(url)
    assert "secret" not in str(caught.value)


def test_an_unreachable_server_is_reported_without_its_password(tmp_path: Path) -> None:
    pytest.importorskip("psycopg")
    with pytest.raises(UnreachableError, match="No such file or directory") as caught:
        Catalog.open(f"postgresql://me:secret@/x?host={tmp_path}&password=secret")
    assert caught.value.exit_code == 4
    assert "secret" not in str(caught.value)


def test_a_missing_driver_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(
        TrainfareError, match=r"postgresql://db/x: PostgreSQL needs .*\n  .*pip install 'trainfare\[postgres\]'"
    ):
        Catalog.open("postgresql://db/x")


def test_a_sqlite_url_is_the_file_it_names(tmp_path: Path) -> None:
    Catalog.open(f"sqlite:///{tmp_path}/other.sqlite").dispose()
    with sqlite3.connect(tmp_path / "other.sqlite") as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_a_catalog_that_is_up_to_date_is_opened_without_alembic(tmp_path: Path) -> None:
    Store.open(tmp_path).catalog.dispose()
    code = (
        "import sys; from pathlib import Path; from trainfare.store import Store\n"
        "Store.open(Path(sys.argv[1])); print('alembic' in sys.modules)"
    )
    ran = subprocess.run([sys.executable, "-c", code, tmp_path], capture_output=True, text=True, check=True)
    assert ran.stdout == "False\n"
