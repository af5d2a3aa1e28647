"""Game days: months with known truth and known faults, built and checked, and how well that went."""

import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass
from decimal import Decimal
from multiprocessing import get_context
from pathlib import Path

import msgspec

from trainfare import pipeline
from trainfare.config import FILE_NAME, load
from trainfare.period import Month
from trainfare.report.check import Life, check
from trainfare.report.estimated import accuracy
from trainfare.report.opened import open_books
from trainfare.simulate.cluster import Played, parse, play
from trainfare.store import Store

COMPLETE = "complete"
"""The day on which nothing is wrong."""
MONTH = Month(2026, 10)
CURRENCY = "USD"
CLOSE = Decimal("0.05")
"""Money at stake may be off by this part of the truth."""
BILLED_THROUGH = 24
"""A complete day is built twice: when the bills have come as far as this day, and when all of them have."""
SURE = Decimal("0.95")
"""The part of the seeds on which a day must end right."""


@dataclass(frozen=True)
class Result:
    """One game day: what was expected, what was found, and how far the account was from the truth."""

    day: str
    seed: int
    bill: Decimal
    jobs: int
    wrong_jobs: int
    worst: Decimal
    """The largest error of a job, in money."""
    error: Decimal
    """The errors of all jobs added up, whatever their sign."""
    found: frozenset[str]
    """Codes beyond their limits."""
    at_stake: Decimal
    true_stake: Decimal
    estimate_off: Decimal | None = None
    """How far off the estimate was of what was not billed yet, as a part of it; null where everything was billed at once."""

    @property
    def expected(self) -> frozenset[str]:
        return frozenset() if self.day == COMPLETE else frozenset({self.day})

    @property
    def missed(self) -> frozenset[str]:
        return self.expected - self.found

    @property
    def false(self) -> frozenset[str]:
        return self.found - self.expected

    @property
    def stake_error(self) -> Decimal:
        """How far the money at stake is from the truth, as a part of the truth."""
        return abs(self.at_stake - self.true_stake) / self.true_stake if self.true_stake else Decimal(0)

    @property
    def is_right(self) -> bool:
        """The finding and no other, with its money; on a complete day nothing, and every job to the last digit."""
        exact = self.day != COMPLETE or self.error == 0
        return exact and not self.missed and not self.false and self.stake_error <= CLOSE


@dataclass(frozen=True)
class Score:
    """All seeds of one kind of day."""

    day: str
    results: tuple[Result, ...]

    @property
    def right(self) -> int:
        return sum(one.is_right for one in self.results)

    @property
    def is_reached(self) -> bool:
        return self.right >= SURE * len(self.results)

    def record(self) -> dict[str, object]:
        """The line of the score card."""
        results = self.results
        worst = max(results, key=lambda one: one.error / one.bill)
        stakes = sorted(one.stake_error for one in results)
        estimates = sorted(one.estimate_off for one in results if one.estimate_off is not None)
        return {
            "day": self.day,
            "seeds": len(results),
            "right": self.right,
            "found": sum(bool(one.expected & one.found) for one in results) if self.day != COMPLETE else None,
            "missed": sum(bool(one.missed) for one in results),
            "false": sum(bool(one.false) for one in results),
            "jobs": sum(one.jobs for one in results),
            "wrong_jobs": sum(one.wrong_jobs for one in results),
            "worst_job": max(one.worst for one in results),
            "error_of_bill": _percent(worst.error / worst.bill),
            "stake_off_median": _percent(stakes[len(stakes) // 2]) if self.day != COMPLETE else None,
            "stake_off_most": _percent(stakes[-1]) if self.day != COMPLETE else None,
            "estimate_off_median": _percent(estimates[len(estimates) // 2]) if estimates else None,
            "estimate_off_most": _percent(estimates[-1]) if estimates else None,
        }


def _percent(part: Decimal) -> str:
    return f"{100 * part:.4f} %" if part else "0 %"


def run(
    days: Sequence[str],
    seeds: Sequence[int],
    machines: int,
    workers: int = 1,
    progress: Callable[[str], None] = lambda told: None,
) -> Iterator[Score]:
    """Play each kind of day with each seed. A day is `complete` or a fault as `simulate` takes it."""
    with ProcessPoolExecutor(workers, get_context("spawn")) if workers > 1 else nullcontext() as pool:
        for day in days:
            results = []
            asked = [(day, seed, machines) for seed in seeds]
            for result in pool.map(_played, asked) if pool else map(_played, asked):
                progress(f"{result.day}, seed {result.seed}")
                results.append(result)
            yield Score(results[0].day, tuple(results))


def _played(asked: tuple[str, int, int]) -> Result:
    """One game day, in a folder that goes when it is over."""
    day, seed, machines = asked
    faults = {} if day == COMPLETE else parse([day], MONTH)
    with tempfile.TemporaryDirectory(prefix="trainfare-", ignore_cleanup_errors=True) as folder:
        if day == COMPLETE:
            late = play(Path(folder), seed, machines, faults, MONTH, BILLED_THROUGH)
            config = load(late.folder / FILE_NAME)
            with Store.open(late.folder, config.catalog) as store:
                pipeline.build(config, store, late.month)
        return _judged(next(iter(faults), COMPLETE), seed, play(Path(folder), seed, machines, faults, MONTH))


def _judged(day: str, seed: int, played: Played) -> Result:
    """Build and check a game day as a user would, and hold it against the truth."""
    config = load(played.folder / FILE_NAME)
    with Store.open(played.folder, config.catalog) as store, pipeline.fresh_engine() as engine:
        (built,) = pipeline.build(config, store, played.month)
        opened = open_books(engine, [store.files(built.book)])
        findings = check(opened, msgspec.structs.asdict(config.check), Life({}, {}))
        shared = engine.rows("SELECT job_id, sum(effective) FROM shares WHERE job_id IS NOT NULL GROUP BY job_id")
        (bill,) = engine.row("SELECT sum(effective) FROM bill_totals")
        estimated = accuracy(opened, CURRENCY)
    given = dict(shared)
    errors = {job: abs(given.get(job, 0) - played.costs.get(job, 0)) for job in given.keys() | played.costs.keys()}
    return Result(
        day=day,
        seed=seed,
        bill=bill,
        jobs=len(played.costs),
        wrong_jobs=sum(bool(error) for error in errors.values()),
        worst=max(errors.values(), default=Decimal(0)),
        error=sum(errors.values(), Decimal(0)),
        found=frozenset(one.code for one in findings if one.breached),
        at_stake=sum((one.at_stake or Decimal(0) for one in findings if one.code == day), Decimal(0)),
        true_stake=played.stakes.get(day, Decimal(0)),
        estimate_off=estimated.off if estimated else None,
    )
