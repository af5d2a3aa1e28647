"""Every response to generated requests conforms to the OpenAPI document, and none is a server error.

In every role: nothing names a path of the server, and a team gets no name or figure of another.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import soak
from workspace.folder import Workspace

from .copies import copy
from .server import Server, serving
from .test_access import trainfare
from .test_page_fuzz import hidden_texts, server_paths

CHECKS = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"


@pytest.mark.parametrize(
    ("paths", "examples"), [(r"^/(?!api/v1/lines)", 8), (r"^/api/v1/lines", 2)], ids=["all", "bill lines"]
)
def test_every_response_is_as_documented(server: Server, paths: str, examples: int) -> None:
    fuzz(server, examples, "--include-path-regex", paths, "--generation-deterministic", "--phases", "fuzzing")


def fuzz(server: Server, examples: int, *options: str, private: Path | None = None) -> str:
    """Send generated requests to every endpoint of the OpenAPI document; look for the texts of a file in responses."""
    checks = f"{CHECKS},nothing_private" if private else CHECKS
    command = [
        *(str(Path(sys.executable).with_name("schemathesis")), "run", f"{server.url}/api/openapi.json"),
        *("--url", server.url, "--checks", checks, "--max-examples", str(examples)),
        *("--no-color", "--request-timeout", "120", *options),
    ]
    looking = {"SCHEMATHESIS_HOOKS": "private_texts", "PYTHONPATH": str(Path(__file__).parent)}
    looking |= {"TRAINFARE_PRIVATE": str(private)}
    ran = subprocess.run(command, capture_output=True, text=True, env=os.environ | (looking if private else {}))
    assert ran.returncode == 0, ran.stdout[-6000:]
    assert "Tested" in ran.stdout
    return ran.stdout


TOKENS = {
    "team": ("--role", "team", "--sees", "team:nlp"),
    "metrics": ("--scope", "metrics"),
    **{role: ("--role", role) for role in ("viewer", "operator", "finance", "admin")},
}
"""A token of every role."""
OUTSIDERS = {"forged": ("Authorization: Bearer trainfare_unknown",), "anonymous": ()}
RESTRICTED = {"team", *OUTSIDERS}


@dataclass(frozen=True)
class Fuzzed:
    """A server that requires tokens, the headers of each role, and what nobody or no other team may see."""

    server: Server
    headers: dict[str, tuple[str, ...]]
    paths: list[str]
    of_other_teams: set[str]

    def fuzz(self, role: str, private: Path, examples: int, *options: str) -> str:
        hidden = self.of_other_teams if role in RESTRICTED else ()
        private.write_text(json.dumps([*self.paths, *hidden]), encoding="utf-8")
        headers = [text for header in self.headers[role] for text in ("--header", header)]
        return fuzz(self.server, examples, *headers, *options, private=private)


@pytest.fixture(scope="module")
def fuzzed(company: Workspace, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fuzzed]:
    made = copy(company, tmp_path_factory.mktemp("roles") / "workspace")
    settings = (made.folder / "trainfare.toml").read_text(encoding="utf-8")
    serve = 'sign_in = "proxy"\nproxies = ["192.0.2.1"]\nrequests_per_minute = 1000000\nquery_seconds = 60\n'
    made.write("trainfare.toml", f"{settings}\n[serve]\n{serve}")
    tokens = {name: trainfare(made, "token", "create", name, *role) for name, role in TOKENS.items()}
    headers = {name: (f"Authorization: Bearer {token}",) for name, token in tokens.items()}
    with serving(made.folder) as server:
        hidden, *_ = hidden_texts(server, {"Authorization": f"Bearer {tokens['viewer']}"})
        yield Fuzzed(server, headers | OUTSIDERS, server_paths(made), hidden)


@pytest.mark.services
@pytest.mark.soak
@pytest.mark.parametrize("role", [*TOKENS, *OUTSIDERS])
def test_every_role_gets_documented_responses_and_nothing_private(fuzzed: Fuzzed, tmp_path: Path, role: str) -> None:
    """Generated values; in a long campaign also every constraint just met and just missed, and other methods."""
    examples = 2 * soak.SCALE
    soak.announce(f"generated requests, {role}", examples)
    phases = "fuzzing" if soak.SCALE == 1 else "coverage,fuzzing"
    fuzzed.fuzz(role, tmp_path / "private.json", examples, "--phases", phases, "--seed", str(soak.SEED))


@pytest.mark.services
def test_a_private_text_in_a_response_is_noticed(fuzzed: Fuzzed, tmp_path: Path) -> None:
    planted = Fuzzed(fuzzed.server, fuzzed.headers, ["schema_version"], set())
    only = ("--include-path", "/api/v1/books", "--phases", "fuzzing", "--generation-deterministic")
    with pytest.raises(AssertionError, match="the response contains schema_version"):
        planted.fuzz("viewer", tmp_path / "private.json", 2, *only)
