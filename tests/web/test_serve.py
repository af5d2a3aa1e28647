"""`trainfare serve` as a process: it answers, on loopback only, and every answer carries what protects its reader."""

import subprocess

import pytest
from workspace.folder import Workspace

from .server import COMMAND, Server


def test_the_first_page_is_there(server: Server) -> None:
    page = server.ask("/")
    assert page.status == 200
    assert "text/html" in page.headers["content-type"]


@pytest.mark.parametrize("path", ["/", "/nothing/here", "/schema/openapi.json"])
def test_every_answer_is_protected(server: Server, path: str) -> None:
    headers = server.ask(path).headers
    assert headers["content-security-policy"].startswith("default-src 'self';")
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-frame-options"] == "DENY"


def test_an_error_is_a_problem(server: Server) -> None:
    told = server.ask("/nothing/here")
    assert (told.status, told.headers["content-type"]) == (404, "application/problem+json")
    assert told.json["status"] == 404


def test_other_addresses_are_refused_without_sign_in(company: Workspace) -> None:
    ran = subprocess.run(
        [COMMAND, "serve", "-w", str(company.folder), "--host", "0.0.0.0"], capture_output=True, text=True
    )
    assert ran.returncode == 2
    assert ran.stderr.startswith("--host: 0.0.0.0 can be reached from elsewhere")
