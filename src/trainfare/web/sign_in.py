"""Signing in with a name and a password, and out again."""

import threading
import time
from collections import defaultdict, deque
from typing import Annotated, Any

from litestar import MediaType, Request, Response, get, post
from litestar.datastructures import Cookie
from litestar.enums import RequestEncodingType
from litestar.params import Body, Parameter
from litestar.response import Redirect
from litestar.utils.scope.state import ScopeState

from trainfare.web.books import Shelf
from trainfare.web.door import COOKIE
from trainfare.web.pages import frame
from trainfare.web.problems import TooManyError
from trainfare.web.rights import PUBLIC
from trainfare.web.viewer import Viewer

TRIES, SECONDS, MOST_NAMES = 10, 60, 10_000

Form = Annotated[dict[str, str], Body(media_type=RequestEncodingType.URL_ENCODED)]


class Tries:
    """How often a name was tried from an address lately."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._times: defaultdict[tuple[str, str], deque[float]] = defaultdict(deque)

    def count(self, address: str, name: str) -> None:
        """Count a try; beyond ten a minute it is refused, right or wrong."""
        now = time.monotonic()
        with self._lock:
            if len(self._times) > MOST_NAMES:
                self._times.clear()
            times = self._times[address, name]
            while times and now - times[0] > SECONDS:
                times.popleft()
            if len(times) >= TRIES:
                raise TooManyError("sign-in", "too many tries", "Wait a minute, then try again.")
            times.append(now)


@get("/sign-in", opt=PUBLIC, media_type=MediaType.HTML, include_in_schema=False, sync_to_thread=False)
def sign_in_page(
    request: Request[Viewer, Any, Any], back: Annotated[str, Parameter(max_length=2000)] = "/"
) -> Response[str]:
    return _page(request, local_path(back), "")


@post("/sign-in", opt=PUBLIC, media_type=MediaType.HTML, include_in_schema=False, sync_to_thread=True)
def sign_in(request: Request[Viewer, Any, Any], shelf: Shelf, tries: Tries, data: Form) -> Response[Any]:
    """Start a session, or say that name and password do not go together."""
    name, back = data.get("name", "")[:200], local_path(data.get("back", "/"))
    tries.count(request.client.host if request.client else "", name)
    access, serve = shelf.store.catalog.access, shelf.config.serve
    user = access.with_password(name, data.get("password", "")[:1000]) if serve.sign_in == "local" else None
    if user is None:
        return _page(request, back, "That name and password do not go together.", 401)
    session = access.start_session(user, serve.session_hours)
    kept = Cookie(
        COOKIE,
        value=session,
        max_age=serve.session_hours * 3600,
        httponly=True,
        samesite="lax",
        secure=request.url.scheme == "https",
    )
    return Redirect(back, status_code=303, cookies=[kept])


@post("/sign-out", opt=PUBLIC, include_in_schema=False, sync_to_thread=True)
def sign_out(request: Request[Viewer, Any, Any], shelf: Shelf) -> Redirect:
    if session := request.cookies.get(COOKIE):
        shelf.store.catalog.access.end_session(session)
    return Redirect("/sign-in", status_code=303, cookies=[Cookie(COOKIE, value="", max_age=0, httponly=True)])


def local_path(back: str) -> str:
    """Where to go afterwards: a path of ours, whatever was asked for."""
    is_ours = back.startswith("/") and not back.startswith(("//", "/\\")) and back.isprintable()
    return back if is_ours else "/"


def _page(request: Request[Viewer, Any, Any], back: str, wrong: str, status: int = 200) -> Response[str]:
    token = ScopeState.from_scope(request.scope).csrf_token
    text = frame.environment().get_template("sign_in.html").render(back=back, wrong=wrong, token=token)
    return Response(text, status_code=status, media_type=MediaType.HTML, headers={"Cache-Control": "no-store"})


ROUTES = [sign_in_page, sign_in, sign_out]
