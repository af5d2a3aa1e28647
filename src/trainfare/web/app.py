"""The application: who comes in, what answers, and what every answer carries."""

import os
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from litestar import Litestar, Request
from litestar.config.csrf import CSRFConfig
from litestar.datastructures import CacheControlHeader
from litestar.di import Provide
from litestar.exceptions import HTTPException
from litestar.middleware import DefineMiddleware
from litestar.middleware.rate_limit import RateLimitConfig
from litestar.openapi import OpenAPIConfig
from litestar.openapi.plugins import JsonRenderPlugin
from litestar.static_files import create_static_files_router

from trainfare import __version__
from trainfare.config import FILE_NAME, Config, load
from trainfare.errors import TrainfareError
from trainfare.store import Store
from trainfare.web import api, pages, problems, sign_in
from trainfare.web.books import Shelf
from trainfare.web.door import Door, Rules
from trainfare.web.figures import Figures
from trainfare.web.headers import secure
from trainfare.web.oidc import SECRET, Provider
from trainfare.web.rights import PUBLIC, may_read
from trainfare.web.viewer import Viewer
from trainfare.web.watched import Watched

STATIC = Path(__file__).parent / "static"
"""Scripts and styles, built from `assets` and npm packages, and shipped with the package."""
DESCRIPTION = "What did one hour of training really cost, and where does each dollar come from?"
A_YEAR = 365 * 24 * 3600
WITHOUT_FORMS = ["^/api", "^/allocation", "^/static", "^/metrics", "^/(livez|readyz|healthz)"]
"""Addresses that only read, and set no cookie."""
LARGEST_BODY = 64 * 1024


def create_app(workspace: Path, secret: str = "") -> Litestar:
    """The service over the published books of a workspace. Processes that serve together share a secret for their forms."""
    config = load(workspace / FILE_NAME)
    store = Store.open(workspace, config.catalog, config.lake)
    shelf = Shelf(store, config)
    figures, tries = Figures(), sign_in.Tries()
    shared = secret or secrets.token_hex(32)
    provider = Provider(config.oidc, os.environ.get(SECRET, ""), shared)

    @asynccontextmanager
    async def life(app: Litestar) -> AsyncIterator[None]:
        try:
            yield
        finally:
            shelf.close()
            store.catalog.dispose()

    return Litestar(
        route_handlers=[*api.routes(), *sign_in.ROUTES, *pages.routes(), *_static()],
        dependencies={
            "shelf": Provide(lambda: shelf, sync_to_thread=False),
            "viewer": Provide(_viewer, sync_to_thread=False),
            "figures": Provide(lambda: figures, sync_to_thread=False),
            "tries": Provide(lambda: tries, sync_to_thread=False),
            "provider": Provide(lambda: provider, sync_to_thread=False),
        },
        middleware=[
            Watched(figures),
            DefineMiddleware(Door, rules=Rules(config, store.catalog.access)),
            *_limits(config),
        ],
        csrf_config=CSRFConfig(
            secret=shared,
            cookie_name="trainfare_csrf",
            cookie_samesite="strict",
            cookie_httponly=True,
            exclude=WITHOUT_FORMS,
        ),
        before_send=[secure],
        exception_handlers={
            TrainfareError: problems.of_trainfare,
            problems.SignInFirstError: problems.of_visitor,
            HTTPException: problems.of_http,
            Exception: problems.of_fault,
        },
        lifespan=[life],
        openapi_config=OpenAPIConfig(
            title="Trainfare",
            version=__version__,
            description=DESCRIPTION,
            path="/api/schema",
            render_plugins=[JsonRenderPlugin()],
            use_handler_docstrings=True,
        ),
        guards=[may_read],
        logging_config=None,
        request_max_body_size=LARGEST_BODY,
        signature_types=[Shelf, Viewer, Figures, Provider, sign_in.Tries],
    )


def _limits(config: Config) -> list[Any]:
    """Where people come from elsewhere, nobody may ask for more than their part."""
    if config.serve.sign_in == "none":
        return []
    limit = RateLimitConfig(("minute", config.serve.requests_per_minute), exclude=["^/static", "^/livez", "^/readyz"])
    return [limit.middleware]


def _viewer(request: Request[Viewer, Any, Any]) -> Viewer:
    return request.user


def _static() -> list[Any]:
    if not STATIC.is_dir():
        return []
    kept = CacheControlHeader(max_age=A_YEAR, public=True, immutable=True)
    return [create_static_files_router("/static", [STATIC], cache_control=kept, include_in_schema=False, opt=PUBLIC)]
