"""A digest says what the book says, digit for digit, for whoever looks."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path

import pytest
from workspace import everything
from workspace.folder import Workspace

from trainfare.config import load
from trainfare.report import change, cost, flow, job, jobs, machines, reconcile, running, taken, trend, used
from trainfare.report.cost import Question
from trainfare.report.jobs import Listing
from trainfare.web.api.lineage import explain
from trainfare.web.books import Shelf
from trainfare.web.viewer import Viewer

from .copies import copy

QUESTIONS = [
    Question([]),
    Question(["team"], per="gpu"),
    Question(["team", "day"], days=(date(2026, 10, 3), date(2026, 10, 9))),
    Question(["month", "category"], basis="billed"),
    Question([], per="gpu", days=(date(2026, 10, 5), date(2026, 10, 6))),
    Question(["team", "owner"], scope="infra", basis="list", days=(date(2026, 10, 9), date(2026, 10, 14))),
    Question(["project"], days=(date(2026, 10, 20), date(2026, 10, 28)), only=(("team", ("nlp", "vision")),)),
    Question(["team"], days=(date(2027, 3, 1), date(2027, 3, 2))),
    Question(["source", "rule"]),
    Question(["pool"]),
    Question(["machine", "day"], per="gpu", days=(date(2026, 10, 5), date(2026, 10, 7))),
    Question(["region", "team", "category"], basis="list", only=(("pool", ("(none)",)),)),
    Question(["account"], only=(("gpu_model", ("A100", "H100", "(none)")),)),
    Question(["category"], scope="infra", only=(("team", ("nlp", "(none)")),)),
    Question(["owner"], scope="infra", days=(date(2026, 1, 1), date(2027, 1, 1))),
    Question(["team"], only=(("category", ("storage",)),)),
    Question(["team"], only=(("state", ("completed",)),)),
]


on_files = pytest.mark.parametrize("company", ["sqlite"], indirect=True)
"""A digest is made of a book's files, whatever the catalog is."""


@pytest.fixture(scope="module")
def shelf(company: Workspace) -> Iterator[Shelf]:
    store = company.open()
    made = Shelf(store, load(company.folder / "trainfare.toml"))
    yield made
    made.close()
    store.catalog.dispose()


@on_files
@pytest.mark.parametrize("sees", [None, ("team:nlp",), ("team:nobody",)])
@pytest.mark.parametrize("months", [1, 2])
def test_a_digest_says_what_the_book_says(shelf: Shelf, sees: tuple[str, ...] | None, months: int) -> None:
    with shelf.opened(Viewer("somebody", "team", sees), shelf.current()[:months]) as opened:
        assert opened.by_digest
        from_shares = replace(opened, by_digest=False, by_machine=False)
        for question in QUESTIONS:
            for find in (change.parts, running.states, running.occupancy):
                assert find(opened, question) == find(from_shares, question)
            assert running.retries(opened, question, "team") == running.retries(from_shares, question, "team")
            listed = (question, 100, 0)
            assert machines.machines(opened, *listed) == machines.machines(from_shares, *listed)
            assert cost.report(opened, question) == cost.report(from_shares, question)
            for find in (used.by_route, trend.by_origin):
                assert find(opened, question) == find(from_shares, question)
            requested = (question, "storage_requests", "team")
            assert used.by_day(opened, *requested) == used.by_day(from_shares, *requested)
            for find in (used.placed, used.checkpoints):
                assert find(opened, question, 3) == find(from_shares, question, 3)
            assert trend.by_kind(opened, question) == trend.by_kind(from_shares, question)
            assert trend.by_day(opened, question, "team") == trend.by_day(from_shares, question, "team")
        for sort in jobs.SORTS:
            listing = Listing(sort=sort, limit=5, named="" if sort == "cost" else "g")
            for days in (None, (date(2026, 10, 3), date(2026, 10, 9)), (date(2026, 10, 31), date(2026, 11, 1))):
                asked = replace(QUESTIONS[1], days=days, basis="billed")
                assert jobs.jobs(opened, asked, listing) == jobs.jobs(from_shares, asked, listing)
        for by in reconcile.KEYS:
            assert reconcile.reconcile(opened, by) == reconcile.reconcile(from_shares, by)
        assert reconcile.by_payer(opened, "billed", "USD") == reconcile.by_payer(from_shares, "billed", "USD")
        assert taken.taken(opened, "list", "USD") == taken.taken(from_shares, "list", "USD")


@on_files
@pytest.mark.parametrize("days", [None, (date(2026, 10, 3), date(2026, 10, 9))])
def test_what_was_measured_is_told(shelf: Shelf, days: tuple[date, date] | None) -> None:
    """Seven tenths of the GPUs were busy, three requests a second, a megabyte a second from one team, a checkpoint an hour."""
    question = Question([], days=days)
    with shelf.opened(Viewer("somebody", "viewer"), shelf.current()[:1]) as opened:
        placed = used.placed(opened, question, 2)
        assert len({row["machine"] for row in placed}) == 2
        assert all(abs(row["busy_seconds"] / row["held_seconds"] - Decimal("0.7")) < Decimal("0.001") for row in placed)
        wall = {row.group["team"]: row.wall_seconds for row in cost.rows(opened, question, ["team"])}
        requested = used.by_day(opened, question, "storage_requests", "team")
        (route,) = used.by_route(opened, question)
        checked = used.checkpoints(opened, question, 5)
        alone = Question([], days=days, only=(("job", (checked[0]["job"],)),))
        phases, held = job.phases(opened, alone), job.machines(opened, alone)
    for team, seconds in wall.items():
        asked = sum(row["value"] for row in requested if row["team"] == team)
        assert abs(asked - 3 * seconds) <= 3 * 86400, "jobs that go on in the next month are measured in this one alone"
    assert (route["from_region"], route["to_region"]) == ("eu-central-1", "us-east-1")
    assert abs(route["bytes"] / 1_000_000 - wall["vision"]) <= 86400
    assert {(row["interval_seconds"], row["writing_seconds"]) for row in checked} == {(3540, 60)}, (
        "an hour less the time that writing takes"
    )
    written = [row["ended"] - row["started"] for row in phases if row["phase"] == "checkpoint"]
    assert len(written) == checked[0]["checkpoints"]
    assert set(written) == {timedelta(seconds=60)}
    (busy,) = {round(row["busy_seconds"] / row["measured_seconds"], 2) for row in held if row["measured_seconds"]}
    assert busy == Decimal("0.70")


@pytest.fixture(scope="module")
def estimating(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shelf]:
    """A month that is billed up to its middle, and estimated from there."""
    made = everything.make(tmp_path_factory.mktemp("estimating") / "workspace")
    store = made.open()
    shelf = Shelf(store, load(made.folder / "trainfare.toml"))
    yield shelf
    shelf.close()
    store.catalog.dispose()


@pytest.mark.parametrize("sees", [None, ("team:nlp",)])
def test_what_is_estimated_is_told_beside_what_is_billed(estimating: Shelf, sees: tuple[str, ...] | None) -> None:
    """By day, way, rule, state and job, from a digest and from the shares: the same, and the same sum."""
    question = Question([])
    with estimating.opened(Viewer("somebody", "team", sees), estimating.current()[-1:]) as opened:
        from_shares = replace(opened, by_digest=False, by_machine=False)
        whole = cost.report(opened, question).estimated
        assert whole > 0
        for find in (trend.by_origin, flow.flows, running.states, running.occupancy):
            assert find(opened, question) == find(from_shares, question)
        assert running.retries(opened, question, "team") == running.retries(from_shares, question, "team")
        assert taken.taken(opened, "effective", "USD") == taken.taken(from_shares, "effective", "USD")
        for asked in (replace(question, days=(date(2026, 11, 14), date(2026, 11, 18)), per="gpu"), question):
            listed = jobs.jobs(opened, asked, Listing(limit=100)).rows
            assert listed == jobs.jobs(from_shares, asked, Listing(limit=100)).rows
        assert sum(row["estimated"] for row in flow.flows(opened, question)) == whole
        assert sum(row["cost"] for row in trend.by_origin(opened, question) if row["is_estimated"]) == whole
        assert trend.by_kind(opened, question)["estimated"] == whole
        of_jobs = sum(row["estimated"] for row in listed)
        assert of_jobs == cost.rows(opened, question, [])[0].estimated > 0
        assert of_jobs == sum(row["estimated"] for row in running.states(opened, question))
        late = next(row for row in listed if row["job"] == "late-1")
        alone = Question([], only=(("job", ("late-1",)),))
        for find in (job.by_category, job.attempts, job.machines):
            assert sum(row["estimated"] or 0 for row in find(opened, alone)) == late["estimated"]


@on_files
@pytest.mark.parametrize("sees", [None, ("team:nlp",), ("team:nobody",)])
def test_a_job_opened_alone_is_the_same_job(shelf: Shelf, sees: tuple[str, ...] | None) -> None:
    viewer, books = Viewer("somebody", "team", sees), shelf.current()
    with shelf.opened(Viewer("somebody", "viewer"), books) as everything:
        listed = jobs.jobs(everything, Question([]), Listing(limit=5)).rows
    for job_id in ("no-such-job", *(row["job"] for row in listed)):
        question = Question([], only=(("job", (job_id,)),))
        with shelf.opened(viewer, books) as whole, shelf.opened(viewer, books, job_id) as alone:
            assert job.facts(alone, job_id) == job.facts(whole, job_id)
            assert used.checkpoints(alone, question, 1) == used.checkpoints(whole, question, 1)
            for find in (job.by_category, job.attempts, job.machines, job.spans, job.phases, trend.by_kind):
                assert find(alone, question) == find(whole, question)
            for told in job.rates(alone, question):
                is_told = told["basis"] in whole.told(question.currency)
                for per in ("wall", "gpu"):
                    (row,) = cost.rows(whole, replace(question, basis=told["basis"], per=per), [])
                    assert (told["cost"], told[per]) == ((row.cost, row.rate) if is_told else (None, None))
            assert cost.rows(alone, question, ["category"]) == cost.rows(whole, question, ["category"])


@on_files
def test_a_job_of_two_teams_is_not_answered_from_a_digest(company: Workspace, tmp_path: Path) -> None:
    made = copy(company, tmp_path / "workspace")
    moved = made.folder / "jobs" / "2026-10.csv"
    lines = moved.read_text(encoding="utf-8").splitlines()
    first = next(line for line in lines if line.startswith("gpu-1-0-"))
    cells = first.split(",")
    cells[1], cells[7] = "2", "vision" if cells[7] != "vision" else "nlp"
    cells[3:5] = ["2026-10-31T20:00:00Z", "2026-10-31T21:00:00Z"]
    moved.write_text("\n".join([*lines, ",".join(cells)]) + "\n", encoding="utf-8")
    made.build()
    with made.open() as store:
        shelf = Shelf(store, load(made.folder / "trainfare.toml"))
        for sees in (None, (f"team:{cells[7]}",)):
            with shelf.opened(Viewer("somebody", "team", sees), shelf.current()[:1]) as opened:
                assert not opened.by_digest
                rows = cost.rows(opened, Question(["team"]), ["team"])
                assert {row.group["team"] for row in rows} == (
                    {"nlp", "speech", "vision"} if sees is None else {cells[7]}
                )
        first_team = first.split(",")[7]
        opened_by = {}
        for sees, attempts in ((None, {1, 2}), ((f"team:{first_team}",), {1}), ((f"team:{cells[7]}",), {2})):
            told = explain(shelf, Viewer("somebody", "team", sees), shelf.current()[0], cells[0], "effective", None)
            assert told is not None
            assert {row["attempt"] for row in (*told.lines, *told.pots)} == attempts, "nobody's but what may be seen"
            assert told.opened == told.stored
            opened_by[sees] = told.opened
        whole, *parts = opened_by.values()
        assert whole == sum(parts)
        shelf.close()


@on_files
def test_a_new_version_is_seen_at_once_and_an_old_one_stays_readable(company: Workspace, tmp_path: Path) -> None:
    made = copy(company, tmp_path / "workspace")
    viewer = Viewer("somebody", "viewer")
    with made.open() as store:
        shelf = Shelf(store, load(made.folder / "trainfare.toml"))
        before = shelf.current()
        with shelf.opened(viewer, before) as opened:
            told = cost.report(opened, Question(["team"]))
            bill = made.folder / "bills" / "2026-10.csv"
            bill.write_text(bill.read_text(encoding="utf-8").replace("1170.912345678901", "1171.912345678901", 1))
            made.build()
            assert cost.report(opened, Question(["team"])) == told
        assert [book.version for book in shelf.current()] == [2, 1]
        with shelf.opened(viewer, shelf.current()) as opened:
            assert cost.report(opened, Question(["team"])).total == told.total + 1
        shelf.close()
