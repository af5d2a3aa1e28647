"""Guards: what a route requires of its viewer in addition to authentication."""

from typing import Any

from litestar.connection import ASGIConnection
from litestar.handlers import BaseRouteHandler

from trainfare.serve.auth.viewer import Viewer
from trainfare.serve.problems import ForbiddenError

PUBLIC = {"public": True}
"""For a route that needs no authentication, because it reveals nothing."""

ALONE = "alone"
"""The key in the application's state for whether everybody on this machine may use it without signing in."""
EVENTS = {"scope": "events"}
"""For a route to which events are sent."""

Connection = ASGIConnection[Any, Viewer, Any, Any]


def sees_everything(connection: Connection, _: BaseRouteHandler) -> None:
    """Require full visibility of the bill."""
    require_full_visibility(connection.user)


def require_full_visibility(viewer: Viewer) -> None:
    if not viewer.sees_all:
        do = "Ask for a token or a role that sees every cost center: viewer, finance, operator or admin."
        raise ForbiddenError(viewer.name, "this needs the whole bill, and you may see only part of it", do)


def may_close(connection: Connection, _: BaseRouteHandler) -> None:
    """Require finance or admin, signed in: a token may only read."""
    if not connection.user.closes:
        do = "Ask someone with the role finance or admin."
        raise ForbiddenError(connection.user.name, "you may not close months", do)


def may_reopen(connection: Connection, _: BaseRouteHandler) -> None:
    """Require admin, signed in."""
    if not connection.user.reopens:
        do = "Ask someone with the role admin."
        raise ForbiddenError(connection.user.name, "you may not reopen closed months", do)


def may_scrape(connection: Connection, route: BaseRouteHandler) -> None:
    """Require full visibility and, for a token, the scope for metrics."""
    if "metrics" not in connection.user.scopes:
        do = "Create a token: trainfare token create prometheus --role viewer --scope metrics"
        raise ForbiddenError(connection.user.name, "this token is not for /metrics", do)
    sees_everything(connection, route)


def may_send_events(connection: Connection, _: BaseRouteHandler) -> None:
    """Require a token with the scope for events. People who sign in with a cookie only read: a page could misuse it."""
    is_alone = connection.app.state.get(ALONE, False)
    if "events" not in connection.user.scopes or not (connection.user.is_token or is_alone):
        do = "Create a token: trainfare token create NAME --role team --sees team:NAME --scope events"
        raise ForbiddenError(connection.user.name, "sending events needs a token for it", do)


def may_read(connection: Connection, route: BaseRouteHandler) -> None:
    """Require the scope for reading, except on public routes and those with a scope of their own."""
    if route.opt.get("public") or route.opt.get("scope"):
        return
    if "read" not in connection.user.scopes:
        do = "Create a token: trainfare token create NAME --scope read"
        raise ForbiddenError(connection.user.name, "this token is not for reading", do)
