"""The door: every request passes it, and leaves it with a viewer or not at all."""

import getpass
import ipaddress
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from anyio import to_thread
from litestar.connection import ASGIConnection
from litestar.exceptions import HTTPException, NotAuthorizedException
from litestar.middleware import AbstractAuthenticationMiddleware, AuthenticationResult
from litestar.types import ASGIApp

from trainfare.config import Config
from trainfare.store.access import Access, User
from trainfare.web.problems import SignInFirstError
from trainfare.web.viewer import NOBODY, Viewer

COOKIE = "trainfare_session"
LOCAL_NAMES = ("localhost", "127.0.0.1", "[::1]", "testserver.local")
Connection = ASGIConnection[Any, Any, Any, Any]


@dataclass(frozen=True)
class Rules:
    """Who is let in: everybody at this machine, people who signed in, or those a trusted proxy names."""

    config: Config
    access: Access

    @property
    def is_open(self) -> bool:
        return self.config.serve.sign_in == "none"

    @property
    def by_session(self) -> bool:
        """Whether people sign in here: with a password, or through an identity provider."""
        return self.config.serve.sign_in in ("local", "oidc")

    def viewer(self, connection: Connection) -> Viewer | None:
        """Who asks. A token counts before all else, and a wrong one is not made up for by a cookie."""
        kind, _, secret = connection.headers.get("authorization", "").partition(" ")
        if kind:
            token = self.access.of_token(secret.strip()) if kind.lower() == "bearer" else None
            return Viewer(f"token {token.name}", token.role, token.sees, token.scopes, is_token=True) if token else None
        if self.is_open:
            return Viewer(getpass.getuser(), "admin") if _is_local(connection) else None
        if self.by_session:
            session = connection.cookies.get(COOKIE)
            return _as_viewer(self.access.of_session(session)) if session else None
        return self._named_by_proxy(connection)

    def _named_by_proxy(self, connection: Connection) -> Viewer | None:
        """Whom the proxy names; its header counts only if the request comes from one of the proxies."""
        peer = connection.client.host if connection.client else ""
        named = connection.headers.getall(self.config.serve.proxy_header, [])
        if peer not in self.config.serve.proxies or len(named) != 1:
            return None
        return _as_viewer(self.access.user(named[0]))


def _as_viewer(user: User | None) -> Viewer | None:
    return Viewer(user.name, user.role, user.sees) if user else None


def _is_local(connection: Connection) -> bool:
    """Whether the browser knows us by a local name. Another name that leads here may be another site's trick."""
    host = connection.headers.get("host", "").rsplit(":", 1)[0] if connection.headers.get("host") else ""
    if host in LOCAL_NAMES:
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


class Door(AbstractAuthenticationMiddleware):
    """Lets in who may come in. What is public is for anybody; a person without a session is sent to sign in."""

    def __init__(self, app: ASGIApp, rules: Rules) -> None:
        super().__init__(app)
        self._rules = rules

    async def authenticate_request(self, connection: Connection) -> AuthenticationResult:
        viewer = await to_thread.run_sync(self._rules.viewer, connection)
        if viewer is None and not connection.route_handler.opt.get("public"):
            raise self._refusal(connection)
        return AuthenticationResult(user=viewer or NOBODY, auth=None)

    def _refusal(self, connection: Connection) -> HTTPException:
        wants_page = "text/html" in connection.headers.get("accept", "")
        if wants_page and self._rules.by_session and not connection.headers.get("authorization"):
            back = connection.url.path + (f"?{connection.url.query}" if connection.url.query else "")
            return SignInFirstError("sign in first", headers={"Location": f"/sign-in?back={quote(back, safe='')}"})
        return NotAuthorizedException(
            "sign in, or send a token that counts", headers={"WWW-Authenticate": 'Bearer realm="trainfare"'}
        )
