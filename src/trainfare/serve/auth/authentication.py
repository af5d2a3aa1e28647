"""Authentication: every request has a viewer, is redirected to sign in, or is rejected."""

import asyncio
import getpass
import ipaddress
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from litestar.connection import ASGIConnection
from litestar.exceptions import HTTPException, NotAuthorizedException
from litestar.middleware import AbstractAuthenticationMiddleware, AuthenticationResult
from litestar.types import ASGIApp

from trainfare.serve.admission.rates import RequestRates
from trainfare.serve.auth.viewer import ANONYMOUS, Viewer
from trainfare.serve.forwarded import Proxies, client_address, peer_address
from trainfare.serve.problems import SignInRequiredError
from trainfare.settings.config import Config
from trainfare.store.access import Access, User

COOKIE = "trainfare_session"
LOOKUPS = 4
"""Threads that look up users, tokens and sessions. They belong to nothing else, so no query can occupy them."""
LOCAL_NAMES = ("localhost", "127.0.0.1", "[::1]", "testserver.local")
Connection = ASGIConnection[Any, Any, Any, Any]


@dataclass(frozen=True)
class Rules:
    """Who has access: everyone on this machine, people who signed in, or those a trusted proxy names."""

    config: Config
    access: Access

    @property
    def is_open(self) -> bool:
        return self.config.serve.sign_in == "none"

    @property
    def by_session(self) -> bool:
        """Whether people sign in to this service, with a password or through an identity provider."""
        return self.config.serve.sign_in in ("local", "oidc")

    def viewer(self, connection: Connection) -> Viewer | None:
        """Identify the viewer. A token takes precedence, and an invalid token is rejected even with a valid cookie."""
        kind, _, secret = connection.headers.get("authorization", "").partition(" ")
        if kind:
            token = self.access.find_token(secret.strip()) if kind.lower() == "bearer" else None
            return (
                Viewer(f"token {token.name}", token.role, token.visibility, token.scopes, is_token=True)
                if token
                else None
            )
        if self.is_open:
            return Viewer(getpass.getuser(), "admin") if _is_local(connection) else None
        if self.by_session:
            session = connection.cookies.get(COOKIE)
            return _as_viewer(self.access.session_user(session)) if session else None
        return self._named_by_proxy(connection)

    def _named_by_proxy(self, connection: Connection) -> Viewer | None:
        """The user that the proxy names. The header is trusted only if the request comes from one of the proxies."""
        named = connection.headers.getall(self.config.serve.proxy_header, [])
        is_proxy = Proxies(self.config.serve.proxies).has(peer_address(connection.scope))
        if not is_proxy or len(named) != 1:
            return None
        return _as_viewer(self.access.user(named[0]))


def _as_viewer(user: User | None) -> Viewer | None:
    return Viewer(user.name, user.role, user.visibility) if user else None


def _is_local(connection: Connection) -> bool:
    """Whether the request uses a local host name. Any other name could be a DNS rebinding attack."""
    host = connection.headers.get("host", "").rsplit(":", 1)[0] if connection.headers.get("host") else ""
    if host in LOCAL_NAMES:
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


class Authentication(AbstractAuthenticationMiddleware):
    """Authenticates requests, except on public routes. A person without a session is redirected to sign in."""

    def __init__(self, app: ASGIApp, rules: Rules, rates: RequestRates, lookups: ThreadPoolExecutor) -> None:
        super().__init__(app, exclude_http_methods=[])
        self._rules = rules
        self._rates = rates
        self._lookups = lookups

    async def authenticate_request(self, connection: Connection) -> AuthenticationResult:
        if connection.route_handler.opt.get("public"):
            return AuthenticationResult(user=ANONYMOUS, auth=None)
        loop = asyncio.get_running_loop()
        viewer = await loop.run_in_executor(self._lookups, self._rules.viewer, connection)
        if viewer is None:
            await self._rates.take(f"address {client_address(connection.scope)}")
            raise self._error(connection)
        return AuthenticationResult(user=viewer, auth=None)

    def _error(self, connection: Connection) -> HTTPException:
        wants_page = "text/html" in connection.headers.get("accept", "")
        if wants_page and self._rules.by_session and not connection.headers.get("authorization"):
            back = connection.url.path + (f"?{connection.url.query}" if connection.url.query else "")
            return SignInRequiredError("sign in first", headers={"Location": f"/sign-in?back={quote(back, safe='')}"})
        return NotAuthorizedException(
            "sign in, or send a valid token", headers={"WWW-Authenticate": 'Bearer realm="trainfare"'}
        )
