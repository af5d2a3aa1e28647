"""Every response to generated requests conforms to the OpenAPI document, and none is a server error."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import soak
from workspace.folder import Workspace

from .copies import copy
from .server import Server, serving
from .test_access import trainfare

CHECKS = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"


@pytest.mark.parametrize(
    ("paths", "examples"), [(r"^/(?!api/v1/lines)", 8), (r"^/api/v1/lines", 2)], ids=["all", "bill lines"]
)
def test_every_response_is_as_documented(server: Server, paths: str, examples: int) -> None:
    fuzz(server, examples, "--include-path-regex", paths, "--generation-deterministic", "--phases", "fuzzing")


def fuzz(server: Server, examples: int, *options: str) -> str:
    """Send generated requests to every endpoint of the OpenAPI document."""
    command = [
        *(str(Path(sys.executable).with_name("schemathesis")), "run", f"{server.url}/api/openapi.json"),
        *("--url", server.url, "--checks", CHECKS, "--max-examples", str(examples)),
        *("--no-color", "--request-timeout", "60", *options),
    ]
    ran = subprocess.run(command, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout[-6000:]
    assert "Tested" in ran.stdout
    return ran.stdout


TOKENS = {
    "team": ("--role", "team", "--sees", "team:nlp"),
    "viewer": ("--role", "viewer"),
    "metrics": ("--scope", "metrics"),
}


@pytest.fixture(scope="module")
def with_roles(company: Workspace, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, dict[str, str]]]:
    """A server that requires tokens, and one token per role; nobody sends `nobody`."""
    made = copy(company, tmp_path_factory.mktemp("roles") / "workspace")
    settings = (made.folder / "trainfare.toml").read_text(encoding="utf-8")
    serve = 'sign_in = "proxy"\nproxies = ["192.0.2.1"]\nrequests_per_minute = 1000000\nquery_seconds = 20\n'
    made.write("trainfare.toml", f"{settings}\n[serve]\n{serve}")
    tokens = {name: trainfare(made, "token", "create", name, *role) for name, role in TOKENS.items()}
    with serving(made.folder) as server:
        yield server, tokens | {"nobody": "trainfare_unknown"}


@pytest.mark.services
@pytest.mark.soak
@pytest.mark.parametrize("role", [*TOKENS, "nobody"])
def test_every_role_gets_documented_responses(with_roles: tuple[Server, dict[str, str]], role: str) -> None:
    """Generated values; in a long campaign also every constraint just met and just missed, and other methods."""
    server, tokens = with_roles
    examples = 3 * soak.SCALE
    soak.announce(f"generated requests, {role}", examples)
    phases = "fuzzing" if soak.SCALE == 1 else "coverage,fuzzing"
    options = ("--phases", phases, "--seed", str(soak.SEED))
    fuzz(server, examples, "--header", f"Authorization: Bearer {tokens[role]}", *options)
