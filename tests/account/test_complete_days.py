"""Rates divide cost and hours of the same days: those on which everything that an attempt held is billed."""

from decimal import Decimal

from trainfare.query import jobs, metrics
from trainfare.query.cost import Question
from trainfare.query.job import rates
from trainfare.query.jobs import Listing

from .books import DAY, HOUR, MONTH, Account, Bookkeeper, Case, charge, hours_of, placement, stamp

NODES = ("n1", "n2", "n3", "n4")
MACHINES = [{"machine_id": name, "gpus": 8} for name in NODES]
STORAGE = {"ServiceCategory": "Storage", "ServiceName": "Object Storage", "Tags": '{"team": "x"}'}


def values(account: Account, metric: str) -> list[Decimal | None]:
    return [value.value for value in metrics.metric_values(account.opened, Question(["job"]), [metric])]


def on_four_nodes(keeper: Bookkeeper, billed: int) -> Account:
    charges = [hours_of(name, (0, 25 * HOUR), "1407.75") for name in NODES[:billed]]
    held = [placement("a", name, (0, 25 * HOUR), gpus=8) for name in NODES]
    return keeper.book(Case(charges, held, MACHINES))


def test_a_job_of_which_one_of_four_machines_is_billed_has_no_rate_but_a_lower_bound(keeper: Bookkeeper) -> None:
    account = on_four_nodes(keeper, 1)
    (row,) = account.report(["job"]).rows
    assert (row.rate, row.rate_cost, row.rate_median) == (None, None, None)
    assert (row.at_least, row.billed_part) == (Decimal("56.31"), Decimal("0.25"))
    assert (row.wall_seconds, row.unbilled_wall_seconds) == (25 * HOUR, 25 * HOUR)
    (listed,) = jobs.jobs(account.opened, Question([]), Listing()).rows
    assert (listed["rate"], listed["at_least"]) == (None, Decimal("56.31"))
    assert values(account, "M1") == [None]
    assert values(account, "M10") == []
    (note,) = {value.note for value in metrics.metric_values(account.opened, Question(["job"]), ["M1"])}
    assert note == "no day of it is billed in full: at least 56.310000 per hour, 25.0% of its GPU hours are billed"
    assert account.report(["job"], per="gpu").rows[0].rate == Decimal("7.03875"), "of the GPU hours that are billed"


def test_a_job_of_which_all_four_machines_are_billed_has_its_rate(keeper: Bookkeeper) -> None:
    account = on_four_nodes(keeper, 4)
    (row,) = account.report(["job"]).rows
    assert (row.rate, row.at_least, row.billed_part, row.unbilled_wall_seconds) == (Decimal("225.24"), None, None, 0)
    assert values(account, "M1") == [Decimal("225.24")]


def test_storage_for_the_month_counts_up_to_where_machine_time_is_billed(keeper: Bookkeeper) -> None:
    """n1 at 1.00 an hour for ten days, storage at 1.00 an hour for the month, and a job that still runs."""
    charges = [hours_of("n1", (hour * HOUR, (hour + 1) * HOUR), "1.00") for hour in range(240)]
    charges.append(charge((0, MONTH), "744.00", **STORAGE))
    running = placement("a", "n1", (0, None), gpus=8, team="x", state="running")
    account = keeper.book(Case(charges, [running], MACHINES[:1]))
    (row,) = account.report(["job"]).rows
    assert (row.cost, row.rate_cost, row.rate, row.wall_seconds) == (984, 480, 2, 240 * HOUR)
    assert account.report(["job"], per="gpu").rows[0].rate == Decimal("0.25")
    assert (values(account, "M1"), values(account, "M2"), values(account, "M10")) == ([2], [Decimal("0.25")], [2, 0, 0])
    (effective, *_) = rates(account.opened, Question([], filters=(("job", ("a",)),)))
    assert (effective["cost"], effective["wall"], effective["gpu"]) == (984, 2, Decimal("0.25"))


def test_one_hour_without_a_charge_leaves_out_its_day_and_no_other(keeper: Bookkeeper) -> None:
    """The near miss: with that hour, all three days count."""
    hours = [hours_of("n1", (hour * HOUR, (hour + 1) * HOUR), "2.00") for hour in range(72)]
    held = [placement("a", "n1", (0, 3 * DAY), gpus=8)]
    for charges, left_out in ((hours, 0), ([*hours[:30], *hours[31:]], DAY)):
        (row,) = keeper.book(Case(charges, held, MACHINES[:1])).report(["job"]).rows
        assert (row.rate, row.unbilled_wall_seconds) == (2, left_out)


def test_an_incomplete_attempt_leaves_out_its_own_days_only(keeper: Bookkeeper) -> None:
    charges = [hours_of(name, (0, DAY), "48.00") for name in NODES[:2]]
    held = [placement("a", name, (0, DAY), gpus=8) for name in ("n1", "n3")]
    held += [placement("b", "n2", (0, DAY), gpus=8)]
    account = keeper.book(Case(charges, held, MACHINES))
    found = account.rows("job")
    assert (found["a"].rate, found["a"].at_least, found["b"].rate) == (None, 2, 2)
    overall = account.report().overall
    assert (overall.cost, overall.rate_cost, overall.rate, overall.rate_median) == (96, 48, 2, 2)
    assert account.rows("machine")["n1"].rate is None, "the day of the attempt is what counts, not the machine's"


def test_billing_months_that_begin_at_another_hour_do_not_change_rates(keeper: Bookkeeper) -> None:
    """A machine at 1.00 an hour, on a bill whose months begin at 07:00 UTC, held all the time."""
    charges = []
    for hour in range(-40, 100):
        first = -30 * DAY + 7 * HOUR if hour < 7 else 7 * HOUR
        last = 7 * HOUR if hour < 7 else MONTH + 7 * HOUR
        period = {"BillingPeriodStart": stamp(first), "BillingPeriodEnd": stamp(last)}
        charges.append(hours_of("n1", (hour * HOUR, (hour + 1) * HOUR), "1.00", **period))
    account = keeper.book(Case(charges, [placement("a", "n1", (-40 * HOUR, 100 * HOUR), gpus=8)], MACHINES[:1]))
    overall = account.report().overall
    assert (overall.cost, overall.wall_seconds, overall.rate) == (140, 140 * HOUR, 1)
    days = account.rows("day")
    assert {row.rate for row in days.values()} == {Decimal(1)}
    months = account.rows("month")
    assert {name: (row.cost, row.rate, row.rate_cost) for name, row in months.items()} == {
        "2026-09": (40, 1, 40),
        "2026-10": (100, 1, 100),
    }
