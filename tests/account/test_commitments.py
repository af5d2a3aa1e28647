"""Commitments that a bill does not spread: over their term, to whom they covered, the rest unused, and never twice."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainfare.errors import TrainfareError

from .books import DAY, HOUR, Account, Bookkeeper, charge, hours_of, placement
from .test_ledgers import Files, account, owed
from .test_properties import examples

HEADER = "commitment_id,price,currency,started,ended,quantity"


def covered(machine: str, period: tuple[int, int], effective: str = "0") -> dict:
    """A bill line of a machine that the commitment pays for."""
    told = {"CommitmentDiscountId": "ri-1", "CommitmentDiscountStatus": "Used"}
    return hours_of(machine, period, {"effective": effective, "billed": "0", "list": "0", "contracted": "0"}, **told)


def purchase(amount: str) -> dict:
    return charge((0, HOUR), amount, ChargeCategory="Purchase", ServiceCategory="Compute", CommitmentDiscountId="ri-1")


def booked(keeper: Bookkeeper, charges: list, row: str) -> Account:
    held = [placement("a", "n1", (0, 12 * HOUR), gpus=4)]
    return account(keeper, Files(charges, held, {"commitments": f"{HEADER}\n{row}\n"}))


def test_a_commitment_is_spread_over_its_term_and_what_is_not_used_is_shown(keeper: Bookkeeper):
    """3,100 for October are 100 a day for two machines. n1 was covered on the first day: 50, half of it held; all else is unused."""
    made = booked(keeper, [purchase("3100"), covered("n1", (0, DAY))], "ri-1,3100,USD,2026-10-01,2026-11-01,2")
    reasons = {
        (share["payer"], share["reason"]): Decimal(0) for share in made.shares if share["origin"] == "commitment"
    }
    for share in made.shares:
        if share["origin"] == "commitment":
            reasons[share["payer"], share["reason"]] += share["effective"]
    assert reasons == {
        ("a#1", None): Decimal(25),
        ("__idle__", "not held by any job"): Decimal(25),
        ("__idle__", "unused commitment"): Decimal(3050),
        ("__unallocated__", "commitment purchase: its cost comes in through what it covers"): Decimal(-3100),
    }
    report = made.report()
    assert (report.total, report.unallocated.cost, report.difference) == (Decimal(3100), 0, 0)
    assert ("unused commitment", Decimal(3050)) in report.idle.reasons
    assert made.report(basis="billed").total == Decimal(3100)
    assert owed(made, rule="commitment purchase") == {}


def test_a_commitment_that_the_bill_spreads_is_refused(keeper: Bookkeeper):
    with pytest.raises(
        TrainfareError, match=r"the bill spreads commitment 'ri-1' itself: .* 7\.50 USD of EffectiveCost"
    ):
        booked(keeper, [covered("n1", (0, DAY), "7.5")], "ri-1,3100,USD,2026-10-01,2026-11-01,2")


def test_after_its_term_a_commitment_costs_nothing(keeper: Bookkeeper):
    made = booked(keeper, [covered("n1", (0, 9 * DAY))], "ri-1,0.000000000100,USD,2026-09-28,2026-10-05,1")
    days = {share["day"].isoformat(): share["effective"] for share in made.shares if share["origin"] == "commitment"}
    assert max(days) == "2026-10-04"


@given(
    st.decimals(0, 10**9, places=12, allow_nan=False),
    st.integers(1, 31),
    st.integers(1, 5),
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 700), st.integers(1, 60)), max_size=8),
)
@examples(15)
def test_a_commitment_costs_its_price_however_it_is_used(keeper: Bookkeeper, price, days, quantity, uses):
    """Whoever it covers, for whatever time, also more than it can: used and unused are the price, to the last digit."""
    lines = [covered(f"n{number}", (hour * HOUR, (hour + length) * HOUR)) for number, hour, length in uses]
    row = (
        f"ri-1,{price:f},USD,2026-10-01,2026-10-{days:02},{quantity}"
        if days > 1
        else f"ri-1,{price:f},USD,2026-10-01,2026-11-01,{quantity}"
    )
    made = booked(keeper, [purchase("12.345"), *lines], row)
    spread = sum(share["effective"] for share in made.shares if share["origin"] == "commitment")
    assert spread == price - Decimal("12.345")
    assert (made.report().total, made.report().difference) == (price, 0)
