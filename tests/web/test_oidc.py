"""Sign-in through an identity provider of our own on loopback, including every way in which its tokens can be invalid.

`test_openid_provider.py` has a certified provider. What no such provider can be made to do is tested here only: tokens
without an end or a subject, for several clients, unsigned, truncated or signed by somebody else, and a UserInfo
endpoint that contradicts the token.
"""

import base64
import hashlib
import hmac
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http.cookies import SimpleCookie
from pathlib import Path
from urllib.parse import parse_qs, parse_qsl, urlsplit

import pytest
from joserfc.jwk import RSAKey
from services import identity_provider
from services.identity_provider import CLIENT, SECRET, Claims, IdentityProvider, unchanged
from workspace.folder import Workspace

from trainfare.errors import TrainfareError
from trainfare.serve.auth.oidc import CALLBACK, Person, Provider
from trainfare.settings.sections import Oidc

from .copies import copy
from .server import COMMAND, Answer, Server, free_port, logged, serving

ANA = {"email": "ana@example.com", "email_verified": True, "groups": ["all", "ml-nlp"], "teams": ["nlp"]}
FIN = {"email": "fin@example.com", "email_verified": True, "groups": ["ml-nlp", "ml-finance"]}


def settings(issuer: str, port: int) -> str:
    return f"""
[serve]
sign_in = "oidc"

[oidc]
issuer = "{issuer}"
client_id = "{CLIENT}"
address = "http://127.0.0.1:{port}"
roles = {{ "ml-finance" = "finance", "ml-nlp" = "team" }}
sees = {{ team = "teams", cost_center = "cost_centers" }}
"""


@dataclass(frozen=True)
class Service:
    """A server with sign-in through a provider."""

    server: Server
    provider: IdentityProvider
    workspace: Workspace


@pytest.fixture(scope="module")
def service(company: Workspace, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    made = copy(company, tmp_path_factory.mktemp("oidc") / "workspace")
    port = free_port()
    os.environ["TRAINFARE_OIDC_SECRET"] = SECRET
    try:
        with identity_provider.running() as provider:
            provider.redirect = f"http://127.0.0.1:{port}/sign-in/oidc/back"
            file = made.folder / "trainfare.toml"
            made.write("trainfare.toml", file.read_text(encoding="utf-8") + settings(provider.issuer, port))
            with serving(made.folder, log=made.folder / "server.log", port=port) as server:
                yield Service(server, provider, made)
    finally:
        del os.environ["TRAINFARE_OIDC_SECRET"]


@pytest.fixture(autouse=True)
def honest(service: Service) -> None:
    """Each test starts with a provider that behaves correctly."""
    service.provider.alter, service.provider.signed_by, service.provider.rejects_with = unchanged, None, ""
    service.provider.person = dict(ANA)


class Browser:
    """Stores cookies and follows no redirects, so that a test sees each step."""

    def __init__(self, service: Service) -> None:
        self.service, self.cookies = service, dict[str, str]()

    def ask(self, path: str) -> Answer:
        held = "; ".join(f"{name}={value}" for name, value in self.cookies.items() if value)
        response = self.service.server.ask(path, headers={"Accept": "text/html", "Cookie": held})
        for name, one in (pair for text in response.cookies for pair in SimpleCookie(text).items()):
            self.cookies[name] = one.value
        return response

    def start(self, back: str = "/jobs?window=2026-10") -> str:
        """Visit the provider; return the path and query that it redirects back to."""
        gone = self.ask(f"/sign-in/oidc?back={back.replace('?', '%3F')}")
        assert gone.status == 303, gone.text
        away = urlsplit(gone.headers["location"])
        provider = Server(self.service.provider.port, self.service.server.process)
        sent = provider.ask(f"{away.path}?{away.query}")
        assert sent.status == 302, "the provider rejected the request"
        returned = urlsplit(sent.headers["location"])
        return f"{returned.path}?{returned.query}"

    def sign_in(self) -> Answer:
        return self.ask(self.start())

    @property
    def is_in(self) -> bool:
        return self.ask("/api/v1/books").status == 200


def test_sign_in_returns_to_the_requested_page(service: Service) -> None:
    browser = Browser(service)
    sent = browser.ask("/jobs?window=2026-10")
    assert (sent.status, sent.headers["location"]) == (303, "/sign-in?back=%2Fjobs%3Fwindow%3D2026-10")
    page = browser.ask(sent.headers["location"])
    assert f"Sign in with 127.0.0.1:{service.provider.port}" in page.text
    assert "/sign-in/oidc?back=%2Fjobs%3Fwindow%3D2026-10" in page.text
    back = browser.sign_in()
    assert (back.status, back.headers["location"]) == (303, "/jobs?window=2026-10")
    assert browser.ask("/jobs?window=2026-10").status == 200
    (session,) = [text for text in back.cookies if text.startswith("trainfare_session=")]
    assert {"httponly", "samesite=lax"} <= {part.strip().lower() for part in session.split(";")}


def test_claims_determine_what_a_team_sees(service: Service) -> None:
    """Ana sees her own team; the whole bill is denied to her, as to everyone with the role team."""
    browser = Browser(service)
    browser.sign_in()
    body = browser.ask("/api/v1/report?window=2026-10&aggregate=team").json
    assert {row["team"] for row in body["rows"]} == {"nlp"}
    assert browser.ask("/api/v1/reconcile").status == 403
    with service.workspace.open() as store:
        (ana,) = [user for user in store.catalog.access.users() if user.name == "ana@example.com"]
    assert (ana.role, ana.visibility, ana.has_password) == ("team", ("team:nlp",), False)


def test_the_first_matching_role_applies_and_can_change(service: Service) -> None:
    service.provider.person = dict(FIN)
    browser = Browser(service)
    browser.sign_in()
    assert browser.ask("/api/v1/reconcile").status == 200
    service.provider.person = FIN | {"groups": "ml-nlp", "cost_centers": "4711"}
    browser = Browser(service)
    browser.sign_in()
    assert browser.ask("/api/v1/reconcile").status == 403
    changes = [row for row in audit(service) if row["details"].get("user") == "fin@example.com"]
    assert [(row["what"], row["details"]["role"]) for row in changes] == [
        ("user added", "finance"),
        ("user changed", "team"),
    ]
    assert changes[1]["details"]["visibility"] == ["cost_center:4711"]


def audit(service: Service) -> list[Claims]:
    rows = json.loads(service.workspace.run("audit", "list", "--format", "json").out)
    entries = next(value for value in rows.values() if isinstance(value, list))
    return [
        row | {"details": json.loads(row["details"])} if isinstance(row["details"], str) else row for row in entries
    ]


def changed(**values: object) -> Callable[[Claims], Claims]:
    return lambda claims: claims | values


def without(name: str) -> Callable[[Claims], Claims]:
    return lambda claims: {key: value for key, value in claims.items() if key != name}


WRONG: dict[str, Callable[[Claims], Claims]] = {
    "nonce of another sign-in": changed(nonce="another"),
    "no nonce": without("nonce"),
    "expired": lambda claims: claims | {"exp": int(time.time()) - 120, "iat": int(time.time()) - 600},
    "no end": without("exp"),
    "issued in the future": lambda claims: claims | {"iat": int(time.time()) + 3600},
    "for another client": changed(aud="another"),
    "for several clients, authorized for another": changed(aud=[CLIENT, "another"], azp="another"),
    "of another provider": changed(iss="https://login.example.com"),
    "of nobody": without("sub"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_token_with_invalid_claims_is_rejected(service: Service, name: str) -> None:
    service.provider.alter = WRONG[name]
    browser = Browser(service)
    response = browser.sign_in()
    assert response.status == 403
    assert "the id token is invalid" in response.text
    assert not browser.is_in


def by_hand(claims: Claims, secret: bytes = b"", **header: str) -> str:
    """Make a token that is unsigned or signed with a shared secret, which the library refuses to make."""
    parts = [base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=") for part in (header, claims)]
    signed = hmac.new(secret, b".".join(parts), hashlib.sha256).digest() if secret else b""
    return b".".join([*parts, base64.urlsafe_b64encode(signed).rstrip(b"=")]).decode()


FORGED: dict[str, Callable[[Service, Claims], str]] = {
    "by another key with the same id": lambda service, claims: service.provider.signed(
        claims, RSAKey.generate_key(2048)
    ),
    "unsigned": lambda service, claims: by_hand(claims, alg="none"),
    "by the client secret": lambda service, claims: by_hand(claims, SECRET.encode(), alg="HS256"),
    "by the public key as a secret": lambda service, claims: by_hand(
        claims, service.provider.key.as_pem(private=False), alg="HS256", kid="one"
    ),
    "truncated": lambda service, claims: service.provider.signed(claims)[:-20],
    "empty": lambda service, claims: "",
}


@pytest.mark.parametrize("name", FORGED)
def test_a_token_the_provider_did_not_sign_is_rejected(service: Service, name: str) -> None:
    service.provider.signed_by = lambda claims: FORGED[name](service, claims)
    browser = Browser(service)
    response = browser.sign_in()
    assert (response.status, "the id token is invalid" in response.text, browser.is_in) == (403, True, False)


PEOPLE: dict[str, tuple[Claims, str]] = {
    "no role": (ANA | {"groups": ["all"]}, "you have no role"),
    "no groups": ({"email": "ana@example.com", "email_verified": True}, "you have no role"),
    "groups that are not a list": (ANA | {"groups": {"ml-finance": True}}, "you have no role"),
    "no team": (ANA | {"teams": []}, "you have no cost center or team"),
    "no name": (ANA | {"email": None}, "the id token has no email"),
    "unverified email address": (ANA | {"email_verified": False}, "this email address is not verified"),
    "email address of which nothing is said": (
        {name: value for name, value in ANA.items() if name != "email_verified"},
        "this email address is not verified",
    ),
    "email address verified in other words": (ANA | {"email_verified": "true"}, "this email address is not verified"),
    "email address verified as null": (ANA | {"email_verified": None}, "this email address is not verified"),
}


@pytest.mark.parametrize("name", PEOPLE)
def test_a_person_without_a_role_is_rejected(service: Service, name: str) -> None:
    service.provider.person, what = PEOPLE[name]
    browser = Browser(service)
    response = browser.sign_in()
    assert (response.status, what in response.text, browser.is_in) == (403, True, False)


def test_a_sign_in_finishes_in_the_browser_it_started_in_and_once(service: Service) -> None:
    """A callback URL with the code of another person must not sign in as that person."""
    owner, other = Browser(service), Browser(service)
    address = owner.start()
    assert other.ask(address).status == 403
    other.start()
    assert other.ask(address).status == 403
    assert not other.is_in
    state = parse_qs(urlsplit(address).query)["state"][0]
    assert owner.ask(f"/sign-in/oidc/back?code=guessed&state={state}").status == 403
    address = owner.start()
    forged = owner.cookies["trainfare_visit"]
    owner.cookies["trainfare_visit"] = forged[:-4] + ("0000" if not forged.endswith("0000") else "1111")
    assert owner.ask(address).status == 403
    owner.cookies["trainfare_visit"] = forged
    assert owner.ask(address).status == 303
    owner.cookies["trainfare_visit"] = forged
    assert owner.ask(address).status == 403, "a code is valid once"


def test_a_rejection_by_the_provider_is_shown(service: Service) -> None:
    service.provider.rejects_with = "access_denied"
    response = Browser(service).sign_in()
    assert (response.status, "the identity provider rejected the sign-in" in response.text) == (403, True)


def test_a_disabled_user_cannot_sign_in(service: Service) -> None:
    service.provider.person = FIN | {"email": "gone@example.com"}
    browser = Browser(service)
    browser.sign_in()
    assert browser.is_in
    assert (
        subprocess.run([COMMAND, "user", "disable", "gone@example.com", "-w", service.workspace.folder]).returncode == 0
    )
    assert not browser.is_in
    again = browser.sign_in()
    assert (again.status, "your access was revoked" in again.text, browser.is_in) == (403, True, False)


def test_sign_in_never_redirects_to_another_site(service: Service) -> None:
    browser = Browser(service)
    assert browser.ask(browser.start("//evil.example.com/")).headers["location"] == "/"


def test_no_secret_is_logged_or_stored(service: Service) -> None:
    log = service.workspace.folder / "server.log"
    assert logged(log, Browser(service).sign_in())["status"] == 303
    for path in service.workspace.folder.rglob("*"):
        assert not path.is_file() or SECRET.encode() not in path.read_bytes()
    text = log.read_text(encoding="utf-8")
    assert "code=" not in text
    assert "state=" not in text


USER_INFO: dict[str, tuple[Claims, str]] = {
    "of another person": (ANA | {"sub": "4712"}, "describes another person than the id token"),
    "of nobody": (ANA, "describes another person than the id token"),
    "that verifies another address": (
        {"sub": "4711", "email": "ana@example.org", "email_verified": True, "groups": ["ml-finance"]},
        "this email address is not verified",
    ),
}


@pytest.mark.parametrize("name", USER_INFO)
def test_user_info_that_contradicts_the_token_is_rejected(name: str) -> None:
    with identity_provider.running() as provider:
        provider.user_info, what = USER_INFO[name]
        provider.person = {"email": "ana@example.com"}
        with pytest.raises(TrainfareError, match=what):
            finish(provider)


def test_user_info_adds_to_the_token_and_does_not_override_it() -> None:
    with identity_provider.running() as provider:
        provider.user_info = {"sub": "4711", "email": "fin@example.com", "groups": ["ml-finance"]}
        provider.person = {"email": "ana@example.com", "email_verified": True}
        assert finish(provider) == Person("ana@example.com", "finance", None)


def finish(provider: IdentityProvider) -> Person:
    """Sign in without a server in between."""
    provider.redirect = f"http://127.0.0.1:1{CALLBACK}"
    oidc = Oidc(provider.issuer, CLIENT, "http://127.0.0.1:1", roles={"ml-finance": "finance"})
    client = Provider(oidc, SECRET, "key")
    url, pending = client.start("/")
    _, back = provider.authorize(dict(parse_qsl(urlsplit(url).query)))
    person, _ = client.finish(client.seal(pending), pending.state, parse_qs(urlsplit(back).query)["code"][0])
    return person


def test_an_unavailable_provider_is_reported(company: Workspace, tmp_path: Path) -> None:
    made = copy(company, tmp_path / "workspace")
    issuer = f"http://127.0.0.1:{free_port()}"
    file = made.folder / "trainfare.toml"
    made.write("trainfare.toml", file.read_text(encoding="utf-8") + settings(issuer, 8765))
    with serving(made.folder) as server:
        response = server.ask("/sign-in/oidc")
    assert (response.status, "is unavailable" in response.text) == (503, True)


def test_without_the_extra_or_a_provider_the_service_does_not_start(company: Workspace, tmp_path: Path) -> None:
    made = copy(company, tmp_path / "workspace")
    before = (made.folder / "trainfare.toml").read_text(encoding="utf-8")
    made.write("trainfare.toml", before + '\n[serve]\nsign_in = "oidc"\n')
    ran = made.run("serve")
    assert (ran.code, ran.err.splitlines()[0]) == (
        2,
        'trainfare.toml [oidc]: sign_in is "oidc", but no provider is set',
    )
    made.write("trainfare.toml", before + settings("https://login.example.com", 8765))
    hidden = "import sys; sys.modules['joserfc'] = None; from trainfare.cli import main; main()"
    ran = subprocess.run([sys.executable, "-c", hidden, "serve", "-w", made.folder], capture_output=True, text=True)
    assert (ran.returncode, ran.stderr) == (
        2,
        "[serve] sign_in: oidc needs the package joserfc\n  Install it: pip install 'trainfare[oidc]'\n",
    )
