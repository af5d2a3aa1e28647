"""The words of the steps, spelled for Spark. Whatever the two engines say differently is said here, once per difference.

Steps are written in DuckDB's dialect; sqlglot knows most of what differs (null ordering, QUALIFY, EXCLUDE, FILTER, `//`,
struct_pack, arg_min). What it cannot know is ours:

- **Named functions** of `engine/duckdb.py` have the same names here, and the same digits.
- **Wide integers.** Spark has none: HUGEINT is DECIMAL(38,0). Its `div` of decimals wraps around silently beyond 64 bits, and
  its `/` keeps 28 digits before the point and rounds, so `quotient` takes the remainder off first, and divides what is longer in two
  halves.
- **Floats and rounding.** `/` is of floats in DuckDB, and of decimals in Spark if it can be. A cast to a whole number rounds in
  DuckDB and cuts off in Spark.
- **Sums** of BIGINT are BIGINT in Spark, and refused beyond: what may be more is wide before it is added up.
- **Small letters.** Spark writes a sigma at the end of a word as another letter, and the dotted capital I as two.
- **Hashes.** Spark's leave out nulls, so that (null, 'a') and ('a', null) are the same; each value is told with whether it is
  there. The last value is the salt and goes first, so that it changes which rows meet.
- **JSON.** A key is looked up in the text's own words, whatever marks it has; Spark's paths know no quoted keys.
- **Percentiles.** Spark's are floats; ours is one of the values, with all its digits.
- **Patterns.** Java lets `$` match before a last line break, and takes letters of any script as part of a word.
- **Files.** Parquet files are opened by the engine that runs the step, under a name of its own.
"""

import glob
import re
from collections.abc import Callable, Sequence
from functools import cache

import sqlglot
from sqlglot import exp

from trainfare.places import Place, place

WIDE = "DECIMAL(38, 0)"
SHORT = f"CAST({10**28} AS {WIDE})"
HALF = f"CAST({10**19} AS DECIMAL(20, 0))"
"""Below the one a quotient has digits enough; above, its upper and lower half are divided one after the other."""

NAMED: dict[str, tuple[tuple[str, ...], str]] = {
    "in_units": (
        ("money",),
        f"CASE WHEN money < 10000000000000 AND money > -10000000000000 THEN CAST(money * 1000000000000 AS {WIDE}) "
        f"ELSE CAST(replace(CAST(CAST(money AS DECIMAL(38, 12)) AS STRING), '.', '') AS {WIDE}) END",
    ),
    "in_small_units": (("money",), "CAST(money * 1000000000000 AS BIGINT)"),
    "small_sum": (("units",), "sum(units)"),
    "as_money": (
        ("units",),
        f"CAST(CAST(units AS {WIDE}) * CAST(0.000000000001 AS DECIMAL(12, 12)) AS DECIMAL(38, 12))",
    ),
    "short_quotient": (("units", "total"), f"CAST((units - units % total) / total AS {WIDE})"),
    "quotient": (
        ("units", "total"),
        f"CASE WHEN units < {SHORT} AND units > -{SHORT} THEN short_quotient(units, total) "
        f"ELSE CAST(short_quotient(short_quotient(units, {HALF}), total) * {HALF} + short_quotient("
        f"CAST(short_quotient(units, {HALF}) % total * {HALF} + units % {HALF} AS {WIDE}), total) AS {WIDE}) END",
    ),
    "whole_part_of_wide": (
        ("units", "weight", "total"),
        f"quotient(units, total) * weight + short_quotient(CAST(units % total * weight AS {WIDE}), total)",
    ),
    "whole_part": (
        ("units", "weight", "total"),
        f"whole_part_of_wide(CAST(units AS {WIDE}), CAST(weight AS DECIMAL(19, 0)), CAST(total AS DECIMAL(19, 0)))",
    ),
    "small_whole_part": (
        ("units", "weight", "total"),
        "units DIV total * weight + units % total * weight DIV total",
    ),
    "tiny_whole_part": (("units", "weight", "total"), "units * weight DIV total"),
    "epoch_second": (("moment",), "unix_seconds(CAST(moment AS TIMESTAMP_LTZ))"),
    "any_number": ((), "monotonically_increasing_id()"),
    "epoch_us": (("moment",), "unix_micros(CAST(moment AS TIMESTAMP_LTZ))"),
    "heaviness": (
        ("weight", "number"),
        f"CAST(CAST(weight AS {WIDE}) * 140737488355328 + (140737488355327 - number) AS {WIDE})",
    ),
    "weight_of": (("heaviness",), "CAST(heaviness DIV 140737488355328 AS BIGINT)"),
    "number_of": (("heaviness",), "CAST(140737488355327 - heaviness % 140737488355328 AS BIGINT)"),
    "small_heaviness": (("weight", "number"), "CAST(weight AS BIGINT) * 2147483648 + (2147483647 - number)"),
    "small_weight_of": (("heaviness",), "heaviness DIV 2147483648"),
    "small_number_of": (("heaviness",), "2147483647 - heaviness % 2147483648"),
    "billing_month": (
        ("starts", "ends"),
        "CAST(date_trunc('MONTH', timestamp_micros((unix_micros(CAST(starts AS TIMESTAMP_LTZ)) + "
        "unix_micros(CAST(ends AS TIMESTAMP_LTZ))) DIV 2)) AS DATE)",
    ),
    "period_key": (
        ("starts", "ends"),
        "epoch_second(starts) * 536870912 + (epoch_second(ends) - epoch_second(starts))",
    ),
    "day_key": (("starts",), "epoch_second(starts) DIV 86400 * 86400 * 536870912"),
    "period_day": (("period",), "period DIV 536870912 DIV 86400"),
    "small_letters": (("words",), "lower(translate(words, 'Σİ', 'σi'))"),
    "object_of": (
        ("key", "words"),
        "to_json(map_from_entries(array_sort(collect_list(struct(key AS k, words AS v)))))",
    ),
    "first_of": (
        ("words", "place", "shown"),
        "to_json(transform(array_sort(collect_list(struct(place AS place, words AS words)) "
        "FILTER (WHERE place <= shown)), each -> each.words))",
    ),
    "percentile_disc": (
        ("value", "part"),
        "try_element_at(array_sort(collect_list(value)), "
        "CAST(greatest(count(value) - floor(count(value) - CAST(part AS DOUBLE) * count(value)), 1) AS INT))",
    ),
    "json_valid": (
        ("words",),
        "CASE WHEN words IS NOT NULL THEN try_parse_json(words) IS NOT NULL "
        "AND try_parse_json(concat('[', words, ']')) IS NOT NULL END",
    ),
    "json_value": (
        ("words", "key"),
        "try_element_at(from_json(words, 'MAP<STRING, STRING>', map('allowSingleQuotes', 'false')), key)",
    ),
}
"""Name, arguments and meaning, in Spark's words. They may use one another."""

WHOLE = (exp.DType.BIGINT, exp.DType.INT)
ALREADY_WHOLE = (exp.Literal, exp.Null, exp.IntDiv, exp.Window, exp.Count, exp.Neg)
"""What is whole before it is cast, so that nothing is to be rounded."""

WORD = "[0-9A-Za-z_]"
EDGE = f"(?:(?<={WORD})(?!{WORD})|(?<!{WORD})(?={WORD}))"
"""A word's edge as DuckDB sees it."""

Opened = Callable[[Sequence[Place], bool], str]
"""Gives Parquet files a name that can be read FROM; with the number of each row in its file, if that is asked for."""
READ_ALIKE = (
    *(
        exp.Select,
        exp.Union,
        exp.Subquery,
        exp.From,
        exp.Table,
        exp.TableAlias,
        exp.Star,
        exp.Column,
        exp.Identifier,
        exp.Alias,
    ),
    *(
        exp.Literal,
        exp.Null,
        exp.Boolean,
        exp.Paren,
        exp.Add,
        exp.Neg,
        exp.Mul,
        exp.DPipe,
        exp.Like,
        exp.Not,
        exp.Is,
        exp.EQ,
    ),
    *(exp.Case, exp.If, exp.Coalesce, exp.Where, exp.ReadParquet, exp.Array, exp.UnixToTime, exp.TimestampTrunc),
    *(exp.Var, exp.DataType, exp.DataTypeParam),
)
"""Parts of a query that mean the same in both engines, whatever is in the files."""


def spelled(sql: str, opened: Opened) -> str:
    """A step or query in Spark's words. `opened` gives Parquet files a name that can be read FROM.

    What Spark has no words for is an error, never left out.
    """
    tree = _from_the_leaves(sqlglot.parse_one(sql, read="duckdb"), lambda node: _spelling(node, opened))
    return tree.sql(dialect="spark", comments=False, unsupported_level=sqlglot.ErrorLevel.RAISE)


def reads_alike(sql: str, is_ours: Callable[[str], bool]) -> bool:
    """Whether Spark reads this as the embedded reader does: typed files, which need no reading of texts, or tables of our own."""
    return all(_is_alike(node, is_ours) for node in sqlglot.parse_one(sql, read="duckdb").walk())


def _is_alike(node: exp.Expr, is_ours: Callable[[str], bool]) -> bool:
    if isinstance(node, exp.Cast):
        of_time = isinstance(node.this, exp.Column) and node.to.this in (exp.DType.TIMESTAMP, exp.DType.TIMESTAMPNTZ)
        return not isinstance(node, exp.TryCast) and (of_time or isinstance(node.this, exp.Null | exp.Literal))
    if isinstance(node, exp.Anonymous):
        return node.name.lower() in ("epoch_us", "billing_month")
    if isinstance(node, exp.Table):
        return isinstance(node.this, exp.ReadParquet) or is_ours(node.name)
    return isinstance(node, READ_ALIKE)


def literal(value: object) -> str:
    """A Python value in Spark's words."""
    return exp.convert(value).sql(dialect="spark")


def type_name(duckdb_type: str) -> str:
    """A column's type in Spark's words."""
    return _type(exp.DataType.build(duckdb_type, dialect="duckdb")).sql(dialect="spark")


def _from_the_leaves(tree: exp.Expr, spelling: Callable[[exp.Expr], exp.Expr]) -> exp.Expr:
    """The tree with each part respelled, the inner ones first, so that words within words are found."""
    for node in reversed([*tree.walk()]):
        respelled = spelling(node)
        if respelled is not node:
            if node is tree:
                return respelled
            node.replace(respelled)
    return tree


def _spelling(node: exp.Expr, opened: Opened) -> exp.Expr:
    if isinstance(node, exp.DataType):
        return _type(node)
    if isinstance(node, exp.Lower):
        return _named("small_letters", [node.this])
    if isinstance(node, exp.JSONExtractScalar):
        return _named("json_value", [node.this, exp.Literal.string(_key(node.expression))])
    if isinstance(node, exp.Div):
        return exp.Div(
            **{side: exp.cast(node.args[side].copy(), "DOUBLE", dialect="spark") for side in ("this", "expression")}
        )
    if isinstance(node, exp.Cast) and node.to.this in WHOLE and not isinstance(node.this, ALREADY_WHOLE):
        node.set("this", exp.func("round", node.this.copy(), dialect="spark"))
        return node
    if isinstance(node, exp.RegexpExtract):
        node.set("expression", _pattern(node.expression))
        return node
    if isinstance(node, exp.UnixToTime | exp.TimestampTrunc):
        return exp.cast(node.copy(), "TIMESTAMP_NTZ", dialect="spark")
    if isinstance(node, exp.ArrayAgg) and node.find(exp.Order):
        raise ValueError("Spark's collect_list knows no order: use first_of")
    if isinstance(node, exp.ReadParquet):
        numbered = any(one.name == "file_row_number" for one in node.find_all(exp.Column, exp.Var, exp.Identifier))
        return exp.to_table(opened(_paths(node), numbered))
    return _function(node)


def _function(node: exp.Expr) -> exp.Expr:
    """Our own functions by their meaning; a hash of several values by Spark's own."""
    if not isinstance(node, exp.Anonymous | exp.Func):
        return node
    name = node.name.lower() if isinstance(node, exp.Anonymous) else node.sql_name().lower()
    arguments = [*node.expressions] if isinstance(node, exp.Anonymous) else [*node.iter_expressions()]
    if name == "hash":
        told = [
            (exp.func("isnull", value.copy(), dialect="spark"), value) for value in (arguments[-1], *arguments[:-1])
        ]
        return exp.Anonymous(this="xxhash64", expressions=[part for pair in told for part in pair])
    return _named(name, arguments) if name in NAMED else node


def _named(name: str, arguments: Sequence[exp.Expr]) -> exp.Expr:
    """The meaning of a named function, with these arguments in the places of its own."""
    parameters, _ = NAMED[name]
    given = dict(zip(parameters, arguments, strict=True))

    def fill(node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Column) and not node.table and node.name in given:
            argument = given[node.name].copy()
            return argument if isinstance(argument, exp.Column | exp.Literal) else exp.paren(argument, copy=False)
        return node

    return exp.paren(_from_the_leaves(_meaning(name).copy(), fill), copy=False)


@cache
def _meaning(name: str) -> exp.Expr:
    """A named function's meaning, with every named function in it spelled out."""
    tree = sqlglot.parse_one(NAMED[name][1], read="spark")

    def inner(node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Anonymous) and node.name.lower() in NAMED:
            return _named(node.name.lower(), node.expressions)
        return node

    return _from_the_leaves(tree, inner)


def _type(node: exp.DataType) -> exp.DataType:
    if node.this in (exp.DType.INT128, exp.DType.UINT128):
        return exp.DataType.build(WIDE, dialect="spark")
    if node.this == exp.DType.TIMESTAMP:
        return exp.DataType.build("TIMESTAMP_NTZ", dialect="spark")
    return node


def _key(path: exp.Expr) -> str:
    """The key that a JSON path names: `$.Name`, `$."a key"`."""
    keys = [part.this for part in path.find_all(exp.JSONPathKey)]
    if len(keys) != 1:
        raise ValueError(f"a path of one key is known, not {path.sql()}")
    return str(keys[0])


def _pattern(pattern: exp.Expr) -> exp.Expr:
    text = pattern.name.replace(r"\b", EDGE)
    return exp.Literal.string(re.sub(r"\$$", r"\\z", text))


def _paths(node: exp.ReadParquet) -> list[Place]:
    """The files or folders of `engine.sql.parquet`, with their marks as they are."""
    told = [text.name for item in node.expressions for text in item.find_all(exp.Literal) if text.is_string]
    return [place(_unescaped(text.removesuffix("/*.parquet"))) for text in told]


def _unescaped(pattern: str) -> str:
    plain = re.sub(r"\[([*?[])\]", r"\1", pattern)
    if glob.escape(plain) != pattern:
        raise ValueError(f"{pattern} is a pattern, not a file")
    return plain
