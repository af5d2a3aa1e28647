"""Sign in, with a password or through an identity provider, and sign out."""

from hashlib import sha256
from typing import Annotated, Any
from urllib.parse import urlencode

from litestar import MediaType, Request, Response, get, post
from litestar.datastructures import Cookie
from litestar.di import NamedDependency
from litestar.enums import RequestEncodingType
from litestar.params import Body, QueryParameter
from litestar.response import Redirect
from litestar.utils.scope.state import ScopeState

from trainfare.errors import TrainfareError
from trainfare.serve.admission.middleware import SIGN_IN
from trainfare.serve.auth.authentication import COOKIE
from trainfare.serve.auth.oidc import CALLBACK, SIGN_IN_SECONDS, Provider
from trainfare.serve.auth.permissions import PUBLIC
from trainfare.serve.auth.viewer import Viewer
from trainfare.serve.books import BookReader
from trainfare.serve.forwarded import client_address
from trainfare.serve.pages import layout
from trainfare.serve.problems import ForbiddenError, NotFoundError, TooManyRequestsError, status_of
from trainfare.store.access import User
from trainfare.store.rate_limits import RateLimit, RateLimits

PER_NAME, PER_ADDRESS = RateLimit(10, 60), RateLimit(30, 60)
"""Sign-in attempts from one address for one name, and for all names together."""
START = "/sign-in/oidc"
PENDING_COOKIE = "trainfare_visit"

Form = Annotated[dict[str, str], Body(media_type=RequestEncodingType.URL_ENCODED)]


class SignInAttempts:
    """Recent sign-in attempts, counted in the catalog for all processes together."""

    def __init__(self, rate_limits: RateLimits) -> None:
        self._rate_limits = rate_limits

    def count(self, address: str, name: str) -> None:
        """Count an attempt. Beyond the limits all attempts are rejected, even with the right password."""
        for counted, limit in ((address, PER_ADDRESS), (f"{address} {name}", PER_NAME)):
            # A password typed into the wrong field must not be stored, so only its digest is.
            if not self._rate_limits.take(f"sign-in {sha256(counted.encode()).hexdigest()}", 1, limit):
                raise TooManyRequestsError("sign-in", "too many attempts", "Wait a minute, then try again.")


Back = Annotated[str, QueryParameter(max_length=2000)]
ProviderText = Annotated[str, QueryParameter(max_length=4000)]


@get("/sign-in", opt=PUBLIC, media_type=MediaType.HTML, include_in_schema=False, sync_to_thread=False)
def sign_in_page(
    request: Request[Viewer, Any, Any],
    book_reader: NamedDependency[BookReader],
    provider: NamedDependency[Provider],
    back: Back = "/",
) -> Response[str]:
    if book_reader.config.serve.sign_in == "oidc":
        return _provider_page(provider, local_path(back), "")
    return _page(request, local_path(back), "")


@post("/sign-in", opt=PUBLIC | SIGN_IN, media_type=MediaType.HTML, include_in_schema=False, sync_to_thread=True)
def sign_in(
    request: Request[Viewer, Any, Any],
    book_reader: NamedDependency[BookReader],
    sign_in_attempts: NamedDependency[SignInAttempts],
    data: Form,
) -> Response[Any]:
    """Start a session if the name and password are right."""
    name, back = data.get("name", "")[:200], local_path(data.get("back", "/"))
    sign_in_attempts.count(client_address(request.scope), name)
    access, serve = book_reader.store.catalog.access, book_reader.config.serve
    user = access.authenticate(name, data.get("password", "")[:1000]) if serve.sign_in == "local" else None
    if user is None:
        return _page(request, back, "Wrong name or password.", 401)
    return Redirect(back, status_code=303, cookies=[_session_cookie(book_reader, user, request.url.scheme == "https")])


@get(START, opt=PUBLIC | SIGN_IN, include_in_schema=False, sync_to_thread=True)
def start_oidc(
    book_reader: NamedDependency[BookReader], provider: NamedDependency[Provider], back: Back = "/"
) -> Response[Any]:
    """Redirect to the identity provider, with a cookie that identifies the person when they return."""
    _require_provider(book_reader)
    try:
        url, pending = provider.start(local_path(back))
    except TrainfareError as error:
        return _provider_page(provider, local_path(back), f"{error.what}. {error.do}", status_of(error))
    cookie = _pending_cookie(provider, provider.seal(pending), SIGN_IN_SECONDS)
    return Redirect(url, status_code=303, cookies=[cookie])


@get(CALLBACK, opt=PUBLIC | SIGN_IN, media_type=MediaType.HTML, include_in_schema=False, sync_to_thread=True)
def finish_oidc(
    request: Request[Viewer, Any, Any],
    book_reader: NamedDependency[BookReader],
    provider: NamedDependency[Provider],
    code: ProviderText = "",
    state_: Annotated[str, QueryParameter(name="state", max_length=4000)] = "",
    error: ProviderText = "",
) -> Response[Any]:
    """Start a session for a person who returns from the identity provider, or show why not."""
    _require_provider(book_reader)
    expired = _pending_cookie(provider, "", 0)
    try:
        if error or not code:
            do = "Sign in again, or contact the administrator of the identity provider."
            raise ForbiddenError("sign-in", "the identity provider rejected the sign-in", do)
        person, back = provider.finish(request.cookies.get(PENDING_COOKIE, ""), state_, code)
        user = book_reader.store.catalog.access.sync_external_user(
            person.name, person.role, person.visibility, provider.host
        )
        if user is None:
            raise ForbiddenError(person.name, "your access was revoked", "Contact an admin of this service.")
    except TrainfareError as rejected:
        page = _provider_page(provider, "/", f"{rejected.what}. {rejected.do}", status_of(rejected))
        page.set_cookie(expired)
        return page
    return Redirect(back, status_code=303, cookies=[_session_cookie(book_reader, user, provider.is_encrypted), expired])


@post("/sign-out", opt=PUBLIC | SIGN_IN, include_in_schema=False, sync_to_thread=True)
def sign_out(request: Request[Viewer, Any, Any], book_reader: NamedDependency[BookReader]) -> Redirect:
    if session := request.cookies.get(COOKIE):
        book_reader.store.catalog.access.end_session(session)
    return Redirect("/sign-in", status_code=303, cookies=[Cookie(COOKIE, value="", max_age=0, httponly=True)])


def local_path(back: str) -> str:
    """Return a path of this service to go to after signing in; other URLs are replaced by `/`."""
    is_ours = back.startswith("/") and not back.startswith(("//", "/\\")) and back.isprintable()
    return back if is_ours else "/"


def _session_cookie(book_reader: BookReader, user: User, is_encrypted: bool) -> Cookie:
    """Start a session and return its cookie."""
    hours = book_reader.config.serve.session_hours
    session = book_reader.store.catalog.access.start_session(user, hours)
    return Cookie(COOKIE, value=session, max_age=hours * 3600, httponly=True, samesite="lax", secure=is_encrypted)


def _pending_cookie(provider: Provider, text: str, seconds: int) -> Cookie:
    """The cookie of a pending sign-in. It is lax, because the provider redirects back across sites."""
    return Cookie(
        PENDING_COOKIE,
        value=text,
        path=START,
        max_age=seconds,
        httponly=True,
        samesite="lax",
        secure=provider.is_encrypted,
    )


def _require_provider(book_reader: BookReader) -> None:
    if book_reader.config.serve.sign_in != "oidc":
        do = 'Set sign_in = "oidc" in [serve], and configure [oidc].'
        raise NotFoundError("sign-in", "no identity provider is configured", do)


def _provider_page(provider: Provider, back: str, wrong: str, status: int = 200) -> Response[str]:
    template = layout.environment().get_template("sign_in_with_provider.html")
    text = template.render(leave=f"{START}?{urlencode({'back': back})}", host=provider.host, wrong=wrong)
    return Response(text, status_code=status, media_type=MediaType.HTML, headers={"Cache-Control": "no-store"})


def _page(request: Request[Viewer, Any, Any], back: str, wrong: str, status: int = 200) -> Response[str]:
    token = ScopeState.from_scope(request.scope).csrf_token
    text = layout.environment().get_template("sign_in.html").render(back=back, wrong=wrong, token=token)
    return Response(text, status_code=status, media_type=MediaType.HTML, headers={"Cache-Control": "no-store"})


ROUTES = [sign_in_page, sign_in, sign_out, start_oidc, finish_oidc]
