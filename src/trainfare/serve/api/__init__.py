"""The HTTP API: everything the command line can show."""

from litestar import Router
from litestar.types import ControllerRouterHandler

from trainfare.serve.api import books, costs, documents, events, forecasts, health, lineage, measures, opencost
from trainfare.serve.api.requests import DEPENDENCIES

PATH = "/api/v1"


def routes() -> list[ControllerRouterHandler]:
    """Return every endpoint of the API."""
    ours = Router(
        PATH,
        route_handlers=[*costs.ROUTES, *forecasts.ROUTES, *books.ROUTES, *lineage.ROUTES, *measures.ROUTES],
        dependencies=DEPENDENCIES,
        tags=["books"],
    )
    return [ours, *events.ROUTES, *opencost.ROUTES, *health.ROUTES, *documents.ROUTES]
