"""Every metric's example, in its file and in docs/reference/metrics.md, gives the values it states."""

import inspect
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from types import ModuleType

import pytest
from account.books import Bookkeeper
from account.story import account_of

from trainfare.money import decimal_text
from trainfare.query import metrics
from trainfare.query.cost import Question
from trainfare.query.measures.metric_value import MetricValue, rounded


@pytest.fixture(scope="module")
def keeper(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bookkeeper]:
    made = Bookkeeper(tmp_path_factory.mktemp("books"))
    yield made
    made.close()


def example(metric: ModuleType) -> tuple[str, list[str]]:
    """Return the records of a metric's example, and the values it states."""
    block = (metric.__doc__ or "").split("Example:")[1].split("\n\n", 1)[1]
    before, _, after = inspect.cleandoc(block).partition("=>")
    return before, [line.strip() for line in after.strip().splitlines()]


def as_text(value: MetricValue) -> str:
    """Write a value the way the examples do."""
    names = [str(part) for part in value.group.values()] + [value.detail] * bool(value.detail)
    text = f"{decimal_text(value.value)} {value.unit}"
    if value.denominator != 1 or "per job" in value.unit or ("per hour" in value.unit and value.metric != "M10"):
        denominator = f"{rounded(value.denominator or 0):f}".rstrip("0").rstrip(".")  # type: ignore[arg-type]
        text = f"{decimal_text(value.numerator)} / {denominator} = {text}"
    return "  ".join([*(names or ["-"]), text])


@pytest.mark.parametrize("metric", metrics.METRICS, ids=lambda metric: metric.CODE)
def test_the_example_gives_the_values_it_states(keeper: Bookkeeper, metric: ModuleType) -> None:
    before, after = example(metric)
    account = account_of(keeper, before)
    found = metrics.metric_values(account.opened, Question(["job"]), [metric.CODE])
    assert [as_text(value) for value in found] == after


def test_there_are_ten_metrics_and_each_states_its_formula() -> None:
    assert [metric.CODE for metric in metrics.METRICS] == [f"M{number}" for number in range(1, 11)]
    assert all("Formula:" in (metric.__doc__ or "") for metric in metrics.METRICS)
    page = (Path(__file__).parents[2] / "docs" / "reference" / "metrics.md").read_text(encoding="utf-8")
    assert all(f"## {metric.CODE}: {metric.NAME}" in page for metric in metrics.METRICS)


def test_a_groups_value_is_the_sum_over_the_sum(keeper: Bookkeeper) -> None:
    """a costs 4 an hour for one hour, b 1 an hour for four hours: together 8 over 5, not the mean of 4 and 1."""
    account = account_of(
        keeper,
        """
        machine  n1  4 gpus  1 h  4.00 USD
        attempt  a   4 gpus  1 h  team nlp
        machine  n2  4 gpus  4 h  4.00 USD
        attempt  b   4 gpus  4 h  team nlp
        """,
    )
    (value,) = metrics.metric_values(account.opened, Question(["team"]), ["M1"])
    assert (value.numerator, value.denominator, value.value) == (Decimal(8), 5, Decimal("1.6"))


def test_a_value_without_denominator_is_null_and_has_a_note(keeper: Bookkeeper) -> None:
    """A job on a machine that is not on the bill has no billed hours, an unknown GPU count, and no measurements."""
    account = account_of(
        keeper,
        """
        machine  n1  4 h  8.00 USD
        attempt  b   1 h
        attempt  a   1 h  on elsewhere
        """,
    )
    found = metrics.metric_values(account.opened, Question(["job"]))
    unknown = {value.metric: value for value in found if value.value is None}
    assert {"M1", "M2", "M6", "M8"} <= set(unknown)
    assert all(value.note for value in unknown.values())
    assert not any(value.value == 0 and not value.denominator for value in found)


@pytest.mark.parametrize("basis", ["effective", "list"])
def test_egress_by_pair_adds_up_to_the_network_cost_of_jobs(keeper: Bookkeeper, basis: str) -> None:
    """Three destinations, a cost that three does not divide, and a day without bytes."""
    account = account_of(
        keeper,
        """
        machine  n1  4 gpus  48 h  48.00 USD  region eu
        attempt  a   4 gpus  48 h
        attempt  b   4 gpus  0 h
        measured a   bytes_sent 1  1 h  to_region us
        measured a   bytes_sent 1  1 h  to_region ap
        measured a   bytes_sent 1  1 h  to_region sa
        charge   network  0.10 USD  24 h  tag job_id=a
        charge   network  0.10 USD  24 h  from 24 h  tag job_id=a
        """,
    )
    found = metrics.metric_values(account.opened, Question(["job"], basis), ["M7"])
    assert len(found) == 3
    assert sum(value.numerator or 0 for value in found) == Decimal("0.20")
