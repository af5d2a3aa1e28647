"""Sign-in through an identity provider: the OpenID Connect code flow with PKCE, state and nonce.

Claims are accepted only from a valid id token: signed by the provider's keys, issued to this service and for this
sign-in, and not expired. What it leaves out comes from the provider's UserInfo endpoint, if that describes the same
person: a strict provider states there, and only there, what a scope asks for. The libraries (httpx, joserfc) are in the
extra `oidc` and are imported when someone signs in.
"""

import base64
import hashlib
import hmac
import json
import secrets
import threading
import time
from dataclasses import asdict, dataclass
from typing import Any
from urllib.parse import quote_plus, urlencode, urlsplit

from trainfare.errors import TrainfareError, UnreachableError
from trainfare.serve.problems import ForbiddenError
from trainfare.settings.sections import ANYBODY, Oidc

CALLBACK = "/sign-in/oidc/back"
"""The path that the provider redirects to."""
SECRET = "TRAINFARE_OIDC_SECRET"
"""The environment variable with the client secret, if the provider requires one. It is never stored in a file."""
TIMEOUT_SECONDS = 10
SIGN_IN_SECONDS = 600
METADATA_SECONDS = 300
LEEWAY_SECONDS = 60
ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
"""Asymmetric signatures, which only the provider can make. Shared-secret and unsigned tokens are rejected."""


@dataclass(frozen=True)
class PendingSignIn:
    """A sign-in that has started and not yet returned from the provider. The browser holds it in a signed cookie."""

    state: str
    nonce: str
    verifier: str
    back: str
    started: int


@dataclass(frozen=True)
class Person:
    """The person who signed in, with the role and visibility that the settings give them."""

    name: str
    role: str
    visibility: tuple[str, ...] | None


class Provider:
    """The identity provider that the settings name."""

    def __init__(self, oidc: Oidc, client_secret: str, key: str) -> None:
        self._oidc = oidc
        self._secret = client_secret
        self._key = hashlib.sha256(f"visit {key}".encode()).digest()
        self._lock = threading.Lock()
        self._metadata: tuple[float, dict[str, Any]] | None = None

    @property
    def is_encrypted(self) -> bool:
        """Whether browsers use https to reach this service."""
        return self._oidc.address.startswith("https://")

    @property
    def host(self) -> str:
        return urlsplit(self._oidc.issuer).netloc

    def start(self, back: str) -> tuple[str, PendingSignIn]:
        """Return the URL to redirect to, and the pending sign-in."""
        state, nonce, verifier = (secrets.token_urlsafe(32) for _ in range(3))
        pending = PendingSignIn(state, nonce, verifier, back, int(time.time()))
        challenge = base64.urlsafe_b64encode(hashlib.sha256(pending.verifier.encode()).digest()).rstrip(b"=").decode()
        parameters = {
            "response_type": "code",
            "client_id": self._oidc.client_id,
            "redirect_uri": self._redirect_uri,
            "scope": " ".join(self._oidc.scopes),
            "state": pending.state,
            "nonce": pending.nonce,
            "code_challenge": challenge,
            "code_challenge_method": "S256",
        }
        return f"{self._provider_metadata()['authorization_endpoint']}?{urlencode(parameters)}", pending

    def finish(self, cookie: str, state: str, code: str) -> tuple[Person, str]:
        """Return the person who signed in and the page they requested. Reject a sign-in that did not start here."""
        pending = self.unseal(cookie)
        if pending is None or not hmac.compare_digest(pending.state.encode(), state.encode()):
            do = "Sign in again, in one browser and within ten minutes."
            raise ForbiddenError("sign-in", "the sign-in did not start in this browser", do)
        return self._person(self._claims(code, pending)), pending.back

    def seal(self, pending: PendingSignIn) -> str:
        """Return the signed cookie value of a pending sign-in."""
        text = base64.urlsafe_b64encode(json.dumps(asdict(pending)).encode()).decode()
        return f"{text}.{self._signature(text)}"

    def unseal(self, cookie: str) -> PendingSignIn | None:
        """Return the pending sign-in of a cookie; None if its signature is wrong or it has expired."""
        text, _, signature = cookie.partition(".")
        if not hmac.compare_digest(signature.encode(), self._signature(text).encode()):
            return None
        pending = PendingSignIn(**json.loads(base64.urlsafe_b64decode(text)))
        return pending if time.time() - pending.started < SIGN_IN_SECONDS else None

    def _signature(self, text: str) -> str:
        return hmac.new(self._key, text.encode(), hashlib.sha256).hexdigest()

    @property
    def _redirect_uri(self) -> str:
        return self._oidc.address.rstrip("/") + CALLBACK

    def _claims(self, code: str, pending: PendingSignIn) -> dict[str, Any]:
        """Exchange the code for an id token, and return its verified claims."""
        metadata = self._provider_metadata()
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": self._redirect_uri,
            "client_id": self._oidc.client_id,
            "code_verifier": pending.verifier,
        }
        methods = metadata.get("token_endpoint_auth_methods_supported", ["client_secret_basic"])
        credentials = None
        if self._secret and "client_secret_basic" in methods:
            credentials = (quote_plus(self._oidc.client_id), quote_plus(self._secret))
        elif self._secret:
            form["client_secret"] = self._secret
        response = self._request("POST", metadata["token_endpoint"], data=form, auth=credentials)
        keys = self._request("GET", metadata["jwks_uri"])
        claims = verified_claims(str(response.get("id_token", "")), keys, self._oidc, pending.nonce)
        return self._user_info(metadata, str(response.get("access_token", "")), claims) | claims

    def _user_info(self, metadata: dict[str, Any], access_token: str, claims: dict[str, Any]) -> dict[str, Any]:
        """Return what the UserInfo endpoint states, if the id token leaves out anything that the settings use."""
        used = {self._oidc.name_claim, self._oidc.role_claim, *self._oidc.sees.values()}
        endpoint = metadata.get("userinfo_endpoint")
        if used <= claims.keys() or not endpoint or not access_token:
            return {}
        found = self._request("GET", endpoint, headers={"Authorization": f"Bearer {access_token}"})
        if found.get("sub") != claims["sub"]:
            do = "Sign in again. If the problem persists, contact the administrator of the identity provider."
            raise ForbiddenError("sign-in", f"{self.host} describes another person than the id token", do)
        if "email" in claims:
            found.pop("email_verified", None)  # it is said of the address next to it, which may be another
        return found

    def _provider_metadata(self) -> dict[str, Any]:
        """Return the provider's OpenID configuration, cached for some minutes."""
        with self._lock:
            if self._metadata is None or time.monotonic() - self._metadata[0] > METADATA_SECONDS:
                found = self._request("GET", self._oidc.issuer.rstrip("/") + "/.well-known/openid-configuration")
                missing = [
                    one for one in ("authorization_endpoint", "token_endpoint", "jwks_uri") if not found.get(one)
                ]
                if found.get("issuer") != self._oidc.issuer or missing:
                    do = f"Set issuer to the value that the provider reports: {str(found.get('issuer', 'none'))[:200]}"
                    raise TrainfareError("[oidc] issuer", f"{self.host} is not this provider", do)
                self._metadata = (time.monotonic(), found)
            return self._metadata[1]

    def _request(self, method: str, url: str, **options: Any) -> dict[str, Any]:
        import httpx

        try:
            response = httpx.request(method, url, timeout=TIMEOUT_SECONDS, follow_redirects=False, **options)
            found = response.json() if response.is_success else None
        except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
            what = f"{self.host} is unavailable: {type(error).__name__}"
            raise UnreachableError("[oidc] issuer", what, "Try again later, or contact its administrator.") from None
        if not isinstance(found, dict):
            what = f"{self.host} responded with {response.status_code} to {urlsplit(url).path}"
            do = f"Sign in again. If the problem persists, check client_id and {SECRET}."
            raise ForbiddenError("sign-in", what, do)
        return found

    def _person(self, claims: dict[str, Any]) -> Person:
        """Map claims to the first matching role of the settings and, for the role team, to its labels."""
        name = claims.get(self._oidc.name_claim)
        if not isinstance(name, str) or not name.isprintable() or name != name.strip() or not name:
            do = f"Configure the provider to include {self._oidc.name_claim} in the id token, or set another claim."
            raise ForbiddenError("[oidc] name_claim", f"the id token has no {self._oidc.name_claim}", do)
        if self._oidc.name_claim == "email" and claims.get("email_verified") is not True:
            do = "Verify it with the identity provider. If that never states email_verified, set another name_claim."
            raise ForbiddenError(name, "this email address is not verified", do)
        groups = {*_values(claims.get(self._oidc.role_claim)), ANYBODY}
        role = next((role for group, role in self._oidc.roles.items() if group in groups), None)
        if role is None:
            do = "Request a role; [oidc] in the settings lists the groups that have one."
            raise ForbiddenError(name, "you have no role", do)
        if role != "team":
            return Person(name, role, None)
        labels = self._oidc.sees.items()
        visibility = tuple(
            sorted(f"{label}:{value}" for label, claim in labels for value in _values(claims.get(claim)))
        )
        if not visibility:
            do = f"Request a value of {', '.join(self._oidc.sees.values())} at the identity provider."
            raise ForbiddenError(name, "you have no cost center or team", do)
        return Person(name, role, visibility)


def _values(claim: object) -> list[str]:
    """Return a claim as a list of strings; a single string becomes a list of one."""
    if isinstance(claim, str):
        return [claim]
    return [one for one in claim if isinstance(one, str)] if isinstance(claim, list) else []


def verified_claims(token: str, keys: dict[str, Any], oidc: Oidc, nonce: str) -> dict[str, Any]:
    """Return the claims of an id token signed by one of these keys, for this client and nonce, and valid now."""
    from joserfc import jwt
    from joserfc.errors import JoseError
    from joserfc.jwk import KeySet

    expected = jwt.JWTClaimsRegistry(
        leeway=LEEWAY_SECONDS,
        iss={"essential": True, "value": oidc.issuer},
        aud={"essential": True, "value": oidc.client_id},
        sub={"essential": True},
        exp={"essential": True},
        iat={"essential": True},
        nonce={"essential": True, "value": nonce},
    )
    try:
        claims = dict(jwt.decode(token, KeySet.import_key_set(keys), algorithms=[*ALGORITHMS]).claims)  # type: ignore[arg-type]
        expected.validate(claims)
    except (JoseError, ValueError, TypeError, KeyError) as error:
        what = f"the id token is invalid: {error}"
        raise ForbiddenError(
            "sign-in", what, "Sign in again. If the problem persists, contact an admin of this service."
        ) from None
    audience = claims["aud"]
    if isinstance(audience, list) and len(audience) > 1 and claims.get("azp") != oidc.client_id:
        do = "Sign in again. If the problem persists, contact an admin of this service."
        raise ForbiddenError("sign-in", "the id token is invalid: it was issued to another client", do)
    return claims


def require_installed() -> None:
    """Raise an error if the libraries for signing in are not installed."""
    try:
        import httpx  # noqa: F401
        import joserfc  # noqa: F401
    except ImportError as error:
        do = "Install it: pip install 'trainfare[oidc]'"
        raise TrainfareError("[serve] sign_in", f"oidc needs the package {error.name}", do) from None
