"""`/allocation/compute` as OpenCost answers it: same window, aggregate, step and accumulate, same names of rows."""

from typing import Annotated, Any, Literal

import msgspec
from litestar import Request, Response, get
from litestar.params import Parameter

from trainfare.report import allocation
from trainfare.report.cost import Question
from trainfare.web.api.answer import answered_json, documented
from trainfare.web.api.asked import Basis, Currency, Filters, only, time_of
from trainfare.web.books import Shelf
from trainfare.web.viewer import Viewer

MOST_STEPS = 400


class Allocations(msgspec.Struct):
    """One set of allocations for each step, by name. Figures are numbers, as OpenCost has them."""

    code: int
    data: list[dict[str, Any]]


Window = Annotated[
    str, Parameter(description="As in OpenCost: today, week, lastmonth, 7d, start,end ...", max_length=200)
]
Flag = Literal["true", "false", "1", "0", ""]


def compute(
    request: Request[Viewer, Any, Any],
    shelf: Shelf,
    viewer: Viewer,
    window: Window,
    aggregate: Annotated[
        str, Parameter(description="namespace (team), controller (job), node, label:KEY ...", max_length=200)
    ] = "",
    step: Annotated[str, Parameter(description="1d, 7d ...; without it the window is one step.", max_length=20)] = "",
    accumulate: Annotated[Flag, Parameter(description="true: all steps added up to one set.")] = "false",
    include_idle: Annotated[Flag, Parameter(query="includeIdle", description="Whether __idle__ is shown.")] = "false",
    basis: Basis = "effective",
    currency: Currency = None,
    filters: Filters = None,
) -> Response[bytes]:
    """What each namespace, controller, node or label costs. Jobs are controllers, teams are namespaces."""
    asked = time_of(shelf, window)
    books = [book for book in shelf.current() if asked.has(book.month)]
    pieces = asked.steps(step)
    allocation.require_steps(pieces, MOST_STEPS)

    def find() -> dict[str, Any]:
        if not books:
            return {"code": 200, "data": [{} for _ in pieces]}
        with shelf.opened(viewer, books) as opened:
            by = allocation.parse(aggregate, opened)
            chosen = opened.currency(currency, shelf.config.currency, basis)
            question = Question(by, basis, currency=chosen, only=only(tuple(filters or ()), opened))
            sets = allocation.allocations(opened, question, pieces, include_idle in ("true", "1"))
        if accumulate in ("true", "1"):
            sets = [allocation.accumulated(sets)]
        return {"code": 200, "data": sets}

    return answered_json(request, shelf, books, find, asked)


ROUTES = [
    get(
        path,
        responses=documented(Allocations),
        sync_to_thread=True,
        name=path,
        summary="Allocations in OpenCost's shape",
    )(compute)
    for path in ("/allocation/compute", "/allocation")
]
