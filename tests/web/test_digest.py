"""A digest gives exactly the same answers as the book, to every viewer."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path

import prebuilt
import pytest
from workspace import everything
from workspace.folder import Workspace

from trainfare.query import change, cost, flow, job, job_runs, jobs, machines, reconcile, rule_usage, trend, usage
from trainfare.query.cost import Question
from trainfare.query.jobs import Listing
from trainfare.serve.api.lineage import explain
from trainfare.serve.auth.viewer import Viewer
from trainfare.serve.books import BookReader
from trainfare.settings.config import load

from .copies import copy

QUESTIONS = [
    Question([]),
    Question(["team"], per="gpu"),
    Question(["team", "day"], days=(date(2026, 10, 3), date(2026, 10, 9))),
    Question(["month", "category"], basis="billed"),
    Question([], per="gpu", days=(date(2026, 10, 5), date(2026, 10, 6))),
    Question(["team", "owner"], scope="infra", basis="list", days=(date(2026, 10, 9), date(2026, 10, 14))),
    Question(["project"], days=(date(2026, 10, 20), date(2026, 10, 28)), filters=(("team", ("nlp", "vision")),)),
    Question(["team"], days=(date(2027, 3, 1), date(2027, 3, 2))),
    Question(["source", "rule"]),
    Question(["pool"]),
    Question(["machine", "day"], per="gpu", days=(date(2026, 10, 5), date(2026, 10, 7))),
    Question(["region", "team", "category"], basis="list", filters=(("pool", ("(none)",)),)),
    Question(["account"], filters=(("gpu_model", ("A100", "H100", "(none)")),)),
    Question(["category"], scope="infra", filters=(("team", ("nlp", "(none)")),)),
    Question(["owner"], scope="infra", days=(date(2026, 1, 1), date(2027, 1, 1))),
    Question(["team"], filters=(("category", ("storage",)),)),
    Question(["team"], filters=(("state", ("completed",)),)),
]


on_files = pytest.mark.parametrize("company", ["sqlite"], indirect=True)
"""A digest is built from the files of a book, whatever the catalog is."""


@pytest.fixture(scope="module")
def book_reader(company: Workspace) -> Iterator[BookReader]:
    store = company.open()
    reader = BookReader(store, load(company.folder / "trainfare.toml"))
    yield reader
    reader.close()
    store.catalog.dispose()


@on_files
@pytest.mark.parametrize("visibility", [None, ("team:nlp",), ("team:nobody",)])
@pytest.mark.parametrize("months", [1, 2])
def test_a_digest_gives_the_same_answers_as_the_book(
    book_reader: BookReader, visibility: tuple[str, ...] | None, months: int
) -> None:
    with book_reader.open(Viewer("somebody", "team", visibility), book_reader.current()[:months]) as opened:
        assert opened.by_digest
        from_shares = replace(opened, by_digest=False, by_machine=False)
        for question in QUESTIONS:
            for find in (change.period_costs, job_runs.states, job_runs.occupancy):
                assert find(opened, question) == find(from_shares, question)
            assert job_runs.retries(opened, question, "team") == job_runs.retries(from_shares, question, "team")
            listed = (question, 100, 0)
            assert machines.machines(opened, *listed) == machines.machines(from_shares, *listed)
            assert cost.report(opened, question) == cost.report(from_shares, question)
            for find in (usage.by_route, trend.by_origin):
                assert find(opened, question) == find(from_shares, question)
            requested = (question, "storage_requests", "team")
            assert usage.by_day(opened, *requested) == usage.by_day(from_shares, *requested)
            for find in (usage.attempts_on_idle_machines, usage.checkpoints):
                assert find(opened, question, 3) == find(from_shares, question, 3)
            assert trend.by_payer_kind(opened, question) == trend.by_payer_kind(from_shares, question)
            assert trend.by_day(opened, question, "team") == trend.by_day(from_shares, question, "team")
        for sort in jobs.SORTS:
            listing = Listing(sort=sort, limit=5, search="" if sort == "cost" else "g")
            for days in (None, (date(2026, 10, 3), date(2026, 10, 9)), (date(2026, 10, 31), date(2026, 11, 1))):
                question = replace(QUESTIONS[1], days=days, basis="billed")
                assert jobs.jobs(opened, question, listing) == jobs.jobs(from_shares, question, listing)
        for by in reconcile.KEYS:
            assert reconcile.reconcile(opened, by) == reconcile.reconcile(from_shares, by)
        assert reconcile.by_payer(opened, "billed", "USD") == reconcile.by_payer(from_shares, "billed", "USD")
        assert rule_usage.by_rule(opened, "list", "USD") == rule_usage.by_rule(from_shares, "list", "USD")


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
    """By day, flow, rule, state and job: the same from a digest and from the shares, with the same sum."""
    question = Question([])
    with estimating.open(Viewer("somebody", "team", visibility), estimating.current()[-1:]) as opened:
        from_shares = replace(opened, by_digest=False, by_machine=False)
        total = cost.report(opened, question).estimated
        assert total > 0
        for find in (trend.by_origin, flow.flows, job_runs.states, job_runs.occupancy):
            assert find(opened, question) == find(from_shares, question)
        assert job_runs.retries(opened, question, "team") == job_runs.retries(from_shares, question, "team")
        assert rule_usage.by_rule(opened, "effective", "USD") == rule_usage.by_rule(from_shares, "effective", "USD")
        for listed_by in (replace(question, days=(date(2026, 11, 14), date(2026, 11, 18)), per="gpu"), question):
            listed = jobs.jobs(opened, listed_by, Listing(limit=100)).rows
            assert listed == jobs.jobs(from_shares, listed_by, Listing(limit=100)).rows
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
def test_a_job_read_alone_has_the_same_answers(book_reader: BookReader, visibility: tuple[str, ...] | None) -> None:
    viewer, books = Viewer("somebody", "team", visibility), book_reader.current()
    with book_reader.open(Viewer("somebody", "viewer"), books) as everything:
        listed = jobs.jobs(everything, Question([]), Listing(limit=5)).rows
    for job_id in ("no-such-job", *(row["job"] for row in listed)):
        question = Question([], filters=(("job", (job_id,)),))
        with book_reader.open(viewer, books) as every_job, book_reader.open(viewer, books, job_id) as alone:
            assert job.facts(alone, job_id) == job.facts(every_job, job_id)
            assert usage.checkpoints(alone, question, 1) == usage.checkpoints(every_job, question, 1)
            for find in (job.by_category, job.attempts, job.machines, job.spans, job.phases, trend.by_payer_kind):
                assert find(alone, question) == find(every_job, question)
            for rate in job.rates(alone, question):
                is_known = rate["basis"] in every_job.known_bases(question.currency)
                for per in ("wall", "gpu"):
                    (row,) = cost.rows(every_job, replace(question, basis=rate["basis"], per=per), [])
                    assert (rate["cost"], rate[per]) == ((row.cost, row.rate) if is_known else (None, None))
            assert cost.rows(alone, question, ["category"]) == cost.rows(every_job, question, ["category"])


@on_files
def test_a_job_of_two_teams_is_not_answered_from_a_digest(company: Workspace, tmp_path: Path) -> None:
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
                assert not opened.by_digest
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
