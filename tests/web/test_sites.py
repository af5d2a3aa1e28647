"""What is asked by pool, cluster, region or kind of GPU has the same answer from a digest as from the shares, digit for digit."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import date, timedelta
from itertools import islice

import pytest
from workspace import company
from workspace.company import OCTOBER, Line
from workspace.folder import Workspace

from trainfare.config import load
from trainfare.report import cost, jobs, machines, running, trend
from trainfare.report.cost import Question
from trainfare.report.jobs import Listing
from trainfare.report.keys import OF_SITE
from trainfare.web.books import Shelf
from trainfare.web.viewer import Viewer

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
    """Jobs on one to four machines, whose times on these are the same or overlap; some come again, on other machines."""
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
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shelf]:
    made = Workspace(tmp_path_factory.mktemp("sites") / "workspace")
    days = [OCTOBER.start + timedelta(days=n) for n in range(31)]
    lines = [Line(day, company.MACHINE_PRICE, machine=name) for day in days for name in NAMES[:6]]
    abroad = [Line(day, company.STORAGE_PRICE, machine="gpu-3", service="Storage") for day in days]
    made.write_bill(OCTOBER, [*lines, *company.lines(OCTOBER)[-93:], company.support(OCTOBER, "1234.567890123457")])
    made.write("bills/abroad.csv", company.bill(OCTOBER, abroad).replace("USD", "EUR"))
    made.write("jobs/jobs.csv", job_log())
    made.write("machines.csv", MACHINES)
    made.write("trainfare.toml", company.settings())
    made.build()
    store = made.open()
    shelf = Shelf(store, load(made.folder / "trainfare.toml"))
    yield shelf
    shelf.close()
    store.catalog.dispose()


def questions() -> Iterator[Question]:
    asked = [(by, only) for by in GROUPS for only in ((), *FILTERS) if only or {*by} & {*OF_SITE}]
    for index, (by, only) in enumerate(asked):
        per, scope = ("wall", "gpu")[index % 2], ("full", "infra")[index % 3 == 0]
        currency = "EUR" if index % 7 == 0 else "USD"
        for days in (None, WINDOWS[index % len(WINDOWS)]):
            yield Question(by, ("effective", "list")[index % 2], per, scope, currency, days, only)


@pytest.mark.parametrize("sees", [None, ("team:nlp",)])
def test_a_report_by_sites_is_that_of_the_shares(shelf: Shelf, sees: tuple[str, ...] | None) -> None:
    with shelf.opened(Viewer("somebody", "team", sees), shelf.current()) as opened:
        from_shares = replace(opened, by_digest=False, by_machine=False)
        for question in islice(questions(), 0, None, 1 if sees is None else 5):
            assert cost.report(opened, question) == cost.report(from_shares, question)
            for find in (trend.by_kind, trend.by_origin):
                assert find(opened, question) == find(from_shares, question)
            assert trend.by_day(opened, question, "pool") == trend.by_day(from_shares, question, "pool")


@pytest.mark.parametrize("sees", [None, ("team:nlp",)])
def test_jobs_on_sites_are_listed_as_the_shares_say(shelf: Shelf, sees: tuple[str, ...] | None) -> None:
    with shelf.opened(Viewer("somebody", "team", sees), shelf.current()) as opened:
        from_shares = replace(opened, by_digest=False, by_machine=False)
        for number, question in enumerate(islice(questions(), 0, None, 1 if sees is None else 5)):
            sort = jobs.SORTS[number % len(jobs.SORTS)]
            listing = Listing(sort, descending=number % 2 == 0, named="" if number % 3 else "b-1", limit=70)
            assert jobs.jobs(opened, question, listing) == jobs.jobs(from_shares, question, listing)
        alone = Question([], only=(("pool", ("large", "small")), ("job", ("job-7", "job-8"))))
        assert jobs.jobs(opened, alone, Listing()) == jobs.jobs(from_shares, alone, Listing())


@pytest.mark.parametrize("sees", [None, ("team:nlp",)])
def test_attempts_and_machines_of_sites_are_told_as_the_shares_say(shelf: Shelf, sees: tuple[str, ...] | None) -> None:
    with shelf.opened(Viewer("somebody", "team", sees), shelf.current()) as opened:
        from_shares = replace(opened, by_digest=False, by_machine=False)
        picked = [Question([], per="gpu", days=days) for days in WINDOWS]
        for question in (*picked, *islice(questions(), 0, None, 1 if sees is None else 5)):
            for find in (running.states, running.occupancy):
                assert find(opened, question) == find(from_shares, question)
            assert running.retries(opened, question, "team") == running.retries(from_shares, question, "team")
            assert machines.machines(opened, question, 9, 0) == machines.machines(from_shares, question, 9, 0)


def test_these_jobs_are_of_every_kind(shelf: Shelf) -> None:
    """On one site and on several; held on one for as long as on all, for a shorter time, and not at all."""
    found = "count(*) FILTER (wall < job_wall), count(*) FILTER (wall = job_wall), count(*) FILTER (wall IS NULL)"
    with shelf.opened(Viewer("somebody", "viewer"), shelf.current()) as opened:
        one, several = opened.engine.row("SELECT count(site), count(*) - count(site) FROM digest_jobs")
        assert min(one, several, *opened.engine.row(f"SELECT {found} FROM digest_job_sites")) > 5
        assert "digest_job_sites" in cost.select(opened, Question(["region"]), ["region"])
