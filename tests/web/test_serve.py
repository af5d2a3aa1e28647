"""`trainfare serve` as a process: it listens on loopback only, and every response has security headers."""

import subprocess
import warnings

import pytest
from workspace.folder import Workspace

from trainfare.serve.app import create_app

from .server import COMMAND, Server


def test_the_overview_page_is_served(server: Server) -> None:
    page = server.ask("/")
    assert page.status == 200
    assert "text/html" in page.headers["content-type"]


@pytest.mark.parametrize("path", ["/", "/nothing/here", "/schema/openapi.json"])
def test_every_response_has_security_headers(server: Server, path: str) -> None:
    headers = server.ask(path).headers
    assert headers["content-security-policy"].startswith("default-src 'self';")
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-frame-options"] == "DENY"


def test_an_error_is_problem_json(server: Server) -> None:
    response = server.ask("/nothing/here")
    assert (response.status, response.headers["content-type"]) == (404, "application/problem+json")
    assert response.json["status"] == 404


def test_other_addresses_require_sign_in(company: Workspace) -> None:
    ran = subprocess.run(
        [COMMAND, "serve", "-w", str(company.folder), "--host", "0.0.0.0"], capture_output=True, text=True
    )
    assert ran.returncode == 2
    assert ran.stderr.startswith("--host: 0.0.0.0 can be reached from other machines")


def test_the_application_uses_nothing_that_its_framework_has_deprecated(company: Workspace) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        app = create_app(company.folder)
        assert len(app.openapi_schema.to_schema()["paths"]) > 15
