"""API endpoints that trace cost: from a job to its bill lines, and from a bill line to its payers."""

import pickle
from collections.abc import Sequence
from pathlib import PurePath
from typing import Annotated
from urllib.parse import unquote

import msgspec
from litestar import Response, get
from litestar.di import NamedDependency
from litestar.params import PathParameter

from trainfare.books import reopen
from trainfare.engine.sql import quoted
from trainfare.query import job_names
from trainfare.query.cost import Question
from trainfare.query.explain import Explanation, restricted, selected_shares_of_job, stored
from trainfare.serve.api.parameters import Basis, Currency, JobId
from trainfare.serve.api.requests import BookRequest
from trainfare.serve.api.responses import Payload, Row, documented_responses, plain
from trainfare.serve.auth.permissions import sees_everything
from trainfare.serve.auth.viewer import Viewer
from trainfare.serve.books import BookReader
from trainfare.serve.cache.results import ResultKey
from trainfare.serve.problems import NotFoundError
from trainfare.store import Book


class JobExplanation(msgspec.Struct):
    """A job's cost by rule, pot and bill line. `explained` is the sum of the parts; it equals `cost`.

    A part is `weight` times `unit_price`. Fields in `withheld` are null for viewers who do not see everything.
    """

    schema_version: int
    job: str
    month: str
    version: int
    basis: str
    currency: str
    cost: str
    explained: str
    withheld: list[str]
    rules: list[Row]
    pots: list[Row]
    lines: list[Row]


class ConvertedRow(msgspec.Struct):
    """The row of a bill in a provider's own format, and by FOCUS column the expression and the value it became."""

    native: Row
    mapping: dict[str, str]
    focus: Row


class BillLine(msgspec.Struct):
    """A bill line with all its payers. `parts` is the sum of their parts; it equals the line.

    `conversion` is null for lines of FOCUS bills, which need none.
    """

    schema_version: int
    month: str
    version: int
    file: str
    file_line: int
    line: Row
    conversion: ConvertedRow | None
    parts: dict[str, str]
    payers: list[Row]


@get(
    "/jobs/{job_id:str}/explain",
    responses=documented_responses(JobExplanation),
    sync_to_thread=True,
    summary="Sources of a job's cost",
)
def explain_job(
    book_request: NamedDependency[BookRequest],
    job_id: JobId,
    basis: Basis = "effective",
    currency: Currency = None,
) -> Response[bytes]:
    """Rules, pots, weights and bill lines that add up to the job's cost. CSV and Parquet have the bill lines."""
    api, book, job_id = book_request.api, book_request.book, unquote(job_id)

    def compute() -> Payload:
        found = explain(api.book_reader, api.viewer, book, job_id, basis, currency)
        if found is None:
            raise NotFoundError("job", f"no job '{job_id[:100]}' in this book", "List jobs: /api/v1/jobs")
        fields = {"job": found.job_id} | book_request.fields | {"basis": basis, "currency": found.currency}
        fields |= {"cost": plain(found.stored), "explained": plain(found.explained), "withheld": list(found.withheld)}
        lines = [line | {"file": file_name(line["file"])} for line in found.lines]
        return Payload("lines", lines, fields | {"rules": plain(found.rules), "pots": plain(found.pots)})

    return api.respond([book], compute)


def file_name(path: str | None) -> str | None:
    """The name of a delivered file, if it is shown at all. Where it was on the server is nobody's business."""
    return PurePath(path).name if path else path


def explain(
    book_reader: BookReader,
    viewer: Viewer,
    book: Book,
    name: str,
    basis: str,
    currency: str | None,
    part: Question | None = None,
) -> Explanation | None:
    """Explain the cost of the attempts of a job that the viewer may see, without anything about others; None if there
    are none. With `part`, explain only what this question selects of it.

    The explanation is cached: a page, its downloads and the API all use it.
    """
    with book_reader.open(viewer, [book]) as opened:
        job_id = job_names.find(opened, name)
        if job_id is None:
            return None
        chosen = opened.currency(currency, book_reader.config.currency, basis)
        booked, shares = stored(opened.engine, job_id, basis, chosen), None
        if part:
            booked, shares = selected_shares_of_job(opened, part)
        visible = opened.engine.rows(
            f"SELECT DISTINCT attempt FROM attempts WHERE job_id = {quoted(job_id)} ORDER BY 1"
        )
    attempts = tuple(attempt for (attempt,) in visible)

    def compute() -> bytes:
        with book_reader.account(book) as (engine, account):
            explained = reopen.ExplainedJob(job_id, attempts, shares)
            return pickle.dumps(reopen.explain_stored(engine, account, explained, basis, chosen, booked))

    selection = part.selection if part else None
    key = ResultKey((book.id,), ("explanation", job_id, basis, chosen, selection), attempts)
    found: Explanation = pickle.loads(book_reader.results.get(key, compute))
    return found if viewer.sees_all else restricted(found)


@get(
    "/lines/{delivery:int}/{line:int}",
    responses=documented_responses(BillLine),
    guards=[sees_everything],
    sync_to_thread=True,
    summary="Payers of a bill line",
)
def line_payers(
    book_request: NamedDependency[BookRequest],
    delivery: Annotated[int, PathParameter(description="Number of the delivered file.", ge=1, le=2_000_000_000)],
    line: Annotated[
        int, PathParameter(description="Position in the file: 1 is the first line after the header.", ge=1, le=2**62)
    ],
) -> Response[bytes]:
    """All payers of a bill line, with rule, weight and total weight; their parts add up to the line."""
    api, book = book_request.api, book_request.book

    def compute() -> Payload:
        with api.book_reader.account(book) as (engine, account):
            found = reopen.payers_of_stored_line(engine, account, delivery, line)
            converted = reopen.converted_lines(api.book_reader.store, engine, [(delivery, line)]) if found else []
        if found is None:
            do = "The explanation of a job lists its lines: /api/v1/jobs/JOB/explain"
            raise NotFoundError("line", f"{book.month} has no line {line} of delivery {delivery}", do)
        fields = book_request.fields | {"file": file_name(found.file), "file_line": found.file_line}
        fields |= {"line": plain(found.line), "conversion": _conversion(converted), "parts": plain(found.parts)}
        return Payload("payers", found.payers, fields)

    return api.respond([book], compute)


def _conversion(lines: Sequence[reopen.ConvertedLine]) -> dict[str, Row] | None:
    """How the row of a native bill became the line; None if the bill has FOCUS columns itself."""
    for one in lines:
        made = one.conversion
        return {"native": plain(made.native), "mapping": dict(made.expressions), "focus": plain(made.focus)}
    return None


ROUTES = [explain_job, line_payers]
