"""Measurements, estimates and single jobs: what the pages show of them adds up."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path

import prebuilt
import pytest
from workspace import everything
from workspace.folder import Workspace

from trainfare.query import cost, flow, job, job_runs, jobs, rule_usage, trend, usage
from trainfare.query.cost import Question
from trainfare.query.jobs import Listing
from trainfare.query.selection import PAYER_KINDS
from trainfare.serve.api.lineage import explain
from trainfare.serve.auth.viewer import Viewer
from trainfare.serve.books import BookReader
from trainfare.settings.config import load

from .copies import copy

on_files = pytest.mark.parametrize("company", ["sqlite"], indirect=True)
"""Answers come from the files of a book, whatever the catalog is."""


@pytest.fixture(scope="module")
def book_reader(company: Workspace) -> Iterator[BookReader]:
    store = company.open()
    reader = BookReader(store, load(company.folder / "trainfare.toml"))
    yield reader
    reader.close()
    store.catalog.dispose()


@on_files
@pytest.mark.parametrize("days", [None, (date(2026, 10, 3), date(2026, 10, 9))])
def test_measurements_are_reported(book_reader: BookReader, days: tuple[date, date] | None) -> None:
    """GPUs are 70 % busy; three requests a second; one team sends a megabyte a second; a checkpoint every hour."""
    question = Question([], days=days)
    with book_reader.open(Viewer("somebody", "viewer"), book_reader.current()[:1]) as opened:
        placed = usage.attempts_on_idle_machines(opened, question, 2)
        assert len({row["machine"] for row in placed}) == 2
        assert all(abs(row["busy_seconds"] / row["held_seconds"] - Decimal("0.7")) < Decimal("0.001") for row in placed)
        wall = {row.group["team"]: row.wall_seconds for row in cost.rows(opened, question, ["team"])}
        requested = usage.by_day(opened, question, "storage_requests", "team")
        (route,) = usage.by_route(opened, question)
        checked = usage.checkpoints(opened, question, 5)
        alone = Question([], days=days, filters=(("job", (checked[0]["job"],)),))
        phases, held = job.phases(opened, alone), job.machines(opened, alone)
    for team, seconds in wall.items():
        requests = sum(row["value"] for row in requested if row["team"] == team)
        assert abs(requests - 3 * seconds) <= 3 * 86400, "jobs that continue next month are measured in this one only"
    assert (route["from_region"], route["to_region"]) == ("eu-central-1", "us-east-1")
    assert abs(route["bytes"] / 1_000_000 - wall["vision"]) <= 86400
    assert {(row["interval_seconds"], row["writing_seconds"]) for row in checked} == {(3540, 60)}, (
        "an hour minus the time that writing takes"
    )
    written = [row["ended"] - row["started"] for row in phases if row["phase"] == "checkpoint"]
    assert len(written) == checked[0]["checkpoints"]
    assert set(written) == {timedelta(seconds=60)}
    (busy,) = {round(row["busy_seconds"] / row["measured_seconds"], 2) for row in held if row["measured_seconds"]}
    assert busy == Decimal("0.70")


@pytest.fixture(scope="module")
def estimating(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BookReader]:
    """A month that is billed for its first half, and estimated for the rest."""
    workspace = Workspace(prebuilt.copy_of("everything", everything.make, tmp_path_factory))
    store = workspace.open()
    book_reader = BookReader(store, load(workspace.folder / "trainfare.toml"))
    yield book_reader
    book_reader.close()
    store.catalog.dispose()


@pytest.mark.parametrize("visibility", [None, ("team:nlp",)])
def test_estimated_cost_is_reported_separately(estimating: BookReader, visibility: tuple[str, ...] | None) -> None:
    """By day, flow, rule, state and job: with the same sum."""
    question = Question([])
    with estimating.open(Viewer("somebody", "team", visibility), estimating.current()[-1:]) as opened:
        total = cost.report(opened, question).estimated
        assert total > 0
        listed = jobs.jobs(opened, question, Listing(limit=100)).rows
        by_rule = rule_usage.by_rule(opened, Question([]))
        assert sum(row[f"{kind}_estimated"] or 0 for row in by_rule for kind in PAYER_KINDS) == total
        assert sum(row["estimated"] for row in flow.flows(opened, question)) == total
        assert sum(row["cost"] for row in trend.by_origin(opened, question) if row["is_estimated"]) == total
        assert trend.by_payer_kind(opened, question)["estimated"] == total
        of_jobs = sum(row["estimated"] for row in listed)
        assert of_jobs == cost.rows(opened, question, [])[0].estimated > 0
        assert of_jobs == sum(row["estimated"] for row in job_runs.states(opened, question))
        late = next(row for row in listed if row["job"] == "late-1")
        alone = Question([], filters=(("job", ("late-1",)),))
        for find in (job.by_category, job.attempts, job.machines):
            assert sum(row["estimated"] or 0 for row in find(opened, alone)) == late["estimated"]


@on_files
@pytest.mark.parametrize("visibility", [None, ("team:nlp",), ("team:nobody",)])
def test_a_jobs_page_adds_up_to_its_row_in_the_list(
    book_reader: BookReader, visibility: tuple[str, ...] | None
) -> None:
    with book_reader.open(Viewer("somebody", "team", visibility), book_reader.current()) as opened:
        assert job.facts(opened, "no-such-job") is None
        listed = jobs.jobs(opened, Question([]), Listing(limit=5)).rows
        assert bool(listed) == (visibility != ("team:nobody",))
        for row in listed:
            question = Question([], filters=(("job", (row["job"],)),))
            facts = job.facts(opened, row["job"])
            assert facts is not None
            assert (facts["state"], facts["attempts"]) == (row["state"], row["attempts"])
            for find in (job.by_category, job.attempts, job.machines):
                assert sum(one["cost"] or 0 for one in find(opened, question)) == row["cost"]
            for rate in job.rates(opened, question):
                is_known = rate["basis"] in opened.known_bases(question.currency)
                for per in ("wall", "gpu"):
                    (one,) = cost.rows(opened, replace(question, basis=rate["basis"], per=per), [])
                    assert (rate["cost"], rate[per]) == ((one.cost, one.rate) if is_known else (None, None))


@on_files
def test_a_job_of_two_teams_is_shown_to_each_as_far_as_it_is_theirs(company: Workspace, tmp_path: Path) -> None:
    workspace = copy(company, tmp_path / "workspace")
    moved = workspace.folder / "jobs" / "2026-10.csv"
    lines = moved.read_text(encoding="utf-8").splitlines()
    first = next(line for line in lines if line.startswith("gpu-1-0-"))
    cells = first.split(",")
    cells[1], cells[7] = "2", "vision" if cells[7] != "vision" else "nlp"
    cells[3:5] = ["2026-10-31T20:00:00Z", "2026-10-31T21:00:00Z"]
    moved.write_text("\n".join([*lines, ",".join(cells)]) + "\n", encoding="utf-8")
    workspace.build()
    with workspace.open() as store:
        book_reader = BookReader(store, load(workspace.folder / "trainfare.toml"))
        for visibility in (None, (f"team:{cells[7]}",)):
            with book_reader.open(Viewer("somebody", "team", visibility), book_reader.current()[:1]) as opened:
                rows = cost.rows(opened, Question(["team"]), ["team"])
                assert {row.group["team"] for row in rows} == (
                    {"nlp", "speech", "vision"} if visibility is None else {cells[7]}
                )
        first_team = first.split(",")[7]
        explained = {}
        for visibility, attempts in ((None, {1, 2}), ((f"team:{first_team}",), {1}), ((f"team:{cells[7]}",), {2})):
            viewer = Viewer("somebody", "team", visibility)
            found = explain(book_reader, viewer, book_reader.current()[0], cells[0], "effective", None)
            assert found is not None
            assert {row["attempt"] for row in (*found.lines, *found.pots)} == attempts, "only visible attempts"
            assert found.explained == found.stored
            explained[visibility] = found.explained
        total, *parts = explained.values()
        assert total == sum(parts)
        book_reader.close()


@on_files
def test_a_new_version_is_used_at_once_and_an_old_one_stays_readable(company: Workspace, tmp_path: Path) -> None:
    workspace = copy(company, tmp_path / "workspace")
    viewer = Viewer("somebody", "viewer")
    with workspace.open() as store:
        book_reader = BookReader(store, load(workspace.folder / "trainfare.toml"))
        before = book_reader.current()
        with book_reader.open(viewer, before) as opened:
            report = cost.report(opened, Question(["team"]))
            bill = workspace.folder / "bills" / "2026-10.csv"
            bill.write_text(bill.read_text(encoding="utf-8").replace("1170.912345678901", "1171.912345678901", 1))
            workspace.build()
            assert cost.report(opened, Question(["team"])) == report
        assert [book.version for book in book_reader.current()] == [2, 1]
        with book_reader.open(viewer, book_reader.current()) as opened:
            assert cost.report(opened, Question(["team"])).total == report.total + 1
        book_reader.close()
