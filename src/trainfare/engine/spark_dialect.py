"""Translate the SQL of steps to Spark. Every difference between the two engines is handled here, once.

Steps are written in DuckDB's dialect; sqlglot knows most differences (null ordering, QUALIFY, EXCLUDE, FILTER, `//`,
struct_pack, arg_min). The rest is ours:

- **Functions** of `engine/duckdb.py` have the same names here, and the same digits.
- **Wide integers.** Spark has none: HUGEINT is DECIMAL(38,0). Its `div` of decimals wraps around silently beyond 64
  bits, and its `/` keeps 28 digits before the point and rounds, so `quotient` subtracts the remainder first, and
  divides longer numbers in two halves.
- **Floats and rounding.** `/` divides floats in DuckDB, and decimals in Spark if possible. A cast to an integer rounds
  in DuckDB and truncates in Spark.
- **Sums** of BIGINT are BIGINT in Spark, and an error beyond that: what may be more is widened before it is summed.
- **Lower case.** Spark writes a sigma at the end of a word as another letter, and the dotted capital I as two.
- **Hashes.** Spark's skip nulls, so (null, 'a') and ('a', null) would be equal; each value is preceded by whether it is
  null. The last value is the salt and goes first, so that it changes which rows collide.
- **JSON.** A key is looked up literally, whatever characters it has; Spark's paths know no quoted keys.
- **Percentiles.** Spark's are floats; ours is one of the values, with all its digits.
- **Patterns.** Java lets `$` match before a final line break, and counts letters of any script as part of a word.
- **Files.** Parquet files are opened by the engine that runs the step, under a name of its own.
"""

import glob
import re
from collections.abc import Callable, Sequence
from functools import cache

import sqlglot
from sqlglot import exp

from trainfare.files.locations import Location, locate

WIDE = "DECIMAL(38, 0)"
SHORT = f"CAST({10**28} AS {WIDE})"
HALF = f"CAST({10**19} AS DECIMAL(20, 0))"
"""Below SHORT a quotient is exact; above it, the upper and lower halves are divided one after the other."""

FUNCTIONS: dict[str, tuple[tuple[str, ...], str]] = {
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
    "integer_part_of_wide": (
        ("units", "weight", "total"),
        f"quotient(units, total) * weight + short_quotient(CAST(units % total * weight AS {WIDE}), total)",
    ),
    "integer_part": (
        ("units", "weight", "total"),
        f"integer_part_of_wide(CAST(units AS {WIDE}), CAST(weight AS DECIMAL(19, 0)), CAST(total AS DECIMAL(19, 0)))",
    ),
    "small_integer_part": (
        ("units", "weight", "total"),
        "units DIV total * weight + units % total * weight DIV total",
    ),
    "tiny_integer_part": (("units", "weight", "total"), "units * weight DIV total"),
    "epoch_second": (("moment",), "unix_seconds(CAST(moment AS TIMESTAMP_LTZ))"),
    "end_second": (
        ("starts", "ends"),
        "CASE WHEN ends > starts THEN (unix_micros(CAST(ends AS TIMESTAMP_LTZ)) + 999999) DIV 1000000 "
        "ELSE epoch_second(starts) END",
    ),
    "unique_number": ((), "monotonically_increasing_id()"),
    "epoch_us": (("moment",), "unix_micros(CAST(moment AS TIMESTAMP_LTZ))"),
    "weight_rank": (
        ("weight", "number"),
        f"CAST(CAST(weight AS {WIDE}) * 140737488355328 + (140737488355327 - number) AS {WIDE})",
    ),
    "rank_weight": (("rank",), "CAST(rank DIV 140737488355328 AS BIGINT)"),
    "rank_number": (("rank",), "CAST(140737488355327 - rank % 140737488355328 AS BIGINT)"),
    "small_weight_rank": (("weight", "number"), "CAST(weight AS BIGINT) * 2147483648 + (2147483647 - number)"),
    "small_rank_weight": (("rank",), "rank DIV 2147483648"),
    "small_rank_number": (("rank",), "2147483647 - rank % 2147483648"),
    "billing_month": (
        ("starts", "ends"),
        "CAST(date_trunc('MONTH', timestamp_micros((unix_micros(CAST(starts AS TIMESTAMP_LTZ)) + "
        "unix_micros(CAST(ends AS TIMESTAMP_LTZ))) DIV 2)) AS DATE)",
    ),
    "period_key": (
        ("starts", "ends"),
        "epoch_second(starts) * 536870912 + (end_second(starts, ends) - epoch_second(starts))",
    ),
    "day_key": (("starts",), "epoch_second(starts) DIV 86400 * 86400 * 536870912"),
    "period_day": (("period",), "period DIV 536870912 DIV 86400"),
    "lower_case": (("text",), "lower(translate(text, 'Σİ', 'σi'))"),
    "json_object_of": (
        ("key", "value"),
        "to_json(map_from_entries(array_sort(collect_list(struct(key AS k, value AS v)))))",
    ),
    "first_values": (
        ("value", "position", "shown"),
        "to_json(transform(array_sort(collect_list(struct(position AS position, value AS value)) "
        "FILTER (WHERE position <= shown)), each -> each.value))",
    ),
    "percentile_disc": (
        ("value", "part"),
        "try_element_at(array_sort(collect_list(value)), "
        "CAST(greatest(count(value) - floor(count(value) - CAST(part AS DOUBLE) * count(value)), 1) AS INT))",
    ),
    "json_valid": (
        ("text",),
        "CASE WHEN text IS NOT NULL THEN try_parse_json(text) IS NOT NULL "
        "AND try_parse_json(concat('[', text, ']')) IS NOT NULL END",
    ),
    "json_value": (
        ("text", "key"),
        "try_element_at(from_json(text, 'MAP<STRING, STRING>', map('allowSingleQuotes', 'false')), key)",
    ),
}
"""Name, arguments and definition in Spark's dialect. Definitions may use one another."""

WHOLE = (exp.DType.BIGINT, exp.DType.INT)
ALREADY_WHOLE = (exp.Literal, exp.Null, exp.IntDiv, exp.Window, exp.Count, exp.Neg)
"""Expressions that are integers before a cast, so nothing needs rounding."""

WORD = "[0-9A-Za-z_]"
EDGE = f"(?:(?<={WORD})(?!{WORD})|(?<!{WORD})(?={WORD}))"
"""The edge of a word as DuckDB defines it."""

FilesView = Callable[[Sequence[Location], bool], str]
"""Returns the name of a view of Parquet files, with the number of each row in its file if requested."""
IDENTICAL_NODES = (
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
        exp.NEQ,
        exp.And,
        exp.Or,
    ),
    *(exp.Case, exp.If, exp.Coalesce, exp.Where, exp.ReadParquet, exp.Array, exp.UnixToTime, exp.TimestampTrunc),
    *(exp.Var, exp.DataType, exp.DataTypeParam),
)
"""Parts of a query that mean the same in both engines, whatever the files contain."""


def to_spark(sql: str, files_view: FilesView) -> str:
    """Return a step or query in Spark's dialect; what Spark cannot express is an error."""
    tree = _transformed(sqlglot.parse_one(sql, read="duckdb"), lambda node: _translated(node, files_view))
    return tree.sql(dialect="spark", comments=False, unsupported_level=sqlglot.ErrorLevel.RAISE)


def reads_identically(sql: str, is_ours: Callable[[str], bool]) -> bool:
    """Return whether Spark reads this as the embedded reader does: typed files without text to parse, or own tables.

    What the translator does not understand, such as an expression of a user's mapping, is left to the reader.
    """
    try:
        tree = sqlglot.parse_one(sql, read="duckdb")
    except sqlglot.errors.ParseError:
        return False
    return all(_is_identical(node, is_ours) for node in tree.walk())


def _is_identical(node: exp.Expr, is_ours: Callable[[str], bool]) -> bool:
    if isinstance(node, exp.Cast):
        of_time = isinstance(node.this, exp.Column) and node.to.this in (exp.DType.TIMESTAMP, exp.DType.TIMESTAMPNTZ)
        return not isinstance(node, exp.TryCast) and (of_time or isinstance(node.this, exp.Null | exp.Literal))
    if isinstance(node, exp.Anonymous):
        return node.name.lower() in ("epoch_us", "billing_month")
    if isinstance(node, exp.Table):
        return isinstance(node.this, exp.ReadParquet) or is_ours(node.name)
    return isinstance(node, IDENTICAL_NODES)


def literal(value: object) -> str:
    """Return a Python value as a literal of Spark."""
    return exp.convert(value).sql(dialect="spark")


def type_name(duckdb_type: str) -> str:
    """Return the name that a column type has in Spark."""
    return _type(exp.DataType.build(duckdb_type, dialect="duckdb")).sql(dialect="spark")


def _transformed(tree: exp.Expr, transform: Callable[[exp.Expr], exp.Expr]) -> exp.Expr:
    """Return the tree with each node transformed, the inner ones first, so that nested functions are found."""
    for node in reversed([*tree.walk()]):
        transformed = transform(node)
        if transformed is not node:
            if node is tree:
                return transformed
            node.replace(transformed)
    return tree


def _translated(node: exp.Expr, files_view: FilesView) -> exp.Expr:
    if isinstance(node, exp.DataType):
        return _type(node)
    if isinstance(node, exp.Lower):
        return _call("lower_case", [node.this])
    if isinstance(node, exp.JSONExtractScalar):
        return _call("json_value", [node.this, exp.Literal.string(_key(node.expression))])
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
        raise ValueError("Spark's collect_list has no order: use first_values")
    if isinstance(node, exp.ReadParquet):
        numbered = any(one.name == "file_row_number" for one in node.find_all(exp.Column, exp.Var, exp.Identifier))
        return exp.to_table(files_view(_paths(node), numbered))
    return _function(node)


def _function(node: exp.Expr) -> exp.Expr:
    """Expand our own functions, and replace a hash of several values by Spark's."""
    if not isinstance(node, exp.Anonymous | exp.Func):
        return node
    name = node.name.lower() if isinstance(node, exp.Anonymous) else node.sql_name().lower()
    arguments = [*node.expressions] if isinstance(node, exp.Anonymous) else [*node.iter_expressions()]
    if name == "hash":
        pairs = [
            (exp.func("isnull", value.copy(), dialect="spark"), value) for value in (arguments[-1], *arguments[:-1])
        ]
        return exp.Anonymous(this="xxhash64", expressions=[part for pair in pairs for part in pair])
    return _call(name, arguments) if name in FUNCTIONS else node


def _call(name: str, arguments: Sequence[exp.Expr]) -> exp.Expr:
    """Return the definition of a function with these arguments in place of its parameters."""
    parameters, _ = FUNCTIONS[name]
    given = dict(zip(parameters, arguments, strict=True))

    def fill(node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Column) and not node.table and node.name in given:
            argument = given[node.name].copy()
            return argument if isinstance(argument, exp.Column | exp.Literal) else exp.paren(argument, copy=False)
        return node

    return exp.paren(_transformed(_definition(name).copy(), fill), copy=False)


@cache
def _definition(name: str) -> exp.Expr:
    """Return the definition of a function with every function of ours in it expanded."""
    tree = sqlglot.parse_one(FUNCTIONS[name][1], read="spark")

    def inner(node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Anonymous) and node.name.lower() in FUNCTIONS:
            return _call(node.name.lower(), node.expressions)
        return node

    return _transformed(tree, inner)


def _type(node: exp.DataType) -> exp.DataType:
    if node.this in (exp.DType.INT128, exp.DType.UINT128):
        return exp.DataType.build(WIDE, dialect="spark")
    if node.this == exp.DType.TIMESTAMP:
        return exp.DataType.build("TIMESTAMP_NTZ", dialect="spark")
    return node


def _key(path: exp.Expr) -> str:
    """Return the key that a JSON path names: `$.Name`, `$."a key"`."""
    keys = [part.this for part in path.find_all(exp.JSONPathKey)]
    if len(keys) != 1:
        raise ValueError(f"expected a path of one key, not {path.sql()}")
    return str(keys[0])


def _pattern(pattern: exp.Expr) -> exp.Expr:
    text = pattern.name.replace(r"\b", EDGE)
    return exp.Literal.string(re.sub(r"\$$", r"\\z", text))


def _paths(node: exp.ReadParquet) -> list[Location]:
    """Return the files or folders of `engine.sql.parquet`, without escapes."""
    patterns = [text.name for item in node.expressions for text in item.find_all(exp.Literal) if text.is_string]
    return [locate(_unescaped(text.removesuffix("/*.parquet"))) for text in patterns]


def _unescaped(pattern: str) -> str:
    plain = re.sub(r"\[([*?[])\]", r"\1", pattern)
    if glob.escape(plain) != pattern:
        raise ValueError(f"{pattern} is a pattern, not a file")
    return plain
