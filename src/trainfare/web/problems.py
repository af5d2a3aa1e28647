"""What goes wrong, told over HTTP: problem+json (RFC 9457) with where, what and what to do. Never a traceback."""

import logging
from http import HTTPStatus
from typing import Any

import msgspec
from litestar import Request, Response
from litestar.exceptions import HTTPException

from trainfare.errors import IncompleteError, TrainfareError, UnreachableError

MEDIA_TYPE = "application/problem+json"

_LOG = logging.getLogger("trainfare.web")


class Problem(msgspec.Struct, frozen=True):
    """`where` is what was asked wrongly or is at fault, `title` what is wrong with it, `detail` what to do about it."""

    status: int
    title: str
    detail: str = ""
    where: str = ""
    type: str = "about:blank"


class NotThereError(TrainfareError):
    """What was asked for by name is not there."""


class NotAllowedError(TrainfareError):
    """The viewer may not see or do that."""


class TooManyError(TrainfareError):
    """The same was tried too often in a short time."""


class SignInFirstError(HTTPException):
    """A person came without a session: they are sent to sign in, and come back to where they wanted to go."""

    status_code = 303


STATUSES: dict[type[TrainfareError], int] = {
    NotThereError: 404,
    NotAllowedError: 403,
    TooManyError: 429,
    IncompleteError: 404,
    UnreachableError: 503,
}


def answer(problem: Problem, headers: dict[str, str] | None = None) -> Response[bytes]:
    kept = {"Cache-Control": "no-store", **(headers or {})}
    return Response(msgspec.json.encode(problem), status_code=problem.status, media_type=MEDIA_TYPE, headers=kept)


def of_trainfare(request: Request[Any, Any, Any], error: TrainfareError) -> Response[bytes]:
    """An error a user can mend."""
    return answer(Problem(status_of(error), error.what, error.do, error.where))


def status_of(error: TrainfareError) -> int:
    return STATUSES.get(type(error), 400)


def of_visitor(request: Request[Any, Any, Any], error: SignInFirstError) -> Response[bytes]:
    return Response(b"", status_code=303, headers={**(error.headers or {}), "Cache-Control": "no-store"})


def of_http(request: Request[Any, Any, Any], error: HTTPException) -> Response[bytes]:
    """An error of the request itself: no such address, wrong method, a parameter that cannot be read."""
    wrong = [part for part in (error.extra or []) if isinstance(part, dict)]
    where = ", ".join(str(part.get("key", "")) for part in wrong)
    detail = "; ".join(str(part.get("message", "")) for part in wrong)
    title = str(error.detail) if not wrong else "a parameter cannot be used"
    return answer(Problem(error.status_code, title, detail, where), dict(error.headers or {}))


def of_fault(request: Request[Any, Any, Any], error: Exception) -> Response[bytes]:
    """A fault of ours: logged in full, told in one sentence."""
    _LOG.error("fault", exc_info=error, extra={"path": request.url.path})
    told = Problem(int(HTTPStatus.INTERNAL_SERVER_ERROR), "this is a fault of Trainfare", "Its log says more.")
    return answer(told)
