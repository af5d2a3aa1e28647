"""Run a collector: commit each batch with its cursor, and seal what is old enough."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

from trainfare.collect import registry
from trainfare.collect.protocol import Query
from trainfare.collect.secrets import read_secret
from trainfare.settings.collectors import CollectorSettings
from trainfare.settings.config import Config
from trainfare.store import Store
from trainfare.store.recordings import sealing

SEAL_AFTER = timedelta(hours=1)
"""How old the first observation of an open segment becomes before it is sealed."""
Clock = Callable[[], datetime]


@dataclass(frozen=True)
class Collected:
    """The outcome of one run of a collector."""

    name: str
    recorded: int
    """Observations that say something new."""
    unchanged: int
    sealed: int
    """Observations that were moved to the lake."""
    complete_through: datetime | None


def _now() -> datetime:
    return datetime.now(UTC)


def collect(
    config: Config,
    settings: CollectorSettings,
    store: Store,
    seal: bool = False,
    now: Clock = _now,
    wait_seconds: float = 0.0,
) -> Collected:
    """Collect everything there is after the committed cursor. With `seal`, the open segment is sealed at once.

    A system that reports changes by itself is listened to for `wait_seconds`.
    """
    recordings, where = store.catalog.recordings, f"collector {settings.name}"
    collector = registry.by_system(settings.system)
    cursor = recordings.state(settings.name).cursor
    query = Query(
        name=settings.name,
        since=date.fromisoformat(settings.since) if settings.since else None,
        options=settings.options,
        folder=config.folder,
        token=read_secret(settings.token, f"{where} token", config.folder),
        cursor=cursor,
        open_uids=lambda kind: recordings.open_uids(settings.name, kind),
        wait_seconds=wait_seconds,
    )
    recorded = unchanged = 0
    for batch in collector.collect(query):
        done = recordings.commit(settings.name, settings.system, cursor, batch, now())
        recorded, unchanged, cursor = recorded + done.recorded, unchanged + done.unchanged, batch.cursor
    state = recordings.state(settings.name)
    is_due = state.open_since is not None and now() - state.open_since >= SEAL_AFTER
    sealed = sealing.seal(store, settings.name) if seal or is_due else []
    return Collected(settings.name, recorded, unchanged, sum(one.lines for one in sealed), state.complete_through)
