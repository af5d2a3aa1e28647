"""Answers over HTTP: the same records as JSON, CSV or Parquet, with a tag that tells whether anything has changed."""

import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from litestar import Request, Response
from litestar.openapi.datastructures import ResponseSpec
from litestar.params import Parameter

from trainfare import __version__
from trainfare.engine.duckdb import DuckDB, quoted
from trainfare.report import records
from trainfare.store import Book
from trainfare.web.books import Shelf
from trainfare.web.problems import MEDIA_TYPE, Problem
from trainfare.web.viewer import Viewer

JSON, CSV, PARQUET = "application/json", "text/csv", "application/vnd.apache.parquet"
TWINS = {"json": JSON, "csv": CSV, "parquet": PARQUET}

Cell = str | int | bool | list[Any] | dict[str, Any] | None
Row = dict[str, Cell]
Format = Annotated[
    Literal["json", "csv", "parquet"] | None,
    Parameter(query="format", description="How to answer. Without it: what the Accept header asks for, or JSON."),
]

PROBLEMS = {
    400: "The question cannot be answered as it was asked.",
    401: "Nobody is signed in, or the token does not count.",
    403: "The viewer may not see or do that.",
    404: "It is not there.",
    429: "Too many requests.",
    503: "Where the books are kept does not answer.",
}


def documented(container: type[Any], *beside: int) -> dict[int, ResponseSpec]:
    """What a route may answer: its data, that nothing has changed, and the problems that every route can have."""
    told = {200: ResponseSpec(container, description="The answer.", generate_examples=False)}
    told[304] = ResponseSpec(None, description="Nothing has changed since the tag that was sent.")
    for status in (*PROBLEMS, *beside):
        told[status] = ResponseSpec(
            Problem,
            description=PROBLEMS.get(status, "A problem."),
            media_type=MEDIA_TYPE,
            generate_examples=False,
        )
    return told


@dataclass(frozen=True)
class Told:
    """An answer: records under a name, and what stands beside them in JSON."""

    name: str
    rows: Sequence[Mapping[str, Any]]
    beside: Mapping[str, Any] = field(default_factory=dict)


def answered(
    request: Request[Viewer, Any, Any],
    shelf: Shelf,
    format_: str | None,
    books: Sequence[Book],
    find: Callable[[], Told],
    *depends: object,
) -> Response[bytes]:
    """What `find` gives, unless the asker has it already: a published version never changes, so its number tells."""
    shape = format_ or wanted(request.headers.get("accept", ""))
    return _unless_known(request, shelf, shape, books, lambda: body(find(), shape), depends)


_NUMBERS = msgspec.json.Encoder(decimal_format="number")


def answered_json(
    request: Request[Viewer, Any, Any], shelf: Shelf, books: Sequence[Book], find: Callable[[], Any], *depends: object
) -> Response[bytes]:
    """The same for an answer whose shape is not ours: money is a number there, with all of its digits."""
    return _unless_known(request, shelf, "json", books, lambda: _NUMBERS.encode(find()), depends)


def _unless_known(
    request: Request[Viewer, Any, Any],
    shelf: Shelf,
    shape: str,
    books: Sequence[Book],
    find: Callable[[], bytes],
    depends: tuple[object, ...],
) -> Response[bytes]:
    tag = _tag(request, shape, books, depends)
    headers = {"ETag": tag, "Cache-Control": "private, no-cache", "Vary": "Accept, Authorization, Cookie"}
    if tag in [one.strip() for one in request.headers.get("if-none-match", "").split(",")]:
        return Response(b"", status_code=304, headers=headers)
    return Response(shelf.answers.ask(tag, find), media_type=TWINS[shape], headers=headers)


def wanted(accept: str) -> str:
    """The first of our formats that an Accept header names; JSON if it names none."""
    for part in accept.split(","):
        for name, media in TWINS.items():
            if part.split(";")[0].strip().lower() == media:
                return name
    return "json"


def _tag(request: Request[Viewer, Any, Any], shape: str, books: Sequence[Book], depends: tuple[object, ...]) -> str:
    viewer = request.user
    versions = [(str(book.month), book.version, book.closed) for book in books]
    asked = (request.url.path, request.url.query, shape, versions, viewer.role, viewer.sees, __version__, depends)
    return f'"{sha256(repr(asked).encode()).hexdigest()[:32]}"'


def body(told: Told, shape: str) -> bytes:
    if shape == "csv":
        return records.as_csv([dict(row) for row in told.rows]).encode()
    if shape == "parquet":
        return as_parquet(told.rows)
    rows = [{key: plain(value) for key, value in row.items()} for row in told.rows]
    return msgspec.json.encode({"schema_version": 1, **told.beside, told.name: rows})


def plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    return records.plain(value)


_TYPES = {bool: "BOOLEAN", int: "DECIMAL(38,0)", Decimal: "DECIMAL(38,12)", datetime: "TIMESTAMP", date: "DATE"}


def as_parquet(rows: Sequence[Mapping[str, Any]]) -> bytes:
    """Records as a Parquet file; a column without any value is text."""
    names = list(rows[0]) if rows else ["nothing"]
    types = [next((_type(row[name]) for row in rows if row[name] is not None), "VARCHAR") for name in names]
    columns = ", ".join(f'"{name}" {type_}' for name, type_ in zip(names, types, strict=True))
    with closing(DuckDB()) as engine, tempfile.TemporaryDirectory(prefix="trainfare-") as folder:
        path = Path(folder) / "answer.parquet"
        engine.run(f"CREATE TEMP TABLE answer ({columns})")
        marks = ", ".join("?" for _ in names)
        if rows:
            told = [[_flat(row[name]) for name in names] for row in rows]
            engine.connection.executemany(f"INSERT INTO answer VALUES ({marks})", told)
        engine.run(f"COPY answer TO {quoted(path)} (FORMAT parquet, COMPRESSION zstd)")
        return path.read_bytes()


def _type(value: object) -> str:
    return _TYPES.get(type(value), "VARCHAR")


def _flat(value: Any) -> Any:
    return msgspec.json.encode(plain(value)).decode() if isinstance(value, list | dict) else value
