"""Queue times of attempts: known if the job log has them, and never guessed."""

from datetime import datetime
from pathlib import Path

import pytest

from trainfare.engine.choice import embedded
from trainfare.engine.sql import parquet
from trainfare.query import job
from trainfare.query.cost import Question
from trainfare.query.open_books import open_books

from .company import OCTOBER
from .folder import Workspace

COLUMNS = "job_id,attempt,machine_id,started,ended,submitted\n"
ROWS = """known,1,gpu-1,2026-10-02T10:00:00Z,2026-10-02T11:00:00Z,2026-10-02T09:15:00Z
known,1,gpu-2,2026-10-02T10:00:00Z,2026-10-02T11:00:00Z,2026-10-02T09:15:00Z
known,2,gpu-1,2026-10-02T12:00:00Z,2026-10-02T13:00:00Z,2026-10-02T12:00:00Z
unknown,1,gpu-3,2026-10-02T10:00:00Z,2026-10-02T11:00:00Z,
negative,1,gpu-4,2026-10-02T10:00:00Z,2026-10-02T11:00:00Z,2026-10-02T10:30:00Z
before,1,gpu-5,2026-09-30T23:00:00Z,2026-10-01T11:00:00Z,2026-09-30T20:00:00Z
"""
NINE_FIFTEEN = datetime(2026, 10, 2, 9, 15)


@pytest.fixture
def queued(workspace: Workspace) -> Workspace:
    workspace.write("jobs/queued.csv", COLUMNS + ROWS)
    workspace.build()
    return workspace


def queue_times(workspace: Workspace, name: str) -> list[tuple[datetime | None, int | None]]:
    """Return when each attempt of a job was submitted, and the seconds it waited."""
    with workspace.open() as store, embedded() as engine:
        *_, book = (one for one in store.catalog.books() if one.month == OCTOBER)
        opened = open_books(engine, [store.files(book)])
        found = job.attempts(opened, Question([], filters=(("job", (name,)),)))
    return [(row["submitted"], row["queued_seconds"]) for row in found]


def test_the_queue_time_is_known_if_the_log_has_it(queued: Workspace) -> None:
    assert queue_times(queued, "known") == [(NINE_FIFTEEN, 2700), (datetime(2026, 10, 2, 12), 0)]
    assert queue_times(queued, "unknown") == [(None, None)]


def test_an_attempt_that_started_before_its_submission_has_no_queue_time(queued: Workspace) -> None:
    assert queue_times(queued, "negative") == [(None, None)]


def test_the_queue_time_belongs_to_the_month_in_which_the_attempt_started(queued: Workspace) -> None:
    assert queue_times(queued, "before") == [(None, None)]


def remove_columns(path: Path, *columns: str) -> None:
    """Rewrite a file of the lake without these columns, as an older version wrote it."""
    with embedded() as engine:
        engine.table("remaining", f"SELECT * EXCLUDE ({', '.join(columns)}) FROM {parquet(path)}")
        path.unlink()
        engine.write_parquet("SELECT * FROM remaining", path)


def test_archives_without_queue_times_can_be_read_again(queued: Workspace) -> None:
    before = queued.run("explain", "known")
    for path in (queued.folder / "lake" / "deliveries").iterdir():
        with embedded() as engine:
            is_log = "submitted" in engine.columns(parquet(path))
        if is_log:
            remove_columns(path, "submitted")
    queued.forget_digests()
    assert queued.run("explain", "known") == before
    queued.write("machines.csv", (queued.folder / "machines.csv").read_text(encoding="utf-8") + "\n")
    queued.build()
    assert queue_times(queued, "known") == [(None, None), (None, None)]


def test_a_book_without_queue_times_reports_none(queued: Workspace) -> None:
    before = queued.run("report", "--format", "json")
    for path in (queued.folder / "lake" / "book_attempts").rglob("*.parquet"):
        remove_columns(path, "queued_from", "queued_to")
    queued.forget_digests()
    assert queue_times(queued, "known") == [(None, None), (None, None)]
    assert queued.run("report", "--format", "json") == before
