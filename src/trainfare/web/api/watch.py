"""For those who watch the service: whether it lives, whether it can answer, and its figures for Prometheus."""

from typing import Any

from litestar import MediaType, Request, Response, get
from litestar.openapi.datastructures import ResponseSpec

from trainfare.web.api.answer import PROBLEMS
from trainfare.web.books import Shelf
from trainfare.web.figures import CONTENT_TYPE, Figures
from trainfare.web.first import ask_first
from trainfare.web.problems import MEDIA_TYPE, Problem, answer
from trainfare.web.rights import PUBLIC, may_scrape
from trainfare.web.viewer import Viewer

UNREADY = {
    503: ResponseSpec(Problem, description="It cannot answer now.", media_type=MEDIA_TYPE, generate_examples=False)
}


@get(
    ["/livez", "/healthz"],
    media_type=MediaType.TEXT,
    opt=PUBLIC,
    sync_to_thread=False,
    summary="Whether it lives",
    tags=["watch"],
)
def livez() -> str:
    """The process answers."""
    return "ok\n"


@get(
    "/readyz",
    media_type=MediaType.TEXT,
    opt=PUBLIC,
    responses=UNREADY,
    sync_to_thread=True,
    summary="Whether it can answer",
    tags=["watch"],
)
def readyz(shelf: Shelf, figures: Figures) -> Response[Any]:
    """The catalog can be read, and the newest books are open. What people ask first of them is asked meanwhile."""
    try:
        shelf.prepare(lambda: ask_first(shelf, figures))
    except Exception:  # whatever it is, the answer is the same; the log has it when somebody asks for a book
        return answer(Problem(503, "the books cannot be read now", "Its log says more when a book is asked for."))
    return Response("ok\n", media_type=MediaType.TEXT)


SCRAPE = {
    status: ResponseSpec(Problem, description=PROBLEMS[status], media_type=MEDIA_TYPE, generate_examples=False)
    for status in (401, 403, 429)
}


@get(
    "/metrics",
    media_type=CONTENT_TYPE,
    guards=[may_scrape],
    opt={"scope": "metrics"},
    responses=SCRAPE,
    sync_to_thread=True,
    summary="Figures for Prometheus",
    tags=["watch"],
)
def metrics(request: Request[Viewer, Any, Any], shelf: Shelf, figures: Figures) -> Response[bytes]:
    """Costs by project, team and category, hours, rates, reconciliation and the service's own figures."""
    return Response(figures.text(shelf), media_type=CONTENT_TYPE, headers={"Cache-Control": "no-store"})


ROUTES = [livez, readyz, metrics]
