"""Laws of the account, over generated months. Nothing here has a tolerance."""

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from random import Random

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from trainfare.money import amount, units
from trainfare.query import keys
from trainfare.report import documents
from trainfare.tables import BASES

from .books import DAY, HOUR, START, Account, Bookkeeper, Case, hours_of, placement, sum_of
from .generated import BY_BYTES, Fleet, fleets, measured_fleets, months, spans, use_row
from .oracle import Machine, Owed, Use, allocate

EVERY_KEY = (*keys.JOB_KEYS, *keys.MACHINE_KEYS, *keys.TIME_KEYS, *keys.CHARGE_KEYS, "framework")


def examples(number: int) -> settings:
    """Return settings with few examples, always the same: a book takes half a second, but each month has many pots.

    A month that breaks a law is shown as it is: shrinking it would take many minutes.
    """
    phases = (Phase.explicit, Phase.generate)
    return settings(max_examples=number, derandomize=True, deadline=None, database=None, phases=phases)


def lines_in(case: Case, currency: str):
    return [row for row in case.charges if row["BillingCurrency"] == currency]


def reports(account: Account, by: str = "job") -> list[str]:
    """Return everything that a reader can see of an account."""
    return [documents.as_json(account.report([by], currency=currency)) for currency in account.currencies]


def allocated(account: Account) -> Owed:
    owed: Owed = {}
    for share in account.shares:
        day = (share["day"] - START.date()) // timedelta(days=1)
        amounts = owed.setdefault((share["machine_id"], share["payer"], day), [0] * len(BASES))
        for index, basis in enumerate(BASES):
            amounts[index] += units(share[basis])
    return owed


def nonzero(owed: Owed) -> Owed:
    return {key: amounts for key, amounts in owed.items() if any(amounts)}


def billed_machines(fleet: Fleet) -> list[Machine]:
    """Return the machines of a fleet; one that no file lists exists from its first charge to its last."""
    found = []
    for machine in fleet.machines:
        mine = [charge.period for charge in fleet.charges if charge.machine == machine.name]
        if mine and machine == Machine(machine.name):
            machine = replace(machine, existed=(min(mine)[0], max(end for _, end in mine)))
        found.append(machine)
    return found


@examples(16)
@given(fleet=fleets())
def test_the_account_equals_the_oracle_digit_for_digit(keeper: Bookkeeper, fleet: Fleet):
    account = keeper.book(fleet.case())
    expected = allocate(billed_machines(fleet), fleet.placements, fleet.charges)
    assert nonzero(allocated(account)) == nonzero(expected)


@examples(8)
@given(generated=measured_fleets())
def test_pots_split_by_measurements_equal_the_oracle_too(keeper: Bookkeeper, generated: tuple[Fleet, tuple[Use, ...]]):
    fleet, uses = generated
    account = keeper.book(replace(fleet.case(), settings=BY_BYTES, measured=[use_row(use) for use in uses]))
    expected = allocate(fleet.machines, fleet.placements, fleet.charges, uses)
    assert nonzero(allocated(account)) == nonzero(expected)


@examples(8)
@given(case=months())
def test_shares_add_up_to_the_bill_on_every_basis(keeper: Bookkeeper, case: Case):
    account = keeper.book(case)
    for currency in account.currencies:
        for basis in BASES:
            charged = sum_of(lines_in(case, currency), basis)
            assert sum(account.owed(basis, currency).values()) == charged
            report = account.report(basis=basis, currency=currency)
            assert report.total == report.bill == charged
            assert report.difference == 0


@examples(5)
@given(case=months(), seed=st.integers(0, 2**32))
def test_the_order_of_rows_does_not_matter(keeper: Bookkeeper, case: Case, seed: int):
    rng = Random(seed)
    charges, placements, machines = (
        rng.sample(list(rows), len(rows)) for rows in (case.charges, case.placements, case.machines)
    )
    first = keeper.book(case)
    before, shares = reports(first), sorted(map(str, first.shares))
    second = keeper.book(replace(case, charges=charges, placements=placements, machines=machines))
    assert sorted(map(str, second.shares)) == shares
    assert reports(second) == before


@examples(2)
@given(case=months())
def test_the_same_files_give_the_same_bytes(keeper: Bookkeeper, case: Case):
    assert reports(keeper.book(case)) == reports(keeper.book(case))


@examples(2)
@given(
    case=months(),
    groups=st.lists(st.lists(st.sampled_from(EVERY_KEY), min_size=2, max_size=3, unique=True), min_size=4, max_size=4),
)
def test_groups_add_up_to_the_total_for_every_key(keeper: Bookkeeper, case: Case, groups: list[list[str]]):
    account = keeper.book(
        replace(case, placements=[*case.placements, placement("z", "m0", (0, HOUR), framework="jax")])
    )
    for by in [*([key] for key in EVERY_KEY), *groups]:
        report = account.report(by, currency=account.currencies[-1])
        jobs = sum((row.cost or Decimal(0) for row in report.rows), Decimal(0))
        assert jobs + report.idle.cost + report.unallocated.cost + report.outside.cost == report.total, by
        assert jobs == (report.overall.cost or 0), by


@examples(5)
@given(case=months(), top=st.integers(1, 4))
def test_the_top_groups_and_the_others_add_up_to_all_groups(keeper: Bookkeeper, case: Case, top: int):
    account = keeper.book(case)
    for by in (["job"], ["team"], ["machine"], ["day"], ["day", "job"]):
        full = account.report(by, currency=account.currencies[-1])
        cut = account.report(by, currency=account.currencies[-1], top=top)
        assert cut.rows == [row for row in full.rows if row in cut.rows], "in the same order"
        shown, every = ([row.cost for row in rows if row.cost is not None] for rows in (cut.rows, full.rows))
        assert sorted(shown) == sorted(sorted(every, reverse=True)[: len(shown)])
        if len(full.rows) <= top:
            assert (cut.rows, cut.remaining) == (full.rows, None)
        else:
            assert cut.remaining is not None
            assert len(cut.rows) == top
            assert top + cut.remaining.groups == len(full.rows)
            assert sum(shown) + (cut.remaining.cost or 0) == (full.overall.cost or 0)


@examples(5)
@given(fleet=fleets(), span=spans, seconds=st.integers(1, 5 * DAY))
def test_a_job_elsewhere_does_not_change_the_cost_of_others(
    keeper: Bookkeeper, fleet: Fleet, span: tuple[int, int], seconds: int
):
    case = fleet.case()
    more = replace(
        case,
        charges=[*case.charges, hours_of("elsewhere", (span[0], span[0] + seconds), "7.77")],
        placements=[*case.placements, placement("new", "elsewhere", span, gpus=2)],
        machines=[*case.machines, {"machine_id": "elsewhere", "gpus": 3}],
    )
    before = nonzero(allocated(keeper.book(case)))
    after = nonzero(allocated(keeper.book(more)))
    assert {key: amounts for key, amounts in after.items() if key[0] != "elsewhere"} == before


@pytest.mark.parametrize("elsewhere", [False, True])
def test_a_charge_elsewhere_while_a_machine_is_overcommitted_changes_nothing(keeper: Bookkeeper, elsewhere: bool):
    """n1 is overcommitted at ten, when only n2 is billed. In both cases `a` owes ten times 5/17 for the first hour."""
    at_ten = (10 * HOUR, 11 * HOUR)
    held = [placement("a", "n1", (0, HOUR), gpus=5), *(placement(job, "n1", at_ten, gpus=17) for job in "bc")]
    charges = [hours_of("n1", (0, HOUR), "10.00")] + [hours_of("n2", at_ten, "1.00")] * elsewhere
    machines = [{"machine_id": "n1", "gpus": 17}, {"machine_id": "n2", "gpus": 1}]
    assert keeper.book(Case(charges, held, machines)).owed()["a"] == amount(10 * 10**12 * 5 // 17)


@examples(3)
@given(
    clones=st.integers(2, 6),
    size=st.integers(2, 8),
    span=st.tuples(st.integers(0, 20), st.integers(21, 40)),
    other=st.tuples(st.integers(0, 20), st.integers(21, 40)),
    price=st.integers(-(10**6), 10**6),
)
def test_clones_of_a_job_together_pay_what_the_original_paid(keeper: Bookkeeper, clones, size, span, other, price):
    """The pot is a multiple of its divisor, so no remainder goes to one of them."""
    period = (0, 2 * DAY)
    pot = amount(price * size * 10**6 * period[1] * clones)
    machines = [{"machine_id": "n1", "gpus": size}]
    times = [(start * HOUR, end * HOUR) for start, end in (span, other)]
    another = placement("other", "n1", times[1], gpus=f"{size / 2}")
    whole = Decimal(size) / 2

    def owed(jobs: int) -> dict[str, Decimal]:
        part = (whole / jobs).quantize(Decimal("0.000001"))
        held = [placement(f"job-{number}", "n1", times[0], gpus=part) for number in range(jobs)]
        # The last clone holds the millionths that do not divide.
        held[-1] = dict(held[-1]) | {"gpus": whole - part * (jobs - 1)}
        return keeper.book(Case([hours_of("n1", period, pot)], [*held, another], machines)).owed()

    one, many = owed(1), owed(clones)
    assert sum(part for payer, part in many.items() if payer.startswith("job-")) == one["job-0"]
    assert many["other"] == one["other"]
    assert many.get("__idle__") == one.get("__idle__")


def test_the_generated_fleets_cover_every_case():
    """A law without cases always holds, so the examples must cover every way to hold a machine."""
    seen: set[str] = set()

    @examples(16)
    @given(fleet=fleets())
    def look(fleet: Fleet) -> None:
        owed = allocate(billed_machines(fleet), fleet.placements, fleet.charges)
        seen.update("idle" if payer == "__idle__" else "held" for _, payer, _ in owed)
        seen.update("unknown size" for machine in fleet.machines if machine.gpu_micros is None)
        seen.update("for a while" for machine in fleet.machines if machine.existed != Machine("").existed)
        seen.update("running" for held in fleet.placements if held.ended is None)
        seen.update("credit" for charge in fleet.charges if charge.category == "credit")
        seen.update("a month" for charge in fleet.charges if charge.period[1] - charge.period[0] > 30 * DAY)

    look()
    assert seen == {"idle", "held", "unknown size", "for a while", "running", "credit", "a month"}
