"""`explain` finds a job in any month, says where else it has money, and knows hours where the bill has them.

The model prices each hour of one machine by hand: 8 USD plus its number, shared by the GPUs and seconds held.
"""

import csv
import io
import json
import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest

from trainfare.period import Month

from . import company
from .folder import Workspace

HOUR = timedelta(hours=1)
START, END = datetime(2026, 10, 30, tzinfo=UTC), datetime(2026, 11, 3, tzinfo=UTC)
JOBS = {
    "a": (4, "2026-10-30T02:00", "2026-10-30T10:00"),
    "b": (2, "2026-10-30T09:30", "2026-10-30T11:15"),
    "across": (8, "2026-10-31T12:00", "2026-11-01T18:00"),
}
STORAGE = Decimal("48.00")
"""The storage of each day on the machine: it has no hours."""


def hours() -> Iterator[datetime]:
    at = START
    while at < END:
        yield at
        at += HOUR


def price(hour: datetime) -> int:
    return 8 + hour.hour


def held(job: str, start: datetime, end: datetime) -> tuple[int, float]:
    gpus, *times = JOBS[job]
    first, last = (datetime.fromisoformat(f"{time}:00+00:00") for time in times)
    return gpus, max((min(last, end) - max(first, start)).total_seconds(), 0)


def expected(job: str, start: datetime, end: datetime) -> Fraction:
    """Return the compute cost of a job from one full hour to another."""
    total = Fraction(0)
    for hour in hours():
        if start <= hour < end:
            gpus, seconds = held(job, hour, hour + HOUR)
            total += Fraction(price(hour)) * gpus * int(seconds) / (8 * 3600)
    return total


def bill(month: Month) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(company.COLUMNS)
    billed = [f"{time:%Y-%m-%dT%H:%M:%SZ}" for time in (month.start, month.end)]
    detail = '{"InstanceType": "p5.48xlarge"}'
    for hour in hours():
        if Month.of(hour.date()) != month:
            continue
        lines = [("Compute", Decimal(price(hour)), HOUR)]
        lines += [("Storage", STORAGE, timedelta(days=1))] if hour.hour == 0 else []
        for service, cost, length in lines:
            times = [f"{time:%Y-%m-%dT%H:%M:%SZ}" for time in (hour, hour + length)]
            costs = [cost, cost, cost]
            writer.writerow(["USD", *times, *billed, *costs, "Usage", service, service, "n1", detail, ""])
    return out.getvalue()


@pytest.fixture(scope="module")
def hourly(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    made = Workspace(tmp_path_factory.mktemp("hourly") / "workspace")
    for month in (company.OCTOBER, company.NOVEMBER):
        made.write(f"bills/{month}.csv", bill(month))
    rows = [f"{job},1,n1,{first}:00Z,{last}:00Z,{gpus},completed,nlp" for job, (gpus, first, last) in JOBS.items()]
    made.write("jobs/jobs.csv", "\n".join([",".join(company.JOB_COLUMNS), *rows]) + "\n")
    made.write("machines.csv", "machine_id,gpus\nn1,8\n")
    made.write("trainfare.toml", company.settings())
    made.build()
    return made


def explained(hourly: Workspace, job: str, *options: object) -> dict[str, object]:
    ran = hourly.run("explain", job, "--format", "json", *options)
    assert ran.code == 0, ran.err
    found: dict[str, object] = json.loads(ran.out)
    return found


def test_the_hours_of_a_job_cost_what_the_bill_says_about_these_hours(hourly: Workspace) -> None:
    chance, asked = random.Random(4), 0
    for job in ("a", "b", "across", "across"):
        times = [datetime.fromisoformat(f"{one}:00+00:00") for one in JOBS[job][1:]]
        last = int((times[1] - times[0]) / HOUR)
        start = times[0].replace(minute=0) + HOUR * chance.randrange(max(last, 1))
        end = start + HOUR * chance.randrange(1, 9)
        found = explained(
            hourly,
            job,
            "--from",
            f"{start:%Y-%m-%dT%H:00Z}",
            "--to",
            f"{end:%Y-%m-%dT%H:00Z}",
            "--where",
            "category=compute",
        )
        assert Fraction(str(found["cost"])) == expected(job, start, end) > 0, (job, start, end)
        assert found["window"]["start"] == f"{start:%Y-%m-%dT%H:00:00Z}"  # type: ignore[index]
        asked += 1
    assert asked == 4


def test_what_is_charged_by_the_day_has_no_hours(hourly: Workspace) -> None:
    ran = hourly.run("explain", "a", "--from", "2026-10-30T02:00Z", "--to", "2026-10-30T06:00Z")
    assert ran.code == 3
    assert ran.err.splitlines()[0].startswith("--from: some cost is charged for longer than these hours: storage ")
    assert "--where category=compute" in ran.err
    part = ("--from", "2026-10-30T02:30Z", "--to", "2026-10-30T06:00Z", "--where", "category=compute")
    ran = hourly.run("explain", "a", *part)
    assert (ran.code, "longer than these hours: compute" in ran.err) == (3, True), "half of a billed hour is not known"


def test_the_days_of_a_job_are_those_of_the_report_also_across_months(hourly: Workspace) -> None:
    for first, last in (("2026-10-31", "2026-10-31"), ("2026-10-31", "2026-11-01"), ("2026-11-01", "2026-11-02")):
        days = ("--from", first, "--to", last)
        found = explained(hourly, "across", *days)
        rows = json.loads(hourly.run("report", *days, "--where", "job=across", "--format", "json").out)
        assert found["cost"] == rows["total"]
        assert sum(Decimal(pot["part"]) for pot in found["pots"]) == Decimal(rows["total"])  # type: ignore[attr-defined]
        assert sum(Decimal(rule["cost"]) for rule in found["rules"]) == Decimal(rows["total"])  # type: ignore[attr-defined]
    months = found["window"]["books"]  # type: ignore[index]
    assert months == ["2026-11"]


def test_a_job_is_found_in_whichever_month_it_has_cost(hourly: Workspace) -> None:
    """The newest book is that of November, which does not have the job."""
    found = explained(hourly, "a")
    assert (found["month"], found["other_months"]) == ("2026-10", [])
    assert Fraction(str(found["cost"])) > expected("a", START, END)
    ran = hourly.run("explain", "a", "--month", "2026-11")
    assert (ran.code, "It is in 2026-10" in ran.err) == (2, True)


def test_an_explanation_says_where_else_the_job_has_money(hourly: Workspace) -> None:
    newest, other = explained(hourly, "across"), explained(hourly, "across", "--month", "2026-10")
    assert newest["month"] == "2026-11"
    assert newest["other_months"] == [{"month": "2026-10", "cost": other["cost"]}]
    assert other["other_months"] == [{"month": "2026-11", "cost": newest["cost"]}]
    shown = hourly.run("explain", "across").out
    line = f"It also has {Decimal(str(other['cost'])):,.2f} USD in the book of 2026-10: trainfare explain across --month 2026-10"
    assert line in shown
    ran = hourly.run("explain", "across", "--from", "2026-12-01", "--to", "2026-12-02")
    assert (ran.code, "It has cost from 2026-10-31 to 2026-11-01." in ran.err) == (3, True)


def test_an_explanation_is_filtered_by_category_or_rule_only(hourly: Workspace) -> None:
    whole = explained(hourly, "a")
    parts = [explained(hourly, "a", "--where", f"category={name}")["cost"] for name in ("compute", "storage")]
    assert sum(Decimal(str(part)) for part in parts) == Decimal(str(whole["cost"]))
    ran = hourly.run("explain", "a", "--where", "team=nlp")
    assert (ran.code, "cannot be selected by 'team'" in ran.err) == (2, True)


def test_the_bill_lines_of_hours_add_up_to_their_cost(hourly: Workspace, tmp_path: Path) -> None:
    chosen = ("--from", "2026-10-30T02:00Z", "--to", "2026-10-30T06:00Z", "--where", "category=compute", "--lines")
    lines = list(csv.DictReader(hourly.run("explain", "a", *chosen, "--format", "csv").out.splitlines()))
    assert len(lines) == 4
    total = expected("a", datetime(2026, 10, 30, 2, tzinfo=UTC), datetime(2026, 10, 30, 6, tzinfo=UTC))
    assert sum(Fraction(line["part"]) for line in lines) == total
