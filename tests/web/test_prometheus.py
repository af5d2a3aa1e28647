"""Prometheus metrics of a company with estimates, budgets, measurements and lost work."""

import re
from collections.abc import Iterator
from decimal import Decimal

import prebuilt
import pytest
from workspace import everything

from trainfare.query import cost
from trainfare.query.cost import Question
from trainfare.serve.books import BookReader
from trainfare.serve.metrics.books import METRICS_VIEWER
from trainfare.serve.metrics.registry import MetricsRegistry
from trainfare.settings.config import load
from trainfare.store import Store

Metrics = dict[str, dict[frozenset[tuple[str, str]], float]]


@pytest.fixture(scope="module")
def book_reader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BookReader]:
    folder = prebuilt.copy_of("everything", everything.make, tmp_path_factory)
    config = load(folder / "trainfare.toml")
    with Store.open(folder, config.catalog) as store:
        opened = BookReader(store, config)
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def metrics(book_reader: BookReader) -> Metrics:
    found: Metrics = {}
    for line in MetricsRegistry().text(book_reader).decode().splitlines():
        if match := re.fullmatch(r"(trainfare_\w+)(?:\{(.*)\})? (\S+)", line):
            labels = frozenset(re.findall(r'(\w+)="([^"]*)"', match[2] or ""))
            found.setdefault(match[1], {})[labels] = float(match[3])
    return found


def test_estimated_cost_has_its_own_state(book_reader: BookReader, metrics: Metrics):
    with book_reader.open(METRICS_VIEWER, book_reader.current()) as opened:
        report = cost.report(opened, Question([]))
    sums = dict.fromkeys(("billed", "estimated"), 0.0)
    for labels, amount in metrics["trainfare_cost_usd_total"].items():
        sums[dict(labels)["state"]] += amount
    assert report.estimated > 0
    assert sums["estimated"] == pytest.approx(float(report.estimated))
    assert sums["billed"] == pytest.approx(float(report.total - report.estimated))


def test_productive_time_equals_the_report(book_reader: BookReader, metrics: Metrics):
    with book_reader.open(METRICS_VIEWER, book_reader.current()) as opened:
        question = Question([], per="productive", productive="not_lost")
        rows = cost.rows(opened, question, ["project", "team"])
    expected = {
        (row.group["project"] or "", row.group["team"] or ""): row.gpu_seconds for row in rows if row.gpu_seconds
    }
    trained = {
        tuple(sorted(labels)): seconds for labels, seconds in metrics["trainfare_training_seconds_total"].items()
    }
    for (project, team), seconds in expected.items():
        labels = (("project", project), ("team", team))
        assert trained[("basis", "productive_gpu"), *labels] == pytest.approx(float(seconds))
    held = sum(seconds for labels, seconds in trained.items() if ("basis", "gpu") in labels)
    assert sum(map(float, expected.values())) < held, "some work was lost"


def test_budgets_are_compared_with_the_newest_month(book_reader: BookReader, metrics: Metrics):
    limits = {dict(labels)["budget"]: amount for labels, amount in metrics["trainfare_budget_limit_usd"].items()}
    assert limits == {"all": 160000, "team:nlp": 40000, "team:speech": 45000}
    with book_reader.open(METRICS_VIEWER, book_reader.current()[-1:]) as opened:
        total = cost.report(opened, Question([])).total
    spent = {dict(labels)["budget"]: amount for labels, amount in metrics["trainfare_budget_spent_usd"].items()}
    assert spent.keys() == limits.keys()
    assert Decimal(str(spent["all"])) == pytest.approx(total)


def test_ratios_and_the_spend_rate_are_exported(metrics: Metrics):
    assert metrics["trainfare_owner_coverage_ratio"][frozenset()] == 0, "its job log names no owner"
    assert 0 <= metrics["trainfare_unallocated_cost_ratio"][frozenset()] < 1
    assert any(0 < part <= 1 for part in metrics["trainfare_retry_overhead_cost_ratio"].values())
    windows = {dict(labels)["window"] for labels in metrics["trainfare_spend_rate_usd_per_hour"]}
    assert windows == {"15m", "1h", "6h", "24h"}
