"""The spend of any window is exact: what a model adds up in fractions, and what a book estimates, to the digit."""

import random
import time
from datetime import timedelta
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import soak
from account.books import HOUR, START
from account.test_properties import examples
from hypothesis import given

from trainfare.books.build import build_books
from trainfare.engine.choice import embedded
from trainfare.live.account import LiveAccount
from trainfare.live.window import NO_PRICE, UNKNOWN_MACHINE, Window, window
from trainfare.query.open_books import open_books
from trainfare.settings.config import Config, load
from trainfare.store import Store
from trainfare.store.recordings.values import Batch

from .worlds import BASE, BILLED, END, World, exact, shown_as, worlds

Spend = dict[tuple[str, str, str], Fraction]


def spend(found: Window) -> Spend:
    """Payer, machine and category, with the units of money."""
    sums: Spend = {}
    for part in found.parts:
        key = (shown_as(part.payer), found.machines[part.machine]["machine_id"], part.category)
        sums[key] = sums.get(key, Fraction(0)) + part.units
    return sums


def record(store: Store, number: int, world: World, through: int) -> None:
    """Commit what the collector heard at the number-th time."""
    after = str(number - 1) if number else None
    batch = Batch(tuple(world.batches[number]), str(number), START + timedelta(seconds=through))
    store.catalog.recordings.commit("lab", "slurm", after, batch, START + timedelta(seconds=through))


def asked(world: World, count: int) -> list[tuple[int, int]]:
    """Windows that begin and end anywhere, and some that are a full hour or all of the time."""
    seeded = random.Random(repr(world.runs))
    found = [tuple(sorted(seeded.sample(range(BILLED, END), 2))) for _ in range(count)]
    first = seeded.randrange(24, 32)
    return [*found, (first * HOUR, (first + 1) * HOUR), (BILLED, END), (BILLED + 1, END - 1)]


@examples(5 * soak.SCALE)
@given(world=worlds())
def test_every_window_is_what_the_model_and_the_book_have(
    tmp_path_factory: pytest.TempPathFactory, world: World
) -> None:
    with TemporaryDirectory(dir=tmp_path_factory.getbasetemp()) as name:
        folder = world.write(Path(name))
        config = load(folder / "trainfare.toml")
        shown: list[tuple[int, tuple[int, int], Spend]] = []
        for number in range(len(world.batches)):
            with Store.open(folder) as store:  # a restart: nothing is kept but what was committed
                record(store, number, world, END)
                live = LiveAccount(config, store)
                if number != 1:
                    live.read_prices(START + timedelta(seconds=END))
                live.refresh(START + timedelta(seconds=END))
                if number < 2:
                    between = (BILLED + 77, END - 999)
                    with live.read() as connection:
                        shown.append((time.time_ns() // 1000, between, spend(window(connection, *_at(between)))))
                live.close()
        with Store.open(folder) as store:
            live = LiveAccount(config, store)
            with live.read() as connection:
                for one in asked(world, 12):
                    found = window(connection, *_at(one))
                    assert found.through == BASE + one[1], one
                    assert spend(found) == world.spend(*one), one
                    assert {u.machine_id for u in found.unknowns if u.reason == NO_PRICE} == world.without_price(*one)
                    unknown = {u.machine_id for u in found.unknowns if u.reason == UNKNOWN_MACHINE}
                    assert unknown == world.unmatched(*one)
                for known_at, one, before in shown:
                    assert spend(window(connection, *_at(one), known_at)) == before, "a replay differs"
                of_hours = spend(window(connection, BASE + BILLED, BASE + END))
            live.close()
            assert of_hours == estimated(config, store), "the book differs"


def _at(one: tuple[int, int]) -> tuple[int, int]:
    return BASE + one[0], BASE + one[1]


def estimated(config: Config, store: Store) -> Spend:
    """What the book of the same records estimates, by payer, machine and category."""
    (built,) = build_books(config, store, as_of=START + timedelta(seconds=END))
    with embedded() as engine:
        open_books(engine, [store.files(built.book)])
        rows = engine.rows(
            "SELECT payer, machine_id, category, sum(effective) FROM shares WHERE origin = 'estimate' GROUP BY ALL"
        )
    return {(_bare(payer), machine, category): Fraction(exact(cost)) for payer, machine, category, cost in rows if cost}


def _bare(payer: str) -> str:
    return payer.rpartition("/")[2]
