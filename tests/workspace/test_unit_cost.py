"""The cost of a month is its book; its unit cost counts what every book has for its days."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from typing import Any

import pytest

from trainfare.period import Month
from trainfare.query import cost
from trainfare.query.cost import Question
from trainfare.query.open_books import OpenBooks
from trainfare.serve.auth.viewer import Viewer
from trainfare.serve.books import BookReader
from trainfare.settings.config import load

from .folder import Workspace
from .test_adjusted_payers import BILL, OCTOBER, P5, SEPTEMBER, SETTINGS, bill, job, small

__all__ = ["small"]


def reported(workspace: Workspace, month: Month) -> dict[str, Any]:
    """Return the figures of all jobs of a month, as the command reports them."""
    ran = workspace.run("report", "--month", month, "--by", "job", "--format", "json")
    assert ran.code == 0, ran.err
    found = json.loads(ran.out)
    return {row["job"]: row for row in found["rows"]} | {"": found["overall"]}


def metric(workspace: Workspace, month: Month, code: str) -> list[str | None]:
    ran = workspace.run("metrics", "--month", month, "--metric", code, "--by", "job", "--format", "json")
    assert ran.code == 0, ran.err
    return [row["value"] for row in json.loads(ran.out)["metrics"]]


@contextmanager
def served(workspace: Workspace, *months: Month) -> Iterator[OpenBooks]:
    """Open months as the service does."""
    with workspace.open() as store:
        reader = BookReader(store, load(workspace.folder / "trainfare.toml"))
        with reader.open(Viewer("somebody", "viewer"), [reader.newest(month) for month in months]) as opened:
            yield opened
        reader.close()


def test_an_adjustment_counts_in_the_unit_cost_of_the_month_it_is_for(small: Workspace) -> None:
    """September was closed at 3.00 an hour and is restated to 1.00: a gets 8.00 back in October."""
    small.close(SEPTEMBER)
    assert reported(small, SEPTEMBER)[""]["rate"] == "3.00"
    bill(small, SEPTEMBER, "1.00")
    small.build()
    before, now = reported(small, SEPTEMBER), reported(small, OCTOBER)
    assert (before["a"]["cost"], before["a"]["rate"], before["a"]["rate_cost"]) == ("12.00", "1.00", "4.00")
    assert (now["a"]["cost"], now["a"]["rate"]) == ("-8.00", None)
    assert (now[""]["cost"], now[""]["rate"], now[""]["rate_cost"]) == ("4.00", "3.00", "12.00")
    assert metric(small, OCTOBER, "M1") == ["3.00", None]
    assert metric(small, OCTOBER, "M10")[0] == "3.00"
    with served(small, SEPTEMBER) as opened:
        assert cost.rows(opened, Question([]), [])[0].rate == 1
    with served(small, SEPTEMBER, OCTOBER) as opened:
        (both,) = cost.rows(opened, Question([]), [])
        assert (both.cost, both.rate_cost, both.rate) == (16, 16, 2)


def test_a_renamed_job_moves_the_unit_cost_of_the_closed_month_with_it(small: Workspace) -> None:
    """The closed book has the hours of a; z pays for them now, and both count."""
    small.close(SEPTEMBER)
    bill(small, SEPTEMBER, "1.00")
    job(small, SEPTEMBER, "z")
    small.build()
    found = reported(small, SEPTEMBER)
    assert (found["a"]["cost"], found["a"]["rate"]) == ("12.00", "0.00")
    assert (found[""]["cost"], found[""]["rate"]) == ("12.00", "1.00")


@pytest.fixture
def late(tmp_path) -> Workspace:
    """n1 is held for two hours of September at 10.00; the second is on October's bill, next to one of October."""
    workspace = Workspace(tmp_path)
    workspace.write("trainfare.toml", SETTINGS)
    periods = {month: f"{month}-01T00:00:00Z,{month.next()}-01T00:00:00Z" for month in (SEPTEMBER, OCTOBER)}
    hours = {
        SEPTEMBER: ["2026-09-10T00:00:00Z,2026-09-10T01:00:00Z"],
        OCTOBER: ["2026-09-10T01:00:00Z,2026-09-10T02:00:00Z", "2026-10-10T00:00:00Z,2026-10-10T01:00:00Z"],
    }
    for month, lines in hours.items():
        rows = [f"USD,{line},{periods[month]},10.00,10.00,Usage,Compute,VM,n1,{P5}" for line in lines]
        workspace.write(f"bills/{month}.csv", "\n".join([BILL, *rows, ""]))
    held = [
        "a,1,n1,2026-09-10T00:00:00Z,2026-09-10T02:00:00Z,8,completed,x",
        "b,1,n1,2026-10-10T00:00:00Z,2026-10-10T01:00:00Z,8,completed,x",
    ]
    columns = "job_id,attempt,machine_id,started,ended,gpus,state,team"
    workspace.write("jobs/jobs.csv", "\n".join([columns, *held, ""]))
    workspace.build()
    return workspace


def test_an_hour_that_is_billed_a_month_late_costs_as_much_as_the_others(late: Workspace) -> None:
    before, now = reported(late, SEPTEMBER)[""], reported(late, OCTOBER)[""]
    assert (before["cost"], before["rate"], before["rate_cost"]) == ("10.00", "10.00", "20.00")
    assert (now["cost"], now["rate"], now["rate_cost"]) == ("20.00", "10.00", "10.00")
    for months, rate in (((SEPTEMBER,), 10), ((OCTOBER,), 10), ((SEPTEMBER, OCTOBER), 10)):
        with served(late, *months) as opened:
            assert cost.rows(opened, Question([]), [])[0].rate == rate


def test_a_window_of_days_has_the_cost_of_its_days_in_whichever_book(late: Workspace) -> None:
    days = Question([], days=(SEPTEMBER.start.date(), OCTOBER.start.date()))
    with served(late, SEPTEMBER) as opened:
        (row,) = cost.rows(opened, days, [])
    assert (row.cost, row.rate) == (20, 10)


def test_the_service_sees_that_another_months_book_has_changed(late: Workspace) -> None:
    with late.open() as store:
        reader = BookReader(store, load(late.folder / "trainfare.toml"))
        viewer = Viewer("somebody", "viewer")
        with reader.open(viewer, [reader.newest(SEPTEMBER)]) as opened:
            assert cost.rows(opened, Question([]), [])[0].rate_cost == Decimal(20)
        text = (late.folder / "bills/2026-10.csv").read_text(encoding="utf-8")
        late.write("bills/2026-10.csv", text.replace("10.00,10.00", "30.00,30.00"))
        assert late.build()[0] == "2026-09  unchanged: version 1"
        with reader.open(viewer, [reader.newest(SEPTEMBER)]) as opened:
            assert cost.rows(opened, Question([]), [])[0].rate == 20
        reader.close()
