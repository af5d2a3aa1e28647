"""Recordings: observations and their cursor are committed together, numbered without gaps, and sealed exactly once."""

import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from multiprocessing.connection import Connection
from typing import Any

import pytest

from trainfare.engine.duckdb import DuckDB, parquet
from trainfare.errors import DamagedError, IncompleteError, TrainfareError
from trainfare.store import Store
from trainfare.store.recordings import sealing
from trainfare.store.recordings.values import Batch, Commit, Observed, Op
from trainfare.store.schema import OBSERVATIONS

from . import building

NOON = datetime(2026, 10, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)


def pod(uid: str, op: Op = Op.SEEN, cluster: str = "lab", **fields: Any) -> Observed:
    return Observed(cluster, "pod", uid, op, fields)


def batch(cursor: str, *observed: Observed, listed: bool = False) -> Batch:
    return Batch(observed, cursor, NOON, frozenset({("lab", "pod")}) if listed else frozenset())


def commit(store: Store, after: str | None, given: Batch, at: datetime = NOON) -> Commit:
    return store.catalog.recordings.commit("watcher", "simulated", after, given, at)


def recorded(store: Store) -> list[tuple[int, str, str]]:
    """Number, object and op of everything that was recorded, sealed or not."""
    engine = DuckDB()
    rows = []
    for _, delivery in store.catalog.recordings.segments():
        rows += engine.rows(f"SELECT seq, uid, op FROM {parquet(store.archive(delivery))} ORDER BY seq")
    rows += [(row["seq"], row["uid"], row["op"]) for row in store.catalog.recordings.open_segment("watcher", 10**6)]
    return rows


def test_what_is_known_already_is_not_recorded_again(store: Store) -> None:
    assert commit(store, None, batch("1", pod("a", phase="Running"), pod("b", phase="Pending"))) == Commit(2, 0)
    again = batch("2", pod("a", phase="Running"), pod("b", phase="Running"), pod("b", phase="Running"))
    assert commit(store, "1", again) == Commit(1, 2)
    assert recorded(store) == [(1, "a", "seen"), (2, "b", "seen"), (3, "b", "seen")]


def test_the_same_object_on_two_clusters_is_two_objects(store: Store) -> None:
    assert commit(store, None, batch("1", pod("a"), pod("a", cluster="other"))) == Commit(2, 0)


def test_an_object_that_is_over_is_not_observed_as_running_again(store: Store) -> None:
    commit(store, None, batch("1", pod("a", Op.ENDED, phase="Failed")))
    assert commit(store, "1", batch("2", pod("a", phase="Running"))) == Commit(0, 1)


def test_of_two_processes_that_start_from_one_cursor_only_one_commits(store: Store) -> None:
    commit(store, None, batch("1", pod("a")))
    with pytest.raises(IncompleteError, match="another process collected at the same time"):
        commit(store, None, batch("1", pod("a")))
    assert recorded(store) == [(1, "a", "seen")]


def test_a_name_keeps_its_system(store: Store) -> None:
    commit(store, None, batch("1"))
    with pytest.raises(TrainfareError, match="belongs to the recordings of a collector for simulated"):
        store.catalog.recordings.commit("watcher", "other", "1", batch("2"), NOON)


def test_an_object_that_a_listing_lacks_is_gone_since_it_was_last_listed(store: Store) -> None:
    commit(store, None, batch("1", pod("a"), pod("b"), pod("c", Op.ENDED), listed=True), NOON)
    commit(store, "1", batch("2", pod("a"), pod("b"), listed=True), NOON + HOUR)
    commit(store, "2", batch("3", pod("b"), listed=True), NOON + 2 * HOUR)
    last = store.catalog.recordings.open_segment("watcher", 100)[-1]
    assert (last["uid"], last["op"]) == ("a", "gone")
    assert (last["valid_at"], last["seen_at"]) == (NOON + HOUR, NOON + 2 * HOUR), "it was unchanged an hour before"
    assert store.catalog.recordings.open_uids("watcher", "pod") == ["b"]


def test_an_object_that_is_reported_as_gone_is_gone_once(store: Store) -> None:
    commit(store, None, batch("1", pod("a")))
    assert commit(store, "1", batch("2", pod("a", Op.GONE), pod("never seen", Op.GONE)), NOON + HOUR).recorded == 1
    assert commit(store, "2", batch("3", pod("a", Op.GONE))).recorded == 0


def test_a_sealed_segment_is_a_delivery_with_its_digest(store: Store) -> None:
    commit(store, None, batch("1", pod("a", phase="Running", name="é'|\n"), pod("b")))
    (delivery,) = sealing.seal(store, "watcher")
    assert (delivery.source, delivery.format, delivery.lines) == ("watcher", "recording", 2)
    assert delivery.digest is not None
    assert store.catalog.recordings.open_segment("watcher", 10) == []
    assert sealing.seal(store, "watcher") == [], "nothing is open"
    store.sweep()
    assert recorded(store) == [(1, "a", "seen"), (2, "b", "seen")]
    (fields,) = DuckDB().row(f"SELECT fields FROM {parquet(store.archive(delivery))} WHERE uid = 'a'")
    assert fields == '{"name":"é\'|\\n","phase":"Running"}'


def test_segments_of_a_past_day_become_one(store: Store) -> None:
    for number in range(4):
        commit(
            store, str(number) if number else None, batch(str(number + 1), pod(f"p{number}")), NOON + number * 6 * HOUR
        )
        sealing.seal(store, "watcher")
    before = recorded(store)
    assert sealing.compact(store, NOON + 24 * HOUR) == 2, "12:00 and 18:00; the next day has begun but is not over"
    assert recorded(store) == before
    assert len(store.catalog.recordings.segments()) == 3
    assert sealing.compact(store, NOON + 24 * HOUR) == 0, "a second time changes nothing"
    store.sweep()
    assert recorded(store) == before


def test_a_lost_observation_is_noticed(store: Store) -> None:
    commit(store, None, batch("1", pod("a"), pod("b")))
    with store.catalog._database.write() as connection:
        connection.execute(OBSERVATIONS.delete().where(OBSERVATIONS.c.seq == 1))
    with pytest.raises(DamagedError, match="observation 1 is missing"):
        store.catalog.recordings.segments()


PAGES = 12


def history(page: int) -> Batch:
    """The objects that a page of the simulated system has: it overlaps with the page before."""
    return batch(str(page + 1), *(pod(f"p{number}", phase=str(number % 3)) for number in range(page * 5, page * 5 + 9)))


def collect_all(pipe: Connection, workspace: building.Workspace) -> None:
    """Collect every page from the committed cursor on, sealing in between."""
    with workspace.open() as store:
        pipe.send("started")
        while (page := int(store.catalog.recordings.state("watcher").cursor or 0)) < PAGES:
            commit(store, str(page) if page else None, history(page), datetime.now(UTC))
            if page % 2:
                sealing.seal(store, "watcher")
        sealing.seal(store, "watcher")
    pipe.send("done")


def _kill_at_random(workspace: building.Workspace, run: Callable[..., building.Process], seed: int, kills: int) -> None:
    """Kill the process at random moments, then let it finish: nothing is lost, nothing is there twice."""
    chance = random.Random(seed)
    for _ in range(kills):
        process = run(collect_all)
        assert process.receive() == "started"
        process._here.poll(chance.uniform(0, 0.4))
        process.kill()
    process = run(collect_all)
    assert [process.receive(), process.receive()] == ["started", "done"]
    with workspace.open() as store:
        store.sweep()
        found = recorded(store)
        assert [seq for seq, _, _ in found] == [*range(1, len(found) + 1)]
        assert sorted(uid for _, uid, _ in found) == sorted(f"p{number}" for number in range(PAGES * 5 + 4)), seed


@pytest.mark.services
def test_a_killed_process_loses_nothing_and_records_nothing_twice(
    workspace: building.Workspace, run: Callable[..., building.Process]
) -> None:
    _kill_at_random(workspace, run, seed=random.randrange(10**6), kills=3)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(5))
def test_thirty_kills_lose_nothing(
    workspace: building.Workspace, run: Callable[..., building.Process], seed: int
) -> None:
    _kill_at_random(workspace, run, seed, kills=30)
