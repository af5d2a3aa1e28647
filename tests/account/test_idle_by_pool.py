"""A report by pool says how much of each pool was idle; these parts add up to all idle cost."""

import json
import random
from collections import defaultdict
from decimal import Decimal

import pytest

from trainfare.query.cost import Question, report
from trainfare.report import documents

from .books import HOUR, Bookkeeper, Case, hours_of, placement

MACHINES = {"n1": "h100", "n2": "h100", "n3": "a100", "n4": None}
GPUS, HOURS = 4, 4


@pytest.mark.parametrize("seed", range(4))
def test_idle_cost_by_pool_is_that_of_the_model(keeper: Bookkeeper, seed: int) -> None:
    """A GPU hour costs 1, so a machine costs 16, and whatever of it no job held is idle."""
    chance = random.Random(seed)
    idle: dict[tuple[str | None, str], Decimal] = defaultdict(Decimal)
    held = []
    for name, pool in MACHINES.items():
        free = GPUS * HOURS
        for number in range(chance.randrange(3)):
            gpus, hours = chance.randrange(1, 3), chance.randrange(1, HOURS + 1)
            free -= gpus * hours
            held.append(placement(f"{name}-{number}", name, (0, hours * HOUR), gpus=str(gpus)))
        idle[pool, name] += free
    machines = [{"machine_id": name, "gpus": GPUS, "pool": pool or ""} for name, pool in MACHINES.items()]
    lines = [hours_of(name, (0, HOURS * HOUR), str(GPUS * HOURS)) for name in MACHINES]
    opened = keeper.book(Case(lines, held, machines)).opened
    by_pool: dict[str | None, Decimal] = defaultdict(Decimal)
    for (pool, _), cost in idle.items():
        by_pool[pool] += cost
    answer = report(opened, Question(["pool"]))
    assert {group["pool"]: cost for group, cost in answer.idle.groups} == {k: v for k, v in by_pool.items() if v}
    assert sum(cost for _, cost in answer.idle.groups) == answer.idle.cost
    machine = report(opened, Question(["pool", "machine"]))
    assert {tuple(group.values()): cost for group, cost in machine.idle.groups} == {k: v for k, v in idle.items() if v}
    printed = json.loads(documents.as_json(answer))["idle"]["groups"]
    assert {one["pool"]: Decimal(one["cost"]) for one in printed} == {k: v for k, v in by_pool.items() if v}
    assert report(opened, Question(["team"])).idle.groups == []
    assert report(opened, Question(["pool", "job"])).idle.groups == []
