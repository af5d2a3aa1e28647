"""The API endpoint for forecasts and budgets."""

from typing import Annotated, Literal

import msgspec
from litestar import Response, get
from litestar.di import NamedDependency
from litestar.params import QueryParameter

from trainfare.query.cost import Question
from trainfare.report.forecast import INTERVAL_PERCENT
from trainfare.serve.api.parameters import Basis, Currency, Filters, Scope, no_data_error, parse_filters
from trainfare.serve.api.requests import ApiRequest
from trainfare.serve.api.responses import Payload, Row, documented_responses
from trainfare.serve.forecasts import forecast_months


class Forecast(msgspec.Struct):
    """The newest month and the next. Forecast amounts are rounded to the cent; errors are ratios. An unknown value is
    null, with a reason.
    """

    schema_version: int
    currency: str
    basis: str
    scope: str
    band_percent: int
    rows: list[Row]


@get("/forecast", responses=documented_responses(Forecast), sync_to_thread=True, summary="Forecast and budgets")
def forecast(
    api_request: NamedDependency[ApiRequest],
    by: Annotated[
        Literal["team", "cost_center"] | None,
        QueryParameter(description="Add a forecast for each value of this label, with or without a budget."),
    ] = None,
    basis: Basis = "effective",
    scope_: Scope = "full",
    currency: Currency = None,
    filters: Filters = None,
) -> Response[bytes]:
    """Forecasts for the end of the newest month and for the next month, with method, past error and budget."""
    books = api_request.book_reader.current()
    if not books:
        raise no_data_error(api_request.book_reader)

    def compute() -> Payload:
        with api_request.open(books[-1:]) as opened:
            chosen = api_request.currency(opened, currency, basis)
            selected = parse_filters(tuple(filters or ()), opened)
        question = Question([], basis, "wall", scope_, chosen, None, selected)
        found = forecast_months(api_request.book_reader, api_request.viewer, books, question, by)
        fields = {"currency": chosen, "basis": basis, "scope": scope_, "band_percent": INTERVAL_PERCENT}
        return Payload("rows", [one.record() for one in found], fields)

    return api_request.respond(books, compute)


ROUTES = [forecast]
