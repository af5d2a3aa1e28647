"""Simulate a game day: run the cluster, inject the requested faults, write the records and the true costs."""

import json
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from trainfare.money import amount
from trainfare.period import Month
from trainfare.simulate.cluster import fault_injection, records
from trainfare.simulate.cluster.events import Cluster
from trainfare.simulate.cluster.faults import Faults
from trainfare.simulate.cluster.truth import Truth

OCTOBER = Month(2026, 10)


@dataclass(frozen=True)
class GameDay:
    """A game day on disk, and the truth about it."""

    folder: Path
    month: Month
    machines: int
    jobs: int
    attempts: int
    lines: int
    costs: dict[str, Decimal]
    """The true cost of every job."""
    stakes: dict[str, Decimal]
    """The true money at stake for each injected fault."""

    @property
    def summary(self) -> str:
        """The size of the game day in one phrase."""
        return f"{self.lines:,} bill lines, {self.jobs:,} jobs, {self.attempts:,} attempts, {self.machines:,} machines"


def simulate_game_day(
    folder: Path, seed: int, machines: int, faults: Faults, month: Month = OCTOBER, billed_through: int | None = None
) -> GameDay:
    """Write the records of a game day into `folder`. A seed and its faults give the same files on every machine.

    With `billed_through`, the bills cover the month only through that day.
    """
    folder.mkdir(parents=True, exist_ok=True)
    cluster = Cluster(seed, month, machines, faults)
    cluster.run()
    with Truth.of(cluster) as truth:
        stakes = fault_injection.inject(truth, seed, faults)
        if billed_through:
            fault_injection.truncate_bills(truth, billed_through)
        records.write(truth, folder, is_partial=billed_through is not None)
        costs, lost_costs = truth.costs(), truth.lost_costs()
        counts = truth.counts()
    game_day = GameDay(
        folder,
        month,
        **counts,
        costs={job: amount(units) for job, units in costs.items()},
        stakes={code: amount(units) for code, units in stakes.items()},
    )
    document = {
        "month": str(month),
        "seed": seed,
        "faults": {code: {"size": str(one.size), "day": one.day} for code, one in faults.items()},
        "stakes": {code: f"{money:f}" for code, money in game_day.stakes.items()},
        "jobs": {job: f"{money:f}" for job, money in game_day.costs.items()},
        "lost": {job: f"{amount(units):f}" for job, (units, _) in lost_costs.items()},
    }
    (folder / "truth.json").write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    return game_day
