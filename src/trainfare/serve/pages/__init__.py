"""The pages for people: each is a set of panels over published books, and each view has its own URL."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

from litestar import MediaType, Request, Response, Router, get
from litestar.di import NamedDependency
from litestar.exceptions import HTTPException, NotFoundException
from litestar.params import FromPath
from litestar.types import ControllerRouterHandler, ExceptionHandlersMap

from trainfare.errors import TrainfareError
from trainfare.report import records
from trainfare.serve.auth.permissions import require_full_visibility, sees_everything
from trainfare.serve.auth.viewer import Viewer
from trainfare.serve.books import BookReader
from trainfare.serve.cache.responses import cached_response
from trainfare.serve.cache.results import ResultKey
from trainfare.serve.pages import (
    closing,
    cost_trace,
    downloads,
    efficiency,
    errors,
    findings,
    job,
    jobs,
    layout,
    lineage,
    monthly_close,
    overview,
    rules,
    unallocated,
)
from trainfare.serve.pages.context import NoDataError, RequestContext, request_context
from trainfare.serve.pages.panel import Page, Panel


@dataclass(frozen=True)
class PageRoute:
    path: str
    build: Callable[[RequestContext], Page]
    panels: Mapping[str, Callable[[RequestContext], Panel]]
    template: str = "page.html"
    shows_whole_bill: bool = False
    """Whether only viewers with full visibility may open it."""
    state: Callable[[RequestContext], object] | None = None
    """What the page depends on besides published books, if anything."""
    redirect: Callable[[RequestContext], str | None] = lambda context: None
    """The page that answers the request better, if there is one."""


PAGES = {
    "overview": PageRoute("/", overview.page, overview.PANELS),
    "jobs": PageRoute("/jobs", jobs.page, jobs.PANELS, "jobs.html", redirect=jobs.named_job),
    "efficiency": PageRoute("/efficiency", efficiency.page, efficiency.PANELS),
    "cost-trace": PageRoute("/cost-trace", cost_trace.page, cost_trace.PANELS, "cost_trace.html"),
    "unallocated": PageRoute(
        "/unallocated", unallocated.page, unallocated.PANELS, "unallocated.html", shows_whole_bill=True
    ),
    "monthly-close": PageRoute("/monthly-close", monthly_close.page, monthly_close.PANELS, shows_whole_bill=True),
    "findings": PageRoute("/findings", findings.page, findings.PANELS, shows_whole_bill=True, state=findings.state),
    "rules": PageRoute("/rules", rules.page, rules.PANELS, shows_whole_bill=True),
}


def _handler(name: str) -> ControllerRouterHandler:
    route = PAGES[name]

    @get(
        route.path,
        name=f"page {name}",
        media_type=MediaType.HTML,
        include_in_schema=False,
        sync_to_thread=True,
        guards=[sees_everything] if route.shows_whole_bill else [],
    )
    def handler(
        request: Request[Any, Any, Any], book_reader: NamedDependency[BookReader], viewer: NamedDependency[Viewer]
    ) -> Response[bytes]:
        context = request_context(request, book_reader, viewer, route.path)
        if target := route.redirect(context):
            return Response(b"", status_code=303, headers={"Location": target, "Cache-Control": "no-store"})
        state = route.state(context) if route.state else None
        return _respond(
            request, context, lambda: layout.render(route.template, context, name, route.build(context)), state
        )

    return handler


def _respond(
    request: Request[Any, Any, Any], context: RequestContext, render: Callable[[], str], state: object = None
) -> Response[bytes]:
    """Send a page, or 304 if the browser already has it.

    A page depends on its URL, the day, the published versions, the viewer's role and visibility, and the built scripts.
    """
    day = datetime.now(UTC).date()
    question = (context.path, context.query, day, context.viewer.role, layout.version(), state)
    key = ResultKey(context.published.mark, question, context.viewer.visibility)
    results = context.book_reader.results
    return cached_response(request, results, key, lambda: render().encode(), MediaType.HTML, vary="Cookie")


@get("/jobs/{job_id:path}", media_type=MediaType.HTML, include_in_schema=False, sync_to_thread=True)
def job_page(
    request: Request[Any, Any, Any],
    book_reader: NamedDependency[BookReader],
    viewer: NamedDependency[Viewer],
    job_id: FromPath[str],
) -> Response[bytes]:
    """One job. Its id may contain slashes."""
    name = job_id.removeprefix("/")
    context = request_context(request, book_reader, viewer, f"/jobs/{quote(name)}")
    return _respond(request, context, lambda: layout.render("job.html", context, "job", job.page(context, name)))


@get("/cost-trace/job", media_type=MediaType.HTML, include_in_schema=False, sync_to_thread=True)
def job_trace(
    request: Request[Any, Any, Any], book_reader: NamedDependency[BookReader], viewer: NamedDependency[Viewer]
) -> Response[bytes]:
    """The pots and bill lines behind one job's cost."""
    return _trace(request_context(request, book_reader, viewer, "/cost-trace/job"), request, "cost-trace-job")


@get(
    "/cost-trace/line",
    media_type=MediaType.HTML,
    include_in_schema=False,
    sync_to_thread=True,
    guards=[sees_everything],
)
def line_trace(
    request: Request[Any, Any, Any], book_reader: NamedDependency[BookReader], viewer: NamedDependency[Viewer]
) -> Response[bytes]:
    """The payers of one bill line."""
    return _trace(request_context(request, book_reader, viewer, "/cost-trace/line"), request, "cost-trace-line")


def _trace(context: RequestContext, request: Request[Any, Any, Any], name: str) -> Response[bytes]:
    return _respond(request, context, lambda: layout.render("cost_trace.html", context, name, TRACES[name](context)))


def _job_trace(context: RequestContext) -> Page:
    return lineage.job_page(context, context.query.get("job"))


def _line_trace(context: RequestContext) -> Page:
    return lineage.line_page(context, context.query.number("delivery", 0), context.query.number("line", 0))


TRACES = {"cost-trace-job": _job_trace, "cost-trace-line": _line_trace}


@get("/panels/{page:str}/{file:str}", include_in_schema=False, sync_to_thread=True)
def panel_file(
    request: Request[Any, Any, Any],
    book_reader: NamedDependency[BookReader],
    viewer: NamedDependency[Viewer],
    page: FromPath[str],
    file: FromPath[str],
) -> Response[str]:
    """One panel as data: the rows of its table with all digits, as CSV or JSON."""
    name, _, extension = file.rpartition(".")
    if page in PAGES and PAGES[page].shows_whole_bill:
        require_full_visibility(viewer)
    panel = _panel(request_context(request, book_reader, viewer, ""), page, name)
    if panel is None or extension not in ("csv", "json"):
        raise NotFoundException()
    if extension == "csv":
        text, media_type = records.as_csv(panel.records), "text/csv; charset=utf-8"
    else:
        text, media_type = records.as_json("rows", panel.records, panel=panel.title), "application/json"
    headers = {"Content-Disposition": f'attachment; filename="{name}.{extension}"'}
    return Response(text, media_type=media_type, headers=headers)


def _panel(context: RequestContext, page: str, name: str) -> Panel | None:
    """One panel of a page. The parameter `job` selects the job where a page is about one."""
    if page in TRACES:
        return {panel.name: panel for panel in TRACES[page](context).panels}.get(name)
    if page == "job":
        return job.PANELS[name](context, context.query.get("job")) if name in job.PANELS else None
    panels = PAGES[page].panels if page in PAGES else {}
    return panels[name](context) if name in panels else None


def routes() -> list[ControllerRouterHandler]:
    """The route handlers of all pages."""
    handlers = [
        *(_handler(name) for name in PAGES),
        job_page,
        job_trace,
        line_trace,
        panel_file,
        *downloads.ROUTES,
        *closing.ROUTES,
    ]
    handled: ExceptionHandlersMap = {
        NoDataError: errors.no_data,
        TrainfareError: errors.trainfare_error,
        HTTPException: errors.http_error,
    }
    return [Router("/", route_handlers=handlers, exception_handlers=handled)]
