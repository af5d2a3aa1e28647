"""Where money comes from, down to bill lines; and back, from a bill line to everyone who pays a part of it."""

import pickle
from typing import Annotated, Any

import msgspec
from litestar import Request, Response, get
from litestar.params import Parameter

from trainfare import reopened
from trainfare.engine.sql import quoted
from trainfare.report import job
from trainfare.report.explain import Explanation, stored
from trainfare.store import Book
from trainfare.web.api.answer import Format, Row, Told, answered, documented, plain
from trainfare.web.api.asked import Basis, Currency, MonthText, Version, chosen_book
from trainfare.web.books import Shelf
from trainfare.web.problems import NotThereError
from trainfare.web.rights import sees_everything
from trainfare.web.viewer import Viewer


class Explained(msgspec.Struct):
    """A job's money by rules, pots and bill lines. `opened` is the sum of the parts, `cost` what the book says: the same."""

    schema_version: int
    job: str
    month: str
    version: int
    basis: str
    currency: str
    cost: str
    opened: str
    rules: list[Row]
    pots: list[Row]
    lines: list[Row]


class Line(msgspec.Struct):
    """A bill line with everyone who pays a part of it. `parts` is the sum of the parts: the line itself."""

    schema_version: int
    month: str
    version: int
    file: str
    file_line: int
    line: Row
    parts: dict[str, str]
    payers: list[Row]


@get(
    "/jobs/{job_id:str}/explain",
    responses=documented(Explained),
    sync_to_thread=True,
    summary="Where a job's money comes from",
)
def explained(
    request: Request[Viewer, Any, Any],
    shelf: Shelf,
    viewer: Viewer,
    job_id: Annotated[str, Parameter(description="The job's id.", max_length=500)],
    basis: Basis = "effective",
    currency: Currency = None,
    month: MonthText = None,
    version: Version = None,
    format_: Format = None,
) -> Response[bytes]:
    """Rules, pots, weights and bill lines, adding up to the published figure. CSV and Parquet have the bill lines."""
    book = chosen_book(shelf, month, version)

    def find() -> Told:
        found = explain(shelf, viewer, book, job_id, basis, currency)
        if found is None:
            raise NotThereError("job", f"there is no job '{job_id[:100]}' in this book", "List them: /api/v1/jobs")
        beside = {"job": job_id, "month": str(book.month), "version": book.version, "basis": basis}
        beside |= {"currency": found.currency, "cost": plain(found.stored), "opened": plain(found.opened)}
        return Told("lines", found.lines, beside | {"rules": plain(found.rules), "pots": plain(found.pots)})

    return answered(request, shelf, format_, [book], find)


def explain(
    shelf: Shelf, viewer: Viewer, book: Book, job_id: str, basis: str, currency: str | None
) -> Explanation | None:
    """A job's money opened, of the attempts that the viewer may see; None if there are none. It is kept: a page, its exports and the API
    all tell of it.
    """
    with shelf.opened(viewer, [book], job_id) as opened:
        if job.facts(opened, job_id) is None:
            return None
        chosen = opened.currency(currency, shelf.config.currency, basis)
        booked = stored(opened.engine, job_id, basis, chosen)
        seen = opened.engine.rows(f"SELECT DISTINCT attempt FROM attempts WHERE job_id = {quoted(job_id)} ORDER BY 1")
    attempts = tuple(attempt for (attempt,) in seen)

    def find() -> bytes:
        with shelf.account(book) as (engine, account):
            return pickle.dumps(reopened.explain_kept(engine, account, job_id, attempts, basis, chosen, booked))

    key = ("explained", book.id, job_id, attempts, basis, chosen)
    found: Explanation = pickle.loads(shelf.answers.ask(key, find))
    return found


@get(
    "/lines/{delivery:int}/{line:int}",
    responses=documented(Line),
    guards=[sees_everything],
    sync_to_thread=True,
    summary="Who pays a bill line",
)
def line_payers(
    request: Request[Viewer, Any, Any],
    shelf: Shelf,
    viewer: Viewer,
    delivery: Annotated[int, Parameter(description="Number of the delivered file.", ge=1, le=2_000_000_000)],
    line: Annotated[
        int, Parameter(description="Position in it: 1 is the first line after the header.", ge=1, le=2**62)
    ],
    month: MonthText = None,
    version: Version = None,
    format_: Format = None,
) -> Response[bytes]:
    """Everyone who pays a part of a bill line, with rule, weight and whole weight; the parts add up to the line."""
    book = chosen_book(shelf, month, version)

    def find() -> Told:
        with shelf.account(book) as (engine, account):
            found = reopened.payers_of_kept_line(engine, account, delivery, line)
        if found is None:
            do = "Lines are named by a job's explanation: /api/v1/jobs/JOB/explain"
            raise NotThereError("line", f"{book.month} has no line {line} of delivery {delivery}", do)
        beside = {"month": str(book.month), "version": book.version, "file": found.file, "file_line": found.file_line}
        return Told("payers", found.payers, beside | {"line": plain(found.line), "parts": plain(found.parts)})

    return answered(request, shelf, format_, [book], find)


ROUTES = [explained, line_payers]
