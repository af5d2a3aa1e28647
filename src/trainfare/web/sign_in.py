"""Signing in, with a name and a password or through an identity provider, and out again."""

import threading
import time
from collections import defaultdict, deque
from typing import Annotated, Any
from urllib.parse import urlencode

from litestar import MediaType, Request, Response, get, post
from litestar.datastructures import Cookie
from litestar.enums import RequestEncodingType
from litestar.params import Body, Parameter
from litestar.response import Redirect
from litestar.utils.scope.state import ScopeState

from trainfare.errors import TrainfareError
from trainfare.store.access import User
from trainfare.web.books import Shelf
from trainfare.web.door import COOKIE
from trainfare.web.oidc import BACK, VISIT_SECONDS, Provider
from trainfare.web.pages import frame
from trainfare.web.problems import NotAllowedError, NotThereError, TooManyError, status_of
from trainfare.web.rights import PUBLIC
from trainfare.web.viewer import Viewer

TRIES, SECONDS, MOST_NAMES = 10, 60, 10_000
LEAVE = "/sign-in/oidc"
VISIT = "trainfare_visit"

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


Back = Annotated[str, Parameter(max_length=2000)]
Told = Annotated[str, Parameter(max_length=4000)]


@get("/sign-in", opt=PUBLIC, media_type=MediaType.HTML, include_in_schema=False, sync_to_thread=False)
def sign_in_page(
    request: Request[Viewer, Any, Any], shelf: Shelf, provider: Provider, back: Back = "/"
) -> Response[str]:
    if shelf.config.serve.sign_in == "oidc":
        return _provider_page(provider, local_path(back), "")
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
    return Redirect(back, status_code=303, cookies=[_started(shelf, user, request.url.scheme == "https")])


@get(LEAVE, opt=PUBLIC, include_in_schema=False, sync_to_thread=True)
def leave(shelf: Shelf, provider: Provider, back: Back = "/") -> Response[Any]:
    """Send a person to the identity provider, with a cookie by which they are known when they come back."""
    _require_provider(shelf)
    try:
        address, visit = provider.leave(local_path(back))
    except TrainfareError as error:
        return _provider_page(provider, local_path(back), f"{error.what}. {error.do}", status_of(error))
    return Redirect(address, status_code=303, cookies=[_visiting(provider, provider.sealed(visit), VISIT_SECONDS)])


@get(BACK, opt=PUBLIC, media_type=MediaType.HTML, include_in_schema=False, sync_to_thread=True)
def arrive(
    request: Request[Viewer, Any, Any],
    shelf: Shelf,
    provider: Provider,
    code: Told = "",
    state_: Annotated[str, Parameter(query="state", max_length=4000)] = "",
    error: Told = "",
) -> Response[Any]:
    """Start a session for a person whom the identity provider sent back, or say why not."""
    _require_provider(shelf)
    over = _visiting(provider, "", 0)
    try:
        if error or not code:
            do = "Sign in again, or ask who runs the identity provider."
            raise NotAllowedError("sign-in", "the identity provider did not let you in", do)
        person, back = provider.arrive(request.cookies.get(VISIT, ""), state_, code)
        user = shelf.store.catalog.access.arrived(person.name, person.role, person.sees, provider.host)
        if user is None:
            raise NotAllowedError(person.name, "you are not let in any more", "Ask an admin of this service.")
    except TrainfareError as refused:
        told = _provider_page(provider, "/", f"{refused.what}. {refused.do}", status_of(refused))
        told.set_cookie(over)
        return told
    return Redirect(back, status_code=303, cookies=[_started(shelf, user, provider.is_encrypted), over])


@post("/sign-out", opt=PUBLIC, include_in_schema=False, sync_to_thread=True)
def sign_out(request: Request[Viewer, Any, Any], shelf: Shelf) -> Redirect:
    if session := request.cookies.get(COOKIE):
        shelf.store.catalog.access.end_session(session)
    return Redirect("/sign-in", status_code=303, cookies=[Cookie(COOKIE, value="", max_age=0, httponly=True)])


def local_path(back: str) -> str:
    """Where to go afterwards: a path of ours, whatever was asked for."""
    is_ours = back.startswith("/") and not back.startswith(("//", "/\\")) and back.isprintable()
    return back if is_ours else "/"


def _started(shelf: Shelf, user: User, is_encrypted: bool) -> Cookie:
    """The cookie of a new session."""
    hours = shelf.config.serve.session_hours
    session = shelf.store.catalog.access.start_session(user, hours)
    return Cookie(COOKIE, value=session, max_age=hours * 3600, httponly=True, samesite="lax", secure=is_encrypted)


def _visiting(provider: Provider, text: str, seconds: int) -> Cookie:
    """The cookie of a visit to the identity provider. It must come along when that sends the person back, so it is lax."""
    return Cookie(
        VISIT,
        value=text,
        path=LEAVE,
        max_age=seconds,
        httponly=True,
        samesite="lax",
        secure=provider.is_encrypted,
    )


def _require_provider(shelf: Shelf) -> None:
    if shelf.config.serve.sign_in != "oidc":
        do = 'Write sign_in = "oidc" below [serve] in the settings, and [oidc].'
        raise NotThereError("sign-in", "there is no identity provider here", do)


def _provider_page(provider: Provider, back: str, wrong: str, status: int = 200) -> Response[str]:
    template = frame.environment().get_template("sign_in_with_provider.html")
    text = template.render(leave=f"{LEAVE}?{urlencode({'back': back})}", host=provider.host, wrong=wrong)
    return Response(text, status_code=status, media_type=MediaType.HTML, headers={"Cache-Control": "no-store"})


def _page(request: Request[Viewer, Any, Any], back: str, wrong: str, status: int = 200) -> Response[str]:
    token = ScopeState.from_scope(request.scope).csrf_token
    text = frame.environment().get_template("sign_in.html").render(back=back, wrong=wrong, token=token)
    return Response(text, status_code=status, media_type=MediaType.HTML, headers={"Cache-Control": "no-store"})


ROUTES = [sign_in_page, sign_in, sign_out, leave, arrive]
