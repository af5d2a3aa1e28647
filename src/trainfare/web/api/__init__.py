"""The API: everything the command line can show, over HTTP."""

from litestar import Router
from litestar.types import ControllerRouterHandler


def routes() -> list[ControllerRouterHandler]:
    """Every address of the API."""
    return [Router("/api/v1", route_handlers=[])]
