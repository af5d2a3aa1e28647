"""Questions by pool, cluster, region or GPU model have exactly the same answer from a digest as from the shares."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import date, timedelta
from itertools import islice

import pytest
from workspace import company
from workspace.company import OCTOBER, Line
from workspace.folder import Workspace

from trainfare.query import cost, job_runs, jobs, machines, trend
from trainfare.query.cost import Question
from trainfare.query.jobs import Listing
from trainfare.query.keys import MACHINE_GROUP_KEYS
from trainfare.serve.auth.viewer import Viewer
from trainfare.serve.books import BookReader
from trainfare.settings.config import load

MACHINES = """\
machine_id,gpus,pool,cluster,region,gpu_model
gpu-1,8,large,main,eu,H100
gpu-2,8,large,main,us,H100
gpu-3,8,small,main,eu,A100
gpu-4,8,small,,us,H100
gpu-5,8,,main,eu,H100
gpu-6,8,,,,
"""
NAMES = (*(f"gpu-{number}" for number in range(1, 7)), "not-on-record")
WINDOWS = ((date(2026, 10, 5), date(2026, 10, 12)), (date(2026, 10, 9), date(2026, 10, 10)))
FILTERS: list[tuple[tuple[str, tuple[str, ...]], ...]] = [
    (("pool", ("large",)),),
    (("pool", ("(none)",)),),
    (("pool", ("small", "(none)")), ("team", ("nlp", "vision"))),
    (("region", ("eu",)), ("gpu_model", ("H100", "(none)"))),
    (("cluster", ("main",)), ("team", ("(none)",))),
    (("gpu_model", ("H100", "A100")),),
    (("region", ("nowhere",)),),
]
GROUPS = [[], ["pool"], ["region", "team"], ["gpu_model", "cluster", "pool"], ["team"]]


def job_log() -> str:
    """Return a log of jobs on one to four machines, at equal or overlapping times; some are retried on others."""
    chance = random.Random(5)
    rows: list[Sequence[object]] = []
    for number in range(60):
        team, at = chance.choice((*company.TEAMS, "")), timedelta(hours=chance.randrange(28 * 24))
        for attempt in range(1, chance.choice((2, 2, 3))):
            length, is_together = timedelta(minutes=chance.randrange(30, 4000)), chance.random() < 0.5
            for machine in chance.sample(NAMES, chance.choice((1, 1, 2, 3, 4))):
                late = timedelta() if is_together else length * chance.randrange(9) / 10
                times = [f"{OCTOBER.start + moment:%Y-%m-%dT%H:%M:%SZ}" for moment in (at + late, at + length)]
                gpus = chance.choice((1, 2, "", 4))
                rows.append((f"job-{number}", attempt, machine, *times, gpus, "completed", team))
            at += length
    return "\n".join(",".join(map(str, row)) for row in (company.JOB_COLUMNS, *rows)) + "\n"


@pytest.fixture(scope="module")
def book_reader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BookReader]:
    workspace = Workspace(tmp_path_factory.mktemp("machine-groups") / "workspace")
    days = [OCTOBER.start + timedelta(days=n) for n in range(31)]
    lines = [Line(day, company.MACHINE_PRICE, machine=name) for day in days for name in NAMES[:6]]
    abroad = [Line(day, company.STORAGE_PRICE, machine="gpu-3", service="Storage") for day in days]
    workspace.write_bill(
        OCTOBER, [*lines, *company.lines(OCTOBER)[-93:], company.support(OCTOBER, "1234.567890123457")]
    )
    workspace.write("bills/abroad.csv", company.bill(OCTOBER, abroad).replace("USD", "EUR"))
    workspace.write("jobs/jobs.csv", job_log())
    workspace.write("machines.csv", MACHINES)
    workspace.write("trainfare.toml", company.settings())
    workspace.build()
    store = workspace.open()
    book_reader = BookReader(store, load(workspace.folder / "trainfare.toml"))
    yield book_reader
    book_reader.close()
    store.catalog.dispose()


def questions() -> Iterator[Question]:
    pairs = [(by, filters) for by in GROUPS for filters in ((), *FILTERS) if filters or {*by} & {*MACHINE_GROUP_KEYS}]
    for index, (by, filters) in enumerate(pairs):
        per, scope = ("wall", "gpu")[index % 2], ("full", "infra")[index % 3 == 0]
        currency = "EUR" if index % 7 == 0 else "USD"
        for days in (None, WINDOWS[index % len(WINDOWS)]):
            yield Question(by, ("effective", "list")[index % 2], per, scope, currency, days, filters)


@pytest.mark.parametrize("visibility", [None, ("team:nlp",)])
def test_a_report_by_machine_group_equals_that_of_the_shares(
    book_reader: BookReader, visibility: tuple[str, ...] | None
) -> None:
    with book_reader.open(Viewer("somebody", "team", visibility), book_reader.current()) as opened:
        from_shares = replace(opened, by_digest=False, by_machine=False)
        for question in islice(questions(), 0, None, 1 if visibility is None else 5):
            assert cost.report(opened, question) == cost.report(from_shares, question)
            for find in (trend.by_payer_kind, trend.by_origin):
                assert find(opened, question) == find(from_shares, question)
            assert trend.by_day(opened, question, "pool") == trend.by_day(from_shares, question, "pool")


@pytest.mark.parametrize("visibility", [None, ("team:nlp",)])
def test_jobs_in_machine_groups_equal_those_of_the_shares(
    book_reader: BookReader, visibility: tuple[str, ...] | None
) -> None:
    with book_reader.open(Viewer("somebody", "team", visibility), book_reader.current()) as opened:
        from_shares = replace(opened, by_digest=False, by_machine=False)
        for number, question in enumerate(islice(questions(), 0, None, 1 if visibility is None else 5)):
            sort = jobs.SORTS[number % len(jobs.SORTS)]
            listing = Listing(sort, descending=number % 2 == 0, search="" if number % 3 else "b-1", limit=70)
            assert jobs.jobs(opened, question, listing) == jobs.jobs(from_shares, question, listing)
        alone = Question([], filters=(("pool", ("large", "small")), ("job", ("job-7", "job-8"))))
        assert jobs.jobs(opened, alone, Listing()) == jobs.jobs(from_shares, alone, Listing())


@pytest.mark.parametrize("visibility", [None, ("team:nlp",)])
def test_attempts_and_machines_in_machine_groups_equal_those_of_the_shares(
    book_reader: BookReader, visibility: tuple[str, ...] | None
) -> None:
    with book_reader.open(Viewer("somebody", "team", visibility), book_reader.current()) as opened:
        from_shares = replace(opened, by_digest=False, by_machine=False)
        picked = [Question([], per="gpu", days=days) for days in WINDOWS]
        for question in (*picked, *islice(questions(), 0, None, 1 if visibility is None else 5)):
            for find in (job_runs.states, job_runs.occupancy):
                assert find(opened, question) == find(from_shares, question)
            assert job_runs.retries(opened, question, "team") == job_runs.retries(from_shares, question, "team")
            assert machines.machines(opened, question, 9, 0) == machines.machines(from_shares, question, 9, 0)


def test_the_job_log_has_every_kind_of_job(book_reader: BookReader) -> None:
    """In one group and in several; held in one for as long as in all, for a shorter time, and not at all."""
    found = "count(*) FILTER (wall < job_wall), count(*) FILTER (wall = job_wall), count(*) FILTER (wall IS NULL)"
    with book_reader.open(Viewer("somebody", "viewer"), book_reader.current()) as opened:
        one, several = opened.engine.row("SELECT count(site), count(*) - count(site) FROM digest_jobs")
        assert min(one, several, *opened.engine.row(f"SELECT {found} FROM digest_job_sites")) > 5
        assert "digest_job_sites" in cost.select(opened, Question(["region"]), ["region"])
