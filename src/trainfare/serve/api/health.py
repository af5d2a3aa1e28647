"""Endpoints for monitoring: liveness, readiness and Prometheus metrics."""

import asyncio
from typing import Any

from litestar import MediaType, Request, Response, get
from litestar.di import NamedDependency

from trainfare.serve.admission.middleware import UNCOUNTED, wait_until_gone
from trainfare.serve.api.responses import PROBLEMS, problem_response
from trainfare.serve.auth.permissions import PUBLIC, may_scrape
from trainfare.serve.books import BookReader
from trainfare.serve.metrics.registry import CONTENT_TYPE, MetricsRegistry
from trainfare.serve.problems import Problem, problem_json
from trainfare.serve.readiness import Readiness
from trainfare.serve.scrub import Scrub


@get(
    ["/livez", "/healthz"],
    media_type=MediaType.TEXT,
    opt=PUBLIC | UNCOUNTED,
    sync_to_thread=False,
    summary="Liveness",
    tags=["monitoring"],
)
def livez() -> str:
    """The process is running."""
    return "ok\n"


@get(
    "/readyz",
    media_type=MediaType.TEXT,
    opt=PUBLIC | UNCOUNTED,
    responses={503: problem_response("Not ready.")},
    summary="Readiness",
    tags=["monitoring"],
)
async def readyz(
    request: Request[Any, Any, Any], readiness: NamedDependency[Readiness], scrub: NamedDependency[Scrub]
) -> Response[Any]:
    """The catalog can be read and the newest books are open. The result cache is filled in the background.

    A second line says how many damaged files and rows the last scrub found, if any.
    """
    ready = asyncio.ensure_future(readiness.wait())
    gone = asyncio.ensure_future(wait_until_gone(request.receive))
    try:
        await asyncio.wait({ready, gone}, return_when=asyncio.FIRST_COMPLETED)
        if ready.done():
            ready.result()
    except Exception:  # the response is the same for every cause; the next request for a book logs it
        return problem_json(Problem(503, "the books cannot be read", "See the service log when a book is requested."))
    finally:
        ready.cancel()
        gone.cancel()
    return Response(f"ok\n{scrub.note()}", media_type=MediaType.TEXT)


@get(
    "/metrics",
    media_type=CONTENT_TYPE,
    guards=[may_scrape],
    opt={"scope": "metrics"},
    responses={status: problem_response(PROBLEMS[status]) for status in (401, 403, 429)},
    sync_to_thread=True,
    summary="Prometheus metrics",
    tags=["monitoring"],
)
def metrics(
    book_reader: NamedDependency[BookReader], metrics_registry: NamedDependency[MetricsRegistry]
) -> Response[bytes]:
    """Cost by project, team and category, hours, rates, reconciliation, and the metrics of the service itself."""
    text = metrics_registry.text(book_reader)
    return Response(text, media_type=CONTENT_TYPE, headers={"Cache-Control": "no-store"})


ROUTES = [livez, readyz, metrics]
