"""Forwarded headers count from the configured proxies, and from nobody else: loopback is not special."""

import re
import urllib.parse
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from workspace.folder import Workspace

from trainfare.serve.forwarded import PEER, Proxies, apply, client_address

from .copies import copy
from .server import Answer, Server, serving
from .test_access import PASSWORD, trainfare

LOCAL = {"X-Forwarded-For": "203.0.113.9"}


@pytest.mark.parametrize(
    ("proxies", "peer", "chain", "client"),
    [
        (("10.0.0.7",), "10.0.0.7", ["203.0.113.9"], "203.0.113.9"),
        (("10.0.0.7",), "10.0.0.7", ["1.1.1.1, 203.0.113.9"], "203.0.113.9"),
        (("10.0.0.7", "10.0.0.8"), "10.0.0.7", ["1.1.1.1, 203.0.113.9, 10.0.0.8"], "203.0.113.9"),
        (("10.0.0.0/8",), "10.0.0.7", ["203.0.113.9", "10.2.3.4"], "203.0.113.9"),
        (("10.0.0.7",), "10.0.0.7", [], "10.0.0.7"),
        (("10.0.0.7",), "10.0.0.7", ["nonsense"], "10.0.0.7"),
        (("10.0.0.7",), "10.0.0.7", ["203.0.113.9:4711"], "203.0.113.9"),
        (("10.0.0.7",), "10.0.0.7", ["[2001:db8::1]:4711"], "2001:db8::1"),
        (("10.0.0.7",), "::ffff:10.0.0.7", ["203.0.113.9"], "203.0.113.9"),
        (("10.0.0.7",), "127.0.0.1", ["10.0.0.7"], "127.0.0.1"),
        ((), "127.0.0.1", ["203.0.113.9"], "127.0.0.1"),
    ],
)
def test_the_client_is_the_last_address_that_is_no_proxy_of_ours(
    proxies: tuple[str, ...], peer: str, chain: list[str], client: str
) -> None:
    assert Proxies(proxies).client(peer, chain) == client


ADDRESSES = st.one_of(st.ip_addresses().map(str), st.text(max_size=20))


@given(ADDRESSES, st.lists(ADDRESSES, max_size=4), st.sampled_from(["http", "https", "HTTPS", "ws", ""]))
def test_headers_of_others_change_nothing(peer: str, chain: list[str], scheme: str) -> None:
    headers = [(b"x-forwarded-for", one.encode("latin-1", "ignore")) for one in chain]
    scope = {"client": (peer, 1), "scheme": "http", "headers": [*headers, (b"x-forwarded-proto", scheme.encode())]}
    apply(scope, Proxies(("192.0.2.254",)))
    expected = peer != "192.0.2.254"
    assert (scope["client"] == (peer, 1) and scope["scheme"] == "http") or not expected
    assert scope["state"] == {PEER: peer}


def test_limits_count_a_whole_ipv6_network_as_one_client() -> None:
    """A subscriber has 2^64 addresses to guess passwords from."""
    one, same, other = ({"client": (text, 1)} for text in ("2001:db8::1", "2001:db8::ffff:2", "2001:db8:0:1::1"))
    assert client_address(one) == client_address(same) != client_address(other)


def with_settings(company: Workspace, folder: Path, text: str) -> Workspace:
    made = copy(company, folder)
    settings = made.folder / "trainfare.toml"
    settings.write_text(f"{settings.read_text(encoding='utf-8')}\n[serve]\n{text}\n", encoding="utf-8")
    return made


def test_only_a_configured_proxy_may_say_who_somebody_is(company: Workspace, tmp_path: Path) -> None:
    """A process on the same machine used to become anybody with X-Forwarded-For and the address of the proxy."""
    made = with_settings(company, tmp_path / "workspace", 'sign_in = "proxy"\nproxies = ["10.1.2.3"]')
    trainfare(made, "user", "add", "root", "--role", "admin", "--no-password")
    with serving(made.folder) as server:
        for forged in ("10.1.2.3", "127.0.0.1", "10.1.2.3, 127.0.0.1", "::1"):
            headers = {"X-Forwarded-For": forged, "X-Forwarded-User": "root"}
            assert server.ask("/api/v1/books", headers=headers).status == 401
        assert server.ask("/api/v1/books", headers={"X-Forwarded-User": "root"}).status == 401


def test_an_ordinary_proxy_on_the_same_machine_can_sign_people_in(company: Workspace, tmp_path: Path) -> None:
    """A proxy that states the client's address, as they do, used to lose its own trust by that."""
    made = with_settings(company, tmp_path / "workspace", 'sign_in = "proxy"\nproxies = ["127.0.0.1"]')
    trainfare(made, "user", "add", "ana", "--role", "team", "--sees", "team:nlp", "--no-password")
    with serving(made.folder) as server:
        for more in ({}, LOCAL, {"X-Forwarded-For": "198.51.100.1, 203.0.113.9"}):
            assert server.ask("/api/v1/jobs", headers={"X-Forwarded-User": "ana", **more}).status == 200
        assert server.ask("/api/v1/jobs", headers={"X-Forwarded-User": "nobody", **LOCAL}).status == 401
        assert server.ask("/api/v1/jobs", headers=LOCAL).status == 401


def sign_in(server: Server, name: str, password: str, **headers: str) -> Answer:
    page = server.ask("/sign-in", headers=headers)
    token = re.search(r'name="_csrf_token" value="([^"]+)"', page.text)
    assert token
    csrf = next(text.split(";")[0] for text in page.cookies if text.startswith("trainfare_csrf="))
    sent = {"Content-Type": "application/x-www-form-urlencoded", "Cookie": csrf, **headers}
    form = {"_csrf_token": token[1], "name": name, "password": password}
    return server.ask("/sign-in", "POST", sent, urllib.parse.urlencode(form).encode())


def test_cookies_are_secure_behind_a_proxy_with_tls_and_guesses_are_counted_per_client(
    company: Workspace, tmp_path: Path
) -> None:
    made = with_settings(company, tmp_path / "workspace", 'sign_in = "local"\nproxies = ["127.0.0.1"]')
    trainfare(made, "user", "add", "ana", "--role", "viewer", given=PASSWORD + "\n")
    with serving(made.folder) as server:
        encrypted = sign_in(server, "ana", PASSWORD, **{"X-Forwarded-Proto": "https", **LOCAL})
        assert encrypted.status == 303
        assert all("; secure" in cookie.lower() for cookie in encrypted.cookies)
        page = server.ask("/sign-in", headers={"X-Forwarded-Proto": "https"})
        assert "; secure" in page.cookies[0].lower()
        plain = sign_in(server, "ana", PASSWORD, **LOCAL)
        assert plain.status == 303
        assert not any("secure" in cookie.lower() for cookie in plain.cookies)
        guesses = [sign_in(server, "eve", "wrong", **{"X-Forwarded-For": "203.0.113.66"}).status for _ in range(14)]
        assert 429 in guesses
        assert sign_in(server, "eve", "wrong", **{"X-Forwarded-For": "203.0.113.67"}).status == 401


def test_forwarded_headers_of_anybody_else_neither_secure_cookies_nor_reset_guesses(
    company: Workspace, tmp_path: Path
) -> None:
    made = with_settings(company, tmp_path / "workspace", 'sign_in = "local"\nproxies = ["10.1.2.3"]')
    trainfare(made, "user", "add", "ana", "--role", "viewer", given=PASSWORD + "\n")
    with serving(made.folder) as server:
        page = server.ask("/sign-in", headers={"X-Forwarded-Proto": "https"})
        assert "secure" not in page.cookies[0].lower()
        forged = [{"X-Forwarded-For": f"203.0.113.{number}"} for number in range(14)]
        statuses = [sign_in(server, "ana", "wrong", **headers).status for headers in forged]
        assert statuses[:10] == [401] * 10
        assert 429 in statuses
