"""Figures for Prometheus, of a company with everything: estimates, budgets, measurements and work that was lost."""

import re
from collections.abc import Iterator
from decimal import Decimal

import pytest
from workspace import everything

from trainfare.config import load
from trainfare.report import cost
from trainfare.report.cost import Question
from trainfare.store import Store
from trainfare.web.books import Shelf
from trainfare.web.families import EVERYTHING
from trainfare.web.figures import Figures

Found = dict[str, dict[frozenset[tuple[str, str]], float]]


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shelf]:
    folder = everything.make(tmp_path_factory.mktemp("figures")).folder
    config = load(folder / "trainfare.toml")
    with Store.open(folder, config.catalog) as store:
        opened = Shelf(store, config)
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def told(shelf: Shelf) -> Found:
    found: Found = {}
    for line in Figures().text(shelf).decode().splitlines():
        if match := re.fullmatch(r"(trainfare_\w+)(?:\{(.*)\})? (\S+)", line):
            labels = frozenset(re.findall(r'(\w+)="([^"]*)"', match[2] or ""))
            found.setdefault(match[1], {})[labels] = float(match[3])
    return found


def test_estimated_money_has_a_state_of_its_own(shelf: Shelf, told: Found):
    with shelf.opened(EVERYTHING, shelf.current()) as opened:
        report = cost.report(opened, Question([]))
    sums = dict.fromkeys(("billed", "estimated"), 0.0)
    for labels, amount in told["trainfare_cost_usd_total"].items():
        sums[dict(labels)["state"]] += amount
    assert report.estimated > 0
    assert sums["estimated"] == pytest.approx(float(report.estimated))
    assert sums["billed"] == pytest.approx(float(report.total - report.estimated))


def test_productive_time_is_what_a_report_calls_so(shelf: Shelf, told: Found):
    with shelf.opened(EVERYTHING, shelf.current()) as opened:
        asked = Question([], per="productive", productive="not_lost")
        rows = cost.rows(opened, asked, ["project", "team"])
    meant = {(row.group["project"] or "", row.group["team"] or ""): row.gpu_seconds for row in rows if row.gpu_seconds}
    trained = {tuple(sorted(labels)): seconds for labels, seconds in told["trainfare_training_seconds_total"].items()}
    for (project, team), seconds in meant.items():
        named = (("project", project), ("team", team))
        assert trained[("basis", "productive_gpu"), *named] == pytest.approx(float(seconds))
    held = sum(seconds for labels, seconds in trained.items() if ("basis", "gpu") in labels)
    assert sum(map(float, meant.values())) < held, "some work was lost"


def test_budgets_are_held_against_the_newest_month(shelf: Shelf, told: Found):
    limits = {dict(labels)["budget"]: amount for labels, amount in told["trainfare_budget_limit_usd"].items()}
    assert limits == {"all": 160000, "team:nlp": 40000, "team:speech": 45000}
    with shelf.opened(EVERYTHING, shelf.current()[-1:]) as opened:
        total = cost.report(opened, Question([])).total
    spent = {dict(labels)["budget"]: amount for labels, amount in told["trainfare_budget_spent_usd"].items()}
    assert spent.keys() == limits.keys()
    assert Decimal(str(spent["all"])) == pytest.approx(total)


def test_ratios_and_the_spend_rate_are_told(told: Found):
    assert told["trainfare_owner_coverage_ratio"][frozenset()] == 0, "its job log names no owner"
    assert 0 <= told["trainfare_unallocated_cost_ratio"][frozenset()] < 1
    assert any(0 < part <= 1 for part in told["trainfare_retry_overhead_cost_ratio"].values())
    windows = {dict(labels)["window"] for labels in told["trainfare_spend_rate_usd_per_hour"]}
    assert windows == {"15m", "1h", "6h", "24h"}
