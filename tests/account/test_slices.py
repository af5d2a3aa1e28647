"""Parts of a month by day, label, machine or payer, and the changes from one part to another."""

from collections.abc import Iterator
from datetime import date, timedelta
from decimal import Decimal, localcontext
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainfare.books.from_files import build_from_files
from trainfare.engine.choice import embedded
from trainfare.query import cost, jobs, trend
from trainfare.query.change import PeriodCosts, change, period_costs
from trainfare.query.cost import Question
from trainfare.query.jobs import Listing
from trainfare.query.open_books import OpenBooks, open_books
from trainfare.query.selection import NONE
from trainfare.settings.config import Config, SourceSettings
from trainfare.simulate import write

ZERO = Decimal(0)
WEEKS = [
    (date(2026, 9, 1), date(2026, 10, 8)),
    (date(2026, 10, 8), date(2026, 10, 20)),
    (date(2026, 10, 20), date(2027, 1, 1)),
]


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OpenBooks]:
    folder = tmp_path_factory.mktemp("slices")
    made = write(folder, seed=4, scale=0.2)
    config = Config(
        source=tuple(SourceSettings(path=str(path)) for path in (*made.bills, made.jobs, made.machines)),
        folder=Path("/"),
    )
    with embedded() as engine:
        yield open_books(engine, build_from_files(config, folder, engine))


def cost_of(opened: OpenBooks, **asked: object) -> Decimal:
    return sum((row.cost or ZERO for row in cost.rows(opened, Question([], **asked), [])), ZERO)  # type: ignore[arg-type]


@pytest.mark.parametrize("key", ["team", "owner", "category", "pool", "state", "machine"])
def test_the_values_of_a_key_add_up_to_everything(opened: OpenBooks, key: str):
    rows = cost.rows(opened, Question([key]), [key])
    asked = {row.group[key]: cost_of(opened, filters=((key, (row.group[key] or NONE,)),)) for row in rows}
    assert len(asked) > 2
    assert asked == {row.group[key]: row.cost or ZERO for row in rows}
    assert sum(asked.values()) == cost_of(opened)


def test_days_split_cost_and_hours_without_loss(opened: OpenBooks):
    (month,) = cost.rows(opened, Question([]), [])
    weeks = [cost.rows(opened, Question([], days=days), [])[0] for days in WEEKS]
    assert sum(row.cost or ZERO for row in weeks) == month.cost
    assert sum(row.wall_seconds for row in weeks) == month.wall_seconds
    assert sum(row.gpu_seconds or ZERO for row in weeks) == month.gpu_seconds
    assert all(row.cost for row in weeks)


def test_payers_add_up_to_the_total(opened: OpenBooks):
    found = trend.by_payer_kind(opened, Question([]))
    kinds = ("jobs", "idle", "unallocated", "outside")
    assert found["total"] == sum(found[name] for name in kinds)
    alone = {name: trend.by_payer_kind(opened, Question([], filters=(("payer", (name,)),)))["total"] for name in kinds}
    assert alone == {name: found[name] for name in alone}
    by_day = trend.by_day(opened, Question([]), "payer")
    assert sum((row["cost"] for row in by_day), ZERO) == found["total"]


def test_jobs_are_listed_page_by_page_without_a_gap(opened: OpenBooks):
    page = jobs.jobs(opened, Question([]), Listing(limit=10_000))
    assert page.count == len(page.rows) > 100
    assert [row["cost"] for row in page.rows] == sorted((row["cost"] for row in page.rows), reverse=True)
    paged = [
        row["job"]
        for offset in range(0, page.count, 90)
        for row in jobs.jobs(opened, Question([]), Listing(limit=90, offset=offset)).rows
    ]
    assert paged == [row["job"] for row in page.rows]
    assert page.cost == sum(row["cost"] for row in page.rows)
    one = page.rows[7]
    found = jobs.jobs(opened, Question([]), Listing(search=one["job"].upper()))
    assert [row["job"] for row in found.rows] == [one["job"]]
    cheapest = jobs.jobs(opened, Question([]), Listing(descending=False, limit=1))
    assert cheapest.rows[0]["cost"] == page.rows[-1]["cost"]


def test_the_change_between_two_weeks_is_explained_completely(opened: OpenBooks):
    week, day = date(2026, 10, 5), timedelta(days=7)
    sides = [period_costs(opened, Question([], days=(start, start + day))) for start in (week, week + day)]
    found = change(*sides)
    assert found.before == trend.by_payer_kind(opened, Question([], days=(week, week + day)))["total"]
    assert found.before + sum(step["change"] for step in found.steps) == found.after
    assert {"volume", "mix", "price"} <= {step["step"] for step in found.steps}


amounts = st.decimals(-10_000_000, 10_000_000, places=12)
kinds = st.lists(
    st.fixed_dictionaries(
        {
            "part": st.sampled_from(["gpu", "gpu", "lost", "storage", "idle", "outside"]),
            "kind": st.sampled_from(["A100", "H100", "T4"]),
            "cost": amounts,
            "gpu_micros": st.integers(0, 10**18),
            "converted_from": st.sampled_from([None, "EUR", "CHF"]),
        }
    ),
    max_size=6,
    unique_by=lambda row: (row["part"], row["kind"], row["converted_from"]),
)
rates = st.dictionaries(st.sampled_from(["EUR", "CHF"]), st.decimals("0.01", 100, places=6))
sides = st.builds(PeriodCosts, kinds, rates)


@given(sides, sides)
def test_the_steps_of_a_change_add_up_to_it(before: PeriodCosts, after: PeriodCosts):
    found = change(before, after)
    with localcontext(prec=80):
        assert found.before + sum((step["change"] for step in found.steps), ZERO) == found.after


def steps(before: list[tuple], after: list[tuple], **rates: tuple[str, str]) -> dict[str, Decimal]:
    """Return the change of GPU kinds, each with its cost, GPU time and the currency it was converted from."""
    names = ("kind", "cost", "gpu_micros", "converted_from")
    sides = [
        PeriodCosts(
            [{"part": "gpu", **dict(zip(names, (*row, None), strict=False)), "cost": Decimal(row[1])} for row in rows],
            {name: Decimal(both[at]) for name, both in rates.items()},
        )
        for at, rows in enumerate((before, after))
    ]
    return {step["step"]: step["change"] for step in change(*sides).steps}


def test_only_the_price_changed():
    """Twice the cost for the same hours."""
    assert steps([("H100", 100, 50)], [("H100", 200, 50)]) == {"price": Decimal(100)}


def test_only_the_hours_changed():
    assert steps([("H100", 100, 50)], [("H100", 150, 75)]) == {"volume": Decimal(50)}


def test_only_the_mix_changed():
    """Ten hours moved from a kind at 1.00 to one at 3.00; no price changed."""
    assert steps([("H100", 30, 10), ("T4", 30, 30)], [("H100", 60, 20), ("T4", 20, 20)]) == {"mix": Decimal(20)}


def test_only_the_exchange_rate_changed():
    """100 euros for the same hours, at 1.10 and then at 1.21."""
    found = steps([("H100", 110, 50, "EUR")], [("H100", 121, 50, "EUR")], EUR=("1.10", "1.21"))
    assert found == {"currency": Decimal(11)}


def test_a_higher_price_and_a_stronger_euro_are_separate_steps():
    """100 euros at 1.10 became 120 at 1.21: 20 euros at the old rate are price, the rest is the exchange rate."""
    found = steps(
        [("H100", 110, 50, "EUR"), ("T4", 30, 30)], [("H100", "145.2", 50, "EUR"), ("T4", 30, 30)], EUR=("1.10", "1.21")
    )
    assert found == {"price": Decimal(22), "currency": Decimal("13.2")}
