"""API responses: the same rows as JSON, CSV or Parquet."""

import tempfile
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from litestar.openapi.datastructures import ResponseSpec
from litestar.params import QueryParameter

from trainfare import quoting
from trainfare.engine.duckdb import DuckDB, quoted
from trainfare.money import PLACES
from trainfare.report import records
from trainfare.serve.problems import MEDIA_TYPE, Problem
from trainfare.tables import MONEY

JSON, CSV, PARQUET = "application/json", "text/csv", "application/vnd.apache.parquet"
SLICE_ROWS = 500
"""How many rows are encoded at once."""
MEDIA_TYPES = {"json": JSON, "csv": CSV, "parquet": PARQUET}

Cell = str | int | bool | list[Any] | dict[str, Any] | None
Row = dict[str, Cell]
Format = Annotated[
    Literal["json", "csv", "parquet"] | None,
    QueryParameter(name="format", description="Response format. Default: from the Accept header, or JSON."),
]

PROBLEMS = {
    400: "The request is invalid.",
    401: "Not signed in, or the token is invalid.",
    403: "Not permitted for this viewer.",
    404: "Not found.",
    429: "Too many requests.",
    503: "The storage of the books is unavailable.",
}


def documented_responses(container: type[Any]) -> dict[int, ResponseSpec]:
    """Describe the responses of a route: its data, 304, and the problems that every route can have."""
    responses = {200: ResponseSpec(container, description="Success.", generate_examples=False)}
    responses[304] = ResponseSpec(None, description="Not modified since the ETag that was sent.")
    for status, description in PROBLEMS.items():
        responses[status] = problem_response(description)
    return responses


def problem_response(description: str) -> ResponseSpec:
    return ResponseSpec(Problem, description=description, media_type=MEDIA_TYPE, generate_examples=False)


@dataclass(frozen=True)
class Payload:
    """Rows under a name, and further fields of the JSON document. CSV and Parquet have the rows only."""

    name: str
    rows: Sequence[Mapping[str, Any]]
    fields: Mapping[str, Any] = field(default_factory=dict)


def preferred_format(accept: str) -> str:
    """Return the first of our formats that an Accept header lists; JSON if it lists none."""
    for part in accept.split(","):
        for name, media_type in MEDIA_TYPES.items():
            if part.split(";")[0].strip().lower() == media_type:
                return name
    return "json"


def body(payload: Payload, format_: str) -> bytes:
    if format_ == "csv":
        return records.as_csv([dict(row) for row in payload.rows]).encode()
    if format_ == "parquet":
        return as_parquet(payload.rows)
    return _json(payload)


def _json(payload: Payload) -> bytes:
    """Encode a payload in slices: encoding keeps Python's lock, and other requests would wait for a large one."""
    fields = msgspec.json.encode({"schema_version": 1, **plain(payload.fields)})
    slices = []
    for start in range(0, len(payload.rows), SLICE_ROWS):
        rows = [plain(row) for row in payload.rows[start : start + SLICE_ROWS]]
        slices.append(quoting.json_document(msgspec.json.encode(rows)[1:-1]))
    name = msgspec.json.encode(payload.name)
    return b"".join((quoting.json_document(fields)[:-1], b",", name, b":[", b",".join(slices), b"]}"))


def plain(value: Any) -> Any:
    """Convert a value, and the values nested in it, to what JSON can express; money becomes a decimal string."""
    if isinstance(value, Mapping):
        return {key: plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    return records.json_value(value)


_TYPES = {bool: "BOOLEAN", int: "DECIMAL(38,0)", Decimal: MONEY, datetime: "TIMESTAMP", date: "DATE"}


def as_parquet(rows: Sequence[Mapping[str, Any]]) -> bytes:
    """Write rows to a Parquet file and return its bytes. A column without any value is text."""
    names = list(rows[0]) if rows else ["nothing"]
    types = [_type([row[name] for row in rows if row[name] is not None]) for name in names]
    columns = ", ".join(f'"{name}" {type_}' for name, type_ in zip(names, types, strict=True))
    with closing(DuckDB()) as engine, tempfile.TemporaryDirectory(prefix="trainfare-") as folder:
        path = Path(folder) / "rows.parquet"
        engine.run(f"CREATE TEMP TABLE exported ({columns})")
        marks = ", ".join("?" for _ in names)
        if rows:
            values = [[_flat(row[name]) for name in names] for row in rows]
            engine.connection.executemany(f"INSERT INTO exported VALUES ({marks})", values)
        engine.run(f"COPY exported TO {quoted(path)} (FORMAT parquet, COMPRESSION zstd)")
        return path.read_bytes()


def _type(values: Sequence[object]) -> str:
    """Return the type of a column with these values, none of them null. Every digit of a decimal fits."""
    places = [-int(value.as_tuple().exponent) for value in values if isinstance(value, Decimal)]
    if places and max(places) > PLACES:
        return f"DECIMAL(38,{max(places)})"
    return _TYPES.get(type(values[0]), "VARCHAR") if values else "VARCHAR"


def _flat(value: Any) -> Any:
    return msgspec.json.encode(plain(value)).decode() if isinstance(value, list | dict) else value
