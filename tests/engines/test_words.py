"""What the two engines say differently, each with the spelling that hides it.

Every case has three parts: what plain Spark would answer, what DuckDB answers, and that our spelling gives DuckDB's.
"""

from typing import Any

import pytest
from account.test_properties import examples
from hypothesis import given
from hypothesis import strategies as st

from trainfare.engine.spark import EXACT
from trainfare.engine.spark_words import NAMED, spelled
from trainfare.money import amount, split

from .twin import Twin

CASES = {
    "decimals keep their last digit": (
        "CAST(1 AS DECIMAL(38,12)) + CAST(0.000000000001 AS DECIMAL(38,12)) || ''",
        {"spark.sql.decimalOperations.allowPrecisionLoss": "true"},
        "1.00000000000",
        "1.000000000001",
    ),
    "an overflow is refused, not null": (
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
    "a month is told by its middle, in UTC": (
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
        "(SELECT quantile_disc(x, 0.25) || '' FROM (VALUES (10000000000.000000000001), (20000000000.000000000001)) AS told(x))",
        "(SELECT percentile_disc(0.25) WITHIN GROUP (ORDER BY x) || '' "
        "FROM VALUES (10000000000.000000000001), (20000000000.000000000001) AS told(x))",
    ),
    ("CAST(make_timestamp(1774751400000000) AS VARCHAR)", "CAST(1774751400000000 AS STRING)"),
]
"""The words of a step, and what one would write for Spark who does not know."""


@pytest.mark.parametrize(("words", "plain"), PLAIN, ids=[words for words, _ in PLAIN])
def test_our_spelling_gives_what_duckdb_gives_and_the_plain_one_does_not(twin: Twin, words: str, plain: str):
    (meant,) = twin.duckdb.row(f"SELECT {words}")
    ((naive,),) = (tuple(row) for row in twin.spark.session.sql(f"SELECT {plain}").collect())
    assert naive != meant
    assert twin.spark.row(f"SELECT {words}") == (meant,)


@pytest.mark.parametrize("name", CASES)
def test_a_setting_that_the_session_needs_makes_a_difference(twin: Twin, name: str):
    words, without, wrong, right = CASES[name]
    session = twin.spark.session
    try:
        for setting, value in without.items():
            session.conf.set(setting, value)
        if wrong is not None:
            assert twin.spark.row(f"SELECT {words}") == (wrong,)
    finally:
        for setting, value in EXACT.items():
            session.conf.set(setting, value)
    if right is None:
        with pytest.raises(Exception, match="OVERFLOW"):
            twin.spark.row(f"SELECT {words}")
    else:
        assert twin.row(f"SELECT {words}") == (right,)


def test_nulls_come_last_unless_a_step_says_otherwise(twin: Twin):
    rows = "(VALUES (2), (NULL), (1)) AS told(x)"
    asked = f"SELECT x, row_number() OVER (ORDER BY x) AS place FROM {rows}"
    assert dict(twin.rows(asked)) == {1: 1, 2: 2, None: 3}
    plain = twin.spark.session.sql(asked).collect()
    assert dict(map(tuple, plain)) == {None: 1, 1: 2, 2: 3}


def test_a_small_sum_is_as_narrow_as_what_is_added_up(twin: Twin):
    added = "small_sum(CAST(x AS BIGINT)) AS added FROM (VALUES (9000000000000000000), (-8999999999999999999), (NULL)) AS told(x)"
    assert twin.row(f"SELECT {added}") == (1,)
    assert twin.duckdb.columns(f"(SELECT {added})") == {"added": "BIGINT"}
    assert twin.duckdb.columns(f"(SELECT {added.replace('small_sum', 'sum')})") == {"added": "HUGEINT"}


def test_evidence_is_listed_by_its_place(twin: Twin):
    rows = "(VALUES ('b', 2), ('a \"quoted\" é', 1), ('c', 3)) AS told(words, place)"
    (listed,) = twin.row(f"SELECT first_of(words, place, 2) FROM {rows}")
    assert listed == '["a \\"quoted\\" é","b"]'


def test_a_word_spark_has_not_is_refused(twin: Twin):
    with pytest.raises(ValueError, match="no order"):
        spelled("SELECT list(a ORDER BY b) FROM t", lambda paths, numbered: "files")


def test_both_engines_know_the_same_named_functions(twin: Twin):
    found = twin.duckdb.rows(
        "SELECT DISTINCT function_name FROM duckdb_functions() WHERE function_type = 'macro' AND NOT internal"
    )
    spelled_once = {
        "quotient",
        "short_quotient",
        "whole_part_of_wide",
        "small_letters",
        "json_valid",
        "epoch_us",
        "percentile_disc",
    }
    of_reports = {"per_hour"}
    assert {name for (name,) in found} - of_reports - {"whole_part_of_size"} == NAMED.keys() - spelled_once


wide = st.one_of(*(st.integers(-(10**digits), 10**digits) for digits in (6, 20, 28, 37)))
totals = st.one_of(st.integers(1, 50), st.integers(1, 3 * 10**9 + 5), st.integers(1, 2**63 - 1))


@examples(3)
@given(parts=st.lists(st.tuples(wide, totals, st.integers(0, 2**63)), min_size=200, max_size=300))
def test_dividing_is_exact_for_any_digits(twin: Twin, parts: list[tuple[int, int, int]]):
    """Against Python's whole numbers, which are as wide as they need to be."""
    rows: list[tuple[Any, ...]] = [
        (at, units, part % (total + 1), total) for at, (units, total, part) in enumerate(parts)
    ]
    listed = ", ".join(f"({at}, '{units}', {weight}, {total})" for at, units, weight, total in rows)
    asked = (
        "SELECT n, whole_part(CAST(units AS HUGEINT), CAST(weight AS BIGINT), CAST(total AS BIGINT)) AS part, "
        "number_of(heaviness(CAST(weight AS BIGINT), n)) AS number, weight_of(heaviness(CAST(weight AS BIGINT), n)) AS heavy, "
        "small_number_of(small_heaviness(CAST(weight AS BIGINT) % 3000000000, n)) AS small_number, "
        "small_weight_of(small_heaviness(CAST(weight AS BIGINT) % 3000000000, n)) AS small_weight "
        f"FROM (VALUES {listed}) AS given(n, units, weight, total)"
    )
    meant = {at: (abs(units) * weight // total) * (1 if units >= 0 else -1) for at, units, weight, total in rows}
    answers = twin.rows(asked)
    assert {at: int(part) for at, part, *_ in answers} == meant
    weights = {at: weight for at, _, weight, _ in rows}
    for at, _, *taken_out in answers:
        assert taken_out == [at, weights[at], at, weights[at] % 3000000000]


@examples(3)
@given(amounts=st.lists(st.integers(-(10**38) + 1, 10**38 - 1), min_size=100, max_size=200))
def test_money_becomes_units_and_back_without_loss(twin: Twin, amounts: list[int]):
    listed = ", ".join(f"({at}, '{amount(units):f}')" for at, units in enumerate(amounts))
    rows = f"(VALUES {listed}) AS given(n, told)"
    asked = f"SELECT n, in_units(money), as_money(in_units(money)) FROM (SELECT n, CAST(told AS DECIMAL(38,12)) AS money FROM {rows})"
    for at, units, money in twin.rows(asked):
        assert int(units) == amounts[at]
        assert money == amount(amounts[at])


def test_the_split_of_money_py_is_what_the_words_say(twin: Twin):
    pot, weights = 10**13, {"a": 3, "b": 3, "c": 1}
    listed = ", ".join(f"('{payer}', {weight})" for payer, weight in weights.items())
    asked = (
        f"SELECT payer, whole_part(CAST({pot} AS HUGEINT), weight, 7) FROM (VALUES {listed}) AS given(payer, weight)"
    )
    parts = {payer: int(part) for payer, part in twin.rows(asked)}
    parts["a"] += pot - sum(parts.values())
    assert parts == split(pot, weights)


@pytest.mark.parametrize(("number", "is_written_again"), [("CAST(7 AS BIGINT)", False), ("CAST(7 AS INTEGER)", True)])
def test_rows_that_are_moved_are_not_written_again_where_both_tables_are_alike(
    twin: Twin, number: str, is_written_again: bool
):
    twin.values("gathered_rows", "name VARCHAR, number BIGINT", [])
    for name in ("first", "second"):
        twin.table("few_rows", f"SELECT '{name}' AS name, {number} AS number")
        (written,) = twin.spark.folders("few_rows")
        twin.move("few_rows", "gathered_rows")
        assert (written not in twin.spark.folders("gathered_rows")) == is_written_again
        twin.add("gathered_rows", "SELECT 'large', 9223372036854775807")
    assert twin.row("SELECT count(*), min(number), count(DISTINCT name) FROM gathered_rows") == (4, 7, 3)
    assert twin.duckdb.columns("gathered_rows") == {"name": "VARCHAR", "number": "BIGINT"}
    assert not twin.duckdb.rows("SELECT 1 FROM information_schema.tables WHERE table_name = 'few_rows'")
