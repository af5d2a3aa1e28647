"""Middleware that counts, times and logs every request once its response is sent."""

import secrets
import time

from litestar.enums import ScopeType
from litestar.middleware import ASGIMiddleware
from litestar.types import ASGIApp, Message, Receive, Scope, Send

from trainfare.serve.logs import LOG
from trainfare.serve.metrics.registry import MetricsRegistry


class RequestLog(ASGIMiddleware):
    scopes = (ScopeType.HTTP,)

    def __init__(self, metrics_registry: MetricsRegistry) -> None:
        self._metrics_registry = metrics_registry

    async def handle(self, scope: Scope, receive: Receive, send: Send, next_app: ASGIApp) -> None:
        started, status = time.monotonic(), 500
        request = secrets.token_hex(8)

        async def send_with_id(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message.get("headers", []), (b"x-request-id", request.encode())]
            await send(message)

        try:
            await next_app(scope, receive, send_with_id)
        finally:
            seconds = time.monotonic() - started
            route = str(scope.get("path_template", ""))
            method = str(scope["method"])  # type: ignore[typeddict-item]
            self._metrics_registry.requests.labels(method, route, str(status)).observe(seconds)
            viewer = scope.get("user")
            LOG.info(
                "request",
                extra={
                    "method": method,
                    "path": scope["path"],
                    "status": status,
                    "ms": round(seconds * 1000, 1),
                    "viewer": getattr(viewer, "name", ""),
                    "request": request,
                },
            )
