"""What the whole measure adds: M1 to M10, how jobs should save their work, and how good estimates were."""

from typing import Annotated, Any

import msgspec
from litestar import Request, Response, get
from litestar.params import Parameter

from trainfare.report import keys, metrics
from trainfare.report.cost import Question
from trainfare.report.estimated import errors
from trainfare.web.api.answer import Format, Row, Told, answered, documented
from trainfare.web.api.asked import Basis, Currency, MonthText, Scope, Version, chosen_book
from trainfare.web.api.costs import Aggregate
from trainfare.web.books import Shelf
from trainfare.web.rights import sees_everything
from trainfare.web.viewer import Viewer


class Measures(msgspec.Struct):
    """Figures of M1 to M10, each with what was divided by what. A figure that cannot be had is null, and `why` says why."""

    schema_version: int
    month: str
    version: int
    basis: str
    scope: str
    currency: str
    rows: list[Row]


class OfMonth(msgspec.Struct):
    """Rows of one version of one month."""

    schema_version: int
    month: str
    version: int
    rows: list[Row]


@get("/metrics", responses=documented(Measures), sync_to_thread=True, summary="M1 to M10")
def measured(
    request: Request[Viewer, Any, Any],
    shelf: Shelf,
    viewer: Viewer,
    aggregate: Aggregate = "team",
    metric: Annotated[
        list[str] | None, Parameter(description="Only this one, such as M5; may be given again.", max_items=20)
    ] = None,
    basis: Basis = "effective",
    scope_: Scope = "full",
    currency: Currency = None,
    month: MonthText = None,
    version: Version = None,
    format_: Format = None,
) -> Response[bytes]:
    """What training costs by every measure, per group and for all."""
    book = chosen_book(shelf, month, version)

    def find() -> Told:
        with shelf.opened(viewer, [book]) as opened:
            by = keys.parse([aggregate] if aggregate else [], opened.engine)
            chosen = opened.currency(currency, shelf.config.currency, basis)
            rows = metrics.rows(opened, Question(by, basis, "wall", scope_, chosen), metric or ())
        of = {"month": str(book.month), "version": book.version}
        return Told("rows", rows, of | {"basis": basis, "scope": scope_, "currency": chosen})

    return answered(request, shelf, format_, [book], find)


@get("/checkpoints", responses=documented(OfMonth), sync_to_thread=True, summary="How jobs should save their work")
def checkpoints(
    request: Request[Viewer, Any, Any],
    shelf: Shelf,
    viewer: Viewer,
    month: MonthText = None,
    version: Version = None,
    format_: Format = None,
) -> Response[bytes]:
    """For each job with checkpoints how often it saves its work, the interval that would lose least, and what that would save."""
    book = chosen_book(shelf, month, version)

    def find() -> Told:
        with shelf.opened(viewer, [book]) as opened:
            return Told("rows", metrics.checkpoints(opened), {"month": str(book.month), "version": book.version})

    return answered(request, shelf, format_, [book], find)


@get(
    "/estimates",
    responses=documented(OfMonth),
    guards=[sees_everything],
    sync_to_thread=True,
    summary="How good estimates were",
)
def estimates(
    request: Request[Viewer, Any, Any],
    shelf: Shelf,
    viewer: Viewer,
    month: MonthText = None,
    version: Version = None,
    format_: Format = None,
) -> Response[bytes]:
    """What was estimated before the bill came, and what the bill then said."""
    book = chosen_book(shelf, month, version)

    def find() -> Told:
        with shelf.opened(viewer, [book]) as opened:
            return Told("rows", errors(opened), {"month": str(book.month), "version": book.version})

    return answered(request, shelf, format_, [book], find)


ROUTES = [measured, checkpoints, estimates]
