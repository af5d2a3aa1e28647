"""Signing in through an identity provider, by OpenID Connect: the code flow with PKCE, state and nonce.

What the provider says of a person is believed only from an id token that its own keys signed, for us, for this visit, and that is
still good. The libraries for it (httpx, joserfc) are in the extra `oidc`, and are imported when somebody signs in.
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
from trainfare.sections import ANYBODY, Oidc
from trainfare.web.problems import NotAllowedError

BACK = "/sign-in/oidc/back"
"""Where the provider sends people back to."""
SECRET = "TRAINFARE_OIDC_SECRET"
"""What the provider knows us by, if it asks for that. It stands in no file."""
ANSWER_SECONDS = 10
VISIT_SECONDS = 600
KNOWN_SECONDS = 300
CLOCKS_APART_SECONDS = 60
SIGNED_BY = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
"""Signatures that only the provider can make. One by a shared secret, or none, does not count."""


@dataclass(frozen=True)
class Visit:
    """A person on the way to the provider and back. It goes with them in a cookie that only we can have made."""

    state: str
    nonce: str
    verifier: str
    back: str
    started: int


@dataclass(frozen=True)
class Person:
    """Who came back, and what they may see here."""

    name: str
    role: str
    sees: tuple[str, ...] | None


class Provider:
    """The identity provider that the settings name."""

    def __init__(self, oidc: Oidc, client_secret: str, key: str) -> None:
        self._oidc = oidc
        self._secret = client_secret
        self._key = hashlib.sha256(f"visit {key}".encode()).digest()
        self._lock = threading.Lock()
        self._described: tuple[float, dict[str, Any]] | None = None

    @property
    def is_encrypted(self) -> bool:
        """Whether browsers reach us by https."""
        return self._oidc.address.startswith("https://")

    @property
    def host(self) -> str:
        return urlsplit(self._oidc.issuer).netloc

    def leave(self, back: str) -> tuple[str, Visit]:
        """The address to send a person to, and the visit they are on."""
        state, nonce, verifier = (secrets.token_urlsafe(32) for _ in range(3))
        visit = Visit(state, nonce, verifier, back, int(time.time()))
        challenge = base64.urlsafe_b64encode(hashlib.sha256(visit.verifier.encode()).digest()).rstrip(b"=").decode()
        asked = {
            "response_type": "code",
            "client_id": self._oidc.client_id,
            "redirect_uri": self._redirect,
            "scope": " ".join(self._oidc.scopes),
            "state": visit.state,
            "nonce": visit.nonce,
            "code_challenge": challenge,
            "code_challenge_method": "S256",
        }
        return f"{self._description()['authorization_endpoint']}?{urlencode(asked)}", visit

    def arrive(self, cookie: str, state: str, code: str) -> tuple[Person, str]:
        """Who came back with this code, and where they wanted to go; refused unless they left from here."""
        visit = self.unsealed(cookie)
        if visit is None or not hmac.compare_digest(visit.state.encode(), state.encode()):
            do = "Sign in again; it must end in the browser it began in, within ten minutes."
            raise NotAllowedError("sign-in", "this is not where your sign-in began", do)
        return self._person(self._claims(code, visit)), visit.back

    def sealed(self, visit: Visit) -> str:
        """A visit as its cookie holds it."""
        text = base64.urlsafe_b64encode(json.dumps(asdict(visit)).encode()).decode()
        return f"{text}.{self._seal(text)}"

    def unsealed(self, cookie: str) -> Visit | None:
        """The visit of a cookie that we made not long ago."""
        text, _, seal = cookie.partition(".")
        if not hmac.compare_digest(seal.encode(), self._seal(text).encode()):
            return None
        visit = Visit(**json.loads(base64.urlsafe_b64decode(text)))
        return visit if time.time() - visit.started < VISIT_SECONDS else None

    def _seal(self, text: str) -> str:
        return hmac.new(self._key, text.encode(), hashlib.sha256).hexdigest()

    @property
    def _redirect(self) -> str:
        return self._oidc.address.rstrip("/") + BACK

    def _claims(self, code: str, visit: Visit) -> dict[str, Any]:
        """What the provider says of the person, from an id token that holds."""
        described = self._description()
        given = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": self._redirect,
            "client_id": self._oidc.client_id,
            "code_verifier": visit.verifier,
        }
        methods = described.get("token_endpoint_auth_methods_supported", ["client_secret_basic"])
        named = None
        if self._secret and "client_secret_basic" in methods:
            named = (quote_plus(self._oidc.client_id), quote_plus(self._secret))
        elif self._secret:
            given["client_secret"] = self._secret
        answer = self._asked("POST", described["token_endpoint"], data=given, auth=named)
        keys = self._asked("GET", described["jwks_uri"])
        return verified(str(answer.get("id_token", "")), keys, self._oidc, visit.nonce)

    def _description(self) -> dict[str, Any]:
        """What the provider says of itself, remembered for some minutes."""
        with self._lock:
            if self._described is None or time.monotonic() - self._described[0] > KNOWN_SECONDS:
                found = self._asked("GET", self._oidc.issuer.rstrip("/") + "/.well-known/openid-configuration")
                missing = [
                    one for one in ("authorization_endpoint", "token_endpoint", "jwks_uri") if not found.get(one)
                ]
                if found.get("issuer") != self._oidc.issuer or missing:
                    do = f"Write issuer as it calls itself: {str(found.get('issuer', 'nothing'))[:200]}"
                    raise TrainfareError("[oidc] issuer", f"{self.host} is not this provider", do)
                self._described = (time.monotonic(), found)
            return self._described[1]

    def _asked(self, method: str, url: str, **named: Any) -> dict[str, Any]:
        import httpx

        try:
            told = httpx.request(method, url, timeout=ANSWER_SECONDS, follow_redirects=False, **named)
            found = told.json() if told.is_success else None
        except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
            what = f"{self.host} does not answer: {type(error).__name__}"
            raise UnreachableError("[oidc] issuer", what, "Try again later, or tell who runs it.") from None
        if not isinstance(found, dict):
            what = f"{self.host} refused: it answered {told.status_code} to {urlsplit(url).path}"
            do = f"Sign in again. If it stays so, check client_id and {SECRET}."
            raise NotAllowedError("sign-in", what, do)
        return found

    def _person(self, claims: dict[str, Any]) -> Person:
        """What the settings make of the claims: the first role that fits, and the labels of a team."""
        name = claims.get(self._oidc.name_claim)
        if not isinstance(name, str) or not name.isprintable() or name != name.strip() or not name:
            do = f"Let the provider put {self._oidc.name_claim} into the id token, or name another claim."
            raise NotAllowedError("[oidc] name_claim", f"the id token has no {self._oidc.name_claim}", do)
        if self._oidc.name_claim == "email" and claims.get("email_verified") is False:
            raise NotAllowedError(name, "this address was not confirmed", "Confirm it with the identity provider.")
        groups = {*_values(claims.get(self._oidc.role_claim)), ANYBODY}
        role = next((role for group, role in self._oidc.roles.items() if group in groups), None)
        if role is None:
            do = "Ask for one: which groups have a role here stands in the settings, below [oidc]."
            raise NotAllowedError(name, "you have no role here", do)
        if role != "team":
            return Person(name, role, None)
        labels = self._oidc.sees.items()
        sees = tuple(sorted(f"{label}:{value}" for label, claim in labels for value in _values(claims.get(claim))))
        if not sees:
            do = f"Ask for a value of {', '.join(self._oidc.sees.values())} at the identity provider."
            raise NotAllowedError(name, "you belong to no cost centre or team", do)
        return Person(name, role, sees)


def _values(claim: object) -> list[str]:
    """A claim as a list of texts; one text is a list of one."""
    if isinstance(claim, str):
        return [claim]
    return [one for one in claim if isinstance(one, str)] if isinstance(claim, list) else []


def verified(token: str, keys: dict[str, Any], oidc: Oidc, nonce: str) -> dict[str, Any]:
    """The claims of an id token, if one of these keys signed it, it is for us and for this visit, and it holds now."""
    from joserfc import jwt
    from joserfc.errors import JoseError
    from joserfc.jwk import KeySet

    expected = jwt.JWTClaimsRegistry(
        leeway=CLOCKS_APART_SECONDS,
        iss={"essential": True, "value": oidc.issuer},
        aud={"essential": True, "value": oidc.client_id},
        sub={"essential": True},
        exp={"essential": True},
        iat={"essential": True},
        nonce={"essential": True, "value": nonce},
    )
    try:
        claims = dict(jwt.decode(token, KeySet.import_key_set(keys), algorithms=[*SIGNED_BY]).claims)  # type: ignore[arg-type]
        expected.validate(claims)
    except (JoseError, ValueError, TypeError, KeyError) as error:
        what = f"the id token does not count: {error}"
        raise NotAllowedError("sign-in", what, "Sign in again. If it stays so, tell who runs this service.") from None
    audience = claims["aud"]
    if isinstance(audience, list) and len(audience) > 1 and claims.get("azp") != oidc.client_id:
        do = "Sign in again. If it stays so, tell who runs this service."
        raise NotAllowedError("sign-in", "the id token does not count: it was made for somebody else", do)
    return claims


def require_installed() -> None:
    """Refuse to start where nobody could sign in."""
    try:
        import httpx  # noqa: F401
        import joserfc  # noqa: F401
    except ImportError as error:
        do = "Install it: pip install 'trainfare[oidc]'"
        raise TrainfareError("[serve] sign_in", f"oidc needs the package {error.name}", do) from None
