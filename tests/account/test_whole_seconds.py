"""Charge periods widen outward to whole seconds; only an empty period is without time."""

from datetime import timedelta
from fractions import Fraction
from math import ceil, floor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainfare.money import amount, split

from .books import HOUR, START, Bookkeeper, Case, Row, hours_of, placement
from .test_properties import examples


def at(second: Fraction) -> str:
    return (START + timedelta(microseconds=int(second * 10**6))).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def charged(machine: str, start: Fraction, end: Fraction, cost: object) -> Row:
    period = {"ChargePeriodStart": at(start), "ChargePeriodEnd": at(end)}
    return {**hours_of(machine, (0, 1), f"{cost}"), **period}


@pytest.mark.parametrize("span", [("0.25", "0.75"), ("0.5", "1"), ("1.9", "2.1"), ("0", "0.000001")])
def test_a_charge_of_part_of_a_second_is_paid_by_who_held_that_second(keeper: Bookkeeper, span: tuple[str, str]):
    charges = [charged("n1", *map(Fraction, span), "1.00"), hours_of("n1", (0, HOUR), "3.00")]
    account = keeper.book(Case(charges, [placement("a", "n1", (0, HOUR), gpus=8)], [{"machine_id": "n1", "gpus": 8}]))
    assert account.owed() == {"a": 4}
    assert account.findings == set()


def test_an_empty_charge_period_is_without_time_wherever_it_lies_in_a_second(keeper: Bookkeeper):
    charges = [charged("n1", Fraction("0.5"), Fraction("0.5"), "1.00"), hours_of("n1", (0, HOUR), "3.00")]
    account = keeper.book(Case(charges, [placement("a", "n1", (0, HOUR), gpus=8)], [{"machine_id": "n1", "gpus": 8}]))
    assert account.owed() == {"a": 3, "__idle__": 1}
    assert account.findings == {"CHARGE_WITHOUT_TIME"}


moments = st.builds(
    lambda second, micros: Fraction(second) + Fraction(micros, 10**6),
    st.integers(0, 40),
    st.sampled_from([0, 1, 250_000, 500_000, 999_999]),
)


@examples(10)
@given(
    lines=st.lists(st.tuples(moments, moments, st.integers(1, 10**13)), min_size=1, max_size=8),
    held=st.lists(st.tuples(st.integers(0, 40), st.integers(1, 20)), max_size=3),
)
def test_parts_of_seconds_are_split_as_the_model_says(keeper: Bookkeeper, lines, held):
    """One job after another holds all of the machine; pots are charges of the same whole seconds."""
    spans, upto = [], 0
    for gap, length in held:
        spans.append((upto + gap, upto + gap + length))
        upto += gap + length
    log = [placement(f"j{number}", "n1", span, gpus=8) for number, span in enumerate(spans)]
    charges = [charged("n1", *sorted(line[:2]), amount(line[2])) for line in lines]
    account = keeper.book(Case(charges, log, [{"machine_id": "n1", "gpus": 8}]))
    pots: dict[tuple[int, int], int] = {}
    for one, other, units in lines:
        start, end = sorted((one, other))
        key = (floor(start), ceil(end) if end > start else floor(start))
        pots[key] = pots.get(key, 0) + units
    expected: dict[str, int] = {}
    for (first, last), units in pots.items():
        weights = {f"j{n}": max(0, min(last, end) - max(first, start)) for n, (start, end) in enumerate(spans)}
        weights = {payer: weight for payer, weight in weights.items() if weight}
        weights["~idle"] = last - first - sum(weights.values())
        parts = split(units, {p: w for p, w in weights.items() if w} or {"~idle": 1})
        for payer, part in parts.items():
            name = payer.replace("~idle", "__idle__")
            expected[name] = expected.get(name, 0) + part
    assert account.owed() == {payer: amount(units) for payer, units in expected.items() if units}
