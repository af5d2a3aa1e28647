"""Unbilled hours are estimated and marked, and the estimate is replaced when the bill arrives."""

from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainfare.books.build import BuildResult, build_books
from trainfare.money import amount
from trainfare.period import Month
from trainfare.query.cost import Question, report
from trainfare.query.estimates import estimate_errors
from trainfare.query.open_books import open_books
from trainfare.settings.config import load
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
    answer = made.report(["job"])
    assert (answer.total, answer.bill, answer.estimated, answer.rows[0].estimated) == (495, 495, 15, 15)
    assert answer.covered.complete_through == at(3 * DAY)
    assert answer.overall.unbilled_wall_seconds == 0
    assert {(share["origin"], share["source"]) for share in made.shares if share["estimated"]} == {
        ("estimate", "estimated")
    }


def test_nothing_is_estimated_unless_requested(keeper: Bookkeeper):
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


def test_a_new_machine_is_priced_by_its_kind_then_by_contract_then_by_list(keeper: Bookkeeper):
    """The kind is billed at 10 and 20, so a new machine of it is expected at 15. Another kind has a contract until
    noon.
    """
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
def test_billed_and_estimated_add_up_to_the_total(keeper: Bookkeeper, costs, billed: int, held, now: int):
    charges = [row for n, cost in enumerate(costs) for row in hourly(f"n{n}", range(billed), cost)]
    jobs = [placement(f"j{n}", f"n{m % len(costs)}", (0, length), gpus=1) for n, (m, length) in enumerate(held)]
    made = account(keeper, Files(charges=charges, placements=jobs, settings=ON), at(now * HOUR))
    for basis in BASES:
        answer = made.report(["job"], basis=basis)
        parts = [*(row.estimated for row in answer.rows), answer.idle.estimated, answer.unallocated.estimated]
        assert sum(parts, answer.outside.estimated) == answer.estimated
        assert answer.estimated + billed * sum(costs) == answer.total == answer.bill


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    files = Files(
        charges=hourly("n1", range(24), 10), placements=[placement("a", "n1", (0, 2 * DAY), gpus=1)], settings=ON
    )
    return files.write(tmp_path)


def built(folder: Path, now: int) -> list[BuildResult]:
    with Store.open(folder, None) as store:
        return build_books(load(folder / "trainfare.toml"), store, as_of=at(now))


def test_the_bill_replaces_the_estimate_and_the_error_is_stored(workspace: Path, keeper: Bookkeeper):
    """10 an hour was expected and 12 is billed: 24 hours later nothing is estimated, and the estimate was a sixth too
    low.
    """
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
        (error,) = estimate_errors(opened)
        assert (error["category"], error["method"], error["machine_hours"]) == ("compute", "last rate", 16)
        assert (error["estimated"], error["billed"], error["error"]) == (160, 192, -32)
        answer = report(opened, Question([]))
    assert answer.estimated == 0
    assert answer.accuracy
    assert answer.accuracy.relative_error == Decimal(32) / 192


def storage(days: range, **columns: object) -> list[Row]:
    service = {"ServiceCategory": "Storage", "ServiceName": "Object Storage"}
    return [charge((day * DAY, (day + 1) * DAY), "1.00", **service, **columns) for day in days]


def test_estimates_stay_when_another_service_is_billed_further(keeper: Bookkeeper):
    """n1 is billed at 2 an hour to day 5, storage to day 9, and the job ran to day 10: 120 hours are estimated."""
    files = Files(
        charges=[*hourly("n1", range(120), 2), *storage(range(9))],
        placements=[placement("a", "n1", (0, 10 * DAY), gpus=8)],
        settings=ON,
    )
    made = account(keeper, files, at(10 * DAY))
    assert estimated(made) == {"a": Decimal(240)}
    assert made.report().overall.unbilled_wall_seconds == 0


@pytest.mark.parametrize("columns", [{"SubAccountId": "A-2"}, {}], ids=["account", "machine"])
def test_estimates_stay_when_another_account_or_machine_is_billed_further(keeper: Bookkeeper, columns: dict):
    """Both cost 2 an hour and are held for ten days; the second is billed to day 5, then to day 8."""
    held = [placement("a", "n1", (0, 10 * DAY), gpus=8), placement("b", "n2", (0, 10 * DAY), gpus=8)]
    for days in (5, 8):
        charges = [*hourly("n1", range(120), 2), *hourly("n2", range(days * 24), 2, **columns)]
        made = account(keeper, Files(charges, held, settings=ON), at(10 * DAY))
        assert estimated(made) == {"a": Decimal(240), "b": Decimal(2 * 24 * (10 - days))}
        assert made.report().total == 960


def test_estimates_end_when_the_account_is_billed_to_the_end_of_the_month(keeper: Bookkeeper):
    """By then n1 would be on the bill, if it had cost anything. An hour less may be an hour late, and so may n1."""
    held = [placement("a", "n1", (0, 6 * DAY), gpus=8)]
    for hours, expected in ((744, {}), (743, {"a": Decimal(48)})):
        charges = [*hourly("n1", range(120), 2), *hourly("n2", range(hours - 1, hours), 2)]
        assert estimated(account(keeper, Files(charges, held, settings=ON), at(31 * DAY))) == expected


def test_a_service_of_a_machine_is_estimated_from_where_it_is_billed(keeper: Bookkeeper):
    """The machine is billed for two days and its disk for one; traffic, charged in one hour only, is not expected."""
    disk = {"ServiceCategory": "Storage", "ServiceName": "Disks"}
    traffic = {"ServiceCategory": "Networking", "ServiceName": "Data Transfer"}
    charges = [
        *hourly("n1", range(48), 2),
        *hourly("n1", range(24), 1, **disk),
        *hourly("n1", range(3, 4), 5, **traffic),
    ]
    made = account(keeper, Files(charges, [placement("a", "n1", (0, 3 * DAY), gpus=8)], settings=ON), at(3 * DAY))
    assert owed(made, estimated=True, category="compute") == {"a": Decimal(48)}
    assert owed(made, estimated=True, category="storage") == {"a": Decimal(48)}
    assert owed(made, estimated=True, category="network") == {}


def test_a_spot_price_replaces_only_the_machine_time(keeper: Bookkeeper):
    files = Files(
        charges=[
            *hourly("i-1", range(24), 10, PricingCategory="Dynamic", **P5),
            *hourly("i-1", range(24), 1, ServiceCategory="Storage", ServiceName="Disks"),
        ],
        placements=[placement("a", "i-1", (0, DAY + HOUR), gpus=8)],
        ledgers={"prices": f"{PRICES}\np5.48xlarge,,spot,7,USD,2026-10-02,,market\n"},
        settings=ON,
    )
    assert estimated(account(keeper, files, at(2 * DAY))) == {"a": Decimal(8)}


def errors_after(folder: Path, keeper: Bookkeeper, files: Files, now: int) -> list[tuple[object, ...]]:
    """Category, method, estimated and billed cost after a build of these files."""
    files.write(folder)
    (last,) = built(folder, now)
    with Store.open(folder, None) as store:
        found = estimate_errors(open_books(keeper.reader, [store.files(last.book)]))
    return sorted((row["category"], row["method"], row["estimated"], row["billed"]) for row in found)


def test_an_error_is_measured_once_the_bill_covers_the_machine_and_again_when_the_bill_changes(
    tmp_path: Path, keeper: Bookkeeper
):
    """n1 is estimated at 144 for three days while another account is billed further, then billed, then restated."""
    held = [placement(job, machine, (0, 8 * DAY), gpus=8) for job, machine in (("a", "n1"), ("b", "n2"))]

    def bill(n1_hours: int, n1_cost: object, n2_hours: int) -> Files:
        later = hourly("n1", range(120, n1_hours), n1_cost)
        other = hourly("n2", range(n2_hours), 2, SubAccountId="A-2")
        return Files([*hourly("n1", range(120), 2), *later, *other], held, settings=ON)

    assert errors_after(tmp_path, keeper, bill(120, 2, 120), 8 * DAY) == []
    exact = ("compute", "last rate", Decimal(144), Decimal(144))
    assert errors_after(tmp_path, keeper, bill(120, 2, 192), 8 * DAY) == [exact]
    assert errors_after(tmp_path, keeper, bill(192, 2, 192), 8 * DAY) == [exact, exact]
    restated = ("compute", "last rate", Decimal(144), Decimal(216))
    assert errors_after(tmp_path, keeper, bill(192, 3, 192), 8 * DAY) == [exact, restated]
    assert errors_after(tmp_path, keeper, bill(192, 2, 192), 8 * DAY) == [exact, exact]


def test_cost_in_a_category_that_was_not_estimated_is_an_error_too(tmp_path: Path, keeper: Bookkeeper):
    """48 hours are estimated at 96. They are billed at 96, plus 96 for a disk of that machine."""
    held = [placement("a", "n1", (0, 3 * DAY), gpus=8)]
    files = Files(hourly("n1", range(24), 2), held, settings=ON)
    assert errors_after(tmp_path, keeper, files, 3 * DAY) == []
    disk = hourly("n1", range(24, 72), 2, ServiceCategory="Storage", ServiceName="Disks")
    files = Files([*hourly("n1", range(72), 2), *disk], held, settings=ON)
    assert errors_after(tmp_path, keeper, files, 3 * DAY) == [
        ("compute", "last rate", Decimal(96), Decimal(96)),
        ("storage", "not estimated", Decimal(0), Decimal(96)),
    ]


def test_what_was_on_the_bill_when_an_estimate_was_made_is_no_error(tmp_path: Path, keeper: Bookkeeper):
    """The disk was already billed to day 3, and another one for the month, when the machine was billed to day 1."""
    held = [placement("a", "n1", (0, 2 * DAY), gpus=8)]
    disk = {"ServiceCategory": "Storage", "ServiceName": "Disks"}
    known = hourly("n1", range(72), 1, **disk)
    known.append(hours_of("n1", (0, 31 * DAY), "744", ServiceCategory="Storage", ServiceName="Archive"))
    files = Files([*hourly("n1", range(24), 2), *known], held, settings=ON)
    assert errors_after(tmp_path, keeper, files, 2 * DAY) == []
    files = Files([*hourly("n1", range(48), 2), *known], held, settings=ON)
    assert errors_after(tmp_path, keeper, files, 2 * DAY) == [("compute", "last rate", Decimal(48), Decimal(48))]


def test_an_estimate_is_measured_even_if_estimates_are_turned_off_before_the_bill(tmp_path: Path, keeper: Bookkeeper):
    held = [placement("a", "n1", (0, 2 * DAY), gpus=8)]
    files = Files(hourly("n1", range(24), 2), held, settings=ON)
    assert errors_after(tmp_path, keeper, files, 2 * DAY) == []
    assert errors_after(tmp_path, keeper, replace(files, settings=""), 2 * DAY) == []
    files = Files(hourly("n1", range(48), 3), held)
    assert errors_after(tmp_path, keeper, files, 2 * DAY) == [("compute", "last rate", Decimal(48), Decimal(72))]


NOVEMBER = Month(2026, 11)
INTO_NOVEMBER = [placement("a", "n1", (31 * DAY - HOUR, 32 * DAY), gpus=1)]


MONTHS = [
    {"BillingPeriodStart": f"{first}-01T00:00:00Z", "BillingPeriodEnd": f"{last}-01T00:00:00Z"}
    for first, last in (("2026-10", "2026-11"), ("2026-11", "2026-12"))
]
"""The billing periods of October and November, as columns of a bill."""


def november(folder: Path, now: int) -> tuple[int, Decimal, bool] | None:
    """Version, cost and whether it is new, of November's book after a build; none if the build does not report it."""
    found = [one for one in built(folder, now) if one.book.month == NOVEMBER]
    money = [sum(total.charges for total in one.book.totals if total.basis == "effective") for one in found]
    return (found[0].book.version, money[0], found[0].is_new) if found else None


def test_an_estimated_month_is_withdrawn_when_estimates_are_turned_off(tmp_path: Path):
    """The bill of November has not arrived when estimates are turned off, and on again."""
    october = Files(charges=hourly("n1", range(743, 744), 10), placements=INTO_NOVEMBER, settings=ON)
    october.write(tmp_path)
    assert november(tmp_path, 31 * DAY + 6 * HOUR) == (1, Decimal(60), True)
    replace(october, settings="").write(tmp_path)
    assert november(tmp_path, 31 * DAY + 6 * HOUR) == (2, Decimal(0), True)
    assert november(tmp_path, 31 * DAY + 7 * HOUR) is None
    october.write(tmp_path)
    assert november(tmp_path, 31 * DAY + 8 * HOUR) == (3, Decimal(80), True)


def test_an_estimated_month_without_a_price_is_withdrawn_once(tmp_path: Path):
    """The only price is removed from the list. Later hours do not make a new version."""
    ledgers = {
        "machines": "machine_id,gpus,gpu_model\nn1,1,h100\n",
        "prices": f"{PRICES}\nh100,,on_demand,2,USD,2026-10-01,,\n",
    }
    storage = charge((0, DAY), "1.00", ServiceCategory="Storage")
    files = Files(charges=[storage], placements=INTO_NOVEMBER, ledgers=ledgers, settings=ON)
    files.write(tmp_path)
    assert november(tmp_path, 31 * DAY + 6 * HOUR) == (1, Decimal(12), True)
    other = ledgers["prices"].replace("h100", "a100")
    replace(files, ledgers=ledgers | {"prices": other}).write(tmp_path)
    assert november(tmp_path, 31 * DAY + 6 * HOUR) == (2, Decimal(0), True)
    assert november(tmp_path, 31 * DAY + 7 * HOUR) == (2, Decimal(0), False)


def test_a_billed_month_is_kept_when_its_bill_is_removed(tmp_path: Path):
    both = [*hourly("n1", range(743, 744), 10), *hourly("n1", range(744, 746), 10)]
    both = [row | MONTHS[int(row["ChargePeriodStart"] >= "2026-11")] for row in both]
    files = Files(charges=both, placements=INTO_NOVEMBER, settings=ON)
    files.write(tmp_path)
    assert november(tmp_path, 31 * DAY + 6 * HOUR) == (1, Decimal(60), True)
    replace(files, charges=both[:1], settings="").write(tmp_path)
    assert november(tmp_path, 31 * DAY + 6 * HOUR) is None
