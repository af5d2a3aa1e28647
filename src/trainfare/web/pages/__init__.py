"""The pages people look at: each a sheet of panels over published books, each an address."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any
from urllib.parse import quote

from litestar import MediaType, Request, Response, Router, get
from litestar.exceptions import HTTPException, NotFoundException
from litestar.types import ControllerRouterHandler

from trainfare.errors import TrainfareError
from trainfare.report import records
from trainfare.web.books import Shelf
from trainfare.web.pages import (
    books,
    closing,
    debug,
    dollar,
    downloads,
    executive,
    findings,
    frame,
    job,
    jobs,
    lineage,
    rules,
)
from trainfare.web.pages.desk import Desk, sit_down
from trainfare.web.pages.panel import Panel, Sheet
from trainfare.web.problems import STATUSES
from trainfare.web.rights import require_all, sees_everything
from trainfare.web.viewer import Viewer

Panels = Mapping[str, Callable[[Desk], Panel]]
PAGES: dict[str, tuple[str, Callable[[Desk], Sheet], Panels]] = {
    "executive": ("/", executive.sheet, executive.PANELS),
    "jobs": ("/jobs", jobs.sheet, jobs.PANELS),
    "debug": ("/debug", debug.sheet, debug.PANELS),
    "dollar": ("/dollar", dollar.sheet, dollar.PANELS),
    "books": ("/books", books.sheet, books.PANELS),
    "findings": ("/findings", findings.sheet, findings.PANELS),
    "rules": ("/rules", rules.sheet, rules.PANELS),
}
"""Each page's name, its address, what makes it, and its panels by name."""
WHOLE_BILL = ("books", "findings", "rules")
"""The pages that tell of the whole bill, which is not for those who see a part of it."""
DEPENDS: dict[str, Callable[[Desk], object]] = {"findings": findings.depends}
"""The pages that depend on more than what is published."""
TEMPLATES = {"jobs": "jobs.html", "dollar": "dollar.html"}
"""The pages that need more than figures and panels."""


def _page(name: str) -> ControllerRouterHandler:
    path, sheet, _ = PAGES[name]

    guards = [sees_everything] if name in WHOLE_BILL else []

    @get(
        path,
        name=f"page {name}",
        media_type=MediaType.HTML,
        include_in_schema=False,
        sync_to_thread=True,
        guards=guards,
    )
    def page(request: Request[Any, Any, Any], shelf: Shelf, viewer: Viewer) -> Response[bytes]:
        desk = sit_down(request, shelf, viewer, path)
        beside = DEPENDS[name](desk) if name in DEPENDS else None
        template = TEMPLATES.get(name, "page.html")
        return _told(request, desk, lambda: frame.render(template, desk, name, sheet(desk)), beside)

    return page


def _told(
    request: Request[Any, Any, Any], desk: Desk, render: Callable[[], str], beside: object = None
) -> Response[bytes]:
    """A page, unless the browser has it already. It depends on its address, the day, what is published, and what may be seen."""
    day = datetime.now(UTC).date()
    depends = (
        desk.path,
        desk.asked,
        day,
        desk.published.mark,
        desk.viewer.role,
        desk.viewer.sees,
        frame.version(),
        beside,
    )
    tag = f'"{sha256(repr(depends).encode()).hexdigest()[:32]}"'
    headers = {"ETag": tag, "Cache-Control": "private, no-cache", "Vary": "Cookie"}
    if tag in [one.strip() for one in request.headers.get("if-none-match", "").split(",")]:
        return Response(b"", status_code=304, headers=headers)
    body = desk.shelf.answers.ask(tag, lambda: render().encode())
    return Response(body, media_type=MediaType.HTML, headers=headers)


@get("/jobs/{job_id:path}", media_type=MediaType.HTML, include_in_schema=False, sync_to_thread=True)
def one_job(request: Request[Any, Any, Any], shelf: Shelf, viewer: Viewer, job_id: str) -> Response[bytes]:
    """One job, whatever marks its id has."""
    name = job_id.removeprefix("/")
    desk = sit_down(request, shelf, viewer, f"/jobs/{quote(name)}")
    return _told(request, desk, lambda: frame.render("job.html", desk, "job", job.sheet(desk, name)))


@get("/dollar/job", media_type=MediaType.HTML, include_in_schema=False, sync_to_thread=True)
def job_lineage(request: Request[Any, Any, Any], shelf: Shelf, viewer: Viewer) -> Response[bytes]:
    """Where one job's money comes from."""
    desk = sit_down(request, shelf, viewer, "/dollar/job")
    return _told(request, desk, lambda: frame.render("dollar.html", desk, "job-lineage", _of_job_lines(desk)))


@get(
    "/dollar/line",
    media_type=MediaType.HTML,
    include_in_schema=False,
    sync_to_thread=True,
    guards=[sees_everything],
)
def line_lineage(request: Request[Any, Any, Any], shelf: Shelf, viewer: Viewer) -> Response[bytes]:
    """Who pays one bill line."""
    desk = sit_down(request, shelf, viewer, "/dollar/line")
    return _told(request, desk, lambda: frame.render("dollar.html", desk, "line-lineage", _of_line(desk)))


def _of_job_lines(desk: Desk) -> Sheet:
    return lineage.of_job(desk, desk.asked.one("job"))


def _of_line(desk: Desk) -> Sheet:
    return lineage.of_line(desk, desk.asked.number("delivery", 0), desk.asked.number("line", 0))


LINEAGE = {"job-lineage": _of_job_lines, "line-lineage": _of_line}


@get("/panels/{page:str}/{file:str}", include_in_schema=False, sync_to_thread=True)
def panel(request: Request[Any, Any, Any], shelf: Shelf, viewer: Viewer, page: str, file: str) -> Response[str]:
    """One panel as data: what its table shows, with all digits, as CSV or JSON."""
    name, _, ending = file.rpartition(".")
    if page in WHOLE_BILL:
        require_all(viewer)
    told = _panel(sit_down(request, shelf, viewer, ""), page, name)
    if told is None or ending not in ("csv", "json"):
        raise NotFoundException()
    text = records.as_csv(told.told) if ending == "csv" else records.as_json("rows", told.told, panel=told.title)
    kinds = {"csv": "text/csv; charset=utf-8", "json": "application/json"}
    headers = {"Content-Disposition": f'attachment; filename="{name}.{ending}"'}
    return Response(text, media_type=kinds[ending], headers=headers)


def _panel(desk: Desk, page: str, name: str) -> Panel | None:
    """One panel of a page; those of one job know it by the parameter `job`."""
    if page in LINEAGE:
        found = {one.name: one for one in LINEAGE[page](desk).panels}
        return found.get(name)
    if page == "job":
        return job.PANELS[name](desk, desk.asked.one("job")) if name in job.PANELS else None
    panels = PAGES[page][2] if page in PAGES else {}
    return panels[name](desk) if name in panels else None


def _of_trainfare(request: Request[Any, Any, Any], error: TrainfareError) -> Response[str]:
    status = STATUSES.get(type(error), 400)
    text = frame.render_error(None, status, error.what, error.do, error.where)
    return Response(text, status_code=status, media_type=MediaType.HTML)


def _of_http(request: Request[Any, Any, Any], error: HTTPException) -> Response[str]:
    text = frame.render_error(
        None, error.status_code, str(error.detail), "Go back, or start from the newest month.", ""
    )
    return Response(text, status_code=error.status_code, media_type=MediaType.HTML)


def routes() -> list[ControllerRouterHandler]:
    """Every page."""
    handlers = [
        *(_page(name) for name in PAGES),
        one_job,
        job_lineage,
        line_lineage,
        panel,
        *downloads.ROUTES,
        *closing.ROUTES,
    ]
    return [
        Router(
            "/",
            route_handlers=handlers,
            exception_handlers={TrainfareError: _of_trainfare, HTTPException: _of_http},
        )
    ]
