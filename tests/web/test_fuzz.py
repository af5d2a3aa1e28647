"""Whatever is asked, the answer is one that the OpenAPI document tells of, and never a fault of ours."""

import subprocess
import sys
from pathlib import Path

import pytest

from .server import Server

CHECKS = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"


@pytest.mark.parametrize(
    ("paths", "examples"), [(r"^/(?!api/v1/lines)", 8), (r"^/api/v1/lines", 2)], ids=["all", "bill lines"]
)
def test_no_question_is_answered_otherwise_than_documented(server: Server, paths: str, examples: int) -> None:
    command = [
        *(str(Path(sys.executable).with_name("schemathesis")), "run", f"{server.url}/api/openapi.json"),
        *("--url", server.url, "--checks", CHECKS, "--max-examples", str(examples), "--phases", "fuzzing"),
        *("--include-path-regex", paths, "--generation-deterministic", "--no-color", "--request-timeout", "60"),
    ]
    ran = subprocess.run(command, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout[-6000:]
    assert "Tested" in ran.stdout
