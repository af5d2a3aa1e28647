"""API endpoints about costs, rates, jobs and machines."""

from dataclasses import replace
from typing import Annotated, Any, Literal
from urllib.parse import unquote

import msgspec
from litestar import Response, get
from litestar.di import NamedDependency
from litestar.params import QueryParameter

from trainfare.errors import TrainfareError
from trainfare.query import cost, job, jobs, keys, machines, trend
from trainfare.query.cost import Question
from trainfare.query.jobs import SORTS, Listing
from trainfare.query.open_books import OpenBooks
from trainfare.query.window import Window
from trainfare.report import documents
from trainfare.serve.api.parameters import JobId
from trainfare.serve.api.requests import CostRequest
from trainfare.serve.api.responses import Payload, Row, documented_responses, plain
from trainfare.serve.api.size_limit import require_size
from trainfare.serve.problems import NotFoundError

MAX_PAGE_SIZE = 1000

Aggregate = Annotated[
    str | None,
    QueryParameter(
        description=f"Up to {keys.MAX_KEYS} comma-separated keys: job, team, project, machine, day ...", max_length=200
    ),
]
Step = Annotated[
    str | None,
    QueryParameter(description="Split the period into steps: 1d, 7d, 1M ...; each row states its step.", max_length=20),
]
Productive = Annotated[
    Literal["held", "busy", "not_lost"] | None,
    QueryParameter(
        description="Divide by productive GPU hours instead of the hours of `per`: hours held, hours busy according to "
        "telemetry, or hours held and not lost to an interruption or restart."
    ),
]


class Period(msgspec.Struct):
    """What the response covers: `end` is excluded. It selects `days`, or the `books` of entire months."""

    start: str
    end: str
    complete_through: str | None
    selects: str
    books: list[str]


class Payer(msgspec.Struct):
    cost: str
    reasons: list[Row]
    groups: list[Row]


class Report(msgspec.Struct):
    """Cost per training hour. Rows, idle, unallocated and non-training cost add up to `total`.

    `bill` and `difference` reconcile the entire books. Amounts are decimal strings with all digits.
    """

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
    """A page of jobs. `count` and `cost` cover all jobs that match the filters."""

    schema_version: int
    window: Period
    currency: str
    count: int
    cost: str
    limit: int
    offset: int
    rows: list[Row]


class Job(msgspec.Struct):
    """One job: its data in the log, its cost by category and day, its attempts and machines."""

    schema_version: int
    window: Period
    currency: str
    job: Row
    costs: list[Row]
    days: list[Row]
    attempts: list[Row]
    machines: list[Row]


class Machines(msgspec.Struct):
    """The cost of each machine, and its payers."""

    schema_version: int
    window: Period
    currency: str
    rows: list[Row]


@get("/report", responses=documented_responses(Report), sync_to_thread=True, summary="Cost per training hour")
def report(
    cost_request: NamedDependency[CostRequest],
    aggregate: Aggregate = "team",
    productive: Productive = None,
    step: Step = None,
) -> Response[bytes]:
    """Cost, hours and rates per group, and idle, unallocated and non-training cost. For a month they equal the bill."""

    def compute(opened: OpenBooks, question: Question) -> Payload:
        question = replace(question, by=keys.parse([aggregate] if aggregate else [], opened.engine))
        steps = len(cost_request.window.steps(step)) if step else 1
        require_size(opened, cost_request.books, question.by, cost_request.window, steps)
        if productive:
            question = replace(question, per="productive", productive=productive)
        fields = documents.document(cost.report(opened, question))
        rows = fields.pop("rows")
        del fields["schema_version"]
        return Payload("rows", _rows_by_step(opened, question, cost_request.window, step) if step else rows, fields)

    return cost_request.respond(compute)


def _rows_by_step(opened: OpenBooks, question: Question, window: Window, step: str) -> list[dict[str, Any]]:
    """Return the rows of each step of the period, in order."""
    rows = []
    for part in window.steps(step):
        bounds = {"start": documents.utc_text(part.start), "end": documents.utc_text(part.end)}
        found = cost.rows(opened, replace(question, days=(part.first, part.last)), question.by)
        rows += [bounds | documents.row(one) for one in found]
    return rows


@get("/trend", responses=documented_responses(Machines), sync_to_thread=True, summary="Cost by day")
def by_day(
    cost_request: NamedDependency[CostRequest],
    key: Annotated[str, QueryParameter(description="Group by: payer, category, team ...", max_length=200)] = "payer",
) -> Response[bytes]:
    """Cost per UTC day and value of a key, for all payers."""

    def compute(opened: OpenBooks, question: Question) -> Payload:
        known = "payer" if key == "payer" else _one_key(key, opened)
        require_size(opened, cost_request.books, [known, "day"], cost_request.window)
        return Payload("rows", trend.by_day(opened, question, known), {"currency": question.currency})

    return cost_request.respond(compute)


def _one_key(text: str, opened: OpenBooks) -> str:
    found = keys.parse([text], opened.engine)
    if len(found) != 1 or found[0].startswith("label:"):
        raise TrainfareError("key", f"'{text}' cannot be grouped by day", "Use one key, such as team or category.")
    return found[0]


@get("/jobs", responses=documented_responses(Jobs), sync_to_thread=True, summary="Jobs")
def list_jobs(
    cost_request: NamedDependency[CostRequest],
    q: Annotated[str, QueryParameter(description="Part of the job's id or of its owner's name.", max_length=200)] = "",
    sort: Annotated[
        str, QueryParameter(description=f"One of {', '.join(SORTS)}; prefix - for descending order.", max_length=40)
    ] = "-cost",
    limit: Annotated[int, QueryParameter(ge=1, le=MAX_PAGE_SIZE)] = 50,
    offset: Annotated[int, QueryParameter(ge=0, le=1_000_000_000)] = 0,
) -> Response[bytes]:
    """Jobs that held machines or have cost in the period, sorted and paginated."""
    listing = Listing(sort.removeprefix("-"), sort.startswith("-"), q, limit, offset)
    if listing.sort not in SORTS:
        raise TrainfareError("sort", f"jobs cannot be sorted by '{listing.sort}'", f"Use one of {', '.join(SORTS)}.")

    def compute(opened: OpenBooks, question: Question) -> Payload:
        page = jobs.jobs(opened, question, listing)
        fields = {"currency": question.currency, "count": page.count, "cost": plain(page.cost)}
        return Payload("rows", page.rows, fields | {"limit": limit, "offset": offset})

    return cost_request.respond(compute)


@get("/jobs/{job_id:str}", responses=documented_responses(Job), sync_to_thread=True, summary="One job")
def one_job(
    cost_request: NamedDependency[CostRequest],
    job_id: JobId,
) -> Response[bytes]:
    """A job's log data, its cost by category and day, its attempts and machines. CSV and Parquet have the cost."""

    name = unquote(job_id)

    def compute(opened: OpenBooks, question: Question) -> Payload:
        facts = job.facts(opened, name)
        if facts is None:
            raise NotFoundError("job", f"no job '{name[:100]}' in this period", "List jobs: /api/v1/jobs")
        question = replace(question, filters=(("job", (facts["job"],)),))
        (row,) = cost.rows(opened, question, [])
        fields = {
            "currency": question.currency,
            "job": facts | documents.row(row),
            "days": trend.by_day(opened, question, "category"),
            "attempts": job.attempts(opened, question),
            "machines": job.machines(opened, question),
        }
        costs = job.by_category(opened, question)
        return Payload("costs", costs, {key: plain(value) for key, value in fields.items()})

    return cost_request.respond(compute)


@get("/machines", responses=documented_responses(Machines), sync_to_thread=True, summary="Machines")
def list_machines(
    cost_request: NamedDependency[CostRequest],
    limit: Annotated[int, QueryParameter(ge=1, le=MAX_PAGE_SIZE)] = 100,
    offset: Annotated[int, QueryParameter(ge=0, le=1_000_000_000)] = 0,
) -> Response[bytes]:
    """The cost of each machine and the part allocated to jobs, highest cost first."""

    def compute(opened: OpenBooks, question: Question) -> Payload:
        rows = machines.machines(opened, question, limit, offset)
        return Payload("rows", rows, {"currency": question.currency})

    return cost_request.respond(compute)


ROUTES = [report, by_day, list_jobs, one_job, list_machines]
