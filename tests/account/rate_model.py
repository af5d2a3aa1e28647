"""What cost, hours and rates must be, computed from a bill, a job log and a machine file in plain Python.

None of our SQL, shares or books is used here. Everything happens on full hours, so an hour is the unit of time, and
money is a Fraction. Rules are the built-in ones: a machine's line is shared by the GPUs held of it, the rest is idle;
a line with a team's tag is shared by the GPU hours of that team.
"""

import csv
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
DAY = 24
UNITS = 10**12
TIME = "compute"
Span = tuple[int, int]
Key = tuple[object, ...]


class Line(NamedTuple):
    """A line of the bill, in hours since 1970."""

    month: int
    span: Span
    cost: Fraction
    machine: str
    team: str
    account: str
    service: str

    @property
    def is_metered(self) -> bool:
        return self.span[1] - self.span[0] <= DAY


class Hold(NamedTuple):
    """A row of the job log; without an end, the attempt is running."""

    job: str
    attempt: int
    machine: str
    start: int
    end: int | None
    gpus: int
    team: str

    def within(self, span: Span) -> Span:
        return max(self.start, span[0]), min(self.end if self.end is not None else span[1], span[1])


class Part(NamedTuple):
    """What an attempt pays on a day, of the lines of one month's bill, for a machine or for a team."""

    month: int
    hold: tuple[str, int, str]
    machine: str | None
    day: int
    kind: str
    account: str


@dataclass
class Figures:
    """The answer for one group; seconds and money, not divided yet."""

    cost: Fraction | None = None
    rate_cost: Fraction = Fraction(0)
    known_cost: Fraction | None = None
    wall: int = 0
    complete: int = 0
    gpu: int = 0
    billed_gpu: int = 0
    jobs: set[str] = field(default_factory=set)
    job_rates: list[Fraction] = field(default_factory=list)

    @property
    def rate(self) -> Fraction | None:
        return self.rate_cost / self.complete if self.complete else None

    @property
    def at_least(self) -> Fraction | None:
        return self.known_cost / self.wall if not self.complete and self.wall and self.known_cost is not None else None


def hour_of(text: str) -> int:
    seconds = (datetime.fromisoformat(text) - EPOCH) / timedelta(hours=1)
    assert seconds == int(seconds), "the model knows full hours only"
    return int(seconds)


def month_of(hour: int) -> int:
    """Return a month as a number: twelve times the year, plus the month from 0."""
    moment = EPOCH + timedelta(hours=hour)
    return moment.year * 12 + moment.month - 1


def bounds(month: int) -> Span:
    first, after = (datetime(number // 12, number % 12 + 1, 1, tzinfo=UTC) for number in (month, month + 1))
    return int((first - EPOCH) / timedelta(hours=1)), int((after - EPOCH) / timedelta(hours=1))


def read(folder: Path) -> "Model":
    """Read bill.csv, jobs.csv and machines.csv."""

    def rows(name: str) -> list[dict[str, str]]:
        with (folder / name).open(newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))

    lines = [
        Line(
            month_of((hour_of(row["BillingPeriodStart"]) + hour_of(row["BillingPeriodEnd"])) // 2),
            (hour_of(row["ChargePeriodStart"]), hour_of(row["ChargePeriodEnd"])),
            Fraction(row["EffectiveCost"]),
            row["ResourceId"],
            row["Tags"].partition('"team": "')[2].partition('"')[0],
            row["SubAccountId"],
            row["ServiceName"],
        )
        for row in rows("bill.csv")
    ]
    holds = [
        Hold(
            row["job_id"],
            int(row["attempt"]),
            row["machine_id"],
            hour_of(row["started"]),
            hour_of(row["ended"]) if row["ended"] else None,
            int(row["gpus"]),
            row["team"],
        )
        for row in rows("jobs.csv")
    ]
    return Model(lines, holds, {row["machine_id"]: int(row["gpus"]) for row in rows("machines.csv")})


class Model:
    def __init__(self, lines: Sequence[Line], holds: Sequence[Hold], gpus: dict[str, int]) -> None:
        self.lines, self.holds, self.gpus = lines, holds, gpus
        self.months = sorted({line.month for line in lines})
        self.parts: dict[Part, Fraction] = defaultdict(Fraction)
        for line in lines:
            self._share(line)
        self.billed: dict[str, set[int]] = defaultdict(set)
        for line in lines:
            if line.machine:
                self.billed[line.machine] |= set(range(line.span[0], self._metered_end(line)))

    def _share(self, line: Line) -> None:
        """Divide a line: by GPUs of its machine and hour, or by the GPU hours of its team in all of its time."""
        if line.machine:
            per_gpu_hour = line.cost / (self.gpus[line.machine] * (line.span[1] - line.span[0]))
            holds = [one for one in self.holds if one.machine == line.machine]
        else:
            holds = [one for one in self.holds if one.team == line.team]
            weight = sum(max(end - start, 0) * one.gpus for one in holds for start, end in [one.within(line.span)])
            per_gpu_hour = line.cost / weight if weight else Fraction(0)
        for one in holds:
            for hour in range(*one.within(line.span)):
                kind = TIME if line.machine else "storage"
                part = Part(
                    line.month, (one.job, one.attempt, one.team), line.machine or None, hour // DAY, kind, line.account
                )
                self.parts[part] += per_gpu_hour * one.gpus

    def _metered_end(self, line: Line) -> int:
        """Return up to which hour a line bills: one of several days only as far as its machine is metered, if it is."""
        of_service = [
            one
            for one in self.lines
            if (one.month, one.account, one.service) == (line.month, line.account, line.service) and one.is_metered
        ]
        own = [one.span[1] for one in of_service if one.machine == line.machine]
        is_complete = any(one.span[1] >= bounds(line.month)[1] for one in of_service)
        return line.span[1] if line.is_metered or is_complete or not own else min(line.span[1], max(own))

    def known_through(self, month: int) -> int:
        """Return the hour through which the hours of running attempts are known: that of the last metered line."""
        own = [line for line in self.lines if line.month == month]
        return min(max(line.span[1] for line in own if line.is_metered), bounds(month)[1])

    def held(self, month: int) -> Iterator[tuple[Hold, Span]]:
        """Yield what was held in a month, as far as it is known."""
        for one in self.holds:
            start, end = one.within(bounds(month))
            if one.end is None:
                end = min(end, max(self.known_through(month), one.start))
            if end > start:
                yield one, (start, end)

    def complete_days(self, month: int) -> dict[tuple[str, int], dict[int, Fraction]]:
        """Return, per attempt and day that it held anything, the billed part of its GPU hours; 1 if it is complete."""
        time: dict[tuple[str, int], dict[int, list[int]]] = defaultdict(lambda: defaultdict(lambda: [0, 0]))
        for one, (start, end) in self.held(month):
            for hour in range(start, end):
                day = time[one.job, one.attempt][hour // DAY]
                day[0] += one.gpus
                day[1] += one.gpus * (hour in self.billed[one.machine])
            if one.end is None and end < bounds(month)[1]:  # it holds on
                time[one.job, one.attempt][end // DAY][0] += one.gpus * (DAY - end % DAY)
        return {
            attempt: {day: Fraction(billed, held) for day, (held, billed) in days.items()}
            for attempt, days in time.items()
        }

    def answer(self, months: Iterable[int], by: Sequence[str], per: str) -> dict[Key, Figures]:
        """Return the figures of these months' books per group."""
        found: dict[Key, Figures] = defaultdict(Figures)
        of_jobs: dict[Key, dict[str, Figures]] = defaultdict(lambda: defaultdict(Figures))
        for month in months:
            billed_parts = self.complete_days(month)
            running = {(one.job, one.attempt) for one in self.holds if one.end is None}
            for part, amount in self.parts.items():
                job, attempt, team = part.hold
                key = _key(by, job, team, part.machine, part.day)
                if part.month == month:
                    found[key].cost = (found[key].cost or Fraction(0)) + amount
                if month_of(part.day * DAY) != month:
                    continue
                days = billed_parts.get((job, attempt), {})
                is_late = part.day > self._last_day(month, job, attempt)
                if is_late and ((job, attempt) in running or part.month == month):
                    continue
                billed = days.get(part.day, Fraction(1))
                self._add(found[key], of_jobs[key][job], (part, amount), billed, per)
            self._add_hours(month, by, billed_parts, found, of_jobs)
        for key, jobs in of_jobs.items():
            found[key].job_rates = sorted(
                one.rate_cost / (one.complete if per == "wall" else one.billed_gpu)
                for one in jobs.values()
                if (one.complete if per == "wall" else one.billed_gpu)
            )
        return found

    def _last_day(self, month: int, job: str, attempt: int) -> int:
        """Return the last day of which hours of an attempt are known."""
        ends = [end for one, (_, end) in self.held(month) if (one.job, one.attempt) == (job, attempt)]
        return (max(ends) - 1) // DAY if ends else -1

    @staticmethod
    def _add(group: Figures, job: Figures, paid: tuple[Part, Fraction], billed: Fraction, per: str) -> None:
        part, amount = paid
        known = amount if part.kind == TIME or billed == 1 else Fraction(int(amount * billed * UNITS), UNITS)
        if not billed:
            return
        group.known_cost = (group.known_cost or Fraction(0)) + known
        for one in (group, job):
            one.rate_cost += known if per == "gpu" else amount if billed == 1 else 0

    def _add_hours(
        self,
        month: int,
        by: Sequence[str],
        billed_parts: dict[tuple[str, int], dict[int, Fraction]],
        found: dict[Key, Figures],
        of_jobs: dict[Key, dict[str, Figures]],
    ) -> None:
        spans: dict[tuple[Key, str], tuple[list[Span], list[Span]]] = defaultdict(lambda: ([], []))
        for one, (start, end) in self.held(month):
            for first, last in _cut(start, end):
                key = _key(by, one.job, one.team, one.machine, first // DAY)
                held, complete = spans[key, one.job]
                held.append((first, last))
                if billed_parts[one.job, one.attempt][first // DAY] == 1:
                    complete.append((first, last))
                billed = sum(hour in self.billed[one.machine] for hour in range(first, last))
                for figures in (found[key], of_jobs[key][one.job]):
                    figures.gpu += one.gpus * (last - first)
                    figures.billed_gpu += one.gpus * billed
        for (key, job), (held, complete) in spans.items():
            found[key].jobs.add(job)
            for figures in (found[key], of_jobs[key][job]):
                figures.wall += _length(held)
                figures.complete += _length(complete)


def _cut(start: int, end: int) -> Iterator[Span]:
    """Cut a span at midnight."""
    cuts = [start, *range((start // DAY + 1) * DAY, end, DAY), end]
    yield from pairwise(cuts)


def _length(spans: Iterable[Span]) -> int:
    return len({hour for start, end in spans for hour in range(start, end)})


def _key(by: Sequence[str], job: str, team: str, machine: str | None, day: int) -> Key:
    named = {"job": job, "team": team, "machine": machine, "day": (EPOCH + timedelta(days=day)).date()}
    return tuple(named[key] for key in by)


def rounded(value: Fraction | None) -> Decimal | None:
    """Round to a millionth, half away from zero, as rates are."""
    if value is None:
        return None
    size = (abs(value) * 2 * 10**6 + 1) // 2
    return Decimal(int(size) if value >= 0 else -int(size)).scaleb(-6)
