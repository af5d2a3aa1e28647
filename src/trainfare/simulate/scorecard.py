"""Score game days: months with known true costs and known faults, built, checked and compared with the truth."""

import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass
from decimal import Decimal
from multiprocessing import get_context
from pathlib import Path

import msgspec

from trainfare.books.build import build_books
from trainfare.engine.choice import embedded
from trainfare.job_ids import native_id
from trainfare.period import Month
from trainfare.query.check import FindingStates, check
from trainfare.query.estimates import accuracy
from trainfare.query.medians import median
from trainfare.query.open_books import open_books
from trainfare.settings.config import FILE_NAME, load
from trainfare.simulate.cluster import GameDay, parse_faults, simulate_game_day
from trainfare.simulate.cluster.faults import FAULT_KINDS
from trainfare.simulate.cluster.near_misses import INEXACT
from trainfare.store import Store

COMPLETE = "complete"
"""The game day without a fault."""
MONTH = Month(2026, 10)
CURRENCY = "USD"
STAKE_TOLERANCE = Decimal("0.05")
"""The money at stake may deviate by this fraction of the truth."""
BILLED_THROUGH = 24
"""A complete game day is built twice: with bills through this day of the month, and with complete bills."""
REQUIRED_FRACTION = Decimal("0.95")
"""The fraction of seeds that must be correct."""


@dataclass(frozen=True)
class Result:
    """One game day: the expected and the actual findings, and the deviation of the account from the truth."""

    day: str
    seed: int
    bill: Decimal
    jobs: int
    wrong_jobs: int
    worst: Decimal
    """The largest error of a single job, in money."""
    error: Decimal
    """The sum of the absolute errors of all jobs."""
    found: frozenset[str]
    """Codes of the findings beyond their limits."""
    at_stake: Decimal
    true_stake: Decimal
    estimate_error: Decimal | None = None
    """Relative error of the estimate of unbilled time; None if everything was billed at once."""

    @property
    def expected(self) -> frozenset[str]:
        return frozenset({self.day}) if self.day in FAULT_KINDS else frozenset()

    @property
    def missed(self) -> frozenset[str]:
        return self.expected - self.found

    @property
    def false(self) -> frozenset[str]:
        return self.found - self.expected

    @property
    def stake_error(self) -> Decimal:
        """Relative error of the money at stake."""
        return abs(self.at_stake - self.true_stake) / self.true_stake if self.true_stake else Decimal(0)

    @property
    def is_correct(self) -> bool:
        """Exactly the expected finding with its money; without a fault no finding, and every job exact.

        Near misses with wrong records have no exact jobs.
        """
        exact = self.day in FAULT_KINDS or self.day in INEXACT or self.error == 0
        return exact and not self.missed and not self.false and self.stake_error <= STAKE_TOLERANCE


@dataclass(frozen=True)
class Score:
    """All seeds of one kind of game day."""

    day: str
    results: tuple[Result, ...]

    @property
    def correct(self) -> int:
        return sum(one.is_correct for one in self.results)

    @property
    def is_goal_met(self) -> bool:
        return self.correct >= REQUIRED_FRACTION * len(self.results)

    def record(self) -> dict[str, object]:
        """Return the row of the score card."""
        results, is_fault = self.results, self.day in FAULT_KINDS
        worst = max(results, key=lambda one: one.error / one.bill)
        stakes = sorted(one.stake_error for one in results)
        estimates = sorted(one.estimate_error for one in results if one.estimate_error is not None)
        return {
            "day": self.day,
            "seeds": len(results),
            "correct": self.correct,
            "found": sum(bool(one.expected & one.found) for one in results) if is_fault else None,
            "missed": sum(bool(one.missed) for one in results),
            "false": sum(bool(one.false) for one in results),
            "jobs": sum(one.jobs for one in results),
            "wrong_jobs": sum(one.wrong_jobs for one in results),
            "worst_job": max(one.worst for one in results),
            "error_of_bill": _percent(worst.error / worst.bill),
            "stake_error_median": _percent(median(stakes)) if is_fault else None,
            "stake_error_max": _percent(stakes[-1]) if is_fault else None,
            "estimate_error_median": _percent(median(estimates)) if estimates else None,
            "estimate_error_max": _percent(estimates[-1]) if estimates else None,
        }


def _percent(part: Decimal) -> str:
    return f"{100 * part:.4f} %" if part else "0 %"


def run(
    days: Sequence[str],
    seeds: Sequence[int],
    machines: int,
    workers: int = 1,
    progress: Callable[[str], None] = lambda text: None,
) -> Iterator[Score]:
    """Run each kind of game day with each seed.

    A day is `complete`, or a fault or near miss in the syntax of `simulate`.
    """
    with ProcessPoolExecutor(workers, get_context("spawn")) if workers > 1 else nullcontext() as pool:
        for day in days:
            results = []
            tasks = [(day, seed, machines) for seed in seeds]
            for result in pool.map(_run_one, tasks) if pool else map(_run_one, tasks):
                progress(f"{result.day}, seed {result.seed}")
                results.append(result)
            yield Score(results[0].day, tuple(results))


def _run_one(task: tuple[str, int, int]) -> Result:
    """Run one game day in a temporary folder."""
    day, seed, machines = task
    faults = {} if day == COMPLETE else parse_faults([day], MONTH)
    with tempfile.TemporaryDirectory(prefix="trainfare-", ignore_cleanup_errors=True) as folder:
        if day == COMPLETE:
            partial = simulate_game_day(Path(folder), seed, machines, faults, MONTH, BILLED_THROUGH)
            config = load(partial.folder / FILE_NAME)
            with Store.open(partial.folder, config.catalog) as store:
                build_books(config, store, partial.month)
        game_day = simulate_game_day(Path(folder), seed, machines, faults, MONTH)
        return _evaluate(next(iter(faults), COMPLETE), seed, game_day)


def _evaluate(day: str, seed: int, game_day: GameDay) -> Result:
    """Build and check a game day as a user would, and compare it with the truth."""
    config = load(game_day.folder / FILE_NAME)
    with Store.open(game_day.folder, config.catalog) as store, embedded() as engine:
        (built,) = build_books(config, store, game_day.month)
        opened = open_books(engine, [store.files(built.book, others=store.others_of(built.book))])
        findings = check(opened, msgspec.structs.asdict(config.check), FindingStates({}, {}))
        rows = engine.rows("SELECT job_id, sum(effective) FROM shares WHERE job_id IS NOT NULL GROUP BY job_id")
        (bill,) = engine.row("SELECT sum(effective) FROM bill_totals")
        estimated = accuracy(opened, CURRENCY)
    allocated, true = {native_id(job): cost for job, cost in rows}, game_day.costs
    errors = {job: abs(allocated.get(job, 0) - true.get(job, 0)) for job in allocated.keys() | true.keys()}
    return Result(
        day=day,
        seed=seed,
        bill=bill,
        jobs=len(true),
        wrong_jobs=sum(bool(error) for error in errors.values()),
        worst=max(errors.values(), default=Decimal(0)),
        error=sum(errors.values(), Decimal(0)),
        found=frozenset(one.code for one in findings if one.breached),
        at_stake=sum((one.at_stake or Decimal(0) for one in findings if one.code == day), Decimal(0)),
        true_stake=game_day.stakes.get(day, Decimal(0)),
        estimate_error=estimated.relative_error if estimated else None,
    )
