"""Nested columns, however a file has them: structs and lists of Parquet, JSON, Python literals or flattened columns."""

from collections.abc import Iterable, Mapping

import duckdb

from trainfare.engine.sql import quoted
from trainfare.sources.bills.literals import as_json
from trainfare.sources.raw import RawTable
from trainfare.sources.rows import identifier, simplified


def column_of(raw: RawTable, *path: str) -> str | None:
    """Return the column whose name is these parts, joined by a dot, an underscore or anything else."""
    wanted = simplified("".join(path))
    return next((name for name in raw.columns if simplified(name) == wanted), None)


def text_in(raw: RawTable, parent: str, child: str) -> str | None:
    """Return SQL for a value in a nested column as text; None if the file has neither of them."""
    if (flat := column_of(raw, parent, child)) is not None:
        return raw.text(flat)
    if (nested := column_of(raw, parent)) is None:
        return None
    column, type_ = raw.column(nested)
    if type_.startswith("STRUCT"):
        found = _children(type_)
        return f"CAST({column}.{identifier(found[child])} AS VARCHAR)" if child in found else None
    if type_ not in ("VARCHAR", "JSON"):
        return None
    text = as_json(raw.text(nested))
    return f"CASE WHEN json_valid({text}) THEN json_extract_string({text}, {quoted(f'$.{child}')}) END"


def structs_in(raw: RawTable, names: Iterable[str], fields: Mapping[str, str], parent: str = "") -> str | None:
    """Return SQL for a list of structs with these fields, by the first of these names that the file has.

    `fields` are names and SQL types. A value that cannot be cast is null.
    """
    for name in names:
        if (column := column_of(raw, name)) is not None:
            return _structs(raw.column(column)[0], raw.column(column)[1], fields)
        if parent and (outer := column_of(raw, parent)) is not None:
            column, type_ = raw.column(outer)
            if type_.startswith("STRUCT") and name.removeprefix(f"{parent}_") in _children(type_):
                inner = name.removeprefix(f"{parent}_")
                type_of = dict(duckdb.sqltype(type_).children)
                return _structs(f"{column}.{identifier(inner)}", str(type_of[inner]), fields)
            if type_ == "VARCHAR":
                text = as_json(column)
                inner = f"json_extract({text}, {quoted('$.' + name.removeprefix(f'{parent}_'))})"
                return _structs(f"CASE WHEN json_valid({text}) THEN CAST({inner} AS VARCHAR) END", "VARCHAR", fields)
        if all(column_of(raw, name, field) is None for field in fields):
            continue
        flat = {field: column_of(raw, name, field) for field in fields}
        values = {field: raw.text(column) if column else "NULL" for field, column in flat.items()}
        is_there = " OR ".join(f"{value} IS NOT NULL" for value in values.values())
        return f"CASE WHEN {is_there} THEN [{_packed(values, fields)}] END"
    return None


def _structs(column: str, type_: str, fields: Mapping[str, str]) -> str | None:
    if type_ in ("VARCHAR", "JSON"):
        text = as_json(column if type_ == "VARCHAR" else f"CAST({column} AS VARCHAR)")
        form = "[{" + ", ".join(f'"{field}":"VARCHAR"' for field in fields) + "}]"
        is_list = f"json_valid({text}) AND json_type({text}) = 'ARRAY'"
        entries = f"CASE WHEN {is_list} THEN from_json({text}, {quoted(form)}) END"
        return _transformed(entries, {field: f"entry.{field}" for field in fields}, fields)
    if not type_.endswith("[]"):
        return None
    entry = duckdb.sqltype(type_.removesuffix("[]"))
    given = {str(name).lower(): str(name) for name, _ in entry.children} if entry.id == "struct" else {}
    values = {field: f"entry.{identifier(given[field])}" if field in given else "NULL" for field in fields}
    return _transformed(column, values, fields)


def _transformed(entries: str, values: Mapping[str, str], fields: Mapping[str, str]) -> str:
    return f"list_transform({entries}, lambda entry: {_packed(values, fields)})"


def _packed(values: Mapping[str, str], fields: Mapping[str, str]) -> str:
    typed = (f"{field} := TRY_CAST(CAST({values[field]} AS VARCHAR) AS {type_})" for field, type_ in fields.items())
    return f"struct_pack({', '.join(typed)})"


def _children(type_: str) -> dict[str, str]:
    return {str(name).lower(): str(name) for name, _ in duckdb.sqltype(type_).children}


def broken_lists(raw: RawTable, name: str) -> str | None:
    """Return SQL for whether a list in text can be read neither as JSON nor as a Python literal; None if not text."""
    column = column_of(raw, name)
    if column is None or not raw.is_text(column):
        return None
    text = as_json(raw.column(column)[0])
    return f"{text} IS NOT NULL AND (NOT json_valid({text}) OR json_type({text}) <> 'ARRAY')"
