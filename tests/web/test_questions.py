"""One question has one answer: that of a model in plain Python, for every viewer, over one month or two."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import date, timedelta
from itertools import product

import pytest
from workspace import company
from workspace.company import NOVEMBER, OCTOBER, Line
from workspace.folder import Workspace

from trainfare.query import cost, jobs
from trainfare.query.cost import Question
from trainfare.query.grains import parts
from trainfare.query.groups import COST_GRAINS, FACT_GRAINS
from trainfare.query.jobs import Listing
from trainfare.serve.auth.viewer import Viewer
from trainfare.serve.books import BookReader
from trainfare.settings.config import load

from .question_model import Model

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
STATES = ("completed", "failed", "preempted", "preempted", "node_failed")
LABEL_KEYS, SITE_KEYS = ("team", "owner", "project"), ("pool", "cluster", "region", "gpu_model")
OTHER_KEYS = ("machine", "job", "attempt", "state", "day", "month", "category", "rule", "source", "origin", "account")
KEYS = (*LABEL_KEYS, *SITE_KEYS, *OTHER_KEYS)
VISIBILITY: tuple[tuple[str, ...] | None, ...] = (None, ("team:nlp",), ("team:vision", "team:speech"), ("team:nobody",))
POOLS = ("large", "small", "(none)")


def job_log(seed: int) -> str:
    """Return a log of jobs on one to four machines, at equal, staggered or overlapping times, some across the months.

    Attempts may overlap, change teams, and end in different states.
    """
    chance = random.Random(seed)
    rows: list[Sequence[object]] = []
    for number in range(50):
        team, at = chance.choice((*company.TEAMS, "")), timedelta(hours=chance.randrange(58 * 24))
        for attempt in range(1, chance.choice((2, 2, 3, 4))):
            team = chance.choice((team, team, *company.TEAMS))
            length, is_together = timedelta(minutes=chance.randrange(30, 3000)), chance.random() < 0.5
            state, gpus = chance.choice(STATES), chance.choice((1, 2, "", 4))
            for machine in chance.sample(NAMES, chance.choice((1, 1, 2, 3, 4))):
                late = timedelta() if is_together else length * chance.randrange(9) / 10
                times = [f"{OCTOBER.start + moment:%Y-%m-%dT%H:%M:%SZ}" for moment in (at + late, at + length)]
                rows.append((f"job-{number}", attempt, machine, *times, gpus, state, team))
            at += length * chance.choice((1, 1, 1, 0.5))
    for attempt, day, state in ((1, "10-31", "preempted"), (2, "11-01", "completed")):
        times = [f"2026-{day}T{hour}:00:00Z" for hour in ("08", "20")]
        rows.append(("across", attempt, "gpu-1", *times, 1, state, "nlp"))
    return "\n".join(",".join(map(str, row)) for row in (company.JOB_COLUMNS, *rows)) + "\n"


@pytest.fixture(scope="module")
def book_reader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BookReader]:
    """October has lines in two currencies, November in one; machines are billed up to the 20th of November."""
    workspace = Workspace(tmp_path_factory.mktemp("questions") / "workspace")
    for month, days in ((OCTOBER, 31), (NOVEMBER, 20)):
        starts = [month.start + timedelta(days=n) for n in range(days)]
        lines = [Line(day, company.MACHINE_PRICE, machine=name) for day in starts for name in NAMES[:6]]
        workspace.write_bill(month, [*lines, *company.lines(month)[-60:], company.support(month, "1234.567890123457")])
    abroad = [Line(OCTOBER.start + timedelta(days=n), company.STORAGE_PRICE, machine="gpu-3") for n in range(31)]
    workspace.write("bills/abroad.csv", company.bill(OCTOBER, abroad).replace("USD", "EUR"))
    workspace.write("jobs/jobs.csv", job_log(11))
    workspace.write("machines.csv", MACHINES)
    workspace.write("trainfare.toml", company.settings())
    workspace.build()
    store = workspace.open()
    book_reader = BookReader(store, load(workspace.folder / "trainfare.toml"))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(parts, "SMALL_BOOK", 0)
        yield book_reader
    book_reader.close()
    assert {one.part for one in store.catalog.grain_files.all()} == {*parts.PARTS}, "the answers came from files"
    store.catalog.dispose()


def questions(seed: int, model: Model, count: int) -> Iterator[Question]:
    """Yield random questions: up to three keys, up to two filters with values that exist, windows and bases."""
    chance = random.Random(seed)
    for _ in range(count):
        filters = []
        for key in chance.sample((*KEYS, "payer"), chance.choice((0, 0, 1, 2))):
            known = [model._of_share(share, key) for share in chance.sample(model.shares, min(3, len(model.shares)))]
            values = {"(none)" if value is None else str(value) for value in known} or {"(none)"}
            if key == "payer":
                values = {chance.choice(("jobs", "idle"))}
            filters.append((key, tuple(sorted(values))))
        start = date(2026, 10, 1) + timedelta(days=chance.randrange(60))
        days = (start, start + timedelta(days=chance.randrange(1, 25))) if chance.random() < 0.4 else None
        yield Question(
            by=chance.sample(KEYS, chance.choice((0, 1, 1, 2, 3))),
            basis=chance.choice(("effective", "effective", "list", "billed")),
            per=chance.choice(("wall", "gpu")),
            scope=chance.choice(("full", "full", "infra")),
            currency=chance.choice(sorted(model.currencies)),
            days=days,
            filters=tuple(filters),
        )


@pytest.mark.parametrize(("visibility", "months"), [*product(VISIBILITY, (1, 2))])
def test_every_question_has_the_models_answer(
    book_reader: BookReader, visibility: tuple[str, ...] | None, months: int
) -> None:
    books = book_reader.current()[:months]
    model = Model([book_reader.store.files(book) for book in books], visibility)
    with book_reader.open(Viewer("somebody", "team", visibility), books) as opened:
        for number, question in enumerate(questions(months, model, 30 if visibility is None else 10)):
            found = {tuple(row.group.values()): row for row in cost.rows(opened, question, question.by)}
            assert {key: replace(row, group={}) for key, row in found.items()} == model.rows(question, question.by), (
                question
            )
            payers = cost.non_job_payers(opened, question)
            assert {kind: one.cost for kind, one in payers.items()} == {
                kind: model.cost_of(question, kind) for kind in payers
            }, question
            sort = jobs.SORTS[number % len(jobs.SORTS)]
            page = jobs.jobs(opened, question, Listing(sort=sort, limit=100))
            listed = {row["job"]: (row["cost"], row["wall_seconds"], row["state"]) for row in page.rows}
            assert listed == model.jobs(question), question
            assert (page.count, page.cost) == (len(listed), sum(cost or 0 for cost, _, _ in listed.values()))


def test_every_grain_that_has_the_keys_gives_the_same_answer(
    book_reader: BookReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The coarsest is chosen only because it is the fastest."""
    asked = 0
    with book_reader.open(Viewer("somebody", "viewer"), book_reader.current()[:1]) as opened:
        model = Model([book_reader.store.files(book) for book in book_reader.current()[:1]], None)
        for question in questions(5, model, 12):
            expected = cost.rows(opened, question, question.by)
            for costs, facts in ((COST_GRAINS[-1:], FACT_GRAINS), (COST_GRAINS, FACT_GRAINS[-1:])):
                monkeypatch.setattr("trainfare.query.groups.COST_GRAINS", costs)
                monkeypatch.setattr("trainfare.query.groups.FACT_GRAINS", facts)
                assert cost.rows(opened, question, question.by) == expected, question
                asked += 1
            monkeypatch.undo()
    assert asked == 24


def found_jobs(book_reader: BookReader, months: slice, **filters: tuple[str, ...]) -> dict[str, str]:
    with book_reader.open(Viewer("somebody", "viewer"), book_reader.current()[months]) as opened:
        question = Question([], filters=tuple(filters.items()))
        return {row["job"]: row["state"] for row in jobs.jobs(opened, question, Listing(limit=1000)).rows}


def test_the_state_of_a_job_is_that_of_its_last_attempt_whatever_pools_are_named(book_reader: BookReader) -> None:
    for months in (slice(0, 1), slice(1, 2), slice(0, 2)):
        preempted = found_jobs(book_reader, months, state=("preempted",))
        assert preempted
        assert {*preempted.values()} == {"preempted"}
        every = found_jobs(book_reader, months)
        assert preempted == {job: state for job, state in every.items() if state == "preempted"}
        assert found_jobs(book_reader, months, state=("preempted",), pool=POOLS) == preempted


def test_two_months_show_the_state_that_a_job_has_in_the_later_one(book_reader: BookReader) -> None:
    first, second = (found_jobs(book_reader, slice(n, n + 1)) for n in (0, 1))
    both = found_jobs(book_reader, slice(0, 2))
    assert both == first | second
    assert (first["across"], both["across"]) == ("preempted", "completed")
