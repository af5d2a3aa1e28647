"""Every request watched: counted, timed and logged once it is answered."""

import secrets
import time

from litestar.enums import ScopeType
from litestar.middleware import ASGIMiddleware
from litestar.types import ASGIApp, Message, Receive, Scope, Send

from trainfare.web.figures import Figures
from trainfare.web.logs import LOG


class Watched(ASGIMiddleware):
    scopes = (ScopeType.HTTP,)

    def __init__(self, figures: Figures) -> None:
        self._figures = figures

    async def handle(self, scope: Scope, receive: Receive, send: Send, next_app: ASGIApp) -> None:
        started, status = time.monotonic(), 500
        request = secrets.token_hex(8)

        async def told(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message.get("headers", []), (b"x-request-id", request.encode())]
            await send(message)

        try:
            await next_app(scope, receive, told)
        finally:
            seconds = time.monotonic() - started
            route = str(scope.get("path_template", ""))
            method = str(scope["method"])  # type: ignore[typeddict-item]
            self._figures.requests.labels(method, route, str(status)).observe(seconds)
            viewer = scope.get("user")
            LOG.info(
                "answered",
                extra={
                    "method": method,
                    "path": scope["path"],
                    "status": status,
                    "ms": round(seconds * 1000, 1),
                    "viewer": getattr(viewer, "name", ""),
                    "request": request,
                },
            )
