"""Differences between the two engines, each with the translation that removes it.

Every case has three parts: what plain Spark returns, what DuckDB returns, and that our translation returns the latter.
"""

from typing import Any

import pytest
from account.test_properties import examples
from hypothesis import given
from hypothesis import strategies as st

from trainfare.engine.spark import EXACT
from trainfare.engine.spark_dialect import FUNCTIONS, to_spark
from trainfare.money import amount, split
from trainfare.store.splits import Split, amounts, running_amounts

from .twin import Twin

CASES = {
    "decimals keep their last digit": (
        "CAST(1 AS DECIMAL(38,12)) + CAST(0.000000000001 AS DECIMAL(38,12)) || ''",
        {"spark.sql.decimalOperations.allowPrecisionLoss": "true"},
        "1.00000000000",
        "1.000000000001",
    ),
    "an overflow is an error, not null": (
        "CAST(9223372036854775807 AS BIGINT) + CAST(1 AS BIGINT) || ''",
        {"spark.sql.ansi.enabled": "false"},
        "-9223372036854775808",
        None,
    ),
    "a time without a zone is UTC": (
        "epoch_second(TIMESTAMP '2026-03-29 02:30:00')",
        {"spark.sql.session.timeZone": "Europe/Berlin"},
        1774747800,
        1774751400,
    ),
    "a month is determined by its middle, in UTC": (
        "CAST(billing_month(TIMESTAMP '2026-09-30 22:00:00', TIMESTAMP '2026-10-31 23:00:00') AS VARCHAR)",
        {},
        None,
        "2026-10-01",
    ),
}
PLAIN = [
    ("lower('ΟΔΟΣ')", "lower('ΟΔΟΣ')"),
    ("lower('İzmir')", "lower('İzmir')"),
    (
        "'null, a' = 'a, null' OR hash(NULL, 'a', 0) = hash('a', NULL, 0)",
        "xxhash64(NULL, 'a', 0) = xxhash64('a', NULL, 0)",
    ),
    ("""json_extract_string('{"a.b": "x"}', '$."a.b"')""", """get_json_object('{"a.b": "x"}', '$.a.b')"""),
    ("""json_extract_string('{"it''s": "x"}', '$."it''s"')""", """get_json_object('{"it\\'s": "x"}', "$.it's?")"""),
    ("""json_valid('{"a": 1} x')""", """try_parse_json('{"a": 1} x') IS NOT NULL"""),
    ("""json_valid('{"a": 1, "a": 2}')""", "false"),
    ("regexp_extract(concat('i-1', chr(10)), '([^/:]+)$', 1) = 'i-1'", "regexp_extract('i-1\\n', '(1)$', 1) = '1'"),
    (
        r"regexp_extract('ép3.8xlarge', '\b(p3.8xlarge)\b', 1)",
        r"regexp_extract('ép3.8xlarge', '\\b(p3.8xlarge)\\b', 1)",
    ),
    ("7 // 2", "7 / 2"),
    ("1.00 / 3", "1.00 / 3"),
    ("CAST(CAST(2.5 AS DECIMAL(38,12)) AS BIGINT)", "CAST(CAST(2.5 AS DECIMAL(38,12)) AS BIGINT)"),
    ("CAST(-7.5 AS DECIMAL(18,6)) * 2 || ''", "CAST(-7.5 AS DECIMAL(18,6)) * 2e0 || ''"),
    ("CAST(CAST(99999999999999999999 AS HUGEINT) AS VARCHAR)", "CAST(CAST(99999999999999999999 AS DOUBLE) AS STRING)"),
    ("(SELECT count(*) FROM (SELECT unnest(range(3, 3))))", "(SELECT count(*) FROM (SELECT explode(sequence(3, 2))))"),
    (
        "(SELECT quantile_disc(x, 0.25) || '' FROM (VALUES (10000000000.000000000001), (20000000000.000000000001)) AS given(x))",
        "(SELECT percentile_disc(0.25) WITHIN GROUP (ORDER BY x) || '' "
        "FROM VALUES (10000000000.000000000001), (20000000000.000000000001) AS given(x))",
    ),
    ("CAST(make_timestamp(1774751400000000) AS VARCHAR)", "CAST(1774751400000000 AS STRING)"),
]
"""An expression of a step, and its naive translation."""


@pytest.mark.parametrize(("sql", "plain"), PLAIN, ids=[sql for sql, _ in PLAIN])
def test_our_translation_returns_what_duckdb_returns_and_the_naive_one_does_not(twin: Twin, sql: str, plain: str):
    (expected,) = twin.duckdb.row(f"SELECT {sql}")
    ((naive,),) = (tuple(row) for row in twin.spark.session.sql(f"SELECT {plain}").collect())
    assert naive != expected
    assert twin.spark.row(f"SELECT {sql}") == (expected,)


@pytest.mark.parametrize("name", CASES)
def test_every_required_setting_makes_a_difference(twin: Twin, name: str):
    sql, without, wrong, right = CASES[name]
    session = twin.spark.session
    try:
        for setting, value in without.items():
            session.conf.set(setting, value)
        if wrong is not None:
            assert twin.spark.row(f"SELECT {sql}") == (wrong,)
    finally:
        for setting, value in EXACT.items():
            session.conf.set(setting, value)
    if right is None:
        with pytest.raises(Exception, match="OVERFLOW"):
            twin.spark.row(f"SELECT {sql}")
    else:
        assert twin.row(f"SELECT {sql}") == (right,)


def test_nulls_sort_last_by_default(twin: Twin):
    rows = "(VALUES (2), (NULL), (1)) AS given(x)"
    query = f"SELECT x, row_number() OVER (ORDER BY x) AS position FROM {rows}"
    assert dict(twin.rows(query)) == {1: 1, 2: 2, None: 3}
    plain = twin.spark.session.sql(query).collect()
    assert dict(map(tuple, plain)) == {None: 1, 1: 2, 2: 3}


def test_a_small_sum_is_as_narrow_as_its_values(twin: Twin):
    values = "(VALUES (9000000000000000000), (-8999999999999999999), (NULL)) AS given(x)"
    added = f"small_sum(CAST(x AS BIGINT)) AS added FROM {values}"
    assert twin.row(f"SELECT {added}") == (1,)
    assert twin.duckdb.columns(f"(SELECT {added})") == {"added": "BIGINT"}
    assert twin.duckdb.columns(f"(SELECT {added.replace('small_sum', 'sum')})") == {"added": "HUGEINT"}


def test_evidence_is_listed_by_position(twin: Twin):
    rows = "(VALUES ('b', 2), ('a \"quoted\" é', 1), ('c', 3)) AS given(value, position)"
    (listed,) = twin.row(f"SELECT first_values(value, position, 2) FROM {rows}")
    assert listed == '["a \\"quoted\\" é","b"]'


def test_an_expression_that_spark_lacks_is_rejected(twin: Twin):
    with pytest.raises(ValueError, match="no order"):
        to_spark("SELECT list(a ORDER BY b) FROM t", lambda paths, numbered: "files")


def test_both_engines_have_the_same_functions(twin: Twin):
    found = twin.duckdb.rows(
        "SELECT DISTINCT function_name FROM duckdb_functions() WHERE function_type = 'macro' AND NOT internal"
    )
    defined_once = {
        "quotient",
        "short_quotient",
        "integer_part_of_wide",
        "lower_case",
        "json_valid",
        "epoch_us",
        "percentile_disc",
    }
    of_reports = {"per_hour"}
    assert {name for (name,) in found} - of_reports - {"integer_part_of_size"} == FUNCTIONS.keys() - defined_once


wide = st.one_of(*(st.integers(-(10**digits), 10**digits) for digits in (6, 20, 28, 37)))
totals = st.one_of(st.integers(1, 50), st.integers(1, 3 * 10**9 + 5), st.integers(1, 2**63 - 1))


@examples(3)
@given(parts=st.lists(st.tuples(wide, totals, st.integers(0, 2**63)), min_size=200, max_size=300))
def test_division_is_exact_for_any_number_of_digits(twin: Twin, parts: list[tuple[int, int, int]]):
    """Compare with Python's integers, which have any width."""
    rows: list[tuple[Any, ...]] = [
        (at, units, part % (total + 1), total) for at, (units, total, part) in enumerate(parts)
    ]
    listed = ", ".join(f"({at}, '{units}', {weight}, {total})" for at, units, weight, total in rows)
    query = (
        "SELECT n, integer_part(CAST(units AS HUGEINT), CAST(weight AS BIGINT), CAST(total AS BIGINT)) AS part, "
        "rank_number(weight_rank(CAST(weight AS BIGINT), n)) AS number, rank_weight(weight_rank(CAST(weight AS BIGINT), n)) AS heavy, "
        "small_rank_number(small_weight_rank(CAST(weight AS BIGINT) % 3000000000, n)) AS small_number, "
        "small_rank_weight(small_weight_rank(CAST(weight AS BIGINT) % 3000000000, n)) AS small_weight "
        f"FROM (VALUES {listed}) AS given(n, units, weight, total)"
    )
    expected = {at: (abs(units) * weight // total) * (1 if units >= 0 else -1) for at, units, weight, total in rows}
    answers = twin.rows(query)
    assert {at: int(part) for at, part, *_ in answers} == expected
    weights = {at: weight for at, _, weight, _ in rows}
    for at, _, *unpacked in answers:
        assert unpacked == [at, weights[at], at, weights[at] % 3000000000]


@examples(3)
@given(amounts=st.lists(st.integers(-(10**38) + 1, 10**38 - 1), min_size=100, max_size=200))
def test_money_becomes_units_and_back_without_loss(twin: Twin, amounts: list[int]):
    listed = ", ".join(f"({at}, '{amount(units):f}')" for at, units in enumerate(amounts))
    rows = f"SELECT n, CAST(text AS DECIMAL(38,12)) AS money FROM (VALUES {listed}) AS given(n, text)"
    query = f"SELECT n, in_units(money), as_money(in_units(money)) FROM ({rows})"
    for at, units, money in twin.rows(query):
        assert int(units) == amounts[at]
        assert money == amount(amounts[at])


def test_the_split_of_money_py_equals_the_sql(twin: Twin):
    pot, weights = 10**13, {"a": 3, "b": 3, "c": 1}
    listed = ", ".join(f"('{payer}', {weight})" for payer, weight in weights.items())
    query = (
        f"SELECT payer, integer_part(CAST({pot} AS HUGEINT), weight, 7) FROM (VALUES {listed}) AS given(payer, weight)"
    )
    parts = {payer: int(part) for payer, part in twin.rows(query)}
    parts["a"] += pot - sum(parts.values())
    assert parts == split(pot, weights)


LINES = (7 * 10**12 + 1, -(10**12), 10**25 + 3, 0, 5)
WEIGHTS = {1: 2, 2: 3, 3: 3, 4: 1}
"""Lines of one pot, and payers of which two are the heaviest."""


def test_a_split_equals_the_split_of_money_py(twin: Twin):
    pots = ", ".join(f"({pot}, {payer}, {weight})" for pot in range(len(LINES)) for payer, weight in WEIGHTS.items())
    units = " ".join(f"WHEN {pot} THEN CAST('{total}' AS HUGEINT)" for pot, total in enumerate(LINES))
    rows = f"SELECT *, CASE pot {units} END AS cost FROM (VALUES {pots}) AS given(pot, payer, weight)"
    twin.table("weighted_pots", rows)
    twin.table("split_pots", Split(("pot",), ("payer",), ("pot", "payer"), amounts(["cost"])).select("weighted_pots"))
    for pot, total in enumerate(LINES):
        parts = {payer: int(part) for payer, part in twin.rows(f"SELECT payer, cost FROM split_pots WHERE pot = {pot}")}
        assert parts == split(total, WEIGHTS)


def test_the_parts_of_lines_add_up_to_the_lines_and_to_the_parts_of_the_pot(twin: Twin):
    running = "SELECT *, sum(cost) OVER (ORDER BY pot ROWS UNBOUNDED PRECEDING) AS cost_running"
    lines = f"{running} FROM (SELECT DISTINCT pot, cost FROM weighted_pots)"
    weighted = f"SELECT l.*, w.payer, w.weight FROM ({lines}) l JOIN weighted_pots w ON w.pot = l.pot"
    twin.table("weighted_lines", weighted)
    splitting = Split(("pot",), ("payer",), ("pot", "payer"), running_amounts(["cost"]))
    twin.table("split_lines", splitting.select("weighted_lines"))
    by_line = {pot: int(cost) for pot, cost in twin.rows("SELECT pot, sum(cost) FROM split_lines GROUP BY pot")}
    by_payer = {
        payer: int(cost) for payer, cost in twin.rows("SELECT payer, sum(cost) FROM split_lines GROUP BY payer")
    }
    assert by_line == dict(enumerate(LINES))
    assert by_payer == split(sum(LINES), WEIGHTS)


@pytest.mark.parametrize(("number", "is_rewritten"), [("CAST(7 AS BIGINT)", False), ("CAST(7 AS INTEGER)", True)])
def test_moved_rows_are_not_rewritten_if_both_tables_have_the_same_columns(twin: Twin, number: str, is_rewritten: bool):
    twin.values("gathered_rows", "name VARCHAR, number BIGINT", [])
    for name in ("first", "second"):
        twin.table("few_rows", f"SELECT '{name}' AS name, {number} AS number")
        (written,) = twin.spark.folders("few_rows")
        twin.move("few_rows", "gathered_rows")
        assert (written not in twin.spark.folders("gathered_rows")) == is_rewritten
        twin.add("gathered_rows", "SELECT 'large', 9223372036854775807")
    assert twin.row("SELECT count(*), min(number), count(DISTINCT name) FROM gathered_rows") == (4, 7, 3)
    assert twin.duckdb.columns("gathered_rows") == {"name": "VARCHAR", "number": "BIGINT"}
    assert not twin.duckdb.rows("SELECT 1 FROM information_schema.tables WHERE table_name = 'few_rows'")
