"""Every metric's example, as it stands in its file and in docs/reference/metrics.md, comes out as it says."""

import inspect
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from types import ModuleType

import pytest
from account.books import Bookkeeper
from account.story import tell

from trainfare.report import metrics
from trainfare.report.cost import Question
from trainfare.report.measures.figure import Figure, rounded
from trainfare.report.render import exact


@pytest.fixture(scope="module")
def keeper(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bookkeeper]:
    made = Bookkeeper(tmp_path_factory.mktemp("books"))
    yield made
    made.close()


def example(metric: ModuleType) -> tuple[str, list[str]]:
    """What there was, and the figures that come of it."""
    block = (metric.__doc__ or "").split("Example:")[1].split("\n\n", 1)[1]
    before, _, after = inspect.cleandoc(block).partition("=>")
    return before, [line.strip() for line in after.strip().splitlines()]


def told(figure: Figure) -> str:
    """A figure as the examples write it."""
    names = [str(value) for value in figure.group.values()] + [figure.of] * bool(figure.of)
    value = f"{exact(figure.value)} {figure.unit}"
    if figure.bottom != 1 or "per job" in figure.unit or ("per hour" in figure.unit and figure.metric != "M10"):
        below = f"{rounded(figure.bottom or 0):f}".rstrip("0").rstrip(".")  # type: ignore[arg-type]
        value = f"{exact(figure.top)} / {below} = {value}"
    return "  ".join([*(names or ["-"]), value])


@pytest.mark.parametrize("metric", metrics.METRICS, ids=lambda metric: metric.CODE)
def test_the_example_comes_out_as_it_says(keeper: Bookkeeper, metric: ModuleType) -> None:
    before, after = example(metric)
    account = tell(keeper, before)
    found = metrics.figures(account.opened, Question(["job"]), [metric.CODE])
    assert [told(figure) for figure in found] == after


def test_there_are_ten_and_each_has_its_formula() -> None:
    assert [metric.CODE for metric in metrics.METRICS] == [f"M{number}" for number in range(1, 11)]
    assert all("Formula:" in (metric.__doc__ or "") for metric in metrics.METRICS)
    page = (Path(__file__).parents[2] / "docs" / "reference" / "metrics.md").read_text(encoding="utf-8")
    assert all(f"## {metric.CODE}: {metric.NAME}" in page for metric in metrics.METRICS)


def test_a_groups_figure_is_the_sum_over_the_sum(keeper: Bookkeeper) -> None:
    """a costs 4 an hour for one hour, b 1 an hour for four hours: together 8 over 5, not the mean of 4 and 1."""
    account = tell(
        keeper,
        """
        machine  n1  4 gpus  1 h  4.00 USD
        attempt  a   4 gpus  1 h  team nlp
        machine  n2  4 gpus  4 h  4.00 USD
        attempt  b   4 gpus  4 h  team nlp
        """,
    )
    (figure,) = metrics.figures(account.opened, Question(["team"]), ["M1"])
    assert (figure.top, figure.bottom, figure.value) == (Decimal(8), 5, Decimal("1.6"))


def test_what_cannot_be_divided_is_null_and_says_why(keeper: Bookkeeper) -> None:
    """A job on a machine that is not on the bill has no hours there, no GPUs that are known, and nothing was measured."""
    account = tell(
        keeper,
        """
        machine  n1  4 h  8.00 USD
        attempt  b   1 h
        attempt  a   1 h  on elsewhere
        """,
    )
    found = metrics.figures(account.opened, Question(["job"]))
    unknown = {figure.metric: figure for figure in found if figure.value is None}
    assert {"M1", "M2", "M6", "M8"} <= set(unknown)
    assert all(figure.why for figure in unknown.values())
    assert not any(figure.value == 0 and not figure.bottom for figure in found)


@pytest.mark.parametrize("basis", ["effective", "list"])
def test_egress_by_pair_adds_up_to_the_network_cost_of_jobs(keeper: Bookkeeper, basis: str) -> None:
    """Three ways, a cost that three does not divide, on a day without bytes too."""
    account = tell(
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
    found = metrics.figures(account.opened, Question(["job"], basis), ["M7"])
    assert len(found) == 3
    assert sum(figure.top or 0 for figure in found) == Decimal("0.20")
