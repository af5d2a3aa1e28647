"""Requests that once failed: unusual parameters, ids and methods, each with its near miss."""

import http.client
import shutil
import socket
import subprocess
import urllib.parse
from collections.abc import Iterator
from pathlib import Path

import pytest
from workspace.folder import Workspace

from trainfare.serve.entry import job_path

from .copies import copy
from .server import ANSWER_SECONDS, COMMAND, Server, free_port, serving

SLASHED = "gpu/cluster 1/4711%2F/explain"
"""An id with everything that means something in a URL."""


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/jobs?path=x", 200),
        ("/jobs?self=x&name=y&link=z", 200),
        ("/jobs?page=%C2%B2", 400),
        ("/jobs?page=2", 200),
        ("/jobs?page=" + "9" * 30, 400),
        ("/jobs?page=" + "9" * 5000, 400),
        ("/jobs?page=999999999", 200),
        ("/jobs?size=%D9%A3", 400),
        ("/cost-trace/line?delivery=%C2%B2&line=1", 400),
        ("/cost-trace/line?delivery=1&line=1&from=2026-10&to=2026-10", 200),
        ("/panels/jobs/groups.csv", 400),
        ("/panels/jobs/groups.csv?by=team", 200),
        ("/panels/jobs/groups.csv?by=nonsense", 400),
        ("/api/v1/lines/%C2%B2/1", 404),
    ],
)
def test_a_page_with_unusual_parameters_says_what_is_wrong(server: Server, path: str, status: int) -> None:
    assert server.ask(path).status == status


def test_a_method_that_no_route_has_is_named(server: Server) -> None:
    for method in ("OPTIONS", "DELETE", "TRACE", "GUESS"):
        assert server.ask("/jobs", method).status == (204 if method == "OPTIONS" else 405)


@pytest.mark.parametrize(
    ("raw", "routed"),
    [
        (b"/api/v1/jobs/a", "/api/v1/jobs/a"),
        (b"/api/v1/jobs/a/explain", "/api/v1/jobs/a/explain"),
        (b"/api/v1/jobs/a%2Fb", "/api/v1/jobs/a%2Fb"),
        (b"/api/v1/jobs/a/b/explain", "/api/v1/jobs/a%2Fb/explain"),
        (b"/api/v1/jobs/a%2Fexplain", "/api/v1/jobs/a%2Fexplain"),
        (b"/api/v1/jobs/a%252Fb", "/api/v1/jobs/a%252Fb"),
        (b"/api/v1/jobs/%FF", "/api/v1/jobs/%EF%BF%BD"),
    ],
)
def test_a_job_id_is_one_part_of_the_path_that_is_routed(raw: bytes, routed: str) -> None:
    assert job_path(urllib.parse.unquote(raw.decode()), raw) == routed


def test_other_paths_are_routed_as_they_are() -> None:
    assert job_path("/api/v1/jobs", b"/api/v1/jobs") == "/api/v1/jobs"
    assert job_path("/jobs/a/b", b"/jobs/a%2Fb") == "/jobs/a/b"


@pytest.fixture(scope="module")
def with_slashes(company: Workspace, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The company, with one job whose id has slashes."""
    made = copy(company, tmp_path_factory.mktemp("slashes") / "workspace")
    for file in (made.folder / "jobs").glob("*"):
        text = file.read_text(encoding="utf-8")
        made.write(f"jobs/{file.name}", text.replace("alone-2026-11", SLASHED))
    shutil.rmtree(made.folder / "cache", ignore_errors=True)
    made.build()
    with serving(made.folder) as server:
        yield server


def test_a_job_with_slashes_in_its_id_can_be_asked_for(with_slashes: Server) -> None:
    listed = with_slashes.ask("/api/v1/jobs?window=2026-11&limit=1000").json["rows"]
    (row,) = [row for row in listed if row["job"] == SLASHED]
    encoded = urllib.parse.quote(SLASHED, safe="")
    assert with_slashes.ask(f"/api/v1/jobs/{encoded}?window=2026-11").json["job"]["cost"] == row["cost"]
    explained = with_slashes.ask(f"/api/v1/jobs/{encoded}/explain?month=2026-11").json
    assert (explained["job"], explained["explained"]) == (SLASHED, row["cost"])
    assert with_slashes.ask(f"/jobs/{encoded}?from=2026-11&to=2026-11").status == 200
    other = with_slashes.ask("/api/v1/jobs/no%2Fsuch?window=2026-11")
    assert (other.status, other.json["title"]) == (404, "no job 'no/such' in this period")


def test_bill_lines_name_their_file_without_its_folder(with_slashes: Server) -> None:
    encoded = urllib.parse.quote(SLASHED, safe="")
    lines = with_slashes.ask(f"/api/v1/jobs/{encoded}/explain?month=2026-11").json["lines"]
    assert lines
    assert {Path(line["file"]).parent for line in lines} == {Path()}


@pytest.mark.parametrize("listens", [True, False])
def test_a_port_that_is_taken_is_reported_before_anything_is_announced(company: Workspace, listens: bool) -> None:
    """A socket that is bound and does not listen yet used to be overlooked."""
    port = free_port()
    with socket.socket() as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        taken.bind(("127.0.0.1", port))
        if listens:
            taken.listen()
            command = [COMMAND, "serve", "-w", company.folder, "--port", str(port)]
            ran = subprocess.run(command, capture_output=True, text=True, timeout=ANSWER_SECONDS)
            assert ran.returncode == 2
            assert ran.stderr.splitlines() == [
                f"--port: {port} is already in use on 127.0.0.1",
                "  Stop the other service, or choose another port with --port.",
            ]
            return
    with serving(company.folder, port=port) as server:
        assert server.ask("/livez").status == 200


def test_half_a_header_line_is_no_reason_to_fail(server: Server) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=ANSWER_SECONDS)
    connection.putrequest("GET", "/livez")
    connection.putheader("X-Odd", b"\xff\xfe")
    connection.endheaders()
    assert connection.getresponse().status == 200
    connection.close()
