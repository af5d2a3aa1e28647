"""Running builds, for lakes where the operating system cannot track them: each build sends heartbeats.

A build whose heartbeat is too old is abandoned. From then on it can add nothing to the catalog, so its files may be
swept: abandoning and adding are transactions, and one of them comes first.
"""

import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

from sqlalchemy import Connection, delete, insert, select, text, update

from trainfare.errors import IncompleteError, TrainfareError
from trainfare.files.locations import BUILD_ID
from trainfare.store.database import Database
from trainfare.store.layout import new_build_id
from trainfare.store.schema import BUILDS

HEARTBEAT_SECONDS = 30
"""The interval between the heartbeats of a build."""
HEARTBEAT_TIMEOUT = timedelta(minutes=15)
"""A build without a heartbeat for this long is abandoned."""


class Builds:
    """The running builds of a catalog."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @contextmanager
    def running(self) -> Iterator[str]:
        """Register a new build and yield its id. It counts as running until the block or this process ends."""
        build_id, over = new_build_id(), threading.Event()
        with self._database.write() as connection:
            connection.execute(insert(BUILDS), {"build_id": build_id, "heartbeat_at": _now(connection)})
        heartbeat = threading.Thread(target=self._send_heartbeats, args=(build_id, over), daemon=True)
        heartbeat.start()
        try:
            yield build_id
        finally:
            over.set()
            heartbeat.join()
            with self._database.write() as connection:
                connection.execute(delete(BUILDS).where(BUILDS.c.build_id == build_id, BUILDS.c.abandoned_at.is_(None)))

    def _send_heartbeats(self, build_id: str, over: threading.Event) -> None:
        while not over.wait(HEARTBEAT_SECONDS):
            try:
                with self._database.write() as connection:
                    now = {"heartbeat_at": _now(connection)}
                    connection.execute(update(BUILDS).where(BUILDS.c.build_id == build_id).values(now))
            except TrainfareError:
                continue  # The database is busy or unreachable; while that lasts, the build cannot publish either.

    def running_ids(self) -> set[str]:
        """The ids of running builds. Builds whose heartbeat is too old are abandoned now."""
        with self._database.write() as connection:
            now = _now(connection)
            overdue = BUILDS.c.abandoned_at.is_(None), BUILDS.c.heartbeat_at < now - HEARTBEAT_TIMEOUT
            connection.execute(update(BUILDS).where(*overdue).values(abandoned_at=now))
            return set(connection.execute(select(BUILDS.c.build_id).where(BUILDS.c.abandoned_at.is_(None))).scalars())


def require_not_abandoned(connection: Connection, names: Iterable[str]) -> None:
    """Reject files of an abandoned build: they may be swept already."""
    ids = {build for name in names for build in BUILD_ID.findall(name)}
    wanted = select(BUILDS.c.build_id).where(BUILDS.c.build_id.in_(ids), BUILDS.c.abandoned_at.is_not(None))
    if ids and connection.execute(wanted).first():
        what = f"this build sent no heartbeat for {HEARTBEAT_TIMEOUT // timedelta(minutes=1)} minutes and was abandoned"
        raise IncompleteError("build", what, "Run trainfare build again.")


def _now(connection: Connection) -> datetime:
    """The time of one clock: the database server's, or this machine's for a SQLite file."""
    if connection.dialect.name == "postgresql":
        server_time: datetime = connection.execute(text("SELECT clock_timestamp()")).scalar_one()
        return server_time
    return datetime.now(UTC)
