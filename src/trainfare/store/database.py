"""The database under the catalog: SQLite in a file, or PostgreSQL by URL.

Writers come one at a time on both: BEGIN IMMEDIATE on SQLite, one advisory lock on PostgreSQL. So what a writing
transaction has read still holds when it commits. Readers never wait. A SQLite file must be on a local disk, as its
write-ahead log does not work over a network.

Who may only read opens a SQLite file as it lies there, with the log of a writer if there is one, and makes nothing beside it.
Each transaction looks anew, so that none holds on to a file that a writer is about to change.
"""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Engine, NullPool, create_engine, event, inspect, make_url, text
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import ArgumentError, DataError, DBAPIError, IntegrityError, OperationalError
from sqlalchemy.pool import ConnectionPoolEntry

from trainfare.errors import IncompleteError, TrainfareError, UnreachableError, UnwritableError
from trainfare.store.schema import REVISION, VERSION_TABLE

WAIT_SECONDS = 30
"""How long a writer waits for another one."""

_WRITERS_LOCK = 0x7261696E66617265
"""Any number does, as long as every version of Trainfare takes the same."""

_AS_WRITER: dict[str, dict[str, Any]] = {
    "sqlite": {"writes": True},
    # A writer must see what was committed while it waited for the lock; the readers' level would hide that.
    "postgresql": {"writes": True, "isolation_level": "READ COMMITTED"},
}

_DAMAGED = (
    "this is not a catalog, or it is damaged",
    "Restore it from a backup, or move it and the lake away and build again.",
)
_UNOPENED = ("the catalog cannot be opened", "Use a folder that exists and that this user may write to.")
_FULL = ("the disk is full", "Free some space and run the command again; what was published stands.")
_FOREIGN = (
    "the database has a table of the same name from something else",
    "Give Trainfare a database, or a schema, of its own.",
)
_FAULTS = {
    "file is not a database": _DAMAGED,
    "disk image is malformed": _DAMAGED,
    "unable to open database file": _UNOPENED,
    "disk is full": _FULL,
    "disk i/o error": ("the disk is full or failing", "Free some space, or check the disk; what was published stands."),
    "no space left on device": _FULL,
    "already exists": _FOREIGN,
}
_FORBIDDEN = ("readonly database", "permission denied", "read-only transaction")
_BUSY = ("database is locked", "lock timeout")


class Database:
    """Transactions on one database, with its schema brought up to date."""

    def __init__(self, url_or_path: str | Path) -> None:
        url = _url(url_or_path)
        self.where = _shown(url)
        self._read_only_folder = _read_only_folder(url)
        try:
            self.engine = self._engine(url)
            self._writers = self.engine.execution_options(**_AS_WRITER[self.engine.dialect.name])
        except ModuleNotFoundError as error:
            do = "Install it with: pip install 'trainfare[postgres]'"
            raise TrainfareError(self.where, "PostgreSQL needs the package psycopg", do) from error
        self._bring_up_to_date()

    def _engine(self, url: URL) -> Engine:
        if self._read_only_folder:
            return _read_only_engine(Path(url.database or ""))
        return _sqlite_engine(url) if _is_sqlite(url) else _postgres_engine(url)

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A transaction that waits for nobody, and sees one state however much is published meanwhile."""
        with self._told("read"), self.engine.connect() as connection:
            yield connection

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """A transaction that no other writer overlaps; committed at the end, or undone by an exception."""
        if self._read_only_folder:
            raise UnwritableError(str(self._read_only_folder))
        with self._told("write"), self._writers.begin() as connection:
            yield connection

    def _bring_up_to_date(self) -> None:
        with self.read() as connection:
            found = _revision(connection)
        if found > REVISION:
            raise TrainfareError(
                self.where,
                f"the catalog is of a newer Trainfare (schema {found}; this one knows {REVISION})",
                "Update this one: pip install --upgrade trainfare",
            )
        if found < REVISION:
            try:
                with self.write() as connection:
                    _upgrade(connection)
            except UnwritableError as error:
                what = f"the catalog is of an older Trainfare (schema {found}; this one knows {REVISION}), and may not be written"
                raise UnwritableError(self.where, what) from error

    @contextmanager
    def _told(self, right: str) -> Iterator[None]:
        """Name the faults of the surroundings; anything else is ours, and stays as it is."""
        try:
            yield
        except (IntegrityError, DataError):
            raise
        except DBAPIError as error:
            reason = str(error.orig).strip() or type(error.orig).__name__
            if any(sign in reason for sign in _BUSY):
                what = f"another process has been writing to the catalog for {WAIT_SECONDS} seconds"
                raise IncompleteError(self.where, what, "Run the command again when it is done.") from error
            if any(sign in reason.lower() for sign in _FORBIDDEN):
                raise _forbidden(self.where, right) from error
            for sign, (what, do) in _FAULTS.items():
                if sign in reason.lower():
                    raise TrainfareError(self.where, what, do) from error
            if isinstance(error, OperationalError):
                raise self._failed(reason.splitlines()[0]) from error
            raise

    def _failed(self, reason: str) -> TrainfareError:
        if self.engine.dialect.name == "sqlite":
            return TrainfareError(self.where, f"the catalog failed: {reason}", "Check the disk and its rights.")
        return UnreachableError(self.where, reason, "Check the catalog's URL and that its server runs.")


def _forbidden(where: str, right: str) -> TrainfareError:
    if right == "write":
        return UnwritableError(where, "the catalog may be read, but not written")
    return TrainfareError(where, "this user may not read the catalog", "Ask for the right to read it.")


def _url(url_or_path: str | Path) -> URL:
    """A path is a SQLite file; a URL is read as such, always with the driver we test with."""
    if isinstance(url_or_path, Path) or "://" not in url_or_path:
        return URL.create("sqlite+pysqlite", database=str(url_or_path))
    try:
        url = make_url(url_or_path)
    except (ArgumentError, ValueError):
        # The text may hold a password, so it is not shown.
        raise TrainfareError("catalog", "its URL cannot be read", _URL_HELP) from None
    if "@" in (url.host or ""):
        raise TrainfareError("catalog", "its URL has a bare @ in the password", "Write it as %40.")
    drivers = {"sqlite": "sqlite+pysqlite", "postgres": "postgresql+psycopg", "postgresql": "postgresql+psycopg"}
    kind = url.drivername.split("+")[0]
    if kind not in drivers or (kind == "sqlite" and not url.database):
        raise TrainfareError("catalog", f"'{url.drivername}' is not a database for a catalog", _URL_HELP)
    return url.set(drivername=drivers[kind])


_URL_HELP = "Use a file, or a URL such as postgresql://user@host/database."


def _shown(url: URL) -> str:
    """The URL without anything secret: a password may be in its query, too."""
    if _is_sqlite(url):
        return url.database or ""
    return url.set(drivername="postgresql", query={}).render_as_string(hide_password=True)


def _is_sqlite(url: URL) -> bool:
    return url.get_backend_name() == "sqlite"


def _read_only_folder(url: URL) -> Path | None:
    """The folder of a SQLite file that is there and that this user may not write, or not the folder; None for any other."""
    path = Path(url.database or "")
    if not _is_sqlite(url) or not path.is_file():
        return None
    return None if os.access(path, os.W_OK) and os.access(path.parent, os.W_OK) else path.parent.resolve()


def _read_only_engine(path: Path) -> Engine:
    def connect() -> sqlite3.Connection:
        log = path.with_name(f"{path.name}-wal")
        how = "mode=ro" if log.exists() and log.stat().st_size else "immutable=1"
        return sqlite3.connect(f"{path.resolve().as_uri()}?{how}", uri=True, timeout=WAIT_SECONDS)

    return _with_own_transactions(create_engine("sqlite+pysqlite://", creator=connect, poolclass=NullPool))


def _sqlite_engine(url: URL) -> Engine:
    engine = create_engine(url, connect_args={"timeout": WAIT_SECONDS})

    @event.listens_for(engine, "connect")
    def prepare(connection: DBAPIConnection, _: ConnectionPoolEntry) -> None:
        cursor = connection.cursor()
        for setting in ("foreign_keys = ON", "synchronous = FULL", "journal_mode = WAL"):
            cursor.execute(f"PRAGMA {setting}")
        cursor.close()

    return _with_own_transactions(engine)


def _with_own_transactions(engine: Engine) -> Engine:
    """Transactions of SQLite are begun here, never by the driver's own rules."""

    @event.listens_for(engine, "connect", insert=True)
    def prepare(connection: DBAPIConnection, _: ConnectionPoolEntry) -> None:
        connection.isolation_level = None

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        connection.exec_driver_sql("BEGIN IMMEDIATE" if _writes(connection) else "BEGIN")

    return engine


def _postgres_engine(url: URL) -> Engine:
    engine = create_engine(url, pool_pre_ping=True, isolation_level="REPEATABLE READ")

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        if _writes(connection):
            connection.exec_driver_sql(f"SET LOCAL lock_timeout = '{WAIT_SECONDS}s'")
            connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_WRITERS_LOCK})")

    return engine


def _writes(connection: Connection) -> bool:
    return bool(connection.get_execution_options().get("writes"))


def _revision(connection: Connection) -> int:
    """The schema the database has; 0 if it has none yet."""
    if not inspect(connection).has_table(VERSION_TABLE):
        return 0
    return int(connection.execute(text(f"SELECT version_num FROM {VERSION_TABLE}")).scalar() or 0)


def _upgrade(connection: Connection) -> None:
    """Bring the schema up to date, unless another process did while we waited."""
    if _revision(connection) >= REVISION:
        return
    # Alembic takes half a second to import, and is needed once in a catalog's life.
    from alembic import command
    from alembic.config import Config

    config = Config(attributes={"connection": connection})
    config.set_main_option("script_location", "trainfare.store:migrations")
    config.set_main_option("path_separator", "os")
    command.upgrade(config, "head")
