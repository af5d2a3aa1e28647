"""Costs, rates, jobs and machines."""

from dataclasses import replace
from typing import Annotated, Any, Literal

import msgspec
from litestar import Request, Response, get
from litestar.params import Parameter

from trainfare.errors import TrainfareError
from trainfare.report import cost, job, jobs, keys, machines, render, trend
from trainfare.report.cost import Question
from trainfare.report.jobs import SORTS, Listing
from trainfare.report.opened import Opened
from trainfare.web.api.answer import Format, Row, Told, answered, documented, plain
from trainfare.web.api.asked import Priced
from trainfare.web.books import Shelf
from trainfare.web.problems import NotThereError
from trainfare.web.viewer import Viewer

MOST_STEPS = 400
LARGEST_PAGE = 1000

Aggregate = Annotated[
    str | None,
    Parameter(
        description=f"Up to {keys.MOST} keys with commas between: job, team, project, machine, day ...", max_length=200
    ),
]
Step = Annotated[
    str | None,
    Parameter(description="Cut the window into pieces: 1d, 7d, 1M ...; each row says which it is of.", max_length=20),
]
Productive = Annotated[
    Literal["held", "busy", "not_lost"] | None,
    Parameter(
        description="Divide by productive GPU hours instead of those of `per`: those that were held, busy by telemetry, or held "
        "and not lost to an interruption or restart."
    ),
]


class Period(msgspec.Struct):
    start: str
    end: str
    complete_through: str | None


class Payer(msgspec.Struct):
    cost: str
    reasons: list[Row]


class Report(msgspec.Struct):
    """Cost per training hour, tied to the bill. Money is text, digit for digit."""

    schema_version: int
    currency: str
    basis: str
    per: str
    scope: str
    window: Period
    rows: list[Row]
    overall: Row
    idle: Payer
    unallocated: Payer
    outside: Payer
    total: str
    bill: str
    difference: str
    conversions: list[Row]
    findings: list[Row]
    productive: str | None = None


class Jobs(msgspec.Struct):
    """A page of jobs; `count` and `cost` are of all that the filters leave."""

    schema_version: int
    currency: str
    count: int
    cost: str
    limit: int
    offset: int
    rows: list[Row]


class Job(msgspec.Struct):
    """One job: what the log says of it, its money by category and day, its attempts and machines."""

    schema_version: int
    currency: str
    job: Row
    costs: list[Row]
    days: list[Row]
    attempts: list[Row]
    machines: list[Row]


class Machines(msgspec.Struct):
    """What each machine costs, and who pays for it."""

    schema_version: int
    currency: str
    rows: list[Row]


@get("/report", responses=documented(Report), sync_to_thread=True, summary="Cost per training hour")
def report(
    request: Request[Viewer, Any, Any],
    shelf: Shelf,
    viewer: Viewer,
    priced: Priced,
    aggregate: Aggregate = "team",
    productive: Productive = None,
    step: Step = None,
    format_: Format = None,
) -> Response[bytes]:
    """Cost, hours and rates per group, and what is idle, unallocated and outside, adding up to the bill."""

    def find() -> Told:
        with shelf.opened(viewer, priced.books) as opened:
            by = keys.parse([aggregate] if aggregate else [], opened.engine)
            question = priced.question(opened, shelf, by)
            if productive:
                question = replace(question, per="productive", productive=productive)
            found = cost.report(opened, question)
            told = msgspec.json.decode(render.as_json(found))
            rows = told["rows"] if not step else _stepped(opened, question, priced, step)
        return Told("rows", rows, {key: value for key, value in told.items() if key not in ("rows", "schema_version")})

    return answered(request, shelf, format_, priced.books, find, priced.window)


def _stepped(opened: Opened, question: Question, priced: Priced, step: str) -> list[dict[str, Any]]:
    """The rows of each piece of the window, in order."""
    pieces = priced.window.steps(step)
    if len(pieces) > MOST_STEPS:
        raise TrainfareError("step", f"{len(pieces)} steps", f"Ask for at most {MOST_STEPS}.")
    rows = []
    for piece in pieces:
        within = {"start": render.moment(piece.start), "end": render.moment(piece.end)}
        asked = replace(question, days=(piece.first, piece.last))
        rows += [within | render.row(one) for one in cost.rows(opened, asked, question.by)]
    return rows


@get("/trend", responses=documented(Machines), sync_to_thread=True, summary="Cost by day")
def by_day(
    request: Request[Viewer, Any, Any],
    shelf: Shelf,
    viewer: Viewer,
    priced: Priced,
    key: Annotated[
        str, Parameter(description="What to tell apart: payer, category, team ...", max_length=200)
    ] = "payer",
    format_: Format = None,
) -> Response[bytes]:
    """Money per UTC day and value of a key, whoever pays."""

    def find() -> Told:
        with shelf.opened(viewer, priced.books) as opened:
            known = "payer" if key == "payer" else _one_key(key, opened)
            question = priced.question(opened, shelf)
            return Told("rows", trend.by_day(opened, question, known), {"currency": question.currency})

    return answered(request, shelf, format_, priced.books, find, priced.window)


def _one_key(text: str, opened: Opened) -> str:
    found = keys.parse([text], opened.engine)
    if len(found) != 1 or found[0].startswith("label:"):
        raise TrainfareError("key", f"'{text}' cannot be told apart by day", "Name one key, such as team or category.")
    return found[0]


@get("/jobs", responses=documented(Jobs), sync_to_thread=True, summary="Jobs")
def list_jobs(
    request: Request[Viewer, Any, Any],
    shelf: Shelf,
    viewer: Viewer,
    priced: Priced,
    q: Annotated[str, Parameter(description="A part of the job's id or of its owner's name.", max_length=200)] = "",
    sort: Annotated[
        str, Parameter(description=f"One of {', '.join(SORTS)}; with - before it, largest first.", max_length=40)
    ] = "-cost",
    limit: Annotated[int, Parameter(ge=1, le=LARGEST_PAGE)] = 50,
    offset: Annotated[int, Parameter(ge=0, le=1_000_000_000)] = 0,
    format_: Format = None,
) -> Response[bytes]:
    """Jobs that held or paid anything in the window, sorted and by page."""
    listing = Listing(sort.removeprefix("-"), sort.startswith("-"), q, limit, offset)
    if listing.sort not in SORTS:
        raise TrainfareError("sort", f"jobs are not sorted by '{listing.sort}'", f"Use one of {', '.join(SORTS)}.")

    def find() -> Told:
        with shelf.opened(viewer, priced.books) as opened:
            question = priced.question(opened, shelf)
            page = jobs.jobs(opened, question, listing)
        beside = {"currency": question.currency, "count": page.count, "cost": plain(page.cost)}
        return Told("rows", page.rows, beside | {"limit": limit, "offset": offset})

    return answered(request, shelf, format_, priced.books, find, priced.window)


@get("/jobs/{job_id:str}", responses=documented(Job), sync_to_thread=True, summary="One job")
def one_job(
    request: Request[Viewer, Any, Any],
    shelf: Shelf,
    viewer: Viewer,
    priced: Priced,
    job_id: Annotated[str, Parameter(description="The job's id.", max_length=500)],
    format_: Format = None,
) -> Response[bytes]:
    """What the log says of a job, its money by category and day, its attempts and machines. CSV and Parquet have its money."""

    def find() -> Told:
        with shelf.opened(viewer, priced.books, job_id) as opened:
            question = replace(priced.question(opened, shelf), only=(("job", (job_id,)),))
            facts = job.facts(opened, job_id)
            if facts is None:
                raise NotThereError("job", f"there is no job '{job_id[:100]}' in this time", "List them: /api/v1/jobs")
            (row,) = cost.rows(opened, question, [])
            beside = {
                "currency": question.currency,
                "job": facts | render.row(row),
                "days": trend.by_day(opened, question, "category"),
                "attempts": job.attempts(opened, question),
                "machines": job.machines(opened, question),
            }
            return Told(
                "costs", job.by_category(opened, question), {key: plain(value) for key, value in beside.items()}
            )

    return answered(request, shelf, format_, priced.books, find, priced.window)


@get("/machines", responses=documented(Machines), sync_to_thread=True, summary="Machines")
def list_machines(
    request: Request[Viewer, Any, Any],
    shelf: Shelf,
    viewer: Viewer,
    priced: Priced,
    limit: Annotated[int, Parameter(ge=1, le=LARGEST_PAGE)] = 100,
    offset: Annotated[int, Parameter(ge=0, le=1_000_000_000)] = 0,
    format_: Format = None,
) -> Response[bytes]:
    """What each machine costs and what of that jobs pay, dearest first."""

    def find() -> Told:
        with shelf.opened(viewer, priced.books) as opened:
            question = priced.question(opened, shelf)
            rows = machines.machines(opened, question, limit, offset)
        return Told("rows", rows, {"currency": question.currency})

    return answered(request, shelf, format_, priced.books, find, priced.window)


ROUTES = [report, by_day, list_jobs, one_job, list_machines]
