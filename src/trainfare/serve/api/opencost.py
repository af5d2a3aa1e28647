"""`/allocation/compute` with OpenCost's parameters (window, aggregate, step, accumulate) and response schema."""

from dataclasses import dataclass
from typing import Annotated, Any, Literal

import msgspec
from litestar import Response, get
from litestar.di import NamedDependency, Provide
from litestar.params import QueryParameter

from trainfare.query.cost import Question
from trainfare.report import opencost
from trainfare.serve.api.parameters import Basis, Currency, Filters, parse_filters, parse_window
from trainfare.serve.api.requests import JSON_DEPENDENCIES, ApiRequest
from trainfare.serve.api.responses import documented_responses
from trainfare.serve.api.size_limit import require_size


class Allocations(msgspec.Struct):
    """One set of allocations per step, by name. Amounts are numbers, as in OpenCost."""

    code: int
    data: list[dict[str, Any]]


Window = Annotated[
    str, QueryParameter(description="As in OpenCost: today, week, lastmonth, 7d, start,end ...", max_length=200)
]
Flag = Literal["true", "false", "1", "0", ""]


@dataclass(frozen=True)
class Selection:
    """The cost to allocate; these parameters are not OpenCost's."""

    basis: str
    currency: str | None
    filters: tuple[str, ...]


def selection(basis: Basis = "effective", currency: Currency = None, filters: Filters = None) -> Selection:
    return Selection(basis, currency, tuple(filters or ()))


def compute_allocations(
    api_request: NamedDependency[ApiRequest],
    selection: NamedDependency[Selection],
    window: Window,
    aggregate: Annotated[
        str, QueryParameter(description="namespace (team), controller (job), node, label:KEY ...", max_length=200)
    ] = "",
    step: Annotated[str, QueryParameter(description="1d, 7d ...; default: the whole window.", max_length=20)] = "",
    accumulate: Annotated[Flag, QueryParameter(description="true: add all steps up to one set.")] = "false",
    include_idle: Annotated[
        Flag, QueryParameter(name="includeIdle", description="Whether to include __idle__.")
    ] = "false",
) -> Response[bytes]:
    """The cost of each namespace, controller, node or label. Jobs are controllers, teams are namespaces."""
    period = parse_window(api_request.book_reader, window)
    books = api_request.book_reader.books_in(period)
    steps = period.steps(step)

    def compute() -> dict[str, Any]:
        if not books:
            return {"code": 200, "data": [{} for _ in steps]}
        with api_request.open(books) as opened:
            by = opencost.parse(aggregate, opened)
            require_size(opened, books, by, period, len(steps))
            currency = api_request.currency(opened, selection.currency, selection.basis)
            filters = parse_filters(selection.filters, opened)
            question = Question(by, selection.basis, currency=currency, filters=filters)
            sets = opencost.allocations(opened, question, steps, include_idle in ("true", "1"))
        if accumulate in ("true", "1"):
            sets = [opencost.accumulated(sets)]
        return {"code": 200, "data": sets}

    return api_request.respond_foreign(books, compute, period)


ROUTES = [
    get(
        path,
        responses=documented_responses(Allocations),
        dependencies=JSON_DEPENDENCIES | {"selection": Provide(selection, sync_to_thread=False)},
        sync_to_thread=True,
        name=path,
        operation_id=operation_id,
        summary="Allocations in OpenCost's schema",
    )(compute_allocations)
    for path, operation_id in (("/allocation/compute", "AllocationCompute"), ("/allocation", "Allocation"))
]
