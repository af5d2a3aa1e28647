"""Cost that a rule gives to a label, such as project:atlas, is in every view by that label; each view has all of it.

The storage of every day costs 8.00 per team and is divided 2 : 1 : 1, which the model does by hand.
"""

import csv
import json
import re
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeVar

import pytest

from trainfare.engine.duckdb import DuckDB
from trainfare.query.cost import Question
from trainfare.query.measures import unallocated
from trainfare.query.measures.metric_value import MetricQuery
from trainfare.query.medians import median, median_sql
from trainfare.query.window import month_window
from trainfare.report import opencost
from trainfare.serve.books import BookReader
from trainfare.serve.metrics.books import METRICS_VIEWER
from trainfare.serve.metrics.registry import MetricsRegistry
from trainfare.settings.config import load
from trainfare.tables import CATEGORIES

from . import company
from .company import OCTOBER, Line
from .folder import Workspace

RULE = """
[[rule]]
name = "storage in fixed parts"
match = { category = "storage" }
parts = { "team:nlp" = 2, "project:atlas" = 1, "cost_center:4711" = 1 }
"""
OWNED = """\
machine_id,price,salvage,currency,in_service,life_months,rated_kw,pue,tariff,space
own-1,3600,500,USD,2026-10-01,1,2,1.5,flat,62
"""
STORAGE = Decimal(8) * 31 * len(company.TEAMS)
PARTS = {"team": {"nlp": STORAGE / 2}, "project": {"atlas": STORAGE / 4}, "cost_center": {"4711": STORAGE / 4}}
Answer = TypeVar("Answer")
UNKNOWN = Decimal("77.5")
"""Network that names nothing, so it is allocated to nobody."""


@pytest.fixture(scope="module")
def labeled(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """October with owned hardware, power and a facility, a service outside training, and storage in fixed parts."""
    made = Workspace(tmp_path_factory.mktemp("labels") / "workspace")
    lines = [replace(one, cost=Decimal(8)) if one.team else one for one in company.lines(OCTOBER)]
    others = [
        Line(OCTOBER.start, UNKNOWN, service="Networking"),
        Line(OCTOBER.start, Decimal(500), service="Databases"),
    ]
    made.write_bill(OCTOBER, [*lines, *others])
    held = "own,1,own-1,2026-10-02T00:00:00Z,2026-10-12T00:00:00Z,8,completed,vision\n"
    made.write("jobs/jobs.csv", company.jobs(OCTOBER) + held)
    made.write("machines.csv", company.machines())
    made.write("hardware.csv", OWNED)
    made.write("tariffs.csv", "tariff,price_per_kwh,currency\nflat,0.50,USD\n")
    ledgers = "".join(f'[[source]]\npath = "{name}.csv"\n' for name in ("hardware", "tariffs"))
    made.write("trainfare.toml", company.settings() + ledgers + RULE)
    made.build()
    return made


def reported(labeled: Workspace, key: str) -> dict[str, Decimal]:
    rows = json.loads(labeled.run("report", "--by", key, "--format", "json").out)["rows"]
    return {row[key] or "": Decimal(row["cost"]) for row in rows if row["cost"]}


def by_label(rows: list[dict[str, str]], key: str) -> dict[str, Decimal]:
    """Add up the rows of an export that belong to jobs or labels."""
    sums: dict[str, Decimal] = {}
    for row in rows:
        if row["payer_kind"] in ("attempt", "label"):
            sums[row[key]] = sums.get(row[key], Decimal(0)) + Decimal(row["effective"])
    return sums


def with_reader(labeled: Workspace, answer: Callable[[BookReader], Answer]) -> Answer:
    with labeled.open() as store:
        book_reader = BookReader(store, load(labeled.folder / "trainfare.toml"))
        try:
            return answer(book_reader)
        finally:
            book_reader.close()


@pytest.mark.parametrize("key", PARTS)
def test_an_export_by_label_includes_what_the_label_pays_itself(labeled: Workspace, key: str, tmp_path: Path) -> None:
    assert labeled.run("export", tmp_path / "shares.csv").code == 0
    with (tmp_path / "shares.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert by_label(rows, key) == reported(labeled, key)
    own = [row for row in rows if row["payer_kind"] == "label" and row[key]]
    assert by_label(own, key) == PARTS[key]


def test_a_focus_export_names_the_label_that_pays(labeled: Workspace, tmp_path: Path) -> None:
    assert labeled.run("export", tmp_path / "focus.csv", "--focus").code == 0
    with (tmp_path / "focus.csv").open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["x_PayerKind"] == "label"]
    found: dict[str, Decimal] = {}
    for row in rows:
        found[row["AllocatedTags"]] = found.get(row["AllocatedTags"], Decimal(0)) + Decimal(row["EffectiveCost"])
    assert found == {
        f'{{"trainfare/{key}":"{name}"}}': cost for key, one in PARTS.items() for name, cost in one.items()
    }


def test_an_export_of_one_label_value_has_its_cost(labeled: Workspace, tmp_path: Path) -> None:
    for where, key, value in (("team=nlp", "team", "nlp"), ("project=atlas", "project", "atlas")):
        assert labeled.run("export", tmp_path / "one.csv", "--where", where).code == 0
        with (tmp_path / "one.csv").open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        assert sum(Decimal(row["effective"]) for row in rows) == reported(labeled, key)[value]
    ran = labeled.run("export", tmp_path / "one.csv", "--where", "state=failed")
    assert (ran.code, "an export has no column for 'state'" in ran.err) == (2, True)


def test_prometheus_has_the_cost_of_the_report_by_project_and_by_team(labeled: Workspace) -> None:
    text = with_reader(labeled, lambda book_reader: MetricsRegistry().text(book_reader).decode())
    for key in ("project", "team"):
        sums: dict[str, float] = {}
        for labels, amount in re.findall(r"trainfare_cost_usd_total\{(.*)\} (\S+)", str(text)):
            named = dict(re.findall(r'(\w+)="([^"]*)"', labels))
            if not named["project"].startswith("__"):
                sums[named[key]] = sums.get(named[key], 0.0) + float(amount)
        expected = {name: float(cost) for name, cost in reported(labeled, key).items()}
        assert sums == pytest.approx(expected)
        assert sums.keys() >= PARTS[key].keys()


def test_the_unallocated_ratio_is_the_same_in_prometheus_and_in_m3(labeled: Workspace) -> None:
    def both(book_reader: BookReader) -> tuple[str, Decimal | None]:
        text = MetricsRegistry().text(book_reader).decode()
        with book_reader.open(METRICS_VIEWER, book_reader.current()) as opened:
            (whole, *_) = unallocated.values(MetricQuery(opened, Question([])))
        return text, whole.value

    text, value = with_reader(labeled, both)
    assert value is not None
    report = json.loads(labeled.run("report", "--format", "json").out)
    assert Decimal(report["unallocated"]["cost"]) == UNKNOWN
    training = Decimal(report["bill"]) - 500
    assert abs(Fraction(value) - Fraction(UNKNOWN) / Fraction(training)) <= Fraction(1, 2_000_000)
    (shown,) = re.findall(r"(?m)^trainfare_unallocated_cost_ratio (\S+)", text)
    assert Decimal(shown) == value


def test_opencost_columns_add_up_to_the_total_with_power_and_facility(labeled: Workspace) -> None:
    listed = [category for categories in opencost.COLUMNS.values() for category in categories]
    assert sorted(listed) == sorted(CATEGORIES), "every category is in exactly one column"

    def allocations(book_reader: BookReader) -> dict[str, dict[str, Any]]:
        with book_reader.open(METRICS_VIEWER, book_reader.current()) as opened:
            (found,) = opencost.allocations(opened, Question(["job"]), [month_window(OCTOBER)], include_idle=True)
        return found

    found = with_reader(labeled, allocations)
    for name, one in found.items():
        assert sum(one[column] for column in opencost.COLUMNS) == one["totalCost"], name
    assert found["own"]["gpuCost"] == Decimal(1000 + 360 + 20), "ten days of price, power and space"


def test_there_is_one_median_in_python_and_in_queries() -> None:
    engine = DuckDB()
    for values in ([1, 3], [1, 2, 2, 9], [5], [-3, -2, 1, 4], [1, 2, 3], [0, 1]):
        rows = ", ".join(f"({value})" for value in values)
        (found,) = engine.row(f"SELECT {median_sql('x', 'DECIMAL(38,6)')} FROM (VALUES {rows}) AS t(x)")
        middle = sorted(values)[(len(values) - 1) // 2 : len(values) // 2 + 1]
        assert found == median([Decimal(value) for value in values]) == Fraction(sum(middle), len(middle))
        assert median([Fraction(value) for value in values]) == found
    engine.close()
