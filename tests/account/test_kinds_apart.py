"""Kinds of charges are told apart by as few columns as that takes, and by others when kinds come that these do not tell apart."""

import pytest

from trainfare.engine.duckdb import DuckDB
from trainfare.normalise import facts
from trainfare.normalise.facts import Kinds

NAMES = ("region", "category", "resource_id", "tags")
KINDS = Kinds(("SELECT 1",), NAMES)


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


def test_what_others_tell_is_not_read(engine: DuckDB):
    rows = [(f"r{number % 2}", category, f"i-{number}", f"tag-{number}") for number in range(40) for category in "abc"]
    given(engine, *rows)
    assert facts.keyed(engine, KINDS).telling == ("resource_id", "category")
    assert lines_per_kind(engine) == [1] * 120


def test_kinds_that_came_since_are_told_apart_too(engine: DuckDB):
    given(engine, ("r1", "a", "i-1", "t"), ("r1", "b", "i-1", "t"), ("r1", "a", "i-2", "t"))
    kinds = facts.keyed(engine, KINDS)
    assert set(kinds.telling) == {"resource_id", "category"}
    given(engine, ("r1", "a", "i-1", "t"), ("r1", "a", "i-1", "u"), ("r1", "a", "i-2", "t"))
    assert set(facts.keyed(engine, kinds).telling) == {"resource_id", "tags"}
    assert lines_per_kind(engine) == [1, 1, 1]


def test_nothing_told_differs_from_something(engine: DuckDB):
    given(engine, ("r1", "a", None, None), ("r1", "a", "i-1", None))
    assert facts.keyed(engine, KINDS).telling == ("resource_id",)
    assert lines_per_kind(engine) == [1, 1]


def test_the_key_of_a_single_kind_is_of_all_it_tells(engine: DuckDB):
    given(engine, ("r1", "a", "i-1", "t"))
    assert facts.keyed(engine, KINDS).telling == NAMES
    assert lines_per_kind(engine) == [1]
