"""Builds that are running, for lakes where no operating system can tell: each says now and then that it is still there.

One that has been silent for too long is given up. From then on it can add nothing to the catalog, so what it wrote may be swept:
giving up and adding are transactions, and one of them comes first.
"""

import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

from sqlalchemy import Connection, delete, insert, select, text, update

from trainfare.errors import IncompleteError, TrainfareError
from trainfare.places import BUILD_ID
from trainfare.store.database import Database
from trainfare.store.layout import new_build_id
from trainfare.store.schema import BUILDS

HEARD_SECONDS = 30
"""How often a build says that it is there."""
SILENT = timedelta(minutes=15)
"""After this long without a word a build is given up."""


class Builds:
    """The builds that a catalog knows of."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @contextmanager
    def running(self) -> Iterator[str]:
        """Enter a new build and give its id; it counts as running until the block ends, or this process does."""
        build_id, over = new_build_id(), threading.Event()
        with self._database.write() as connection:
            connection.execute(insert(BUILDS), {"build_id": build_id, "heard_at": _now(connection)})
        speaker = threading.Thread(target=self._speak, args=(build_id, over), daemon=True)
        speaker.start()
        try:
            yield build_id
        finally:
            over.set()
            speaker.join()
            with self._database.write() as connection:
                connection.execute(delete(BUILDS).where(BUILDS.c.build_id == build_id, BUILDS.c.given_up_at.is_(None)))

    def _speak(self, build_id: str, over: threading.Event) -> None:
        while not over.wait(HEARD_SECONDS):
            try:
                with self._database.write() as connection:
                    heard = {"heard_at": _now(connection)}
                    connection.execute(update(BUILDS).where(BUILDS.c.build_id == build_id).values(heard))
            except TrainfareError:
                continue  # the database is busy or away; if it stays away, the build cannot publish either

    def alive(self) -> set[str]:
        """The ids of the builds that are running. Those that were silent for too long are given up now."""
        with self._database.write() as connection:
            now = _now(connection)
            silent = BUILDS.c.given_up_at.is_(None), BUILDS.c.heard_at < now - SILENT
            connection.execute(update(BUILDS).where(*silent).values(given_up_at=now))
            return set(connection.execute(select(BUILDS.c.build_id).where(BUILDS.c.given_up_at.is_(None))).scalars())


def require_not_given_up(connection: Connection, names: Iterable[str]) -> None:
    """Refuse files of a build that was given up: they may be gone already."""
    ids = {build for name in names for build in BUILD_ID.findall(name)}
    wanted = select(BUILDS.c.build_id).where(BUILDS.c.build_id.in_(ids), BUILDS.c.given_up_at.is_not(None))
    if ids and connection.execute(wanted).first():
        what = f"this build was not heard of for {SILENT // timedelta(minutes=1)} minutes, and was given up"
        raise IncompleteError("build", what, "Run trainfare build again.")


def _now(connection: Connection) -> datetime:
    """The time by one clock: that of the database's server, or of this machine, where the file is."""
    if connection.dialect.name == "postgresql":
        told: datetime = connection.execute(text("SELECT clock_timestamp()")).scalar_one()
        return told
    return datetime.now(UTC)
