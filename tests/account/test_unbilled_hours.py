"""Hours without a charge on the bill do not count in rates, even between charged hours."""

from collections.abc import Iterable, Iterator
from decimal import Decimal
from itertools import pairwise

import pytest
from hypothesis import given

from trainfare.engine.duckdb import quoted

from .books import DAY, HOUR, MONTH, Bookkeeper, Case, Row, charge, hours_of, placement, stamp
from .generated import Charge, Fleet, fleets
from .story import CHARGES, account_of
from .test_properties import billed_machines, examples


def hourly(machine: str, hours: Iterable[int], minute: int = 0, **columns: object) -> list[Row]:
    """A line of 2.00 for each of these hours, which all start at this minute."""
    begin = [hour * HOUR + minute * 60 for hour in hours]
    return [hours_of(machine, (second, second + HOUR), "2.00", **columns) for second in begin]


def hours_held(keeper: Bookkeeper, case: Case, job: str = "a") -> tuple[Decimal, Decimal, Decimal | None]:
    """Return the hours of a job that holds one GPU, those without a charge, and the rate per GPU hour of the others."""
    row = keeper.book(case).rows("job", per="gpu")[job]
    assert row.gpu_seconds == row.wall_seconds
    return Decimal(row.wall_seconds) / HOUR, (row.unbilled_gpu_seconds or Decimal(0)) / HOUR, row.rate


def test_hours_between_two_charges_are_unbilled(keeper: Bookkeeper):
    account = account_of(
        keeper,
        """
        machine  n1  4 gpus  2 h  8.00 USD
        machine  n1  3 h  12.00 USD  from 5 h
        attempt  a   4 gpus  10 h  from 0 h
        """,
    )
    (job,) = account.report(["job"]).rows
    assert (job.cost, job.wall_seconds, job.unbilled_wall_seconds) == (20, 10 * HOUR, 10 * HOUR)
    assert (job.gpu_seconds, job.unbilled_gpu_seconds) == (40 * HOUR, 20 * HOUR)
    assert (job.rate, job.at_least, job.billed_part) == (None, 2, Decimal("0.5")), "its only day is not billed in full"
    assert account.report(["job"], per="gpu").rows[0].rate == 1


def test_unbilled_hours_count_on_their_own_days(keeper: Bookkeeper):
    charges = [*hourly("n1", range(20)), *hourly("n1", range(30, 72))]
    account = keeper.book(Case(charges, [placement("a", "n1", (0, 3 * DAY), gpus=1)]))
    days = account.rows("day")
    assert [(days[day].wall_seconds, days[day].unbilled_gpu_seconds, days[day].rate) for day in sorted(days)] == [
        (DAY, 4 * HOUR, None),
        (DAY, 6 * HOUR, None),
        (DAY, 0, 2),
    ]
    assert account.report().overall.rate == 2, "only the last day is billed in full"
    assert account.report().overall.unbilled_wall_seconds == 2 * DAY


@pytest.mark.parametrize("minute", [0, 30])
def test_an_hour_charged_twice_does_not_make_up_for_an_uncharged_one(keeper: Bookkeeper, minute: int):
    """There are as many lines as hours from the first to the last. In some zones hours start at half past."""
    charges = hourly("n1", [0, 1, 1, 3], minute)
    held = placement("a", "n1", (minute * 60, minute * 60 + 4 * HOUR), gpus=1)
    assert hours_held(keeper, Case(charges, [held])) == (4, 1, Decimal("2.666667"))


def test_hours_that_start_at_different_minutes_are_distinguished(keeper: Bookkeeper):
    charges = [*hourly("n1", [0, 1]), *hourly("n1", [2], minute=30), *hourly("n2", [0, 1, 2])]
    held = [placement("a", "n1", (0, 4 * HOUR), gpus=1), placement("b", "n2", (0, 3 * HOUR), gpus=1)]
    assert hours_held(keeper, Case(charges, held)) == (4, 1, 2)
    assert hours_held(keeper, Case(charges, held), "b") == (3, 0, 2)


def test_a_machine_charged_by_hour_and_by_day_is_billed_in_both(keeper: Bookkeeper):
    charges = [*hourly("n1", range(6)), hours_of("n1", (DAY, 2 * DAY), "48.00")]
    assert hours_held(keeper, Case(charges, [placement("a", "n1", (0, 2 * DAY), gpus=1)])) == (48, 18, 2)


def test_one_charge_for_all_of_the_time_leaves_no_gap(keeper: Bookkeeper):
    charges = [*hourly("n1", [3, 743]), hours_of("n1", (0, MONTH), "740.00")]
    assert hours_held(keeper, Case(charges, [placement("a", "n1", (0, MONTH), gpus=1)])) == (744, 0, 1)


def test_a_charge_for_the_month_does_not_bill_hours_that_are_not_metered_yet(keeper: Bookkeeper):
    """The machine is metered through day 2, and has a fee for the whole month. A machine with only a fee is billed."""
    charges = [*hourly("n1", range(48)), hours_of("n1", (0, MONTH), "744.00"), hours_of("n2", (0, MONTH), "744.00")]
    held = [placement(job, machine, (0, MONTH), gpus=1) for job, machine in (("a", "n1"), ("b", "n2"))]
    rows = keeper.book(Case(charges, held)).rows("job")
    assert (rows["a"].rate, rows["a"].unbilled_wall_seconds) == (3, MONTH - 2 * DAY)
    assert (rows["a"].cost, rows["a"].rate_cost) == (840, 144)
    assert (rows["b"].rate, rows["b"].unbilled_wall_seconds) == (1, 0)


def test_a_job_within_a_gap_has_no_rate(keeper: Bookkeeper):
    charges = [*hourly("n1", range(2)), *hourly("n1", range(6, 8))]
    held = [placement("a", "n1", (0, 8 * HOUR), gpus=1), placement("b", "n1", (3 * HOUR, 5 * HOUR), gpus=1)]
    account = keeper.book(Case(charges, held))
    within = account.rows("job")["b"]
    assert (within.cost, within.rate, within.wall_seconds, within.unbilled_wall_seconds) == (
        None,
        None,
        2 * HOUR,
        2 * HOUR,
    )
    assert account.rows("job")["a"].unbilled_gpu_seconds == 4 * HOUR
    assert "JOB_WITHOUT_MACHINE" in account.findings


@pytest.mark.parametrize("kind", ["storage", "network", "credit", "tax", "adjustment"])
def test_cost_that_continues_for_a_stopped_machine_does_not_bill_its_hours(keeper: Bookkeeper, kind: str):
    """The disk has the machine's name, and is charged for the whole month, as a credit or an adjustment may be."""
    named = {"Tags": '{"Name": "n1"}'}
    charges = [
        *hourly("i-1", [0, 1, 4, 5], **named),
        charge((0, MONTH), "4.00", **CHARGES[kind], ResourceId="vol-1", **named),
    ]
    account = keeper.book(Case(charges, [placement("a", "n1", (0, 6 * HOUR), gpus=1)]))
    assert account.rows("job")["a"].unbilled_gpu_seconds == 2 * HOUR


def test_a_refund_for_last_month_does_not_bill_the_hours_before_the_first_charge(keeper: Bookkeeper):
    charges = [hours_of("n1", (-2 * DAY, -DAY), "-24.00"), *hourly("n1", range(6, 10))]
    assert hours_held(keeper, Case(charges, [placement("a", "n1", (-3 * DAY, 10 * HOUR), gpus=1)]))[:2] == (10, 6)


def test_hours_between_a_machine_and_its_replacement_are_unbilled(keeper: Bookkeeper):
    charges = [*hourly("i-1", range(4)), *hourly("i-2", range(6, 9))]
    known = {"machine_id": "n1", "gpus": 1}
    machines = [
        known | {"resource_id": "i-1", "existed_from": stamp(0), "existed_to": stamp(5 * HOUR)},
        known | {"resource_id": "i-2", "existed_from": stamp(5 * HOUR), "existed_to": ""},
    ]
    assert hours_held(keeper, Case(charges, [placement("a", "n1", (0, 9 * HOUR), gpus=1)], machines)) == (9, 2, 2)


@pytest.mark.parametrize(
    ("among", "columns"),
    [("cluster", {}), ("tag:team", {"Tags": '{"team": "nlp"}'}), ("job", {"Tags": '{"job_id": "a"}'}), ("all", {})],
)
def test_cost_shared_across_machines_can_have_gaps_too(keeper: Bookkeeper, among: str, columns: dict[str, object]):
    rule = f'[[rule]]\nname = "x"\nmatch = {{ category = "compute" }}\namong = "{among}"\n'
    charges = [*hourly("n1", range(3), **columns), *hourly("n2", range(5, 8), **columns)]
    machines = [{"machine_id": name, "gpus": 1, "cluster": "c1"} for name in ("n1", "n2")]
    held = placement("a", "n1", (0, 8 * HOUR), gpus=1, team="nlp")
    assert hours_held(keeper, Case(charges, [held], machines, rule))[:2] == (8, 2)


def test_an_attempt_that_still_runs_leaves_gaps_out(keeper: Bookkeeper):
    charges = [*hourly("n1", range(2)), *hourly("n1", range(5, 8))]
    running = placement("a", "n1", (HOUR, None), gpus=1, state="running")
    assert hours_held(keeper, Case(charges, [running])) == (7, 3, 2)


def metered_end(fleet: Fleet, one: Charge) -> int:
    """Return the end of a charge; for one of more than a day, the last metered second of its machine, if that is known.

    Once metering reaches the end of the month, it is complete for every machine.
    """
    metered = [c for c in fleet.charges if c.category == "compute" and c.period[1] - c.period[0] <= DAY]
    own = [c.period[1] for c in metered if c.machine == one.machine]
    is_complete = any(c.period[1] >= MONTH for c in metered)
    is_long = one.period[1] - one.period[0] > DAY
    return min(one.period[1], max(own)) if is_long and own and not is_complete else one.period[1]


def billed_seconds(fleet: Fleet, job: str) -> int:
    """Count the seconds in which the job held an existing, charged machine, interval by interval."""
    existed = {machine.name: machine.existed for machine in billed_machines(fleet)}
    held = [(p.machine, p.started, p.ended or 0) for p in fleet.placements if p.job == job]
    charged = [(c.machine, c.period[0], metered_end(fleet, c)) for c in fleet.charges if c.category == "compute"]
    moments = sorted(
        {0, MONTH, *(m for _, *span in held + charged for m in span), *(m for s in existed.values() for m in s)}
    )

    def is_within(span: tuple[int, int], first: int, last: int) -> bool:
        return first <= span[0] and span[1] <= last

    return sum(
        span[1] - span[0]
        for span in pairwise(moment for moment in moments if 0 <= moment <= MONTH)
        if any(
            is_within(span, first, last)
            and is_within(span, *existed[machine])
            and any(name == machine and is_within(span, begin, end) for name, begin, end in charged)
            for machine, first, last in held
        )
    )


@examples(16)
@given(fleet=fleets())
def test_billed_hours_are_exactly_those_with_a_charge(keeper: Bookkeeper, fleet: Fleet):
    ended = Fleet(fleet.machines, tuple(held for held in fleet.placements if held.ended is not None), fleet.charges)
    engine = keeper.book(ended.case()).opened.engine
    for job in {held.job for held in ended.placements}:
        spans = engine.rows(
            f"SELECT billed_starts, billed_ends FROM book_placements WHERE job_id = {quoted(job)} AND billed_ends > 0"
        )
        assert sum(end - begin for begin, end in united(spans)) == billed_seconds(ended, job), job


def united(spans: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yield disjoint intervals that cover the same time."""
    reached = 0
    for begin, end in sorted(spans):
        if end > max(begin, reached):
            yield max(begin, reached), end
            reached = end
