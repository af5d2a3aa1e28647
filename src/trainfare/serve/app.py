"""The web application: authentication, routes, and what all responses have in common."""

import asyncio
import os
import secrets
import tempfile
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from litestar import Litestar, Request
from litestar.config.csrf import CSRFConfig
from litestar.datastructures import CacheControlHeader, State
from litestar.di import Provide
from litestar.exceptions import HTTPException
from litestar.middleware import DefineMiddleware
from litestar.openapi import OpenAPIConfig
from litestar.openapi.plugins import JsonRenderPlugin
from litestar.static_files import create_static_files_router

from trainfare import __version__
from trainfare.errors import TrainfareError
from trainfare.serve import api, pages, problems
from trainfare.serve.admission.middleware import THREADS, UNCOUNTED, Admission, Limits
from trainfare.serve.admission.rates import RequestRates
from trainfare.serve.auth import sign_in
from trainfare.serve.auth.authentication import LOOKUPS, Authentication, Rules
from trainfare.serve.auth.oidc import SECRET, Provider
from trainfare.serve.auth.permissions import ALONE, PUBLIC, may_read
from trainfare.serve.auth.sign_in import SignInAttempts
from trainfare.serve.auth.viewer import Viewer
from trainfare.serve.books import BookReader
from trainfare.serve.headers import add_security_headers
from trainfare.serve.metrics.registry import MetricsRegistry
from trainfare.serve.readiness import Readiness
from trainfare.serve.receiver import Receiver
from trainfare.serve.request_log import RequestLog
from trainfare.serve.scrub import Scrub
from trainfare.serve.warm_up import warm_up
from trainfare.settings.config import FILE_NAME, Config, load
from trainfare.store import Store
from trainfare.store.rate_limits import RateLimit

STATIC = Path(__file__).parent / "static"
"""Scripts and styles, built from `assets` and npm packages and shipped with the package."""
DESCRIPTION = "What did one hour of training really cost, and where does each dollar come from?"
YEAR_SECONDS = 365 * 24 * 3600
WITHOUT_FORMS = ["^/api", "^/allocation", "^/static", "^/metrics", "^/(livez|readyz|healthz)"]
"""Paths that are read-only and set no cookie."""
MAX_BODY_BYTES = 64 * 1024


def create_app(workspace: Path, secret: str = "") -> Litestar:
    """Create the service for a workspace's published books. Processes that serve together share the form secret."""
    config = load(workspace / FILE_NAME)
    store = Store.open(workspace, config.catalog, config.lake)
    book_reader = BookReader(store, config)
    metrics_registry = MetricsRegistry()
    rates, is_shared, receiver = _rates(config, store), config.serve.sign_in != "none", Receiver(store)
    lookups = ThreadPoolExecutor(LOOKUPS, thread_name_prefix="lookup")
    scrub = Scrub(store, config.serve.scrub_hours)
    metrics_registry.registry.register(scrub)
    form_secret = secret or secrets.token_hex(32)
    provider = Provider(config.oidc, os.environ.get(SECRET, ""), form_secret)

    @asynccontextmanager
    async def lifespan(app: Litestar) -> AsyncIterator[None]:
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(THREADS, thread_name_prefix="handler"))
        scrub.start()
        try:
            yield
        finally:
            scrub.stop()
            rates.close()
            book_reader.close()
            receiver.close()
            store.catalog.dispose()

    return Litestar(
        route_handlers=[*api.routes(), *sign_in.ROUTES, *pages.routes(), *_static()],
        dependencies=_dependencies(book_reader, metrics_registry, provider) | _working(scrub, receiver),
        signature_types=[BookReader, Viewer, MetricsRegistry, Provider, SignInAttempts, Readiness, Receiver, Scrub],
        middleware=[
            RequestLog(metrics_registry),
            DefineMiddleware(Authentication, rules=Rules(config, store.catalog.access), rates=rates, lookups=lookups),
            Admission(Limits(config.serve.query_seconds, is_shared), rates),
        ],
        csrf_config=_csrf_config(form_secret),
        before_send=[add_security_headers],
        exception_handlers={
            TrainfareError: pages.errors.any_trainfare_error,
            problems.SignInRequiredError: problems.sign_in_redirect,
            HTTPException: pages.errors.unknown_url,
            Exception: pages.errors.internal_error,
        },
        lifespan=[lifespan],
        openapi_config=_openapi_config(),
        guards=[may_read],
        logging_config=None,
        request_max_body_size=MAX_BODY_BYTES,
        state=State({problems.PRIVATE: _private_texts(workspace, config, store), ALONE: not is_shared}),
    )


def _dependencies(book_reader: BookReader, metrics_registry: MetricsRegistry, provider: Provider) -> dict[str, Provide]:
    """What handlers receive, by parameter name."""
    readiness = Readiness(lambda: book_reader.prepare(lambda: warm_up(book_reader, metrics_registry)))
    attempts = SignInAttempts(book_reader.store.catalog.rate_limits)
    return {
        "readiness": Provide(lambda: readiness, sync_to_thread=False),
        "book_reader": Provide(lambda: book_reader, sync_to_thread=False),
        "viewer": Provide(_viewer, sync_to_thread=False),
        "metrics_registry": Provide(lambda: metrics_registry, sync_to_thread=False),
        "sign_in_attempts": Provide(lambda: attempts, sync_to_thread=False),
        "provider": Provide(lambda: provider, sync_to_thread=False),
    }


def _working(scrub: Scrub, receiver: Receiver) -> dict[str, Provide]:
    """What handlers receive that has a state of its own."""
    return {
        "scrub": Provide(lambda: scrub, sync_to_thread=False),
        "receiver": Provide(lambda: receiver, sync_to_thread=False),
    }


def _viewer(request: Request[Viewer, Any, Any]) -> Viewer:
    return request.user


def _rates(config: Config, store: Store) -> RequestRates:
    """Limit the requests per client, unless the service is for this machine only."""
    is_open = config.serve.sign_in == "none"
    limit = None if is_open else RateLimit(config.serve.requests_per_minute, 60)
    return RequestRates(store.catalog.rate_limits.take, limit)


def _private_texts(workspace: Path, config: Config, store: Store) -> tuple[str, ...]:
    """What no response may contain: where the workspace, the lake, the catalog and temporary files are."""
    found = {str(workspace), str(workspace.resolve()), config.lake or "", store.catalog.where, tempfile.gettempdir()}
    return tuple(text for text in found if len(text) > 3)


def _csrf_config(secret: str) -> CSRFConfig:
    return CSRFConfig(
        secret=secret,
        cookie_name="trainfare_csrf",
        cookie_samesite="strict",
        cookie_httponly=True,
        exclude=WITHOUT_FORMS,
    )


def _openapi_config() -> OpenAPIConfig:
    return OpenAPIConfig(
        title="Trainfare",
        version=__version__,
        description=DESCRIPTION,
        path="/api/schema",
        render_plugins=[JsonRenderPlugin()],
        use_handler_docstrings=True,
    )


def _static() -> list[Any]:
    if not STATIC.is_dir():
        return []
    cache_control = CacheControlHeader(max_age=YEAR_SECONDS, public=True, immutable=True)
    return [
        create_static_files_router(
            "/static", [STATIC], cache_control=cache_control, include_in_schema=False, opt=PUBLIC | UNCOUNTED
        )
    ]
