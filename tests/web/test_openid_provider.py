"""Sign-in through a certified OpenID provider, and with everything that can be wrong with what it says.

Its tokens are genuine: what is wrong is the provider's issuer, clock, algorithm or people, or what reached it on the
way. `test_oidc.py` has a provider of our own for what no real one does: tokens without an end or a subject, for several
clients, unsigned, or signed by somebody else.
"""

import html
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from http.cookies import SimpleCookie
from urllib.parse import parse_qs, parse_qsl, urlencode, urlsplit

import pytest
from services import openid_provider
from services.openid_provider import OpenIdProvider, Setup
from workspace.folder import Workspace

from trainfare.errors import TrainfareError
from trainfare.serve.auth.oidc import LEEWAY_SECONDS, Provider
from trainfare.settings.sections import Oidc

from .copies import copy
from .server import Answer, Server, free_port, serving
from .test_oidc import ANA, settings

pytestmark = [
    pytest.mark.services,
    pytest.mark.skipif(openid_provider.missing() is not None, reason=str(openid_provider.missing())),
]
INVALID = "the id token is invalid: invalid_claim: Invalid claim: "
HOUR_SECONDS = 3600
HOPS = 6


@dataclass(frozen=True)
class Service:
    """A server with sign-in through the provider, and the provider as it should be."""

    server: Server
    provider: OpenIdProvider
    honest: Setup


@pytest.fixture(scope="module")
def service(company: Workspace, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    made = copy(company, tmp_path_factory.mktemp("openid") / "workspace")
    port = free_port()
    with openid_provider.running() as provider:
        redirect = f"http://127.0.0.1:{port}/sign-in/oidc/back"
        honest = Setup(provider.issuer, redirect, person=dict(ANA))
        os.environ["TRAINFARE_OIDC_SECRET"] = honest.secret
        try:
            file = made.folder / "trainfare.toml"
            made.write("trainfare.toml", file.read_text(encoding="utf-8") + settings(provider.issuer, port))
            with serving(made.folder, port=port) as server:
                yield Service(server, provider, honest)
        finally:
            del os.environ["TRAINFARE_OIDC_SECRET"]


@pytest.fixture(autouse=True)
def honest(service: Service) -> None:
    """Each test starts with a provider as it should be."""
    service.provider.become(service.honest)


class Browser:
    """Keeps the cookies of both sites, and follows the provider's redirects up to the one that leads back."""

    def __init__(self, service: Service) -> None:
        self.service, self.cookies = service, dict[tuple[int, str], str]()

    def ask(self, port: int, path: str) -> Answer:
        held = "; ".join(f"{name}={value}" for (owner, name), value in self.cookies.items() if owner == port)
        server = Server(port, self.service.server.process)
        response = server.ask(path, headers={"Accept": "text/html", "Cookie": held})
        for name, one in (pair for text in response.cookies for pair in SimpleCookie(text).items()):
            self.cookies[port, name] = one.value
        return response

    def leave(self) -> str:
        """The URL of the provider that the service redirects to."""
        gone = self.ask(self.service.server.port, "/sign-in/oidc?back=/jobs")
        assert gone.status == 303, gone.text
        return gone.headers["location"]

    def visit(self, url: str) -> str:
        """Sign in at the provider; return the path and query that it redirects back to."""
        for _ in range(HOPS):
            parts = urlsplit(url)
            path = f"{parts.path}?{parts.query}" if parts.query else parts.path
            if parts.netloc and parts.port == self.service.server.port:
                return path
            answer = self.ask(self.service.provider.port, path)
            assert answer.status in (302, 303), answer.text
            url = answer.headers["location"]
        raise AssertionError(f"the provider did not redirect back, but to {url}")

    def sign_in(self, **changed: str | None) -> Answer:
        """Sign in, perhaps with other parameters than the service sent; None leaves one out."""
        parts = urlsplit(self.leave())
        sent = dict(parse_qsl(parts.query)) | changed
        query = urlencode({name: value for name, value in sent.items() if value is not None})
        return self.ask(self.service.server.port, self.visit(parts._replace(query=query).geturl()))

    @property
    def is_in(self) -> bool:
        return self.ask(self.service.server.port, "/api/v1/books").status == 200


def assert_rejected(browser: Browser, response: Answer, what: str) -> None:
    assert (response.status, what in html.unescape(response.text), browser.is_in) == (403, True, False), response.text


@pytest.mark.parametrize("claims_in_userinfo_only", [False, True])
def test_a_person_signs_in_and_sees_their_team(service: Service, claims_in_userinfo_only: bool) -> None:
    """By default, a certified provider states the claims of scopes at its UserInfo endpoint only."""
    service.provider.become(replace(service.honest, claims_in_userinfo_only=claims_in_userinfo_only))
    browser = Browser(service)
    back = browser.sign_in()
    assert (back.status, back.headers.get("location")) == (303, "/jobs"), back.text
    rows = browser.ask(service.server.port, "/api/v1/report?window=2026-10&aggregate=team").json["rows"]
    assert {row["team"] for row in rows} == {"nlp"}
    assert browser.ask(service.server.port, "/api/v1/reconcile").status == 403


@pytest.mark.parametrize("seconds", [LEEWAY_SECONDS // 2, -LEEWAY_SECONDS // 2])
def test_a_clock_that_differs_a_little_is_accepted(service: Service, seconds: int) -> None:
    service.provider.become(replace(service.honest, clock_ahead_seconds=seconds))
    browser = Browser(service)
    assert browser.sign_in().status == 303
    assert browser.is_in


@pytest.mark.parametrize(
    ("seconds", "what"), [(HOUR_SECONDS, "was issued in the future"), (-HOUR_SECONDS, "is expired")]
)
def test_a_token_of_another_time_is_rejected(service: Service, seconds: int, what: str) -> None:
    service.provider.become(replace(service.honest, clock_ahead_seconds=seconds))
    browser = Browser(service)
    assert_rejected(browser, browser.sign_in(), f"The token {what}")


def test_a_token_of_another_issuer_is_rejected(service: Service) -> None:
    """The provider was renamed after the service had read its description."""
    assert Browser(service).sign_in().status == 303
    service.provider.become(replace(service.honest, issuer=f"http://localhost:{service.provider.port}"))
    browser = Browser(service)
    assert_rejected(browser, browser.sign_in(), f"{INVALID}'iss'")


def test_a_provider_with_another_name_than_the_settings_is_rejected(service: Service) -> None:
    service.provider.become(replace(service.honest, issuer=f"http://localhost:{service.provider.port}"))
    fresh = Provider(Oidc(service.provider.issuer, service.honest.client, "http://127.0.0.1:1"), "", "key")
    with pytest.raises(TrainfareError, match="is not this provider"):
        fresh.start("/")


def test_a_token_for_another_client_is_rejected(service: Service) -> None:
    service.provider.become(replace(service.honest, confuses_clients=True))
    browser = Browser(service)
    assert_rejected(browser, browser.sign_in(), f"{INVALID}'aud'")


def test_a_code_for_another_client_is_rejected(service: Service) -> None:
    browser = Browser(service)
    assert_rejected(browser, browser.sign_in(client_id=service.honest.other_client), "responded with 400")


@pytest.mark.parametrize("nonce", ["of another sign-in", None])
def test_a_token_with_another_nonce_is_rejected(service: Service, nonce: str | None) -> None:
    browser = Browser(service)
    assert_rejected(browser, browser.sign_in(nonce=nonce), "claim: 'nonce'")


def test_a_token_signed_by_the_client_secret_is_rejected(service: Service) -> None:
    service.provider.become(replace(service.honest, algorithm="HS256"))
    browser = Browser(service)
    assert_rejected(browser, browser.sign_in(), "Algorithm of 'HS256' is not allowed")


@pytest.mark.parametrize("claims_in_userinfo_only", [False, True])
@pytest.mark.parametrize("verified", [False, None, "true"])
def test_an_unverified_email_address_is_rejected(
    service: Service, verified: object, claims_in_userinfo_only: bool
) -> None:
    person = {**ANA, "email_verified": verified}
    service.provider.become(replace(service.honest, person=person, claims_in_userinfo_only=claims_in_userinfo_only))
    browser = Browser(service)
    assert_rejected(browser, browser.sign_in(), "this email address is not verified")


def test_another_verifier_than_the_one_that_started_is_rejected(service: Service) -> None:
    browser = Browser(service)
    challenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
    assert_rejected(browser, browser.sign_in(code_challenge=challenge), "responded with 400")


def test_a_code_is_valid_once(service: Service) -> None:
    browser, port = Browser(service), service.server.port
    address = browser.visit(browser.leave())
    pending = browser.cookies[port, "trainfare_visit"]
    assert browser.ask(port, address).status == 303
    browser.cookies[port, "trainfare_visit"] = pending
    again = browser.ask(port, address)
    assert (again.status, "responded with 400" in again.text) == (403, True)


def test_a_denied_sign_in_is_shown(service: Service) -> None:
    service.provider.become(replace(service.honest, denies=True))
    browser = Browser(service)
    address = browser.visit(browser.leave())
    assert parse_qs(urlsplit(address).query)["error"] == ["access_denied"]
    assert_rejected(browser, browser.ask(service.server.port, address), "the identity provider rejected the sign-in")


def test_new_keys_of_the_provider_are_used_at_once(service: Service) -> None:
    assert Browser(service).sign_in().status == 303
    service.provider.become(replace(service.honest, keys=2))
    assert Browser(service).sign_in().status == 303
