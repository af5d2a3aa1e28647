"""The API: everything the command line can show, over HTTP."""

from litestar import Router
from litestar.di import Provide
from litestar.types import ControllerRouterHandler

from trainfare.web.api import accounts, ahead, costs, documents, lineage, measures, opencost, watch
from trainfare.web.api.asked import priced

PATH = "/api/v1"


def routes() -> list[ControllerRouterHandler]:
    """Every address of the API."""
    ours = Router(
        PATH,
        route_handlers=[*costs.ROUTES, *ahead.ROUTES, *accounts.ROUTES, *lineage.ROUTES, *measures.ROUTES],
        dependencies={"priced": Provide(priced, sync_to_thread=True)},
        tags=["books"],
    )
    return [ours, *opencost.ROUTES, *watch.ROUTES, *documents.ROUTES]
