"""What the whole measure adds: M1 to M10, how jobs should save their work, and how good estimates were."""

from collections.abc import Callable
from typing import Annotated, Any

import msgspec
from litestar import Request, Response, get
from litestar.params import Parameter

from trainfare.report import keys, metrics
from trainfare.report.cost import Question
from trainfare.report.estimated import errors
from trainfare.report.measures import spend_rate
from trainfare.report.opened import Opened
from trainfare.store import Book
from trainfare.web.api.accounts import OfBook, of_book
from trainfare.web.api.answer import Format, Row, Told, answered, documented
from trainfare.web.api.asked import Basis, Currency, MonthText, Scope, Version, chosen_book
from trainfare.web.api.costs import Aggregate
from trainfare.web.books import Shelf
from trainfare.web.rights import require_all, sees_everything
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
    """What training costs by every measure, per group and for all. How fast the whole bill grows is told to those who see all of it."""
    book = chosen_book(shelf, month, version)
    codes = [code.upper() for code in metric or ()] or [
        one.CODE for one in metrics.METRICS if viewer.sees_all or one is not spend_rate
    ]
    if spend_rate.CODE in codes:
        require_all(viewer)

    def find() -> Told:
        with shelf.opened(viewer, [book]) as opened:
            by = keys.parse([aggregate] if aggregate else [], opened.engine)
            chosen = opened.currency(currency, shelf.config.currency, basis)
            rows = metrics.rows(opened, Question(by, basis, "wall", scope_, chosen), codes)
        return Told("rows", rows, of_book(book) | {"basis": basis, "scope": scope_, "currency": chosen})

    return answered(request, shelf, format_, [book], find)


@get("/checkpoints", responses=documented(OfBook), sync_to_thread=True, summary="How jobs should save their work")
def checkpoints(
    request: Request[Viewer, Any, Any],
    shelf: Shelf,
    month: MonthText = None,
    version: Version = None,
    format_: Format = None,
) -> Response[bytes]:
    """For each job with checkpoints how often it saves its work, the interval that would lose least, and what that would save."""
    return _rows(request, shelf, format_, chosen_book(shelf, month, version), metrics.checkpoints)


@get(
    "/estimates",
    responses=documented(OfBook),
    guards=[sees_everything],
    sync_to_thread=True,
    summary="How good estimates were",
)
def estimates(
    request: Request[Viewer, Any, Any],
    shelf: Shelf,
    month: MonthText = None,
    version: Version = None,
    format_: Format = None,
) -> Response[bytes]:
    """What was estimated before the bill came, and what the bill then said."""
    return _rows(request, shelf, format_, chosen_book(shelf, month, version), errors)


def _rows(
    request: Request[Viewer, Any, Any],
    shelf: Shelf,
    format_: str | None,
    book: Book,
    ask: Callable[[Opened], list[dict[str, Any]]],
) -> Response[bytes]:
    """What one book says, to whoever asks."""

    def find() -> Told:
        with shelf.opened(request.user, [book]) as opened:
            return Told("rows", ask(opened), of_book(book))

    return answered(request, shelf, format_, [book], find)


ROUTES = [measured, checkpoints, estimates]
