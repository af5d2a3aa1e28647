"""Estimates and their errors over several builds of random bills, compared with the model, hour by hour."""

from collections import defaultdict
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory

import soak
from hypothesis import given
from hypothesis import strategies as st

from trainfare.books.build import build_books
from trainfare.engine.duckdb import DuckDB
from trainfare.engine.sql import parquet
from trainfare.money import amount
from trainfare.settings.config import load
from trainfare.store import Store

from . import estimate_model as model
from .books import DAY, HOUR, Bookkeeper, Row, charge, placement, stamp
from .estimate_model import Bill, Line, Machine
from .test_estimates import ON, P5, at
from .test_ledgers import Files
from .test_properties import examples

SERVICES = {
    "compute": {"ServiceCategory": "Compute", "ServiceName": "Virtual Machines"},
    "storage": {"ServiceCategory": "Storage", "ServiceName": "Disks"},
    "network": {"ServiceCategory": "Networking", "ServiceName": "Data Transfer"},
}
NAMES = ("n0", "n1", "n2")
KIND = "p5.48xlarge"
units = st.integers(1, 10**13)


@dataclass(frozen=True)
class World:
    """What one company's bill will say in the end, how far it has come at each build, and what machines did."""

    lines: tuple[Line, ...]
    machines: tuple[Machine, ...]
    on_kind: frozenset[str]
    billed: tuple[dict[tuple[str, str], int], ...]
    """By build: the second up to which each service of each machine is billed; what is not listed is complete."""
    restated: tuple[int, ...]
    """By build: what is added to every line."""
    now: tuple[int, ...]

    def bill(self, build: int) -> Bill:
        through, added = self.billed[build], self.restated[build]
        return Bill(
            [
                line._replace(units=line.units + added)
                for line in self.lines
                if line.end <= through.get((line.machine, line.category), line.end)
            ]
        )

    @property
    def kinds(self) -> dict[str, str]:
        return dict.fromkeys(self.on_kind, KIND)


@st.composite
def service_lines(draw: st.DrawFn, machine: str, account: str, category: str) -> list[Line]:
    """The lines of one service: by the hour, six hours or day, everywhere or now and then."""
    step = draw(st.sampled_from([1, 6, 24])) * HOUR
    starts = range(0, 3 * DAY, step)
    if category == "network" and draw(st.booleans()):
        starts = draw(st.lists(st.sampled_from(starts), min_size=1, max_size=3, unique=True))
    service = SERVICES[category]["ServiceName"]
    return [Line(machine, account, service, category, start, start + step, draw(units)) for start in starts]


@st.composite
def worlds(draw: st.DrawFn) -> World:
    lines: list[Line] = []
    machines = []
    moment = st.integers(0, 4 * DAY)
    for name in NAMES[: draw(st.integers(1, 3))]:
        account = draw(st.sampled_from(["A-1", "A-2"]))
        for category in ("compute", *draw(st.sets(st.sampled_from(["storage", "network"])))):
            lines += draw(service_lines(name, account, category))
        if draw(st.booleans()):  # a disk that is charged for the month in advance
            lines.append(Line(name, account, "Archive", "storage", 0, model.MONTH, draw(units)))
        held = sorted((draw(moment), draw(moment)))
        machines.append(Machine(name, ((held[0], held[1] + 1),), account=account))
    start = draw(moment)
    listed = ((start, start + draw(st.integers(1, DAY))),)
    machines.append(Machine("x", listed, KIND, draw(st.sampled_from([None, "A-1", "A-2", "A-3"]))))
    # The last hour of the month, or the last but one, of another machine: only the first completes an account.
    end = draw(st.sampled_from([None, model.MONTH, model.MONTH - HOUR]))
    if end:
        lines.append(Line("z", "A-1", "Virtual Machines", "compute", end - HOUR, end, draw(units)))
    pairs = sorted({(line.machine, line.category) for line in lines if line.machine != "z" and line.end <= 3 * DAY})
    late = st.dictionaries(st.sampled_from(pairs), st.integers(1, 72).map(lambda hour: hour * HOUR))
    return World(
        tuple(lines),
        tuple(machines),
        draw(st.frozensets(st.sampled_from(NAMES))),
        (draw(late), draw(late), {}),
        (0, draw(st.sampled_from([0, 7])), draw(st.sampled_from([0, 11]))),
        tuple(sorted(draw(st.integers(0, 96)) * HOUR for _ in range(3))),
    )


def files(world: World, build: int) -> Files:
    def row(line: Line) -> Row:
        kind = P5 if line.machine in world.on_kind else {}
        service = {**SERVICES[line.category], "ServiceName": line.service}
        named = {"SubAccountId": line.account, "ResourceId": line.machine}
        return charge((line.start, line.end), f"{amount(line.units)}", **service, **named, **kind)

    (*billed, new) = world.machines
    jobs = [placement(f"j-{one.name}", one.name, span, gpus=1) for one in billed for span in one.spans]
    listed = f"machine_id,gpus,gpu_model,account,existed_from,existed_to\nx,8,{KIND},{new.account or ''},"
    span = ",".join(stamp(moment) for moment in new.spans[0])
    return Files([*map(row, world.bill(build).lines)], jobs, {"machines": f"{listed}{span}\n"}, ON)


def published(folder: Path, now: int) -> dict[str, str]:
    """The tables of October's book after a build."""
    with Store.open(folder, None) as store:
        (october,) = [
            one.book
            for one in build_books(load(folder / "trainfare.toml"), store, as_of=at(now))
            if str(one.book.month) == "2026-10"
        ]
        return {name: parquet(path) for name, path in store.files(october).files.items()}


@examples(4 * soak.SCALE)
@given(world=worlds())
def test_estimates_and_their_errors_are_those_of_the_model(keeper: Bookkeeper, world: World):
    engine: DuckDB = keeper.reader
    made: list[list[model.Estimate]] = []
    with TemporaryDirectory(dir=keeper.folder) as name:
        folder = Path(name)
        for build, now in enumerate(world.now):
            files(world, build).write(folder)
            tables = published(folder, now)
            bill = world.bill(build)
            made.append(model.estimates(bill, world.machines, world.kinds, now))
            found = engine.rows(
                "SELECT machine_id, (starts - 1790812800) // 3600, category, service, starts - 1790812800, "
                f"ends - 1790812800, seconds, effective FROM {tables['estimates']}"
            )
            assert sorted(found) == sorted((*one[:7], amount(one.units)) for one in made[-1]), build
            assert errors_of(engine, tables) == expected_errors(world, bill, made), build


def errors_of(engine: DuckDB, tables: dict[str, str]) -> dict[tuple[object, ...], tuple[Decimal, Decimal]]:
    rows = engine.rows(
        "SELECT kind, category, CAST(day - DATE '2026-10-01' AS INTEGER), sum(estimated), sum(billed) "
        f"FROM {tables['estimate_errors']} GROUP BY ALL"
    )
    return {tuple(key): (estimated, billed) for *key, estimated, billed in rows}


def expected_errors(
    world: World, bill: Bill, made: list[list[model.Estimate]]
) -> dict[tuple[object, ...], tuple[Decimal, Decimal]]:
    sums: dict[tuple[object, ...], list[int]] = defaultdict(lambda: [0, 0])
    for (machine, category, day), pair in model.errors(bill, model.past(made), world.machines).items():
        kind = KIND if machine == "x" or machine in world.on_kind else machine
        for position, part in enumerate(pair):
            sums[kind, category, day][position] += part
    return {key: (amount(pair[0]), amount(pair[1])) for key, pair in sums.items()}
