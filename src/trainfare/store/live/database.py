"""The database of the live account: a file next to a SQLite catalog, or tables beside those in PostgreSQL.

Its writers wait for one another, and never for those of the catalog: events do not delay a sign-in or a book.
"""

import json
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, delete, insert, inspect, select

from trainfare.errors import TrainfareError
from trainfare.store import Store
from trainfare.store.database import Database
from trainfare.store.live.tables import METADATA, REVISION, STATE

FILE_NAME = "live.sqlite"
_REVISION = "revision"


class LiveDatabase(Database):
    """Transactions on the tables of the live account."""

    writers_lock = 0x6C69766566617265

    def _bring_up_to_date(self) -> None:
        with self.read() as connection:
            found = _revision(connection)
        if found > REVISION:
            what = f"the live account was written by a newer Trainfare (form {found}; this version supports {REVISION})"
            raise TrainfareError(self.where, what, "Upgrade: pip install --upgrade trainfare")
        if found < REVISION:
            with self.write() as connection:
                if _revision(connection) < REVISION:
                    METADATA.create_all(connection)
                    set_state(connection, _REVISION, REVISION)

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()

    def _require_intact(self) -> None:
        """Require nothing: what cannot be read is an error when it is read, and can be made anew."""


def open_live(store: Store) -> LiveDatabase:
    """Open the live account of a store; create its tables if there are none."""
    url = store.catalog.url
    if url.get_backend_name() != "sqlite":
        return LiveDatabase(url.render_as_string(hide_password=False))
    return LiveDatabase(_file(url))


def _file(url: URL) -> Path:
    catalog = Path(url.database or "")
    return catalog.with_name(FILE_NAME if catalog.name == "catalog.sqlite" else f"{catalog.stem}.{FILE_NAME}")


def find_live(store: Store) -> LiveDatabase | None:
    """Open the live account of a store if there is one."""
    url = store.catalog.url
    if url.get_backend_name() == "sqlite" and not _file(url).exists():
        return None
    if url.get_backend_name() != "sqlite" and not store.catalog.has_table(STATE.name):
        return None
    return open_live(store)


def get_state(connection: Connection, key: str) -> Any:
    """Return a value that was stored under a key; None if there is none."""
    found = connection.execute(select(STATE.c.value).where(STATE.c.key == key)).scalar()
    return None if found is None else json.loads(found)


def set_state(connection: Connection, key: str, value: Any) -> None:
    connection.execute(delete(STATE).where(STATE.c.key == key))
    connection.execute(insert(STATE), {"key": key, "value": json.dumps(value)})


def _revision(connection: Connection) -> int:
    return int(get_state(connection, _REVISION) or 0) if inspect(connection).has_table(STATE.name) else 0
