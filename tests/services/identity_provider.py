"""A small identity provider for tests: OpenID Connect over HTTP on loopback, with its own keys.

It is as strict as a real one about clients, redirects, PKCE and single-use codes. The test decides which claims it
makes and how its tokens are invalid.
"""

import base64
import hashlib
import json
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote_plus, urlencode, urlsplit

from joserfc import jwt
from joserfc.jwk import KeySet, RSAKey

CLIENT = "trainfare"
SECRET = "between us & the provider"
Claims = dict[str, Any]


def unchanged(claims: Claims) -> Claims:
    return claims


@dataclass
class IdentityProvider:
    port: int
    redirect: str = ""
    """The only URL it redirects to."""
    person: Claims = field(default_factory=dict)
    """The claims about the person who signs in."""
    alter: Callable[[Claims], Claims] = unchanged
    """Changes the claims of the next tokens."""
    signed_by: Callable[[Claims], str] | None = None
    rejects_with: str = ""
    user_info: Claims | None = None
    """What the UserInfo endpoint states, if there is one."""
    key: RSAKey = field(default_factory=lambda: RSAKey.generate_key(2048, {"kid": "one", "use": "sig"}))
    codes: dict[str, dict[str, str]] = field(default_factory=dict)
    requests: list[str] = field(default_factory=list)

    @property
    def issuer(self) -> str:
        return f"http://127.0.0.1:{self.port}/people"

    def description(self) -> Claims:
        user_info = {} if self.user_info is None else {"userinfo_endpoint": f"{self.issuer}/user-info"}
        return user_info | {
            "issuer": self.issuer,
            "authorization_endpoint": f"{self.issuer}/authorize",
            "token_endpoint": f"{self.issuer}/token",
            "jwks_uri": f"{self.issuer}/keys",
            "response_types_supported": ["code"],
            "id_token_signing_alg_values_supported": ["RS256"],
            "token_endpoint_auth_methods_supported": ["client_secret_basic"],
        }

    def authorize(self, parameters: dict[str, str]) -> tuple[int, str]:
        """Return the status and the URL to redirect to; reject invalid requests as the specification requires."""
        if parameters.get("client_id") != CLIENT or parameters.get("redirect_uri") != self.redirect:
            return 400, ""
        needed = {"response_type": "code", "code_challenge_method": "S256"}
        is_valid = needed.items() <= parameters.items() and "openid" in parameters.get("scope", "").split()
        if not is_valid or not all(parameters.get(name) for name in ("state", "nonce", "code_challenge")):
            return 400, ""
        if self.rejects_with:
            returned = {"error": self.rejects_with, "state": parameters["state"]}
        else:
            code = secrets.token_urlsafe(16)
            self.codes[code] = parameters
            returned = {"code": code, "state": parameters["state"]}
        return 302, f"{self.redirect}?{urlencode(returned)}"

    def token(self, given: dict[str, str], authorization: str) -> tuple[int, Claims]:
        name, _, secret = base64.b64decode(authorization.removeprefix("Basic ")).decode().partition(":")
        started = self.codes.pop(given.get("code", ""), None)
        if (unquote_plus(name), unquote_plus(secret)) != (CLIENT, SECRET) or started is None:
            return 401, {"error": "invalid_client"}
        digest = hashlib.sha256(given.get("code_verifier", "").encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        if challenge != started["code_challenge"] or given.get("redirect_uri") != self.redirect:
            return 400, {"error": "invalid_grant"}
        now = int(time.time())
        claims = {"iss": self.issuer, "aud": CLIENT, "iat": now, "exp": now + 300, "nonce": started["nonce"]}
        claims = self.alter(claims | {"sub": "4711"} | self.person)
        id_token = self.signed_by(claims) if self.signed_by else self.signed(claims)
        return 200, {"access_token": "unused", "token_type": "Bearer", "id_token": id_token}

    def signed(self, claims: Claims, key: RSAKey | None = None) -> str:
        return jwt.encode({"alg": "RS256", "kid": "one"}, claims, key or self.key)


def _handler(provider: IdentityProvider) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            url = urlsplit(self.path)
            parameters = {name: values[0] for name, values in parse_qs(url.query).items()}
            provider.requests.append(url.path)
            if url.path == "/people/.well-known/openid-configuration":
                self._json(200, provider.description())
            elif url.path == "/people/keys":
                self._json(200, KeySet([provider.key]).as_dict(private=False))
            elif url.path == "/people/user-info" and self.headers.get("Authorization") == "Bearer unused":
                self._json(200, provider.user_info or {})
            elif url.path == "/people/authorize":
                status, address = provider.authorize(parameters)
                self.send_response(status)
                self.send_header("Location", address)
                self.end_headers()
            else:
                self._json(404, {})

        def do_POST(self) -> None:
            length = int(self.headers.get("Content-Length", "0"))
            given = {name: values[0] for name, values in parse_qs(self.rfile.read(length).decode()).items()}
            provider.requests.append(self.path)
            self._json(*provider.token(given, self.headers.get("Authorization", "")))

        def _json(self, status: int, content: Claims) -> None:
            body = json.dumps(content).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            """Nobody reads it."""

    return Handler


@contextmanager
def running() -> Iterator[IdentityProvider]:
    """Start a provider on a free port, and stop it."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler)
    provider = IdentityProvider(server.server_address[1])
    server.RequestHandlerClass = _handler(provider)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield provider
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
