"""Kinds of charges are distinguished by as few columns as possible, and by others once new kinds need them."""

import pytest

from trainfare.engine.duckdb import DuckDB
from trainfare.normalize import facts
from trainfare.normalize.facts import ChargeKinds

NAMES = ("region", "category", "resource_id", "tags")
KINDS = ChargeKinds(("SELECT 1",), NAMES)


@pytest.fixture
def engine():
    made = DuckDB()
    yield made
    made.close()


def given(engine: DuckDB, *rows: tuple[str | None, ...]) -> None:
    engine.values("unkeyed_kinds", ", ".join(f"{name} VARCHAR" for name in NAMES), rows)
    engine.values("charges", ", ".join(f"{name} VARCHAR" for name in NAMES), rows)


def lines_per_kind(engine: DuckDB) -> list[int]:
    joined = "charge_kinds k LEFT JOIN keyed_charges c ON c.kind = k.kind"
    return [lines for (lines,) in engine.rows(f"SELECT count(c.kind) FROM {joined} GROUP BY k.kind")]


def test_redundant_columns_are_not_read(engine: DuckDB):
    rows = [(f"r{number % 2}", category, f"i-{number}", f"tag-{number}") for number in range(40) for category in "abc"]
    given(engine, *rows)
    assert facts.assign_keys(engine, KINDS).key_columns == ("resource_id", "category")
    assert lines_per_kind(engine) == [1] * 120


def test_new_kinds_are_distinguished_too(engine: DuckDB):
    given(engine, ("r1", "a", "i-1", "t"), ("r1", "b", "i-1", "t"), ("r1", "a", "i-2", "t"))
    kinds = facts.assign_keys(engine, KINDS)
    assert set(kinds.key_columns) == {"resource_id", "category"}
    given(engine, ("r1", "a", "i-1", "t"), ("r1", "a", "i-1", "u"), ("r1", "a", "i-2", "t"))
    assert set(facts.assign_keys(engine, kinds).key_columns) == {"resource_id", "tags"}
    assert lines_per_kind(engine) == [1, 1, 1]


def test_null_differs_from_a_value(engine: DuckDB):
    given(engine, ("r1", "a", None, None), ("r1", "a", "i-1", None))
    assert facts.assign_keys(engine, KINDS).key_columns == ("resource_id",)
    assert lines_per_kind(engine) == [1, 1]


def test_the_key_of_a_single_kind_has_all_columns(engine: DuckDB):
    given(engine, ("r1", "a", "i-1", "t"))
    assert facts.assign_keys(engine, KINDS).key_columns == NAMES
    assert lines_per_kind(engine) == [1]
