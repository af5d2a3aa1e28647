"""How long attempts were in the queue: told where somebody says so, and never guessed."""

from datetime import datetime
from pathlib import Path

import pytest

from trainfare.engine.choice import embedded
from trainfare.engine.sql import parquet
from trainfare.report import job
from trainfare.report.cost import Question
from trainfare.report.opened import open_books

from .company import OCTOBER
from .folder import Workspace

COLUMNS = "job_id,attempt,machine_id,started,ended,submitted\n"
ROWS = """told,1,gpu-1,2026-10-02T10:00:00Z,2026-10-02T11:00:00Z,2026-10-02T09:15:00Z
told,1,gpu-2,2026-10-02T10:00:00Z,2026-10-02T11:00:00Z,2026-10-02T09:15:00Z
told,2,gpu-1,2026-10-02T12:00:00Z,2026-10-02T13:00:00Z,2026-10-02T12:00:00Z
untold,1,gpu-3,2026-10-02T10:00:00Z,2026-10-02T11:00:00Z,
absurd,1,gpu-4,2026-10-02T10:00:00Z,2026-10-02T11:00:00Z,2026-10-02T10:30:00Z
before,1,gpu-5,2026-09-30T23:00:00Z,2026-10-01T11:00:00Z,2026-09-30T20:00:00Z
"""
NINE_FIFTEEN = datetime(2026, 10, 2, 9, 15)


@pytest.fixture
def queued(workspace: Workspace) -> Workspace:
    workspace.write("jobs/queued.csv", COLUMNS + ROWS)
    workspace.build()
    return workspace


def waited(workspace: Workspace, name: str) -> list[tuple[datetime | None, int | None]]:
    """When each attempt of a job was submitted, and the seconds it waited."""
    with workspace.open() as store, embedded() as engine:
        *_, book = (one for one in store.catalog.books() if one.month == OCTOBER)
        opened = open_books(engine, [store.files(book)])
        found = job.attempts(opened, Question([], only=(("job", (name,)),)))
    return [(row["submitted"], row["queued_seconds"]) for row in found]


def test_the_queue_is_told_of_who_was_in_it(queued: Workspace) -> None:
    assert waited(queued, "told") == [(NINE_FIFTEEN, 2700), (datetime(2026, 10, 2, 12), 0)]
    assert waited(queued, "untold") == [(None, None)]


def test_who_began_before_it_was_submitted_was_in_no_queue(queued: Workspace) -> None:
    assert waited(queued, "absurd") == [(None, None)]


def test_the_queue_belongs_to_the_month_in_which_the_attempt_began(queued: Workspace) -> None:
    assert waited(queued, "before") == [(None, None)]


def without(path: Path, *columns: str) -> None:
    """Write a file of the lake anew as it was before these columns came."""
    with embedded() as engine:
        engine.table("kept", f"SELECT * EXCLUDE ({', '.join(columns)}) FROM {parquet(path)}")
        path.unlink()
        engine.write_parquet("SELECT * FROM kept", path)


def test_files_taken_in_before_queues_were_read_can_be_read_again(queued: Workspace) -> None:
    told = queued.run("explain", "told")
    for path in (queued.folder / "lake" / "deliveries").iterdir():
        with embedded() as engine:
            is_log = "submitted" in engine.columns(parquet(path))
        if is_log:
            without(path, "submitted")
    assert queued.run("explain", "told") == told
    queued.write("machines.csv", (queued.folder / "machines.csv").read_text(encoding="utf-8") + "\n")
    queued.build()
    assert waited(queued, "told") == [(None, None), (None, None)]


def test_a_book_from_before_queues_were_kept_says_nothing_of_them(queued: Workspace) -> None:
    before = queued.run("report", "--format", "json")
    for path in (queued.folder / "lake" / "book_attempts").rglob("*.parquet"):
        without(path, "queued_from", "queued_to")
    assert waited(queued, "told") == [(None, None), (None, None)]
    assert queued.run("report", "--format", "json") == before
