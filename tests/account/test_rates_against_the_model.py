"""Cost, hours and rates of random months, compared with a model that reads the same bill, job log and machine file.

Machines are billed in part, accounts to different days, storage beyond what is metered; billing months begin at another
hour than months in UTC; hours are billed a month late; attempts run on.
"""

import json
import random
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from statistics import median

import pytest
import soak
from click.testing import CliRunner

from trainfare.books.from_files import build_from_files
from trainfare.cli.main import cli
from trainfare.engine.duckdb import DuckDB
from trainfare.query import cost, job, jobs, metrics
from trainfare.query.cost import Question
from trainfare.query.jobs import Listing
from trainfare.query.open_books import OpenBooks, open_books
from trainfare.settings.config import load
from trainfare.store import BookFiles

from .books import BILL, JOBS, MACHINES, Row, with_settings, write_rows
from .rate_model import DAY, Figures, Model, bounds, read, rounded

FIRST = datetime(2026, 9, 27, tzinfo=UTC)
"""Every world is about the days around the first of October, and those before the first of November."""
MACHINE_NAMES = ("n0", "n1", "n2", "n3")
TEAMS = ("x", "y")
GPUS = 8
GROUPS: tuple[tuple[str, ...], ...] = (
    (),
    ("job",),
    ("team",),
    ("day",),
    ("machine",),
    ("job", "day"),
    ("team", "machine"),
)


def at(hour: int) -> datetime:
    return FIRST + timedelta(hours=hour)


def text(moment: datetime) -> str:
    return f"{moment:%Y-%m-%dT%H:%M:%SZ}"


class World:
    """The files of a company with four machines of eight GPUs, two accounts and two teams."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.zone = self.chance.choice((0, 0, 7, -9))
        self.hours = DAY * self.chance.choice((6, 8, 10))
        self.accounts = {name: self.chance.choice(("A-1", "A-2")) for name in MACHINE_NAMES}
        self.placements = list(self._placements())
        self.charges = [*self._machine_lines(), *self._storage_lines()]

    def write(self, folder: Path) -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        write_rows(folder / "bill.csv", BILL, self.charges)
        write_rows(folder / "jobs.csv", JOBS, self.placements)
        write_rows(folder / "machines.csv", MACHINES, [{"machine_id": n, "gpus": GPUS} for n in MACHINE_NAMES])
        return with_settings(folder, ["bill.csv", "jobs.csv", "machines.csv"])

    def _billing_month(self, moment: datetime, later: int = 0) -> tuple[datetime, datetime]:
        """Return the billing period of a time, or a later one; it begins at an hour of its own."""
        shifted = moment - timedelta(hours=self.zone)
        number = shifted.year * 12 + shifted.month - 1 + later
        first, after = (datetime(n // 12, n % 12 + 1, 1, tzinfo=UTC) for n in (number, number + 1))
        return first + timedelta(hours=self.zone), after + timedelta(hours=self.zone)

    def _line(self, span: tuple[int, int], amount: Decimal, later: int = 0, **columns: object) -> Row:
        first, after = self._billing_month(at(span[0]), later)
        return {
            "BillingAccountId": "B-1",
            "SubAccountId": "A-1",
            "BillingCurrency": "USD",
            "BillingPeriodStart": text(first),
            "BillingPeriodEnd": text(after),
            "ChargePeriodStart": text(at(span[0])),
            "ChargePeriodEnd": text(at(span[1])),
            "ChargeCategory": "Usage",
            **dict.fromkeys(("EffectiveCost", "BilledCost", "ListCost", "ContractedCost"), f"{amount}"),
            **columns,
        }

    def _placements(self) -> Iterator[Row]:
        """Yield four attempts of three jobs, each with two GPUs of a machine at most: nothing is overcommitted."""
        for name, attempt in (("a", 1), ("a", 2), ("b", 1), ("c", 1)):
            start = self.chance.randrange(self.hours - 6)
            if attempt == 2:
                start = self.hours - 6
            latest = self.hours - 6 if (name, attempt) == ("a", 1) else self.hours
            end: int | None = start + self.chance.choice((2, 5, 24, 60, 100))
            end = min(end or 0, latest) if (name, attempt) == ("a", 1) else end
            is_running = name != "a" and self.chance.random() < 0.3
            team = "x" if name == "a" else self.chance.choice(TEAMS)
            gpus = self.chance.choice((1, 2))
            for machine in self.chance.sample(MACHINE_NAMES, self.chance.choice((1, 1, 2, 3))):
                if end is not None and end <= start:
                    continue
                yield {
                    "job_id": name,
                    "attempt": attempt,
                    "machine_id": machine,
                    "started": text(at(start)),
                    "ended": "" if is_running else text(at(end or 0)),
                    "gpus": gpus,
                    "state": "running" if is_running else "completed",
                    "team": team,
                }

    def _machine_lines(self) -> Iterator[Row]:
        """Yield lines by hour or by day, up to where each account is billed; a few are late, and a few are missing."""
        through = {name: self.chance.randrange(DAY, self.hours + 1) for name in ("A-1", "A-2")}
        through |= {name: self.hours for name in through if self.chance.random() < 0.6}
        billed = [name for name in MACHINE_NAMES if self.chance.random() < 0.85] or list(MACHINE_NAMES[:1])
        for name in billed:
            length, price = self.chance.choice((1, 1, DAY)), self.chance.randrange(1, 500)
            columns = {"ServiceCategory": "Compute", "ServiceName": "Machines", "ResourceId": name}
            columns["SubAccountId"] = self.accounts[name]
            last = through[self.accounts[name]] // length * length
            for start in range(0, last, length):
                if self.chance.random() < 0.97 or start == 0:
                    late = int(self.chance.random() < 0.03)
                    yield self._line((start, start + length), _cents(price * length), late, **columns)
            if length == DAY and self.chance.random() < 0.5:
                span = (0, self.hours + 20 * DAY)
                yield self._line(span, _cents(self.chance.randrange(1, 50) * (span[1] - span[0])), **columns)

    def _storage_lines(self) -> Iterator[Row]:
        """Yield storage of teams for a billing month, or for some days of it, at a price per GPU hour of the team."""
        for team in TEAMS:
            for start in (0, 5 * DAY):
                first, after = (int((one - FIRST) / timedelta(hours=1)) for one in self._billing_month(at(start)))
                span = self.chance.choice(((first, after), (start, start + DAY), (start, start + 3 * DAY)))
                weight = sum(_overlap(row, span) for row in self.placements if row["team"] == team)
                if weight and self.chance.random() < 0.7:
                    price = self.chance.randrange(1, 90)
                    columns = {"ServiceCategory": "Storage", "ServiceName": "Buckets", "Tags": f'{{"team": "{team}"}}'}
                    yield self._line(span, _cents(price * weight), **columns)


def _cents(number: int) -> Decimal:
    return Decimal(number).scaleb(-2)


def _overlap(row: Row, span: tuple[int, int]) -> int:
    """Return the GPU hours of a row of the job log within a span."""
    start = (datetime.fromisoformat(str(row["started"])) - FIRST) / timedelta(hours=1)
    end = (datetime.fromisoformat(str(row["ended"])) - FIRST) / timedelta(hours=1) if row["ended"] else span[1]
    return int(max(min(end, span[1]) - max(start, span[0]), 0)) * int(str(row["gpus"]))


def numbers(book: BookFiles) -> int:
    return book.month.year * 12 + book.month.number - 1


def expected(figures: Figures, per: str) -> dict[str, object]:
    """Return a row of a report in terms of the model."""
    hours = figures.complete if per == "wall" else figures.billed_gpu
    rates = [rounded(rate) for rate in figures.job_rates]
    return {
        "cost": figures.cost,
        "wall": figures.wall,
        "left out": figures.wall - figures.complete,
        "gpu": figures.gpu,
        "unbilled gpu": figures.gpu - figures.billed_gpu,
        "rate cost": figures.rate_cost if hours else None,
        "rate": rounded(figures.rate_cost / hours) if hours else None,
        "median": rounded(Fraction(median(rates))) if rates else None,
        "at least": rounded(figures.at_least) if per == "wall" else None,
        "billed part": None if hours or not figures.gpu else Fraction(figures.billed_gpu, figures.gpu),
        "jobs": len(figures.jobs),
    }


def found(row: cost.Row) -> dict[str, object]:
    hour = 3600
    part = row.billed_part
    return {
        "cost": None if row.cost is None else Fraction(row.cost),
        "wall": Fraction(row.wall_seconds, hour),
        "left out": Fraction(row.unbilled_wall_seconds, hour),
        "gpu": Fraction(row.gpu_seconds or 0) / hour,
        "unbilled gpu": Fraction(row.unbilled_gpu_seconds or 0) / hour,
        "rate cost": None if row.rate_cost is None else Fraction(row.rate_cost),
        "rate": row.rate,
        "median": row.rate_median,
        "at least": row.at_least,
        "billed part": None if part is None else Fraction(part),
        "jobs": row.jobs,
    }


def compare(folder: Path, model: Model, chance: random.Random, count: int) -> int:
    """Ask random questions about one month or several; return how many answers had a rate and left something out."""
    engine = DuckDB()
    books = build_from_files(load(folder / "trainfare.toml"), folder / "books", engine)
    assert [numbers(book) for book in books] == model.months
    partly = 0
    for _ in range(count):
        chosen = chance.choice([[book] for book in books] + [books])
        by, per = chance.choice(GROUPS), chance.choice(("wall", "wall", "gpu"))
        opened = open_books(engine, chosen)
        wanted = model.answer([numbers(book) for book in chosen], by, per)
        rows = {tuple(row.group.values()): found(row) for row in cost.rows(opened, Question([], per=per), list(by))}
        answer = {key: expected(figures, per) for key, figures in wanted.items() if _is_shown(figures) or not by}
        for row in (*answer.values(), *rows.values()):
            row["billed part"] = _floor(row["billed part"])
        assert rows == (answer or ({} if by else {(): expected(Figures(), per)})), (chosen[0].month, by, per)
        partly += any(row["rate"] is not None and row["left out"] for row in rows.values())
        partly += any(row["at least"] is not None for row in rows.values())
        _compare_lists(opened, model, [numbers(book) for book in chosen])
    engine.close()
    return partly


def _is_shown(figures: Figures) -> bool:
    return figures.cost is not None or bool(figures.wall) or figures.known_cost is not None


def _floor(part: object) -> object:
    return part if not isinstance(part, Fraction) else int(part * 10**6)


def _compare_lists(opened: OpenBooks, model: Model, months: Sequence[int]) -> None:
    """The list of jobs, the page of a job and the metrics have the same rates."""
    of_jobs = model.answer(months, ["job"], "wall")
    per_gpu = model.answer(months, ["job"], "gpu")
    for row in jobs.jobs(opened, Question([]), Listing()).rows:
        figures = of_jobs[row["job"],]
        assert (row["rate"], row["at_least"]) == (rounded(figures.rate), rounded(figures.at_least))
        alone = Question([], filters=(("job", (row["job"],)),))
        (effective, *_) = job.rates(opened, alone)
        gpu = per_gpu[row["job"],]
        assert effective["wall"] == rounded(figures.rate)
        assert effective["gpu"] == (rounded(gpu.rate_cost / gpu.billed_gpu) if gpu.billed_gpu else None)
    values = metrics.metric_values(opened, Question(["job"]), ["M1", "M2", "M10"])
    m1 = {value.group["job"]: value.value for value in values if value.metric == "M1"}
    assert m1 == {name: rounded(figures.rate) for (name,), figures in of_jobs.items() if _is_shown(figures)}
    days: dict[object, list[Fraction]] = {}
    for (name, _), figures in model.answer(months, ["job", "day"], "wall").items():
        if figures.rate is not None:
            days.setdefault(name, []).append(figures.rate)
    medians = {v.group["job"]: v.value for v in values if v.metric == "M10" and v.detail.startswith("median of")}
    assert medians == {name: rounded(median(rates)) for name, rates in days.items()}


@pytest.mark.parametrize("seed", range(6))
def test_a_random_month_has_the_models_rates(tmp_path: Path, seed: int) -> None:
    folder = World(seed).write(tmp_path / "files")
    compare(folder, read(folder), random.Random(seed), 5)


@pytest.mark.soak
def test_many_random_months_have_the_models_rates(tmp_path: Path) -> None:
    rounds = 20 * soak.SCALE
    soak.announce("rates", rounds)
    partly = 0
    for number in range(rounds):
        seed = soak.SEED + number
        folder = World(seed).write(tmp_path / str(seed))
        try:
            partly += compare(folder, read(folder), random.Random(seed), 6)
        except AssertionError as error:
            raise AssertionError(f"seed {seed}") from error
    assert partly > rounds, "too few worlds are billed in part"


def test_the_command_reports_the_models_rates(tmp_path: Path) -> None:
    folder = World(3).write(tmp_path / "files")
    model = read(folder)
    files = [str(folder / "bill.csv"), "--jobs", str(folder / "jobs.csv"), "--machines", str(folder / "machines.csv")]
    for month in model.months:
        named = f"{month // 12}-{month % 12 + 1:02d}"
        ran = CliRunner().invoke(cli, ["report", *files, "--by", "job", "--month", named, "--format", "json"])
        assert ran.exit_code == 0, ran.output
        rows = {row["job"]: row for row in json.loads(ran.stdout)["rows"]}
        for (name,), figures in model.answer([month], ["job"], "wall").items():
            shown = rows[str(name)]
            for field, value in (("rate", figures.rate), ("at_least", figures.at_least)):
                assert (None if shown[field] is None else Decimal(shown[field])) == rounded(value), (named, name, field)
            assert Decimal(shown["wall_hours"]) == figures.wall
            assert Decimal(shown["unbilled_wall_hours"]) == figures.wall - figures.complete
    assert len(model.months) > 1
    assert bounds(model.months[0])[0] <= int((FIRST - datetime(1970, 1, 1, tzinfo=UTC)) / timedelta(hours=1))
