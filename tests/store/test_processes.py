"""Several processes on one workspace, and processes that are killed."""

import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path

from trainfare.errors import IncompleteError
from trainfare.store import Lake, Store

from .building import OCTOBER, Process, Workspace, a_book, a_delivery, names, publish, write

Run = Callable[..., Process]


def build_on_request(pipe: Connection, workspace: Workspace) -> None:
    """Write everything, send the names of the files, and publish on request."""
    with workspace.open() as store:
        latest = store.catalog.latest(OCTOBER)
        with store.lake.building() as build_id:
            delivery = a_delivery(store, build_id, content=build_id[:8])
            book = a_book(store, build_id)
            pipe.send({delivery.archive, *book.files.values()})
            pipe.recv()
            try:
                pipe.send(store.publish(OCTOBER, latest.version if latest else None, book).version)
            except IncompleteError as error:
                pipe.send(error.what)


def publish_many(pipe: Connection, workspace: Workspace, count: int) -> None:
    with workspace.open() as store:
        for _ in range(count):
            publish(store)
    pipe.send("done")


def count_missing_files(pipe: Connection, lake: Lake, count: int) -> None:
    """Build repeatedly; send how often a file disappeared while its build was still running."""
    missing = 0
    for _ in range(count):
        with lake.building() as build_id:
            path = write(lake.book_path("shares", OCTOBER, build_id))
            time.sleep(0.0005)
            missing += not path.exists()
    pipe.send(missing)


def close_on_request(pipe: Connection, workspace: Workspace) -> None:
    with workspace.open() as store:
        pipe.send("ready")
        pipe.recv()
        pipe.send(store.catalog.close(OCTOBER, "mia", "").version)


def open_and_send_id(pipe: Connection, workspace: Workspace) -> None:
    with workspace.open() as store:
        pipe.send(store.catalog.id)


def test_of_two_builds_at_once_one_is_published(store: Store, run: Run) -> None:
    publish(store)
    builds = [run(build_on_request) for _ in range(3)]
    for build in builds:
        build.receive()
    for build in builds:
        build.send("publish")
    answers = sorted((build.receive() for build in builds), key=str)
    assert answers == [2, *["another build published version 2 while this one ran"] * 2]
    assert [book.version for book in store.catalog.books()] == [1, 2]


def test_a_month_closes_with_its_latest_version_whichever_is_faster(store: Store, run: Run) -> None:
    publish(store)
    build, close = run(build_on_request), run(close_on_request)
    build.receive()
    close.receive()
    build.send("publish")
    close.send("close")
    published, closed = build.receive(), close.receive()
    assert (published, closed) in [(2, 2), ("the month is closed, with version 1", 1)]
    latest = store.catalog.latest(OCTOBER)
    assert latest
    assert (latest.version, latest.closed) == (closed, True)


def test_a_new_workspace_can_be_opened_by_many_at_once(run: Run) -> None:
    opened = [run(open_and_send_id) for _ in range(4)]
    assert len({process.receive() for process in opened}) == 1


def test_a_killed_build_leaves_the_last_book_and_is_swept(store: Store, run: Run) -> None:
    published = publish(store)
    build = run(build_on_request)
    written = build.receive()
    build.kill()
    assert store.catalog.latest(OCTOBER) == published
    assert written <= names(store)

    assert {store.lake.relative(path) for path in store.sweep()} == written
    assert names(store) == set(published.files.values())
    assert store.sweep() == []
    assert publish(store).version == 2


def test_a_running_builds_files_survive_a_sweep(store: Store, run: Run) -> None:
    build = run(build_on_request)
    written = build.receive()
    assert store.sweep() == []
    assert written <= names(store)
    build.send("publish")
    assert build.receive() == 1
    latest = store.catalog.latest(OCTOBER)
    assert latest
    assert set(latest.files.values()) <= names(store)


def test_sweeping_while_others_publish_removes_no_named_file(store: Store, run: Run) -> None:
    build = run(publish_many, 40)
    while not build.has_message():
        store.sweep()
    assert build.receive() == "done"
    assert len(store.catalog.books()) == 40
    assert store.catalog.referenced_files() == names(store)


def test_a_build_that_starts_during_a_sweep_counts_as_running(tmp_path: Path) -> None:
    """Between creating its lock file and locking it, a build looks as if it had been killed."""
    lake = Lake(tmp_path / "lake")
    lake.claim("c1")
    build = Process(count_missing_files, lake, 800)
    while not build.has_message():
        lake.sweep(set)
    assert build.receive() == 0
    build.kill()
