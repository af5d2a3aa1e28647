"""A job that pays only for single machines is traced from what is near it, with the parts of the whole month."""

import random
from collections.abc import Iterator
from datetime import timedelta
from decimal import Decimal

import pytest

from trainfare.books import near, reopen
from trainfare.engine.choice import embedded
from trainfare.query.explain import Explanation
from trainfare.store import Store

from . import company
from .company import OCTOBER, Line
from .folder import Workspace

MACHINES = [f"gpu-{number}" for number in range(1, 6)]
SEED = 7


def job_log() -> str:
    """Return jobs that share machines, at staggered and overlapping times, some on machines that are not billed."""
    chance, rows = random.Random(SEED), []
    for number in range(30):
        at = OCTOBER.start + timedelta(minutes=chance.randrange(6 * 24 * 60))
        for attempt in range(1, chance.choice((2, 2, 3))):
            ends = at + timedelta(minutes=chance.randrange(20, 1500))
            for machine in chance.sample([*MACHINES, "not-on-record"], chance.choice((1, 1, 2, 3))):
                times = [f"{moment:%Y-%m-%dT%H:%M:%SZ}" for moment in (at, ends)]
                rows.append((f"job-{number}", attempt, machine, *times, chance.choice((1, 2, 4)), "completed", "nlp"))
            at = ends
    return "\n".join(",".join(map(str, row)) for row in (company.JOB_COLUMNS, *rows)) + "\n"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """Machines are billed by the hour or by the day; a disk is shared by all jobs of its last days."""
    workspace = Workspace(tmp_path_factory.mktemp("near") / "workspace")
    days = [OCTOBER.start + timedelta(days=n) for n in range(8)]
    lines = [Line(day, Decimal(f"{7 + n}.123456789"), machine=name) for day in days for n, name in enumerate(MACHINES)]
    lines += [Line(days[-1], Decimal("31.000000000001"))]
    workspace.write_bill(OCTOBER, lines)
    workspace.write("jobs/jobs.csv", job_log())
    workspace.write("machines.csv", "machine_id,gpus\n" + "".join(f"{name},4\n" for name in MACHINES))
    workspace.write("trainfare.toml", company.settings())
    workspace.build()
    opened = workspace.open()
    yield opened
    opened.catalog.dispose()


def explained(store: Store, job: str) -> Explanation:
    book = store.catalog.latest(OCTOBER)
    assert book is not None
    with embedded() as engine:
        return reopen.explain(store, book, engine, job, "effective", None)


def test_what_is_near_a_job_explains_it_as_the_whole_month_does(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    used: list[near.Near] = []
    files = near.Near.files

    def counted(one: near.Near, delivered: list[object]) -> list[object]:
        used.append(one)
        return files(one, delivered)

    monkeypatch.setattr(near.Near, "files", counted)
    jobs = [f"job-{number}" for number in range(0, 30, 3)]
    found = [explained(store, job) for job in jobs]
    assert len(used) >= 5, "most jobs pay for machines only"
    monkeypatch.setattr(near, "find", lambda *_: None)
    assert found == [explained(store, job) for job in jobs]
    assert all(one.explained == one.stored for one in found)


def test_a_job_whose_parts_differ_from_the_book_is_traced_in_the_whole_month(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is near is only a guess until its sum is that of the book."""
    expected = explained(store, "job-3")
    assert expected.pots
    nothing = near.Near(OCTOBER, ("not a resource",))
    find = near.find

    def misled(*arguments: object) -> near.Near | None:
        return find(*arguments) and nothing

    monkeypatch.setattr(near, "find", misled)
    assert explained(store, "job-3") == expected
