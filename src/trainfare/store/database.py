"""The database of the catalog: SQLite in a file, or PostgreSQL by URL.

Both admit one writer at a time: BEGIN IMMEDIATE on SQLite, an advisory lock on PostgreSQL. So whatever a writing
transaction has read still holds when it commits. Readers never wait. A SQLite file must be on a local disk, because its
write-ahead log does not work over a network.

A user who may only read opens a SQLite file as it is, together with the log of a writer if there is one, and creates no
files next to it. Each transaction opens the file again, so that none holds a file that a writer is about to change.
"""

import os
import re
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Engine, NullPool, create_engine, event, inspect, make_url, text
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import ArgumentError, DataError, DBAPIError, IntegrityError, OperationalError
from sqlalchemy.pool import ConnectionPoolEntry

from trainfare.errors import DamagedError, IncompleteError, TrainfareError, UnreachableError, UnwritableError
from trainfare.store.schema import REVISION, VERSION_TABLE

WAIT_SECONDS = 30
"""How long a writer waits for another writer."""

CHECKED_TABLES = ("books", "book_files", "book_totals", "book_deliveries", "deliveries", "closings", "table_checksums")
"""The tables that decide which figures are shown."""

_WRITERS_LOCK = 0x7261696E66617265
"""Any number works, as long as every version of Trainfare uses the same."""

_AS_WRITER: dict[str, dict[str, Any]] = {
    "sqlite": {"writes": True},
    # A writer must see what was committed while it waited for the lock; the readers' level would hide that.
    "postgresql": {"writes": True, "isolation_level": "READ COMMITTED"},
}

_DAMAGED = (
    "this is not a catalog, or it is damaged",
    "Restore it from a backup, or move it and the lake away and build again.",
)
_NOT_OPENED = ("the catalog cannot be opened", "Use a folder that exists and that this user may write to.")
_FULL = ("the disk is full", "Free some space and run the command again. Published books are intact.")
_FOREIGN = (
    "the database has a table of the same name from another application",
    "Use a separate database or schema for Trainfare.",
)
_PROBLEMS = {
    "file is not a database": _DAMAGED,
    "malformed": _DAMAGED,
    "unable to open database file": _NOT_OPENED,
    "disk is full": _FULL,
    "disk i/o error": (
        "the disk is full or failing",
        "Free some space, or check the disk. Published books are intact.",
    ),
    "no space left on device": _FULL,
    "already exists": _FOREIGN,
}
_FORBIDDEN = ("readonly database", "permission denied", "read-only transaction")
_BUSY = ("database is locked", "lock timeout")


class Database:
    """Transactions on one database, whose schema is up to date."""

    writers_lock = _WRITERS_LOCK

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
        self._require_intact()

    def _engine(self, url: URL) -> Engine:
        if self._read_only_folder:
            return _read_only_engine(Path(url.database or ""))
        return _sqlite_engine(url) if _is_sqlite(url) else _postgres_engine(url, self.writers_lock)

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A transaction that never waits, and sees one state however much is published in the meantime."""
        with self._translate_errors("read"), self.engine.connect() as connection:
            yield connection

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """A transaction that no other writer overlaps; committed at the end, rolled back by an exception."""
        self.require_writable()
        with self._translate_errors("write"), self._writers.begin() as connection:
            yield connection

    def require_writable(self) -> None:
        """Raise an error if this user may only read the folder of a SQLite file."""
        if self._read_only_folder:
            raise UnwritableError(str(self._read_only_folder))

    def _bring_up_to_date(self) -> None:
        with self.read() as connection:
            found = _revision(connection)
        if found > REVISION:
            raise TrainfareError(
                self.where,
                f"the catalog was written by a newer Trainfare (schema {found}; this version supports {REVISION})",
                "Upgrade: pip install --upgrade trainfare",
            )
        if found < REVISION:
            try:
                with self.write() as connection:
                    _upgrade(connection)
            except UnwritableError as error:
                what = (
                    f"an older Trainfare wrote the catalog (schema {found}, now {REVISION}), and it cannot be upgraded"
                )
                raise UnwritableError(self.where, f"{what}: no write access") from error

    def _require_intact(self) -> None:
        """Require that the tables of a SQLite file, whose pages have no checksums, can be read with their indexes."""
        if self.engine.dialect.name == "sqlite":
            with self.read() as connection:
                for table in CHECKED_TABLES:
                    found = connection.execute(text(f"PRAGMA integrity_check({table})")).scalars().all()
                    if found != ["ok"]:
                        raise DamagedError(self.where, *_DAMAGED)

    @contextmanager
    def _translate_errors(self, right: str) -> Iterator[None]:
        """Report errors of the environment as such. Any other error is a bug and passes unchanged."""
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
            for sign, (what, do) in _PROBLEMS.items():
                if sign in reason.lower():
                    raise TrainfareError(self.where, what, do) from error
            if isinstance(error, OperationalError):
                raise self._failed(reason.splitlines()[0]) from error
            raise

    def _failed(self, reason: str) -> TrainfareError:
        if self.engine.dialect.name == "sqlite":
            return TrainfareError(self.where, f"the catalog failed: {reason}", "Check the disk and its permissions.")
        return UnreachableError(self.where, reason, "Check the catalog's URL and that its server is running.")


def _forbidden(where: str, right: str) -> TrainfareError:
    if right == "write":
        return UnwritableError(where, "the catalog is read-only for this user")
    return TrainfareError(where, "this user may not read the catalog", "Request read permission.")


def _url(url_or_path: str | Path) -> URL:
    """A path is a SQLite file. A URL always gets the driver that is tested."""
    if isinstance(url_or_path, Path) or not _LIKE_A_URL.search(url_or_path):
        return URL.create("sqlite+pysqlite", database=str(url_or_path))
    # The text may contain a password, so it is not shown.
    if "://" not in url_or_path:
        raise TrainfareError("catalog", "its URL is mistyped: :// is missing", _URL_HELP)
    try:
        url = make_url(url_or_path)
    except (ArgumentError, ValueError):
        raise TrainfareError("catalog", "its URL is invalid", _URL_HELP) from None
    if "@" in (url.host or ""):
        raise TrainfareError("catalog", "its URL has an unescaped @ in the password", "Write it as %40.")
    if "@" in (url.database or "") and not _is_sqlite(url):
        raise TrainfareError("catalog", "its URL has an @ after the host", _URL_HELP)
    drivers = {"sqlite": "sqlite+pysqlite", "postgres": "postgresql+psycopg", "postgresql": "postgresql+psycopg"}
    kind = url.drivername.split("+")[0]
    if kind not in drivers or (kind == "sqlite" and not url.database):
        raise TrainfareError("catalog", f"'{url.drivername}' is not a supported database for a catalog", _URL_HELP)
    return url.set(drivername=drivers[kind])


_LIKE_A_URL = re.compile(r"://|^[A-Za-z][A-Za-z0-9+]+(:|//)|:[^/@]*@")
"""A scheme, or a user with a password: no file is named like that, and none may be, because names are displayed."""
_URL_HELP = "Use a file, or a URL such as postgresql://user@host/database."


def _shown(url: URL) -> str:
    """The URL without secrets. The query may contain a password, too."""
    if _is_sqlite(url):
        return url.database or ""
    return url.set(drivername="postgresql", query={}).render_as_string(hide_password=True)


def _is_sqlite(url: URL) -> bool:
    return url.get_backend_name() == "sqlite"


def _read_only_folder(url: URL) -> Path | None:
    """The folder of an existing SQLite file if this user may not write the file or the folder; otherwise None."""
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
    """Begin SQLite transactions explicitly, never by the driver's own rules."""

    @event.listens_for(engine, "connect", insert=True)
    def prepare(connection: DBAPIConnection, _: ConnectionPoolEntry) -> None:
        connection.isolation_level = None

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        connection.exec_driver_sql("BEGIN IMMEDIATE" if _writes(connection) else "BEGIN")

    return engine


def _postgres_engine(url: URL, writers_lock: int) -> Engine:
    engine = create_engine(url, pool_pre_ping=True, isolation_level="REPEATABLE READ")

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        if _writes(connection):
            connection.exec_driver_sql(f"SET LOCAL lock_timeout = '{WAIT_SECONDS}s'")
            connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({writers_lock})")

    return engine


def _writes(connection: Connection) -> bool:
    return bool(connection.get_execution_options().get("writes"))


def _revision(connection: Connection) -> int:
    """The schema revision of the database; 0 if it has none yet."""
    if not inspect(connection).has_table(VERSION_TABLE):
        return 0
    return int(connection.execute(text(f"SELECT version_num FROM {VERSION_TABLE}")).scalar() or 0)


def _upgrade(connection: Connection) -> None:
    """Upgrade the schema, unless another process did while this one waited."""
    if _revision(connection) >= REVISION:
        return
    # Importing Alembic takes half a second, and it is needed once per upgrade.
    from alembic import command
    from alembic.config import Config

    config = Config(attributes={"connection": connection})
    config.set_main_option("script_location", "trainfare.store:migrations")
    config.set_main_option("path_separator", "os")
    command.upgrade(config, "head")
