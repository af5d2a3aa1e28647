"""Expressions that users write: a restricted part of SQL over the columns of one row.

They are parsed by the engine that runs them, and only what is listed here is allowed: no subqueries, no files, no
windows or sums, no floating point. `FUNCTIONS` has a few of our own, for exact numbers and for times.
"""

import difflib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from trainfare.engine.duckdb import DuckDB, quoted
from trainfare.sources.bills.charges import FINE

MACROS = {
    "number(x)": f"TRY_CAST(CAST(x AS VARCHAR) AS {FINE})",
    "product(x, y)": (
        "CASE WHEN TRY_CAST(number(y) AS DECIMAL(20,12)) = number(y) THEN "
        f"TRY_CAST(TRY_CAST(trunc(number(x)) AS DECIMAL(18,0)) * TRY_CAST(number(y) AS DECIMAL(20,12)) AS {FINE}) + "
        f"CAST(CAST(number(x) - trunc(number(x)) AS DECIMAL(18,18)) * TRY_CAST(number(y) AS DECIMAL(20,12)) AS {FINE}) END"
    ),
    "next_hour(x)": "CAST(x AS TIMESTAMP) + INTERVAL 1 HOUR",
    "next_day(x)": "date_trunc('day', CAST(x AS TIMESTAMP)) + INTERVAL 1 DAY",
    "next_month(x)": "date_trunc('month', CAST(x AS TIMESTAMP)) + INTERVAL 1 MONTH",
    "month_start(x)": "date_trunc('month', CAST(x AS TIMESTAMP))",
}
"""Our own functions: `number` is exact to 22 decimals, `product` multiplies a quantity (18 decimals) by a price (12
decimals; with more it is null, and the row is refused).
"""
FUNCTIONS = frozenset(
    {
        *(name.partition("(")[0] for name in MACROS),
        *(
            "+",
            "-",
            "*",
            "||",
            "~~",
            "!~~",
            "~~*",
            "!~~*",
            "->>",
            "nullif",
            "concat",
            "lower",
            "upper",
            "trim",
            "ltrim",
        ),
        *("rtrim", "replace", "substr", "substring", "left", "right", "split_part", "length", "contains"),
        *("starts_with", "ends_with", "prefix", "suffix", "regexp_extract", "regexp_matches", "regexp_full_match"),
        *("regexp_replace", "abs", "greatest", "least", "strptime", "try_strptime", "strftime", "date_trunc"),
        *("json_extract_string", "struct_extract", "map_extract_value", "element_at", "to_json", "json_object"),
    }
)
CLASSES = frozenset({"COLUMN_REF", "CONSTANT", "FUNCTION", "CASE", "CAST", "COMPARISON", "CONJUNCTION", "OPERATOR"})
CLASSES |= {"BETWEEN", "TYPE"}
TYPES = frozenset(
    {"varchar", "text", "date", "timestamp", "timestamptz", "integer", "int", "bigint", "decimal", "boolean"}
)
TYPES |= {"timestamp with time zone", "json"}
OPERATORS = frozenset({"COMPARE_IN", "COMPARE_NOT_IN", "OPERATOR_NOT", "OPERATOR_IS_NULL", "OPERATOR_IS_NOT_NULL"})
OPERATORS |= {"OPERATOR_COALESCE", "ARRAY_EXTRACT", "STRUCT_EXTRACT"}
OTHER_CLASSES = {
    "SUBQUERY": "a subquery",
    "WINDOW": "a window function",
    "STAR": "*",
    "LAMBDA": "a lambda",
    "PARAMETER": "a parameter",
}
NO_DIVISION = "Division is not exact: multiply instead, as in product(cents, 0.01)."


class ExpressionError(Exception):
    """An expression that is not allowed: what is wrong, and what to do."""

    def __init__(self, what: str, do: str) -> None:
        super().__init__(what)
        self.what, self.do = what, do


@dataclass(frozen=True)
class Expression:
    """A parsed expression, with the columns it reads, and those of them that it reads as numbers."""

    text: str
    columns: tuple[str, ...]
    numbers: tuple[str, ...]
    is_column: bool


def define_functions(engine: DuckDB) -> None:
    """Define our own functions in the engine."""
    for signature, body in MACROS.items():
        engine.run(f"CREATE OR REPLACE TEMP MACRO {signature} AS {body}")


def parse(engine: DuckDB, text: str) -> Expression:
    """Return the expression, or raise `ExpressionError` for anything that is not allowed in one."""
    (tree,) = engine.row(f"SELECT json_serialize_sql({quoted(f'SELECT {text}')})")
    parsed = json.loads(tree)
    if parsed["error"]:
        message = str(parsed["error_message"]).splitlines()[0]
        raise ExpressionError(f"not a valid expression ({message[0].lower()}{message[1:]})", "Check the spelling.")
    node = parsed["statements"][0]["node"] if len(parsed["statements"]) == 1 else {}
    listed = node.get("select_list", [])
    is_plain = node.get("type") == "SELECT_NODE" and (node.get("from_table") or {}).get("type", "EMPTY") == "EMPTY"
    extra = ("where_clause", "having", "qualify", "sample")
    others = [name for name in (*extra, "group_expressions", "modifiers") if node.get(name)]
    if len(listed) != 1 or not is_plain or others or node.get("cte_map", {}).get("map") or listed[0].get("alias"):
        raise ExpressionError("not one expression", "Write one expression over the columns, without SELECT or FROM.")
    nodes = list(_nodes(listed[0]))
    for one in nodes:
        _require_allowed(one)
    columns = [_column(one) for one in nodes if one["class"] == "COLUMN_REF"]
    numbers = [_column(one) for node in nodes for one in _number_arguments(node)]
    is_column = listed[0]["class"] == "COLUMN_REF"
    return Expression(text, tuple(dict.fromkeys(columns)), tuple(dict.fromkeys(numbers)), is_column)


def _nodes(tree: Any) -> Iterator[dict[str, Any]]:
    """Yield every part of an expression."""
    if isinstance(tree, dict):
        if "class" in tree:
            yield tree
        for value in tree.values():
            yield from _nodes(value)
    elif isinstance(tree, list):
        for value in tree:
            yield from _nodes(value)


def _column(node: dict[str, Any]) -> str:
    return str(node["column_names"][0])


def _number_arguments(node: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the columns that are arguments of `number` or `product`."""
    if node["class"] != "FUNCTION" or node["function_name"] not in ("number", "product"):
        return []
    given = [argument.get("expression", argument) for argument in node["arguments"]]
    return [one for one in given if one["class"] == "COLUMN_REF"]


def _require_allowed(node: dict[str, Any]) -> None:
    kind = node["class"]
    if kind not in CLASSES:
        shown = OTHER_CLASSES.get(kind, kind.lower())
        raise ExpressionError(
            f"{shown} is not allowed", "Use columns, constants, CASE and the functions of the reference."
        )
    if kind == "FUNCTION":
        _require_function(node)
    if kind == "OPERATOR" and node["type"] not in OPERATORS:
        raise ExpressionError(f"{node['type'].lower()} is not allowed", "Use comparisons, AND, OR, NOT, IN or CASE.")
    if kind == "TYPE":
        _require_type(node)


def _require_function(node: dict[str, Any]) -> None:
    name = str(node["function_name"]).lower()
    if name in ("/", "//", "%", "divide", "fdiv"):
        raise ExpressionError(f"'{name}' is not allowed", NO_DIVISION)
    if name not in FUNCTIONS or node.get("schema") or node.get("catalog"):
        near = difflib.get_close_matches(name, FUNCTIONS, 1, 0.8)
        do = f"Did you mean {near[0]}?" if near else "The functions are listed in docs/howto/mapping.md."
        raise ExpressionError(f"function '{name}' is not allowed", do)
    if node.get("filter") or node.get("distinct") or (node.get("order_bys") or {}).get("orders"):
        raise ExpressionError(f"function '{name}' has a clause that is not allowed", "Write only its arguments.")


def _require_type(node: dict[str, Any]) -> None:
    name = str(node.get("type_name", "")).lower()
    if name in ("double", "float", "real", "float4", "float8"):
        raise ExpressionError(f"a cast to {name.upper()} is not exact", "Use number(column).")
    if name not in TYPES:
        raise ExpressionError(f"a cast to {name.upper()} is not allowed", f"Cast to one of {', '.join(sorted(TYPES))}.")
