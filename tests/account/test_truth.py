"""The simulator knows what each payer owes without reading a file. The published book agrees to the last digit."""

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from itertools import combinations
from random import Random

import pytest

from trainfare.books.build import build_books
from trainfare.engine.choice import embedded
from trainfare.query.cost import Question, report
from trainfare.query.keys import CHARGE_KEYS, JOB_KEYS, MACHINE_KEYS, TIME_KEYS
from trainfare.query.open_books import OpenBooks, open_books
from trainfare.settings.config import load
from trainfare.simulate import SimulatedMonth, write
from trainfare.store import Store
from trainfare.tables import BASES

from .books import with_settings

TRUTH_OF_RULE = {
    "named job": "named job",
    "unused commitment": "unused capacity",
    "unused reservation": "unused capacity",
    "machine": "machines",
    "commitment purchase": "purchases",
    "tax, credit, adjustment": "overheads",
    "support": "overheads",
    "other service": "not training",
    "other machine": "not training",
    "no rule": "everything else",
}
EVERY_KEY = (*JOB_KEYS, *MACHINE_KEYS, *TIME_KEYS, *CHARGE_KEYS)

Owed = dict[tuple[str, str], tuple[Decimal, ...]]


@dataclass(frozen=True)
class Published:
    """A simulated month and the book published from its files."""

    simulated: SimulatedMonth
    opened: OpenBooks


MONTHS = {"a full company": (7, 1.0), "a small one": (11, 0.15)}
"""Seed and scale of the simulated months."""


@pytest.fixture(scope="module", params=MONTHS)
def month(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Published]:
    seed, scale = MONTHS[request.param]
    folder = tmp_path_factory.mktemp("simulated")
    simulated = write(folder, seed, scale=scale)
    files = [*simulated.bills, simulated.jobs, simulated.machines]
    config = load(with_settings(folder, [path.name for path in files]) / "trainfare.toml")
    with Store.open(folder, config.catalog) as store, embedded() as engine:
        (built,) = build_books(config, store)
        yield Published(simulated, open_books(engine, [store.files(built.book)]))


def truth(simulated: SimulatedMonth) -> Owed:
    with simulated.truth.open(encoding="utf-8", newline="") as opened:
        return {
            (row["payer"], row["rule"]): tuple(Decimal(row[basis]) for basis in BASES) for row in csv.DictReader(opened)
        }


def published(opened: OpenBooks) -> Owed:
    sums = ", ".join(f"sum({basis})" for basis in BASES)
    owed: Owed = {}
    for payer, rule, *amounts in opened.engine.rows(f"SELECT payer, rule, {sums} FROM shares GROUP BY payer, rule"):
        key = payer, "tagged" if rule.startswith("tagged ") else TRUTH_OF_RULE[rule]
        owed[key] = tuple(a + b for a, b in zip(owed.get(key, [Decimal(0)] * len(BASES)), amounts, strict=True))
    return owed


def nonzero(owed: Owed) -> Owed:
    return {key: amounts for key, amounts in owed.items() if any(amounts)}


def test_every_payer_owes_the_simulated_amount_by_every_rule_on_every_basis(month: Published):
    expected, got = nonzero(truth(month.simulated)), nonzero(published(month.opened))
    assert len(expected) > 500
    assert {rule for _, rule in expected} == {*TRUTH_OF_RULE.values(), "tagged"}
    assert {
        key: (expected.get(key), got.get(key)) for key in expected.keys() | got if expected.get(key) != got.get(key)
    } == {}


@pytest.mark.parametrize("basis", BASES)
def test_the_book_ties_to_the_simulated_charges(month: Published, basis: str):
    answer = report(month.opened, Question([], basis))
    assert answer.total == answer.bill == month.simulated.total(basis)
    assert answer.difference == 0


@pytest.mark.parametrize("month", ["a small one"], indirect=True)
def test_groups_of_a_month_add_up_for_every_key(month: Published):
    rng = Random(3)
    pairs, triples = list(combinations(EVERY_KEY, 2)), list(combinations(EVERY_KEY, 3))
    for by in [*([key] for key in EVERY_KEY), *rng.sample(pairs, 5), *rng.sample(triples, 5)]:
        answer = report(month.opened, Question(list(by)))
        jobs = sum((row.cost or Decimal(0) for row in answer.rows), Decimal(0))
        assert jobs == answer.overall.cost, by
        assert jobs + answer.idle.cost + answer.unallocated.cost + answer.outside.cost == answer.total, by


def test_hours_of_a_month_add_up_by_day_and_by_machine(month: Published):
    """GPU time is a sum, so it adds up over anything; wall time adds up over days, but not over machines."""
    days, machines = (report(month.opened, Question([key])) for key in ("day", "machine"))
    overall = days.overall
    assert overall.gpu_seconds
    assert sum(row.gpu_seconds for row in days.rows) == overall.gpu_seconds
    assert sum(row.gpu_seconds for row in machines.rows) == overall.gpu_seconds
    assert sum(row.wall_seconds for row in days.rows) == overall.wall_seconds
    assert sum(row.wall_seconds for row in machines.rows) > overall.wall_seconds
