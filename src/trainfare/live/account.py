"""Keep the live account up to date: prices when sources change, holdings whenever something was recorded."""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, delete, insert

from trainfare.live import holdings, prices
from trainfare.live.holdings import Held
from trainfare.live.prices import Fleet
from trainfare.period import Month
from trainfare.settings.config import Config
from trainfare.store import Store
from trainfare.store.live import intervals
from trainfare.store.live.database import LiveDatabase, get_state, open_live, set_state
from trainfare.store.live.tables import ATTEMPTS, CROWDED, HOLDINGS, MACHINES, PRESENCE, PRICES, SOURCES
from trainfare.tables import LABELS

FLEET, PRICED_AT, UNKNOWN = "fleet", "priced_at", "unknown"
PRICED_FOR = 3600
"""After how many seconds the sources are read again, at the latest."""
KEPT_SECONDS = 40 * 86400
"""How long intervals are kept after they ended or were superseded."""
_SEPARATOR = "\n"


@dataclass(frozen=True)
class Refreshed:
    """The outcome of bringing the account up to date."""

    changed: int
    """Intervals that were added or superseded."""
    unknown: frozenset[str]
    """Names of machines that are held now and that no source knows."""


class LiveAccount:
    """The live account of a store."""

    def __init__(self, config: Config, store: Store, database: LiveDatabase | None = None) -> None:
        self.config = config
        self.store = store
        self.database = database or open_live(store)

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A transaction for windows: all of them see the same state."""
        with self.database.read() as connection:
            yield connection

    def close(self) -> None:
        self.database.close()

    def read_prices(self, as_of: datetime) -> Fleet:
        """Read the sources, and store what machines cost from where their bills end."""
        fleet = prices.read_fleet(self.config, self.store, as_of)
        now = _microseconds()
        with self.database.write() as connection:
            ids = intervals.upsert(connection, MACHINES, ["resource"], _machines(fleet, _known_sources(connection)))
            found = [_on_machine(one, ids) for one in fleet.prices]
            known = intervals.current(connection, PRICES)
            intervals.replace(connection, PRICES, prices.merged(known, found, int(as_of.timestamp())), now)
            set_state(connection, FLEET, fleet.as_state())
            set_state(connection, PRICED_AT, int(as_of.timestamp()))
        return fleet

    def refresh(self, now: datetime | None = None) -> Refreshed:
        """Bring what is held up to date with everything that was recorded. Prices must have been read before."""
        with self.database.read() as connection:
            fleet = get_state(connection, FLEET)
        if fleet is None:
            self.read_prices(now or datetime.now(UTC))
            return self.refresh(now)
        # How far collectors are is looked up first: what they record in the meantime is complete for an earlier time.
        through = {one: self.store.catalog.recordings.state(one).complete_through for one in self._collectors()}
        held = holdings.follow(self.store, self.database, fleet)
        moment = now or datetime.now(UTC)
        unknown = {one["machine_name"] for one in held.holdings if one["resource"] is None}
        with self.database.write() as connection:
            changed = _store(connection, held)
            _store_sources(connection, through, held, moment)
            oldest = int(moment.timestamp()) - KEPT_SECONDS
            for table in (HOLDINGS, PRESENCE, CROWDED, PRICES):
                intervals.forget(connection, table, oldest, oldest * 1_000_000)
        return Refreshed(changed, frozenset(unknown))

    def bring_up_to_date(self, now: datetime) -> Refreshed:
        """Follow what is held; read the sources first if that was an hour ago, or if a machine is new to them."""
        with self.database.read() as connection:
            priced_at = get_state(connection, PRICED_AT)
        is_fresh = priced_at is not None and 0 <= now.timestamp() - priced_at < PRICED_FOR
        if not is_fresh or Month.of(now.date()) != Month.of(datetime.fromtimestamp(priced_at, UTC).date()):
            self.read_prices(now)
            return self.refresh(now)
        done = self.refresh(now)
        with self.database.read() as connection:
            known = {*(get_state(connection, UNKNOWN) or ())}
        if done.unknown <= known:
            return done
        self.read_prices(now)
        done = self.refresh(now)
        with self.database.write() as connection:
            set_state(connection, UNKNOWN, sorted(done.unknown))  # asking again would not help before the next hour
        return done

    def _collectors(self) -> list[str]:
        """The collectors of the settings that ever recorded anything, or were to."""
        return [one.name for one in self.config.collector]


def _store(connection: Connection, held: Held) -> int:
    """Store what is held; return how many intervals that changed."""
    now = _microseconds()
    machines = {key[0]: number for key, number in intervals.upsert(connection, MACHINES, ["resource"], ()).items()}
    for resource, names in held.sources.items():
        if resource in machines:
            sources = _SEPARATOR.join(sorted(names))
            connection.execute(MACHINES.update().where(MACHINES.c.id == machines[resource]).values(sources=sources))
    attempts = intervals.upsert(connection, ATTEMPTS, ["job_id", "attempt"], map(_attempt, held.attempts))
    held_rows = [
        {
            "machine": machines.get(one["resource"]),
            "machine_name": one["machine_name"],
            "attempt": attempts[one["job_id"], one["attempt"]],
            "amount": one["amount"],
            "starts": one["starts"],
            "ends": one["ends"],
        }
        for one in held.holdings
    ]
    by_resource = {(resource,): number for resource, number in machines.items()}
    return sum(
        intervals.replace(connection, table, rows, now)
        for table, rows in (
            (HOLDINGS, held_rows),
            (PRESENCE, [_on_machine(one, by_resource) for one in held.presence]),
            (CROWDED, [_on_machine(one, by_resource) for one in held.crowded]),
        )
    )


def _store_sources(
    connection: Connection, through: Mapping[str, datetime | None], held: Held, moment: datetime
) -> None:
    known = {name: int(end.timestamp()) if end else None for name, end in through.items()} | held.through
    checked_at = int(moment.timestamp() * 1_000_000)
    connection.execute(delete(SOURCES))
    rows = [{"name": name, "complete_through": end, "checked_at": checked_at} for name, end in sorted(known.items())]
    if rows:
        connection.execute(insert(SOURCES), rows)


def _known_sources(connection: Connection) -> dict[str, str]:
    rows = connection.execute(MACHINES.select()).mappings()
    return {row["resource"]: row["sources"] for row in rows}


def _machines(fleet: Fleet, sources: Mapping[str, str]) -> list[dict[str, Any]]:
    with_ledger = {*fleet.with_ledger}
    return [
        {
            "resource": one["resource"],
            "machine_id": one["machine_id"] or one["resource"],
            "kind": one["gpu_model"],
            "cluster": one["cluster"],
            "pool": one["pool"],
            "team": one["team"],
            "sources": sources.get(one["resource"], ""),
            "billed_through": fleet.billed_through.get(one["resource"]),
            "has_ledger": int(one["resource"] in with_ledger),
        }
        for one in fleet.machines
    ]


def _attempt(one: Mapping[str, Any]) -> dict[str, Any]:
    return {name: one[name] for name in ("job_id", "attempt", "state", *LABELS)}


def _on_machine(one: Mapping[str, Any], ids: Mapping[Any, int]) -> dict[str, Any]:
    """Return a row with the number of its machine in place of the name."""
    rest = {name: value for name, value in one.items() if name != "resource"}
    return {"machine": ids[one["resource"],], **rest}


def _microseconds() -> int:
    return time.time_ns() // 1000
