"""Errors as HTML pages for people in a browser; programs get problem+json."""

from typing import Any

from litestar import MediaType, Request, Response
from litestar.exceptions import HTTPException

from trainfare.errors import TrainfareError
from trainfare.serve import problems
from trainfare.serve.pages import layout
from trainfare.serve.pages.context import NoDataError

FOR_PROGRAMS = ("/api", "/allocation", "/static", "/metrics", "/livez", "/readyz", "/healthz")
"""Paths under which errors are always problem+json."""


def no_data(request: Request[Any, Any, Any], error: NoDataError) -> Response[str]:
    """A period without a book: say so, and let the reader choose another one."""
    return Response(layout.render_no_data(error.context), status_code=404, media_type=MediaType.HTML)


def trainfare_error(request: Request[Any, Any, Any], error: TrainfareError) -> Response[str]:
    shown = problems.public_error(request, error)
    text = layout.render_error(shown.what, shown.do, shown.where)
    headers = {"Cache-Control": "no-store", **problems.retry_headers(shown)}
    return Response(text, status_code=problems.status_of(shown), media_type=MediaType.HTML, headers=headers)


def http_error(request: Request[Any, Any, Any], error: HTTPException) -> Response[str]:
    what = "page not found" if error.status_code == 404 else str(error.detail)
    text = layout.render_error(what, "Check the URL, or start from the overview.", request.url.path)
    headers = {"Cache-Control": "no-store", **(error.headers or {})}
    return Response(text, status_code=error.status_code, media_type=MediaType.HTML, headers=headers)


def unknown_url(request: Request[Any, Any, Any], error: HTTPException) -> Response[Any]:
    """An HTTP error outside of any page: HTML for browsers, problem+json for programs."""
    if _is_for_a_person(request):
        return http_error(request, error)
    return problems.http_error_response(request, error)


def any_trainfare_error(request: Request[Any, Any, Any], error: TrainfareError) -> Response[Any]:
    """An error outside of any page: HTML for browsers, problem+json for programs."""
    if _is_for_a_person(request):
        return trainfare_error(request, error)
    return problems.trainfare_error_response(request, error)


def internal_error(request: Request[Any, Any, Any], error: Exception) -> Response[Any]:
    """An error of ours, logged in full: one sentence, as HTML for browsers and problem+json for programs."""
    response = problems.internal_error_response(request, error)
    if not _is_for_a_person(request):
        return response
    do = "The service log has the details, at the time of this request."
    text = layout.render_error("internal error; please report it", do, request.url.path)
    headers = {"Cache-Control": "no-store"}
    return Response(text, status_code=response.status_code, media_type=MediaType.HTML, headers=headers)


def _is_for_a_person(request: Request[Any, Any, Any]) -> bool:
    is_browser = "text/html" in request.headers.get("accept", "")
    return is_browser and not request.url.path.startswith(FOR_PROGRAMS)
