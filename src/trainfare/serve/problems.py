"""Errors over HTTP: problem+json (RFC 9457) that states where, what and what to do. Never a traceback."""

from http import HTTPStatus
from typing import Any

import msgspec
from litestar import Request, Response
from litestar.exceptions import HTTPException

from trainfare import quoting
from trainfare.errors import IncompleteError, TrainfareError, UnreachableError
from trainfare.serve.admission.cancellation import CanceledError
from trainfare.serve.logs import LOG

MEDIA_TYPE = "application/problem+json"


class Problem(msgspec.Struct, frozen=True):
    """`where` is the parameter or object at fault, `title` what is wrong with it, `detail` what to do about it."""

    status: int
    title: str
    detail: str = ""
    where: str = ""
    type: str = "about:blank"


class NotFoundError(TrainfareError):
    """The requested object does not exist."""


class ForbiddenError(TrainfareError):
    """The viewer lacks the permission."""


class TooLargeError(TrainfareError):
    """The request has more than the service takes at once."""


class TooManyRequestsError(TrainfareError):
    """The same was attempted too often in a short time."""


class BusyError(TrainfareError):
    """The service has too much to do at the moment."""


class TimeLimitError(CanceledError):
    """A query that took longer than the settings allow."""


class SignInRequiredError(HTTPException):
    """A person without a session is redirected to the sign-in page, and returns to the requested page afterwards."""

    status_code = 303


STATUSES: dict[type[TrainfareError], int] = {
    NotFoundError: 404,
    ForbiddenError: 403,
    TooLargeError: 413,
    TooManyRequestsError: 429,
    IncompleteError: 404,
    UnreachableError: 503,
    BusyError: 503,
    CanceledError: 503,
    TimeLimitError: 503,
}
RETRY = {"Retry-After": "1"}
RETRIED = (TooManyRequestsError, BusyError)
PRIVATE = "private_texts"
"""The key in the application's state for what no response may contain: paths and addresses of the server."""


def problem_json(problem: Problem, headers: dict[str, str] | None = None) -> Response[bytes]:
    return Response(
        quoting.json_document(msgspec.json.encode(problem)),
        status_code=problem.status,
        media_type=MEDIA_TYPE,
        headers={"Cache-Control": "no-store", **(headers or {})},
    )


def trainfare_error_response(request: Request[Any, Any, Any], error: TrainfareError) -> Response[bytes]:
    """Respond to an error that the user can fix."""
    shown = public_error(request, error)
    return problem_json(Problem(status_of(shown), shown.what, shown.do, shown.where), retry_headers(shown))


def public_error(request: Request[Any, Any, Any], error: TrainfareError) -> TrainfareError:
    """The error as a client may see it. One that names a file or server of ours is not theirs to fix: it is logged."""
    if type(error.__cause__).__name__ == "OutOfMemoryException":
        do = "Ask for a shorter period or fewer groups, or add a filter."
        return BusyError("query", "it needs more memory than the service has", do)
    private: tuple[str, ...] = request.app.state.get(PRIVATE, ())
    if not any(text in f"{error.where} {error.what} {error.do}" for text in private):
        return error
    LOG.error(str(error).replace("\n ", ""), extra={"path": request.url.path})
    do = "Try again later. An administrator finds the cause in the service log, at the time of this request."
    return BusyError("books", "they cannot be read at the moment", do)


def retry_headers(error: TrainfareError) -> dict[str, str]:
    return RETRY if isinstance(error, RETRIED) else {}


def status_of(error: TrainfareError) -> int:
    return next((STATUSES[one] for one in type(error).__mro__ if one in STATUSES), 400)


def sign_in_redirect(request: Request[Any, Any, Any], error: SignInRequiredError) -> Response[bytes]:
    return Response(b"", status_code=303, headers={**(error.headers or {}), "Cache-Control": "no-store"})


def http_error_response(request: Request[Any, Any, Any], error: HTTPException) -> Response[bytes]:
    """Respond to an error of the request itself: unknown path, wrong method, invalid parameter."""
    invalid = [part for part in (error.extra or []) if isinstance(part, dict)]
    where = ", ".join(str(part.get("key", "")) for part in invalid)
    detail = "; ".join(str(part.get("message", "")) for part in invalid)
    title = str(error.detail) if not invalid else "invalid parameter"
    return problem_json(Problem(error.status_code, title, detail, where), dict(error.headers or {}))


def internal_error_response(request: Request[Any, Any, Any], error: Exception) -> Response[bytes]:
    """Log an internal error in full, and respond with one sentence."""
    LOG.error("internal error", exc_info=error, extra={"path": request.url.path})
    status = int(HTTPStatus.INTERNAL_SERVER_ERROR)
    return problem_json(Problem(status, "internal error; please report it", "See the service log for details."))
