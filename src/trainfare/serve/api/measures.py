"""API endpoints about measures: M1 to M10, checkpoint intervals and the accuracy of estimates."""

from typing import Annotated

import msgspec
from litestar import Response, get
from litestar.di import NamedDependency
from litestar.params import QueryParameter

from trainfare.query import keys, metrics
from trainfare.query.cost import Question
from trainfare.query.estimates import estimate_errors
from trainfare.query.measures import spend_rate
from trainfare.query.open_books import OpenBooks
from trainfare.query.window import month_window
from trainfare.serve.api.books import BookRows
from trainfare.serve.api.costs import Aggregate
from trainfare.serve.api.parameters import Basis, Currency, Scope
from trainfare.serve.api.requests import BookRequest
from trainfare.serve.api.responses import Payload, Row, documented_responses
from trainfare.serve.api.size_limit import require_size
from trainfare.serve.auth.permissions import require_full_visibility, sees_everything


class Measures(msgspec.Struct):
    """Values of M1 to M10, each with numerator and denominator. An unknown value is null; `why` gives the reason."""

    schema_version: int
    month: str
    version: int
    basis: str
    scope: str
    currency: str
    rows: list[Row]


@get("/metrics", responses=documented_responses(Measures), sync_to_thread=True, summary="M1 to M10")
def measures(
    book_request: NamedDependency[BookRequest],
    aggregate: Aggregate = "team",
    metric: Annotated[
        list[str] | None, QueryParameter(description="Only this metric, such as M5; can be repeated.", max_items=20)
    ] = None,
    basis: Basis = "effective",
    scope_: Scope = "full",
    currency: Currency = None,
) -> Response[bytes]:
    """The metrics per group and overall. The spend rate is included only for viewers with full visibility."""
    viewer = book_request.api.viewer
    codes = [code.upper() for code in metric or ()] or [
        one.CODE for one in metrics.METRICS if viewer.sees_all or one is not spend_rate
    ]
    if spend_rate.CODE in codes:
        require_full_visibility(viewer)

    def compute(opened: OpenBooks) -> Payload:
        by = keys.parse([aggregate] if aggregate else [], opened.engine)
        require_size(opened, [book_request.book], by, month_window(book_request.book.month))
        chosen = book_request.api.currency(opened, currency, basis)
        rows = metrics.rows(opened, Question(by, basis, "wall", scope_, chosen), codes)
        return Payload("rows", rows, book_request.fields | {"basis": basis, "scope": scope_, "currency": chosen})

    return book_request.respond(compute)


@get("/checkpoints", responses=documented_responses(BookRows), sync_to_thread=True, summary="Checkpoint intervals")
def checkpoints(book_request: NamedDependency[BookRequest]) -> Response[bytes]:
    """For each job with checkpoints: its checkpoint interval, the interval that would lose least, and the saving."""
    return book_request.respond(lambda opened: Payload("rows", metrics.checkpoints(opened), book_request.fields))


@get(
    "/estimates",
    responses=documented_responses(BookRows),
    guards=[sees_everything],
    sync_to_thread=True,
    summary="Accuracy of estimates",
)
def estimates(book_request: NamedDependency[BookRequest]) -> Response[bytes]:
    """Amounts that were estimated before the bill arrived, and the amounts that were billed."""
    return book_request.respond(lambda opened: Payload("rows", estimate_errors(opened), book_request.fields))


ROUTES = [measures, checkpoints, estimates]
