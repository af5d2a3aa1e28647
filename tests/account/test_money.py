"""Laws of splitting money, in Python and in the engine, for amounts from one unit to astronomical ones."""

from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trainfare.engine.duckdb import DuckDB
from trainfare.money import amount, split, units

LAWS = settings(max_examples=200, derandomize=True, deadline=None, database=None)
IN_ENGINE = settings(max_examples=60, derandomize=True, deadline=None, database=None)

totals = st.one_of(st.integers(-1000, 1000), st.integers(-(10**30), 10**30))
weights = st.dictionaries(
    st.text("abc", min_size=1, max_size=3), st.integers(0, 2**62), min_size=1, max_size=12
).filter(lambda given: any(given.values()))


@LAWS
@given(totals, weights)
def test_split_loses_nothing(total, weights):
    assert total == sum(split(total, weights).values())


@LAWS
@given(totals, weights)
def test_a_credit_undoes_its_charge(total, weights):
    there, back = split(total, weights), split(-total, weights)
    assert all(there[payer] + back[payer] == 0 for payer in there)


@LAWS
@given(totals, weights, st.randoms(use_true_random=False))
def test_the_order_of_payers_does_not_matter(total, weights, rng):
    shuffled = dict(rng.sample(list(weights.items()), len(weights)))
    assert split(total, shuffled) == split(total, weights)


@LAWS
@given(totals, weights)
def test_every_payer_but_the_heaviest_gets_exactly_the_integer_part(total, weights):
    parts, total_weight = split(total, weights), sum(weights.values())
    heaviest = min(weights, key=lambda payer: (-weights[payer], payer))
    for payer in parts.keys() - {heaviest}:
        assert parts[payer] == (1 if total >= 0 else -1) * (abs(total) * weights[payer] // total_weight)
    assert 0 <= abs(parts[heaviest]) - abs(total) * weights[heaviest] // total_weight < len(parts)


@LAWS
@given(totals, weights)
def test_a_payer_without_weight_gets_nothing(total, weights):
    assert split(total, weights | {"nobody": 0}) == split(total, weights)


@LAWS
@given(totals, weights, st.integers(1, 10**6))
def test_only_proportions_count(total, weights, factor):
    assert split(total, {payer: weight * factor for payer, weight in weights.items()}) == split(total, weights)


@LAWS
@given(st.integers(-(10**12), 10**12), weights, st.integers(1, 9))
def test_clones_together_pay_what_the_original_paid_if_the_pot_divides(price, weights, clones):
    payer = min(weights)
    wide = {name: weight * clones for name, weight in weights.items()}
    pot = price * sum(wide.values())
    cloned = wide | {f"{payer}-{number}": weights[payer] for number in range(1, clones)} | {payer: weights[payer]}
    one, many = split(pot, wide), split(pot, cloned)
    assert sum(part for name, part in many.items() if name.partition("-")[0] == payer) == one.get(payer, 0)
    assert all(many[name] == part for name, part in one.items() if name != payer)


@LAWS
@given(totals, weights, st.integers(2, 9))
def test_clones_differ_only_by_what_does_not_divide(total, weights, clones):
    cloned = {f"{payer}-{number}": weight for payer, weight in weights.items() for number in range(clones)}
    parts = split(total, cloned)
    for payer, weight in weights.items():
        same = {abs(parts[f"{payer}-{number}"]) for number in range(clones) if weight}
        assert len(same) <= 2
        assert not same or max(same) - min(same) < len(cloned)


@pytest.mark.parametrize("bad", [{}, {"a": 0}, {"a": -1, "b": 2}])
def test_a_split_needs_a_payer_with_weight(bad):
    with pytest.raises(ValueError):
        split(1, bad)


@pytest.mark.parametrize("finer", ["0.0000000000001", "1e-13", "-3.1234567890123"])
def test_an_amount_finer_than_a_unit_is_rejected(finer):
    with pytest.raises(ValueError, match="finer"):
        units(finer)


@LAWS
@given(st.integers(-(10**38), 10**38))
def test_units_and_amounts_are_the_same_money(whole):
    assert units(amount(whole)) == whole


@pytest.fixture(scope="module")
def engine() -> Iterator[DuckDB]:
    opened = DuckDB()
    yield opened
    opened.close()


def answers(engine: DuckDB, sql: str, columns: str, rows: list[tuple[object, ...]]) -> list[object]:
    """Return the value of an expression for each row of arguments, as columns of a table with the engine's types."""
    engine.values("given", f"number INTEGER, {columns}", [(number, *row) for number, row in enumerate(rows)])
    return [answer for (answer,) in engine.rows(f"SELECT {sql} FROM given ORDER BY number")]


triples = st.tuples(totals, st.integers(0, 2**62), st.integers(0, 2**62)).filter(lambda given: given[1] + given[2] > 0)
small = st.tuples(st.integers(-(10**19), 10**19), st.integers(0, 2 * 10**9), st.integers(0, 2 * 10**9)).filter(
    lambda given: given[1] + given[2] > 0
)


@IN_ENGINE
@given(st.lists(triples | small, min_size=1, max_size=30))
def test_the_engine_and_python_compute_the_same_integer_part(engine, cases):
    rows = [(total, weight, weight + rest) for total, weight, rest in cases]
    got = answers(engine, "integer_part(units, weight, total)", "units HUGEINT, weight BIGINT, total BIGINT", rows)
    assert got == [(1 if t >= 0 else -1) * (abs(t) * weight // total) for t, weight, total in rows]


def written(whole: int) -> str:
    """Return units as a decimal with twelve places, digit by digit."""
    digits = f"{abs(whole):013}"
    return f"{'-' if whole < 0 else ''}{digits[:-12]}.{digits[-12:]}"


small_moneys = st.integers(-(10**7), 10**7) | st.integers(-(10**15) - 9, 10**15 + 9) | st.integers(-(10**18), 10**18)
moneys = st.integers(-(10**30), 10**30) | st.integers(-(10**19), 10**19) | small_moneys


@IN_ENGINE
@given(st.lists(moneys, min_size=1, max_size=30))
def test_the_engine_and_python_compute_the_same_units(engine, cases):
    texts = [written(whole) for whole in cases]
    assert answers(engine, "in_units(money)", "money DECIMAL(38,12)", [(text,) for text in texts]) == cases
    back = answers(engine, "as_money(units)", "units HUGEINT", [(whole,) for whole in cases])
    assert [f"{money:f}" for money in back] == texts
    assert [units(money) for money in back] == cases


@IN_ENGINE
@given(st.lists(small_moneys, min_size=1, max_size=30))
def test_the_engine_and_python_compute_the_same_small_units(engine, cases):
    rows = [(written(whole),) for whole in cases]
    assert answers(engine, "in_small_units(money)", "money DECIMAL(38,12)", rows) == cases


@IN_ENGINE
@given(st.lists(st.tuples(st.integers(-(10**24), 10**24), st.integers(0, 10**18)), min_size=1, max_size=30))
def test_a_rate_is_rounded_once_half_away_from_zero(engine, cases):
    rows = [(written(whole), micros) for whole, micros in cases]
    got = answers(engine, "per_hour(money, micros)", "money DECIMAL(38,12), micros HUGEINT", rows)
    for (whole, micros), rate in zip(cases, got, strict=True):
        if micros == 0:
            assert rate is None
        else:
            size = int(Fraction(abs(whole) * 3600, micros) + Fraction(1, 2))
            assert rate == Decimal(size if whole >= 0 else -size).scaleb(-6)
