"""Commitments that the bill does not amortize: amortized over their term, split by covered time, the rest unused."""

from collections import Counter
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainfare.errors import TrainfareError
from trainfare.money import amount, split

from .books import DAY, HOUR, Account, Bookkeeper, charge, hours_of, placement
from .test_ledgers import Files, account, owed
from .test_properties import examples

HEADER = "commitment_id,price,currency,started,ended,quantity"


def covered(machine: str, period: tuple[int, int], effective: str = "0") -> dict:
    """A bill line of a machine that the commitment covers."""
    discount = {"CommitmentDiscountId": "ri-1", "CommitmentDiscountStatus": "Used"}
    return hours_of(
        machine, period, {"effective": effective, "billed": "0", "list": "0", "contracted": "0"}, **discount
    )


def purchase(amount: str) -> dict:
    return charge((0, HOUR), amount, ChargeCategory="Purchase", ServiceCategory="Compute", CommitmentDiscountId="ri-1")


def booked(keeper: Bookkeeper, charges: list, row: str) -> Account:
    held = [placement("a", "n1", (0, 12 * HOUR), gpus=4)]
    return account(keeper, Files(charges, held, {"commitments": f"{HEADER}\n{row}\n"}))


def test_a_commitment_is_amortized_over_its_term_and_the_unused_part_is_shown(keeper: Bookkeeper):
    """3,100 for October are 100 a day for two machines. n1 was covered on the first day: 50, half of it held; the
    rest is unused.
    """
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
        ("__unallocated__", "commitment purchase: its cost is amortized over the usage it covers"): Decimal(-3100),
    }
    report = made.report()
    assert (report.total, report.unallocated.cost, report.difference) == (Decimal(3100), 0, 0)
    assert ("unused commitment", Decimal(3050)) in report.idle.reasons
    assert made.report(basis="billed").total == Decimal(3100)
    assert owed(made, rule="commitment purchase") == {}


def test_a_commitment_that_the_bill_amortizes_is_rejected(keeper: Bookkeeper):
    with pytest.raises(
        TrainfareError, match=r"the bill already amortizes commitment 'ri-1': .* 7\.50 USD of EffectiveCost"
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
    """Whatever it covers, for any time, even beyond its quantity: used and unused add up to the price exactly."""
    lines = [covered(f"n{number}", (hour * HOUR, (hour + length) * HOUR)) for number, hour, length in uses]
    row = (
        f"ri-1,{price:f},USD,2026-10-01,2026-10-{days:02},{quantity}"
        if days > 1
        else f"ri-1,{price:f},USD,2026-10-01,2026-11-01,{quantity}"
    )
    made = booked(keeper, [purchase("12.345"), *lines], row)
    amortized = sum(share["effective"] for share in made.shares if share["origin"] == "commitment")
    assert amortized == price - Decimal("12.345")
    assert (made.report().total, made.report().difference) == (price, 0)


def test_a_day_of_a_commitment_is_spread_over_the_hours_it_covered_only(keeper: Bookkeeper):
    """365 a year are 1.00 a day. n1 was covered in the first half of the day, all of which `a` held: 0.50, not half
    of that; the other half of the day covered nothing.
    """
    made = booked(keeper, [covered("n1", (0, 12 * HOUR))], "ri-1,365,USD,2026-10-01,2027-10-01,1")
    first = {
        (share["payer"], share["reason"]): share["effective"]
        for share in made.shares
        if str(share["day"]) == "2026-10-01" and share["effective"]
    }
    assert first == {("a#1", None): Decimal("0.50"), ("__idle__", "unused commitment"): Decimal("0.50")}


@examples(8)
@given(
    price=st.integers(1, 10**15),
    quantity=st.integers(1, 3),
    used=st.lists(
        st.tuples(st.sampled_from(["n1", "n2"]), st.integers(0, 40), st.sampled_from([1, 1, 2, 24])), max_size=12
    ),
    held=st.tuples(st.integers(0, 40), st.integers(1, 30)),
)
def test_a_commitment_follows_the_hours_that_it_covered_as_the_model_says(
    keeper: Bookkeeper, price: int, quantity: int, used: list[tuple[str, int, int]], held: tuple[int, int]
):
    """Hour by hour: what each covered hour costs, and whether the job held the machine in it."""
    lines = [covered(machine, (hour * HOUR, (hour + length) * HOUR)) for machine, hour, length in used]
    lines.append(charge((0, HOUR), "0"))
    row = f"ri-1,{amount(price)},USD,2026-10-01,2026-10-03,{quantity}"
    first, last = held[0], held[0] + held[1]
    job = [placement("a", "n1", (first * HOUR, last * HOUR), gpus=4)]
    machines = "machine_id,gpus\nn1,4\nn2,4\n"
    files = Files(lines, job, {"commitments": f"{HEADER}\n{row}\n", "machines": machines})
    made = owed(account(keeper, files), origin="commitment")
    expected = {"a": 0, "__idle__": 0}
    for day in (0, 1):
        units = price // 2 + (price % 2 if day == 0 else 0)
        parts = covered_parts(used, day, units, quantity)
        for (machine, start, end), part in parts.items():
            mine = max(0, min(end, last) - max(start, first)) if machine == "n1" else 0
            weights = {"a": mine, "b": end - start - mine}
            shared = split(part, {payer: weight for payer, weight in weights.items() if weight})
            expected["a"] += shared.get("a", 0)
            expected["__idle__"] += shared.get("b", 0)
        expected["__idle__"] += units - sum(parts.values())
    assert made == {payer: amount(units) for payer, units in expected.items() if units}


def covered_parts(
    used: list[tuple[str, int, int]], day: int, units: int, quantity: int
) -> dict[tuple[str, int, int], int]:
    """What a day costs each machine and span of covered hours; hours that follow one another are one span."""
    counts = Counter(
        (machine, max(hour, 24 * day), min(hour + length, 24 * day + 24))
        for machine, hour, length in used
        if hour < 24 * day + 24 and hour + length > 24 * day
    )
    spans: list[tuple[str, int, int, int]] = []
    previous: tuple[str, int, int] | None = None
    for (machine, start, end), lines in sorted(counts.items()):
        hours = lines * (end - start)
        if previous == (machine, start, lines):
            _, first, last, before = spans.pop()
            spans.append((machine, first, max(last, end), before + hours))
        else:
            spans.append((machine, start, end, hours))
        previous = (machine, end, lines)
    total, upto = max(quantity * 24, sum(hours for *_, hours in spans)), 0
    parts: dict[tuple[str, int, int], int] = {}
    for machine, start, end, hours in spans:
        before, upto = upto, upto + hours
        part = units * upto // total - units * before // total
        parts[machine, start, end] = parts.get((machine, start, end), 0) + part
    return parts
