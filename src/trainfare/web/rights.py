"""What a route asks of its viewer beside being let in."""

from typing import Any

from litestar.connection import ASGIConnection
from litestar.handlers import BaseRouteHandler

from trainfare.web.problems import NotAllowedError
from trainfare.web.viewer import Viewer

PUBLIC = {"public": True}
"""For a route that answers anybody: it tells nothing about anyone."""

Asker = ASGIConnection[Any, Viewer, Any, Any]


def sees_everything(connection: Asker, _: BaseRouteHandler) -> None:
    """Only for those who may see the whole bill."""
    require_all(connection.user)


def require_all(viewer: Viewer) -> None:
    if not viewer.sees_all:
        do = "Ask for a token or a role that sees every cost centre: viewer, finance, operator or admin."
        raise NotAllowedError(viewer.name, "this tells of the whole bill, and you may see a part of it", do)


def may_close(connection: Asker, _: BaseRouteHandler) -> None:
    """Only for finance and admins who signed in: a token reads."""
    if not connection.user.closes:
        do = "Ask somebody with the role finance or admin."
        raise NotAllowedError(connection.user.name, "you may not close months", do)


def may_scrape(connection: Asker, route: BaseRouteHandler) -> None:
    """Figures are of everybody; a token may be for them alone."""
    if "metrics" not in connection.user.scopes:
        do = "Make a token for it: trainfare token create prometheus --role viewer --scope metrics"
        raise NotAllowedError(connection.user.name, "this token is not for /metrics", do)
    sees_everything(connection, route)


def may_read(connection: Asker, route: BaseRouteHandler) -> None:
    """Everything but what is public is for those who may read; a token may be for other things alone."""
    if route.opt.get("public") or route.opt.get("scope") == "metrics":
        return
    if "read" not in connection.user.scopes:
        do = "Make a token with: trainfare token create NAME --scope read"
        raise NotAllowedError(connection.user.name, "this token is not for reading", do)
