"""The same days give the same digits on the command line, in the API, on pages and in exports: those of the bill.

The model adds up bill lines in plain Python. October is closed and restated afterwards, so the book of November has
cost for a day of October.
"""

import csv
import io
import json
import random
from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path

import prebuilt
import pytest
from workspace import company
from workspace.company import NOVEMBER, OCTOBER, Line
from workspace.conftest import furnish
from workspace.folder import Workspace

from .server import Server, serving

RESTATED = company.restated(company.lines(OCTOBER), "gpu-4", "123.000000000005")
BILLED: list[Line] = [*RESTATED, *company.lines(NOVEMBER)]
"""Every line as of today. What was booked when depends on when October was closed; what a day costs does not."""
PARAMETERS = {"storage": ("category=storage", "category:storage", "category=storage"), "": ("", "", "")}
"""A selection as --where, as `filter` of the API and as a parameter of a page."""


@pytest.fixture(scope="module")
def adjusted(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    made = Workspace(prebuilt.copy_of("company", lambda folder: furnish(folder).build(), tmp_path_factory))
    made.close(OCTOBER)
    made.write_bill(OCTOBER, RESTATED)
    made.build()
    return made


@pytest.fixture(scope="module")
def service(adjusted: Workspace) -> Iterator[Server]:
    with serving(adjusted.folder) as running:
        yield running


def expected(first: date, last: date, service_: str = "") -> Decimal:
    """Return what the bill says about these days, both included."""
    lines = [one for one in BILLED if first <= one.day.date() <= last]
    return sum((one.cost for one in lines if service_ in ("", one.service.lower())), Decimal(0))


def windows(seed: int, count: int) -> Iterator[tuple[date, date]]:
    """Yield October, its first and its last day, the day around which months change, and random days."""
    yield from ((date(2026, 10, 1), date(2026, 10, one)) for one in (31, 1))
    yield from ((date(2026, 10, 31), one) for one in (date(2026, 10, 31), date(2026, 11, 1)))
    chance = random.Random(seed)
    for _ in range(count):
        first = date(2026, 10, 1) + timedelta(days=chance.randrange(60))
        yield first, min(first + timedelta(days=chance.randrange(40)), date(2026, 11, 30))


def of_command(adjusted: Workspace, first: date, last: date, where: str) -> dict[str, object]:
    chosen = ("--where", where) if where else ()
    ran = adjusted.run("report", "--from", first, "--to", last, "--format", "json", *chosen)
    assert ran.code == 0, ran.err
    found: dict[str, object] = json.loads(ran.out)
    return found


def page_total(service: Server, first: date, last: date, parameter: str) -> Decimal:
    answer = service.ask(f"/panels/overview/by-day.csv?from={first}&to={last}&{parameter}")
    assert answer.status == 200, answer.text
    return sum((Decimal(row["total"]) for row in csv.DictReader(io.StringIO(answer.text))), Decimal(0))


def test_every_output_has_the_cost_of_the_bill_for_the_same_days(adjusted: Workspace, service: Server) -> None:
    asked = 0
    for first, last in windows(19, 6):
        after = last + timedelta(days=1)
        for name, (where, filter_, parameter) in PARAMETERS.items():
            cost = expected(first, last, name)
            report = of_command(adjusted, first, last, where)
            answer = service.ask(f"/api/v1/report?window={first},{after}" + (f"&filter={filter_}" if filter_ else ""))
            assert answer.json == report, "the command includes the last day, the API excludes the end"
            assert Decimal(str(report["total"])) == cost, (first, last, name)
            assert page_total(service, first, last, parameter) == cost, (first, last, name)
            asked += 1
    assert asked == 20


def test_the_last_day_of_the_date_picker_counts(service: Server) -> None:
    first, last = date(2026, 10, 1), date(2026, 10, 31)
    assert page_total(service, first, last, "") == expected(first, last)
    page = service.ask(f"/?from={first}&to={last}").text
    assert 'name="to" value="2026-10-31"' in page
    assert 'name="to" value="2026-10"' in service.ask("/?from=2026-10&to=2026-10").text


def test_days_include_what_a_later_book_adjusts_and_a_month_is_its_book(adjusted: Workspace, service: Server) -> None:
    by_days = of_command(adjusted, date(2026, 10, 1), date(2026, 10, 31), "")
    by_month = json.loads(adjusted.run("report", "--month", "2026-10", "--format", "json").out)
    assert Decimal(str(by_days["total"])) - Decimal(by_month["total"]) == Decimal("123.000000000005")
    assert by_month["total"] == by_month["bill"]
    shown = adjusted.run("report", "--from", "2026-10-01", "--to", "2026-10-31").err
    assert f"As billed, 2026-10 cost {Decimal(by_month['total']):,.2f}" in shown, "where the two differ, both are shown"
    assert "As billed" not in adjusted.run("report", "--from", "2026-10-02", "--to", "2026-10-31").err
    answer = service.ask("/api/v1/report?window=2026-10").json
    assert answer == by_month


def test_every_answer_states_what_it_covers(adjusted: Workspace, service: Server) -> None:
    days = {"start": "2026-10-05T00:00:00Z", "end": "2026-10-08T00:00:00Z", "selects": "days", "books": ["2026-10"]}
    month = {"start": "2026-10-01T00:00:00Z", "end": "2026-11-01T00:00:00Z", "selects": "books", "books": ["2026-10"]}
    for path in ("report", "jobs", "machines", "trend", "jobs/alone-2026-10"):
        for window, covered in (("2026-10-05,2026-10-08", days), ("2026-10", month)):
            answer = service.ask(f"/api/v1/{path}?window={window}")
            found = answer.json["window"]
            assert {name: found[name] for name in covered} == covered, path
    of_adjusted_day = service.ask("/api/v1/report?window=2026-10-01").json["window"]
    assert of_adjusted_day["books"] == ["2026-10", "2026-11"]
    headline = adjusted.run("report", "--from", "2026-10-05", "--to", "2026-10-07").out.splitlines()[0]
    assert "2026-10-05 to 2026-10-07" in headline
    assert "2026-10-05 (" in adjusted.run("report", "--from", "2026-10-05", "--to", "2026-10-05").out
    metrics = json.loads(adjusted.run("metrics", "--from", "2026-10-05", "--to", "2026-10-07", "--format", "json").out)
    assert {name: metrics["window"][name] for name in days} == days


def test_half_a_day_is_refused_everywhere(adjusted: Workspace, service: Server) -> None:
    for path in ("/api/v1/report", "/api/v1/jobs", "/allocation/compute"):
        answer = service.ask(f"{path}?window=2026-10-05T06:00:00Z,2026-10-05T18:00:00Z")
        assert (answer.status, "within a day" in answer.text) == (400, True), path
    answer = service.ask("/?from=2026-10-05T06:00:00Z&to=2026-10-05T18:00:00Z")
    assert (answer.status, "within a day" in answer.text) == (400, True)
    for command in (("report",), ("metrics",), ("export", adjusted.folder / "x.csv")):
        ran = adjusted.run(*command, "--from", "2026-10-05T06:00Z", "--to", "2026-10-06")
        assert (ran.code, "within a day" in ran.err) == (2, True), command


def test_an_export_of_days_has_exactly_their_cost(adjusted: Workspace, tmp_path: Path) -> None:
    for number, (first, last) in enumerate(windows(23, 3)):
        path = tmp_path / f"{number}.csv"
        ran = adjusted.run("export", path, "--from", first, "--to", last, "--where", "category=storage")
        assert ran.code == 0, ran.err
        assert f"{first} to {last}" in ran.err or f"of {first}" in ran.err
        rows = read(path)
        assert {first <= date.fromisoformat(row["day"]) <= last for row in rows} == {True}
        assert sum((Decimal(row["effective"]) for row in rows), Decimal(0)) == expected(first, last, "storage")


def read(path: Path) -> Sequence[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_an_end_that_is_not_given_is_that_of_the_books(adjusted: Workspace) -> None:
    since = json.loads(adjusted.run("report", "--from", "2026-11-20", "--format", "json").out)
    until = json.loads(adjusted.run("report", "--to", "2026-10-03", "--format", "json").out)
    assert Decimal(since["total"]) == expected(date(2026, 11, 20), date(2026, 11, 30))
    assert Decimal(until["total"]) == expected(date(2026, 10, 1), date(2026, 10, 3))


def test_the_steps_of_two_months_add_up_to_their_days(service: Server) -> None:
    def sets(query: str) -> list[dict[str, dict[str, Decimal]]]:
        answer = service.ask(f"/allocation/compute?includeIdle=true&{query}")
        found: list[dict[str, dict[str, Decimal]]] = json.loads(answer.text, parse_float=Decimal)["data"]
        return found

    (both,) = sets("window=2026-10-01,2026-12-01")
    steps = sets("window=2026-10,2026-11&step=1M")
    assert len(steps) == 2
    total, *parts = (sum(exact(one).values(), Decimal(0)) for one in (both, *steps))
    assert total == expected(date(2026, 10, 1), date(2026, 11, 30)) == sum(parts)
    assert parts[0] == expected(date(2026, 10, 1), date(2026, 10, 31))


def exact(allocations: dict[str, dict[str, Decimal]]) -> dict[str, Decimal]:
    return {name: Decimal(one["totalCost"]) for name, one in allocations.items()}


def test_metrics_of_days_are_those_of_the_report(adjusted: Workspace) -> None:
    chosen = ("--from", "2026-10-05", "--to", "2026-10-18", "--where", "team=nlp,speech", "--format", "json")
    report = json.loads(adjusted.run("report", *chosen).out)
    metrics = json.loads(adjusted.run("metrics", *chosen).out)["metrics"]
    rates = {row["team"]: row["rate"] for row in report["rows"]}
    found = {row["team"]: row["value"] for row in metrics if row["metric"] == "M1"}
    assert found.keys() == {"nlp", "speech"} == rates.keys()
    assert {team: Decimal(value) for team, value in found.items()} == {team: Decimal(v) for team, v in rates.items()}
    (spend,) = [row for row in metrics if row["metric"] == "M4"]
    assert (spend["value"], spend["note"].startswith("it is that of the entire bill")) == (None, True)
