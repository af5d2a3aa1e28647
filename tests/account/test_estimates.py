"""Before the bill: hours without one are estimated, marked, and gone when the bill comes."""

from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainfare.config import load
from trainfare.money import amount
from trainfare.period import Month
from trainfare.pipeline import Built, build
from trainfare.report.cost import Question, report
from trainfare.report.estimated import errors
from trainfare.report.opened import open_books
from trainfare.store import Store
from trainfare.tables import BASES

from .books import DAY, HOUR, START, Bookkeeper, Row, charge, hours_of, placement
from .test_ledgers import Files, account, owed
from .test_properties import examples

ON = "estimate = true\n"
P5 = {"SkuPriceDetails": '{"InstanceType": "p5.48xlarge"}'}
PRICES = "kind,region,term,price,currency,valid_from,valid_to,source"
OCTOBER = Month(2026, 10)


def at(second: int) -> datetime:
    return START + timedelta(seconds=second)


def hourly(machine: str, hours: range, cost: object, **columns: object) -> list[Row]:
    return [hours_of(machine, (hour * HOUR, (hour + 1) * HOUR), f"{cost}", **columns) for hour in hours]


def estimated(made) -> dict[str, Decimal]:
    return owed(made, estimated=True)


def test_hours_after_the_bill_cost_what_the_last_day_cost(keeper: Bookkeeper):
    """Two days at 5 and then one at 10 an hour are billed; 90 minutes of the next day were held by one job."""
    files = Files(
        charges=[*hourly("n1", range(48), 5), *hourly("n1", range(48, 72), 10)],
        placements=[placement("a", "n1", (0, 72 * HOUR + 5400), gpus=1)],
        settings=ON,
    )
    made = account(keeper, files, at(4 * DAY))
    assert owed(made, estimated=False) == {"a": Decimal(480)}
    assert estimated(made) == {"a": Decimal(15)}
    told = made.report(["job"])
    assert (told.total, told.bill, told.estimated, told.rows[0].estimated) == (495, 495, 15, 15)
    assert told.complete_through == at(3 * DAY)
    assert told.overall.unbilled_wall_seconds == 0
    assert {(share["origin"], share["source"]) for share in made.shares if share["estimated"]} == {
        ("estimate", "estimated")
    }


def test_nothing_is_estimated_unless_it_is_asked_for(keeper: Bookkeeper):
    files = Files(
        charges=hourly("n1", range(24), 10), placements=[placement("a", "n1", (0, 2 * DAY), gpus=1)], settings=""
    )
    made = account(keeper, files, at(4 * DAY))
    assert estimated(made) == {}
    assert made.report().overall.unbilled_wall_seconds == DAY


def test_a_listed_machine_costs_while_it_exists_and_is_idle_without_a_job(keeper: Bookkeeper):
    files = Files(
        charges=hourly("n1", range(24), 10),
        placements=[placement("a", "n1", (0, DAY + 2 * HOUR), gpus=4)],
        ledgers={"machines": "machine_id,gpus,existed_to\nn1,8,2026-10-02T06:00:00Z\n"},
        settings=ON,
    )
    assert estimated(account(keeper, files, at(2 * DAY))) == {"a": Decimal(10), "__idle__": Decimal(50)}


def test_a_new_machine_costs_what_its_kind_does_then_the_contract_then_the_list(keeper: Bookkeeper):
    """The kind is billed at 10 and 20: a new one of it is expected at 15. Another kind has a contract until noon."""
    files = Files(
        charges=[*hourly("i-1", range(24), 10, **P5), *hourly("i-2", range(24), 20, **P5)],
        placements=[
            placement("a", "new-1", (DAY, DAY + HOUR), gpus=8),
            placement("b", "new-2", (DAY + 11 * HOUR, DAY + 13 * HOUR), gpus=8),
            placement("c", "new-3", (DAY, DAY + HOUR), gpus=8),
        ],
        ledgers={
            "machines": "machine_id,gpus,gpu_model,existed_from,existed_to\n"
            "new-1,8,p5.48xlarge,2026-10-02T00:00:00Z,2026-10-02T01:00:00Z\n"
            "new-2,8,B200,2026-10-02T11:00:00Z,2026-10-02T13:00:00Z\nnew-3,8,X,2026-10-02T00:00:00Z,2026-10-02T01:00:00Z\n",
            "prices": f"{PRICES}\nb200,,contract,30,USD,2026-01-01,2026-10-02T12:00:00Z,contract 7\n"
            "b200,,on_demand,40.5,USD,2026-01-01,,price page\nb200,,spot,1,USD,2026-01-01,,market\n"
            "p5.48xlarge,,on_demand,99,USD,2026-01-01,,price page\n",
        },
        settings=ON,
    )
    made = account(keeper, files, at(2 * DAY))
    assert estimated(made) == {"a": Decimal(15), "b": Decimal("70.5")}
    methods = {share["machine_id"] for share in made.shares if share["estimated"]}
    assert methods == {"new-1", "new-2"}


def test_a_spot_machine_costs_the_price_of_its_hour(keeper: Bookkeeper):
    files = Files(
        charges=hourly("i-1", range(24), 10, PricingCategory="Dynamic", **P5),
        placements=[placement("a", "i-1", (0, DAY + 3 * HOUR), gpus=8)],
        ledgers={
            "prices": f"{PRICES}\np5.48xlarge,,spot,7,USD,2026-10-02T00:00:00Z,2026-10-02T01:00:00Z,market\n"
            "p5.48xlarge,,spot,9,USD,2026-10-02T01:00:00Z,2026-10-02T02:00:00Z,market\n"
        },
        settings=ON,
    )
    assert estimated(account(keeper, files, at(2 * DAY))) == {"a": Decimal(7 + 9 + 10)}


def test_a_month_without_any_bill_is_estimated_from_the_one_before(keeper: Bookkeeper):
    files = Files(
        charges=hourly("n1", range(31 * 24 - 24, 31 * 24), 10),
        placements=[placement("a", "n1", (31 * DAY - HOUR, 31 * DAY + 5 * HOUR), gpus=1)],
        settings=ON,
    )
    made = account(keeper, files, at(31 * DAY + 3 * HOUR))
    assert [str(book.month) for book in made.opened.books] == ["2026-10", "2026-11"]
    assert estimated(made) == {"a": Decimal(30)}


@examples(6)
@given(
    costs=st.lists(st.integers(1, 10**14).map(amount), min_size=1, max_size=3),
    billed=st.integers(1, 30),
    held=st.lists(st.tuples(st.integers(0, 3), st.integers(1, 60 * HOUR)), max_size=4),
    now=st.integers(0, 60),
)
def test_billed_and_estimated_are_what_is_shown(keeper: Bookkeeper, costs, billed: int, held, now: int):
    charges = [row for n, cost in enumerate(costs) for row in hourly(f"n{n}", range(billed), cost)]
    jobs = [placement(f"j{n}", f"n{m % len(costs)}", (0, length), gpus=1) for n, (m, length) in enumerate(held)]
    made = account(keeper, Files(charges=charges, placements=jobs, settings=ON), at(now * HOUR))
    for basis in BASES:
        told = made.report(["job"], basis=basis)
        parts = [*(row.estimated for row in told.rows), told.idle.estimated, told.unallocated.estimated]
        assert sum(parts, told.outside.estimated) == told.estimated
        assert told.estimated + billed * sum(costs) == told.total == told.bill


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    files = Files(
        charges=hourly("n1", range(24), 10), placements=[placement("a", "n1", (0, 2 * DAY), gpus=1)], settings=ON
    )
    return files.write(tmp_path)


def built(folder: Path, now: int) -> list[Built]:
    with Store.open(folder, None) as store:
        return build(load(folder / "trainfare.toml"), store, as_of=at(now))


def test_the_bill_replaces_the_estimate_and_the_error_is_kept(workspace: Path, keeper: Bookkeeper):
    """10 an hour was expected and 12 is billed: 24 hours later nothing is estimated, and we were a sixth too low."""
    (first,) = built(workspace, 36 * HOUR)
    assert {total.source: total.charges for total in first.book.totals if total.basis == "effective"} == {
        "bill": Decimal(240),
        "estimated": Decimal(120),
    }
    assert not built(workspace, 36 * HOUR)[0].is_new
    assert built(workspace, 40 * HOUR)[0].is_new
    later = [*hourly("n1", range(24), 10), *hourly("n1", range(24, 48), 12)]
    Files(charges=later, placements=[placement("a", "n1", (0, 2 * DAY), gpus=1)], settings=ON).write(workspace)
    (last,) = built(workspace, 48 * HOUR)
    assert (last.book.version, {total.source for total in last.book.totals}) == (3, {"bill"})
    with Store.open(workspace, None) as store:
        opened = open_books(keeper.reader, [store.files(last.book)])
        (error,) = errors(opened)
        assert (error["category"], error["method"], error["machine_hours"]) == ("compute", "last rate", 16)
        assert (error["estimated"], error["billed"], error["error"]) == (160, 192, -32)
        answer = report(opened, Question([]))
    assert answer.estimated == 0
    assert answer.accuracy
    assert answer.accuracy.off == Decimal(32) / 192


NOVEMBER = Month(2026, 11)
INTO_NOVEMBER = [placement("a", "n1", (31 * DAY - HOUR, 32 * DAY), gpus=1)]


MONTHS = [
    {"BillingPeriodStart": f"{first}-01T00:00:00Z", "BillingPeriodEnd": f"{last}-01T00:00:00Z"}
    for first, last in (("2026-10", "2026-11"), ("2026-11", "2026-12"))
]
"""The billing periods of October and November, as a bill has them."""


def november(folder: Path, now: int) -> tuple[int, Decimal, bool] | None:
    """Version, money and whether it is new, of November's book after a build; none if the build says nothing of it."""
    found = [one for one in built(folder, now) if one.book.month == NOVEMBER]
    money = [sum(total.charges for total in one.book.totals if total.basis == "effective") for one in found]
    return (found[0].book.version, money[0], found[0].is_new) if found else None


def test_a_month_of_estimates_is_withdrawn_when_nothing_is_estimated_any_more(tmp_path: Path):
    """The bill of November has not come when somebody turns estimating off, and on again."""
    october = Files(charges=hourly("n1", range(743, 744), 10), placements=INTO_NOVEMBER, settings=ON)
    october.write(tmp_path)
    assert november(tmp_path, 31 * DAY + 6 * HOUR) == (1, Decimal(60), True)
    replace(october, settings="").write(tmp_path)
    assert november(tmp_path, 31 * DAY + 6 * HOUR) == (2, Decimal(0), True)
    assert november(tmp_path, 31 * DAY + 7 * HOUR) is None
    october.write(tmp_path)
    assert november(tmp_path, 31 * DAY + 8 * HOUR) == (3, Decimal(80), True)


def test_a_month_of_estimates_without_a_price_is_withdrawn_once(tmp_path: Path):
    """The only price is taken out of the list. Hours go on, and are told as nothing new."""
    ledgers = {
        "machines": "machine_id,gpus,gpu_model\nn1,1,h100\n",
        "prices": f"{PRICES}\nh100,,on_demand,2,USD,2026-10-01,,\n",
    }
    storage = charge((0, DAY), "1.00", ServiceCategory="Storage")
    told = Files(charges=[storage], placements=INTO_NOVEMBER, ledgers=ledgers, settings=ON)
    told.write(tmp_path)
    assert november(tmp_path, 31 * DAY + 6 * HOUR) == (1, Decimal(12), True)
    other = ledgers["prices"].replace("h100", "a100")
    replace(told, ledgers=ledgers | {"prices": other}).write(tmp_path)
    assert november(tmp_path, 31 * DAY + 6 * HOUR) == (2, Decimal(0), True)
    assert november(tmp_path, 31 * DAY + 7 * HOUR) == (2, Decimal(0), False)


def test_a_month_with_a_bill_stands_when_its_bill_is_gone(tmp_path: Path):
    both = [*hourly("n1", range(743, 744), 10), *hourly("n1", range(744, 746), 10)]
    both = [row | MONTHS[int(row["ChargePeriodStart"] >= "2026-11")] for row in both]
    told = Files(charges=both, placements=INTO_NOVEMBER, settings=ON)
    told.write(tmp_path)
    assert november(tmp_path, 31 * DAY + 6 * HOUR) == (1, Decimal(60), True)
    replace(told, charges=both[:1], settings="").write(tmp_path)
    assert november(tmp_path, 31 * DAY + 6 * HOUR) is None
