"""Machines that are split by weighted resources, compared with the second-by-second model on random months."""

from collections.abc import Mapping
from fractions import Fraction
from random import Random

import pytest

from trainfare.money import units

from .books import DAY, HOUR, Bookkeeper, Case, Row, hours_of, placement
from .oracle import Charge, Machine, Placement, allocate
from .test_properties import allocated, nonzero

RESOURCES = {"gpu": "gpus", "cpu": "cpus", "memory_gb": "memory_gb"}
"""The resources that can be weighted, and their columns in the files."""
WEIGHTS = ("0.001", "0.1", "0.9", "1", "9", "12.345")
RULE = """
[[rule]]
name = "weighted"
match = {{ machine = true }}
among = "machine"
by = "weighted"
weights = {{ {} }}
"""
SCALE = 10**9


def weighed(amounts: Mapping[str, str], weights: Mapping[str, str]) -> int:
    """The weighted sum of a row's amounts, scaled to an integer."""
    total = sum(Fraction(amounts.get(RESOURCES[name], "0")) * Fraction(weight) for name, weight in weights.items())
    return int(total * SCALE)


def random_amounts(random: Random, most: int) -> dict[str, str]:
    return {column: str(random.choice((0, 1, 3, most))) for column in RESOURCES.values()}


@pytest.mark.parametrize("seed", range(8))
def test_weighted_machines_equal_the_model_digit_for_digit(keeper: Bookkeeper, seed: int) -> None:
    random = Random(seed)
    names = random.sample(list(RESOURCES), random.randint(1, 3))
    weights = {name: random.choice(WEIGHTS) for name in names}
    lines: list[Row] = []
    log: list[Row] = []
    listed: list[Row] = []
    machines, holds, charges = [], [], []
    for machine in ("n1", "n2", "n3"):
        size = {column: str(random.choice((4, 8, 64))) for column in RESOURCES.values()}
        listed.append({"machine_id": machine, "resource_id": machine} | size)
        machines.append(Machine(machine, weighed(size, weights)))
        for start in range(0, 2 * DAY, 8 * HOUR):
            cost = f"{random.randint(1, 10**9)}.{random.randint(0, 10**12 - 1):012}"
            lines.append(hours_of(machine, (start, start + 8 * HOUR), cost))
            charges.append(Charge(machine, (start, start + 8 * HOUR), "compute", (units(cost),) * 4))
        for number in range(random.randint(1, 5)):
            job, start = f"{machine}-{number}", random.randint(0, 40 * HOUR)
            end, held = start + random.randint(1, 20 * HOUR), random_amounts(random, 4)
            log.append(placement(job, machine, (start, end), **held))
            holds.append(Placement(job, 1, machine, start, end, weighed(held, weights)))
    rule = RULE.format(", ".join(f"{name} = {weight}" for name, weight in weights.items()))
    account = keeper.book(Case(lines, log, listed, settings=rule))
    assert nonzero(allocated(account)) == nonzero(allocate(machines, holds, charges))
