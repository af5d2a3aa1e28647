"""Play a game day: run the cluster, let go wrong what is asked for, write the records, and keep the truth."""

import json
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from trainfare.money import amount
from trainfare.period import Month
from trainfare.simulate.cluster import records, wrong
from trainfare.simulate.cluster.events import Cluster
from trainfare.simulate.cluster.faults import Faults
from trainfare.simulate.cluster.truth import Truth

OCTOBER = Month(2026, 10)


@dataclass(frozen=True)
class Played:
    """A game day on disk, and what is true about it."""

    folder: Path
    month: Month
    machines: int
    jobs: int
    attempts: int
    lines: int
    costs: dict[str, Decimal]
    """The true cost of every job."""
    stakes: dict[str, Decimal]
    """For each fault that is switched on, the money it truly puts at stake."""

    @property
    def summary(self) -> str:
        """The size of it, in a phrase."""
        return f"{self.lines:,} bill lines, {self.jobs:,} jobs, {self.attempts:,} attempts, {self.machines:,} machines"


def play(
    folder: Path, seed: int, machines: int, faults: Faults, month: Month = OCTOBER, billed_through: int | None = None
) -> Played:
    """Write the records of a game day into `folder`. The same seed and faults give the same files, anywhere.

    With `billed_through` the bills are those that were there when they had come as far as that day of the month.
    """
    folder.mkdir(parents=True, exist_ok=True)
    cluster = Cluster(seed, month, machines, faults)
    cluster.run()
    with Truth.of(cluster) as truth:
        stakes = wrong.go(truth, seed, faults)
        if billed_through:
            wrong.come_late(truth, billed_through)
        records.write(truth, folder, is_late=billed_through is not None)
        costs, lost = truth.costs(), truth.lost()
        counted = truth.counts()
    played = Played(
        folder,
        month,
        **counted,
        costs={job: amount(units) for job, units in costs.items()},
        stakes={code: amount(units) for code, units in stakes.items()},
    )
    told = {
        "month": str(month),
        "seed": seed,
        "faults": {code: {"size": str(one.size), "day": one.day} for code, one in faults.items()},
        "stakes": {code: f"{money:f}" for code, money in played.stakes.items()},
        "jobs": {job: f"{money:f}" for job, money in played.costs.items()},
        "lost": {job: f"{amount(units):f}" for job, (units, _) in lost.items()},
    }
    (folder / "truth.json").write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")
    return played
