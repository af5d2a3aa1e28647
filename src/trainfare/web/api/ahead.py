"""What is to come: forecasts, and the budgets beside them."""

from typing import Annotated, Any, Literal

import msgspec
from litestar import Request, Response, get
from litestar.params import Parameter

from trainfare.report.cost import Question
from trainfare.report.forecast import BAND
from trainfare.web.ahead import ahead
from trainfare.web.api.answer import Format, Row, Told, answered, documented
from trainfare.web.api.asked import Basis, Currency, Filters, Scope, nothing, only
from trainfare.web.books import Shelf
from trainfare.web.viewer import Viewer


class Forecast(msgspec.Struct):
    """The newest month and the next. Amounts of a forecast are to the cent; parts and errors are ratios; what cannot be told is null,
    with a reason.
    """

    schema_version: int
    currency: str
    basis: str
    scope: str
    band_percent: int
    rows: list[Row]


@get("/forecast", responses=documented(Forecast), sync_to_thread=True, summary="Forecast and budgets")
def forecast(
    request: Request[Viewer, Any, Any],
    shelf: Shelf,
    viewer: Viewer,
    by: Annotated[
        Literal["team", "cost_center"] | None, Parameter(description="Tell these apart, too, with a budget or without.")
    ] = None,
    basis: Basis = "effective",
    scope_: Scope = "full",
    currency: Currency = None,
    filters: Filters = None,
    format_: Format = None,
) -> Response[bytes]:
    """How the newest month may end and what the next may cost, with the method, its error in the past and the budget."""
    books = shelf.current()
    if not books:
        raise nothing(shelf)

    def find() -> Told:
        with shelf.opened(viewer, books[-1:]) as opened:
            chosen = opened.currency(currency, shelf.config.currency, basis)
            question = Question([], basis, "wall", scope_, chosen, None, only(tuple(filters or ()), opened))
        rows = [one.record() for one in ahead(shelf, viewer, books, question, by)]
        return Told("rows", rows, {"currency": chosen, "basis": basis, "scope": scope_, "band_percent": BAND})

    return answered(request, shelf, format_, books, find)


ROUTES = [forecast]
