"""Signing in through an identity provider: a real one on loopback, with everything that can be wrong with what it says."""

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
from urllib.parse import parse_qs, urlsplit

import pytest
from joserfc.jwk import RSAKey
from services import identity_provider
from services.identity_provider import CLIENT, SECRET, Claims, IdentityProvider, as_it_is
from workspace.folder import Workspace

from .copies import copy
from .server import COMMAND, Answer, Server, free_port, serving

ANA = {"email": "ana@example.com", "email_verified": True, "groups": ["all", "ml-nlp"], "teams": ["nlp"]}
FIN = {"email": "fin@example.com", "groups": ["ml-nlp", "ml-finance"]}


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
class House:
    """A service that people come to through a provider."""

    server: Server
    provider: IdentityProvider
    workspace: Workspace


@pytest.fixture(scope="module")
def house(company: Workspace, tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    made = copy(company, tmp_path_factory.mktemp("oidc") / "workspace")
    port = free_port()
    os.environ["TRAINFARE_OIDC_SECRET"] = SECRET
    try:
        with identity_provider.running() as provider:
            provider.redirect = f"http://127.0.0.1:{port}/sign-in/oidc/back"
            file = made.folder / "trainfare.toml"
            made.write("trainfare.toml", file.read_text(encoding="utf-8") + settings(provider.issuer, port))
            with serving(made.folder, log=made.folder / "server.log", port=port) as server:
                yield House(server, provider, made)
    finally:
        del os.environ["TRAINFARE_OIDC_SECRET"]


@pytest.fixture(autouse=True)
def honest(house: House) -> None:
    """Each test begins with a provider that does what it should."""
    house.provider.bend, house.provider.signed_by, house.provider.refuses = as_it_is, None, ""
    house.provider.person = dict(ANA)


class Browser:
    """Keeps cookies and follows nothing by itself, so that a test sees each step."""

    def __init__(self, house: House) -> None:
        self.house, self.cookies = house, dict[str, str]()

    def ask(self, path: str) -> Answer:
        held = "; ".join(f"{name}={value}" for name, value in self.cookies.items() if value)
        told = self.house.server.ask(path, headers={"Accept": "text/html", "Cookie": held})
        for name, one in (pair for text in told.cookies for pair in SimpleCookie(text).items()):
            self.cookies[name] = one.value
        return told

    def leave(self, back: str = "/jobs?window=2026-10") -> str:
        """Go to the provider; gives the path and query that it sends one back to."""
        gone = self.ask(f"/sign-in/oidc?back={back.replace('?', '%3F')}")
        assert gone.status == 303, gone.text
        away = urlsplit(gone.headers["location"])
        provider = Server(self.house.provider.port, self.house.server.process)
        sent = provider.ask(f"{away.path}?{away.query}")
        assert sent.status == 302, "the provider refused what it was asked"
        returned = urlsplit(sent.headers["location"])
        return f"{returned.path}?{returned.query}"

    def sign_in(self) -> Answer:
        return self.ask(self.leave())

    @property
    def is_in(self) -> bool:
        return self.ask("/api/v1/books").status == 200


def test_a_person_comes_back_to_where_they_wanted_to_go(house: House) -> None:
    browser = Browser(house)
    sent = browser.ask("/jobs?window=2026-10")
    assert (sent.status, sent.headers["location"]) == (303, "/sign-in?back=%2Fjobs%3Fwindow%3D2026-10")
    page = browser.ask(sent.headers["location"])
    assert f"Sign in with 127.0.0.1:{house.provider.port}" in page.text
    assert "/sign-in/oidc?back=%2Fjobs%3Fwindow%3D2026-10" in page.text
    back = browser.sign_in()
    assert (back.status, back.headers["location"]) == (303, "/jobs?window=2026-10")
    assert browser.ask("/jobs?window=2026-10").status == 200
    (session,) = [text for text in back.cookies if text.startswith("trainfare_session=")]
    assert {"httponly", "samesite=lax"} <= {part.strip().lower() for part in session.split(";")}


def test_claims_say_what_a_team_sees(house: House) -> None:
    """Ana sees her own team; a bill of everybody is refused to her, as to anybody with the role team."""
    browser = Browser(house)
    browser.sign_in()
    told = browser.ask("/api/v1/report?window=2026-10&aggregate=team").json
    assert {row["team"] for row in told["rows"]} == {"nlp"}
    assert browser.ask("/api/v1/reconcile").status == 403
    with house.workspace.open() as store:
        (ana,) = [user for user in store.catalog.access.users() if user.name == "ana@example.com"]
    assert (ana.role, ana.sees, ana.has_password) == ("team", ("team:nlp",), False)


def test_the_first_role_in_the_settings_counts_and_it_can_change(house: House) -> None:
    house.provider.person = dict(FIN)
    browser = Browser(house)
    browser.sign_in()
    assert browser.ask("/api/v1/reconcile").status == 200
    house.provider.person = FIN | {"groups": "ml-nlp", "cost_centers": "4711"}
    browser = Browser(house)
    browser.sign_in()
    assert browser.ask("/api/v1/reconcile").status == 403
    changes = [row for row in audit(house) if row["details"].get("user") == "fin@example.com"]
    assert [(row["what"], row["details"]["role"]) for row in changes] == [
        ("user added", "finance"),
        ("user changed", "team"),
    ]
    assert changes[1]["details"]["sees"] == ["cost_center:4711"]


def audit(house: House) -> list[Claims]:
    rows = json.loads(house.workspace.run("audit", "list", "--format", "json").out)
    told = next(value for value in rows.values() if isinstance(value, list))
    return [row | {"details": json.loads(row["details"])} if isinstance(row["details"], str) else row for row in told]


def soon(**changed: object) -> Callable[[Claims], Claims]:
    return lambda claims: claims | changed


def without(name: str) -> Callable[[Claims], Claims]:
    return lambda claims: {key: value for key, value in claims.items() if key != name}


WRONG: dict[str, Callable[[Claims], Claims]] = {
    "nonce of another visit": soon(nonce="another"),
    "no nonce": without("nonce"),
    "expired": lambda claims: claims | {"exp": int(time.time()) - 120, "iat": int(time.time()) - 600},
    "no end": without("exp"),
    "made in the future": lambda claims: claims | {"iat": int(time.time()) + 3600},
    "for another client": soon(aud="another"),
    "for several, handed on": soon(aud=[CLIENT, "another"], azp="another"),
    "of another provider": soon(iss="https://login.example.com"),
    "of nobody": without("sub"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_token_that_does_not_hold_lets_nobody_in(house: House, name: str) -> None:
    house.provider.bend = WRONG[name]
    browser = Browser(house)
    told = browser.sign_in()
    assert told.status == 403
    assert "the id token does not count" in told.text
    assert not browser.is_in


def by_hand(claims: Claims, secret: bytes = b"", **header: str) -> str:
    """A token that is signed by a shared secret, or by nobody: no library makes these for a provider."""
    parts = [base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=") for part in (header, claims)]
    signed = hmac.new(secret, b".".join(parts), hashlib.sha256).digest() if secret else b""
    return b".".join([*parts, base64.urlsafe_b64encode(signed).rstrip(b"=")]).decode()


FORGED: dict[str, Callable[[House, Claims], str]] = {
    "by another key of the same name": lambda house, claims: house.provider.signed(claims, RSAKey.generate_key(2048)),
    "by nobody": lambda house, claims: by_hand(claims, alg="none"),
    "by the secret we share": lambda house, claims: by_hand(claims, SECRET.encode(), alg="HS256"),
    "by what everybody knows": lambda house, claims: by_hand(
        claims, house.provider.key.as_pem(private=False), alg="HS256", kid="one"
    ),
    "cut off": lambda house, claims: house.provider.signed(claims)[:-20],
    "not at all": lambda house, claims: "",
}


@pytest.mark.parametrize("name", FORGED)
def test_a_token_that_is_not_the_providers_lets_nobody_in(house: House, name: str) -> None:
    house.provider.signed_by = lambda claims: FORGED[name](house, claims)
    browser = Browser(house)
    told = browser.sign_in()
    assert (told.status, "the id token does not count" in told.text, browser.is_in) == (403, True, False)


PEOPLE: dict[str, tuple[Claims, str]] = {
    "no role": (ANA | {"groups": ["all"]}, "you have no role here"),
    "no groups": ({"email": "ana@example.com"}, "you have no role here"),
    "groups that are no list": (ANA | {"groups": {"ml-finance": True}}, "you have no role here"),
    "no team": (ANA | {"teams": []}, "you belong to no cost centre or team"),
    "no name": (ANA | {"email": None}, "the id token has no email"),
    "an address that is not theirs": (ANA | {"email_verified": False}, "this address was not confirmed"),
}


@pytest.mark.parametrize("name", PEOPLE)
def test_who_has_no_role_is_told_so(house: House, name: str) -> None:
    house.provider.person, what = PEOPLE[name]
    browser = Browser(house)
    told = browser.sign_in()
    assert (told.status, what in told.text, browser.is_in) == (403, True, False)


def test_a_visit_ends_where_it_began_and_once(house: House) -> None:
    """Somebody who is sent an address with a code of another person must not become that person."""
    owner, other = Browser(house), Browser(house)
    address = owner.leave()
    assert other.ask(address).status == 403
    other.leave()
    assert other.ask(address).status == 403
    assert not other.is_in
    state = parse_qs(urlsplit(address).query)["state"][0]
    assert owner.ask(f"/sign-in/oidc/back?code=guessed&state={state}").status == 403
    address = owner.leave()
    forged = owner.cookies["trainfare_visit"]
    owner.cookies["trainfare_visit"] = forged[:-4] + ("0000" if not forged.endswith("0000") else "1111")
    assert owner.ask(address).status == 403
    owner.cookies["trainfare_visit"] = forged
    assert owner.ask(address).status == 303
    owner.cookies["trainfare_visit"] = forged
    assert owner.ask(address).status == 403, "a code counts once"


def test_a_provider_that_lets_nobody_in_is_told(house: House) -> None:
    house.provider.refuses = "access_denied"
    told = Browser(house).sign_in()
    assert (told.status, "the identity provider did not let you in" in told.text) == (403, True)


def test_who_is_disabled_here_is_not_let_in(house: House) -> None:
    house.provider.person = FIN | {"email": "gone@example.com"}
    browser = Browser(house)
    browser.sign_in()
    assert browser.is_in
    assert (
        subprocess.run([COMMAND, "user", "disable", "gone@example.com", "-w", house.workspace.folder]).returncode == 0
    )
    assert not browser.is_in
    again = browser.sign_in()
    assert (again.status, "you are not let in any more" in again.text, browser.is_in) == (403, True, False)


def test_afterwards_one_goes_nowhere_else(house: House) -> None:
    browser = Browser(house)
    assert browser.ask(browser.leave("//evil.example.com/")).headers["location"] == "/"


def test_no_secret_is_told_or_kept(house: House) -> None:
    Browser(house).sign_in()
    for path in house.workspace.folder.rglob("*"):
        assert not path.is_file() or SECRET.encode() not in path.read_bytes()
    log = (house.workspace.folder / "server.log").read_text(encoding="utf-8")
    assert "code=" not in log
    assert "state=" not in log


def test_a_provider_that_is_not_there_is_told(company: Workspace, tmp_path: Path) -> None:
    made = copy(company, tmp_path / "workspace")
    issuer = f"http://127.0.0.1:{free_port()}"
    file = made.folder / "trainfare.toml"
    made.write("trainfare.toml", file.read_text(encoding="utf-8") + settings(issuer, 8765))
    with serving(made.folder) as server:
        told = server.ask("/sign-in/oidc")
    assert (told.status, "does not answer" in told.text) == (503, True)


def test_without_the_extra_or_a_provider_the_service_does_not_start(company: Workspace, tmp_path: Path) -> None:
    made = copy(company, tmp_path / "workspace")
    before = (made.folder / "trainfare.toml").read_text(encoding="utf-8")
    made.write("trainfare.toml", before + '\n[serve]\nsign_in = "oidc"\n')
    ran = made.run("serve")
    assert (ran.code, ran.err.splitlines()[0]) == (
        2,
        'trainfare.toml [oidc]: sign_in is "oidc", and there is no provider',
    )
    made.write("trainfare.toml", before + settings("https://login.example.com", 8765))
    hidden = "import sys; sys.modules['joserfc'] = None; from trainfare.cli import main; main()"
    ran = subprocess.run([sys.executable, "-c", hidden, "serve", "-w", made.folder], capture_output=True, text=True)
    assert (ran.returncode, ran.stderr) == (
        2,
        "[serve] sign_in: oidc needs the package joserfc\n  Install it: pip install 'trainfare[oidc]'\n",
    )
