"""Several server processes: each knows what was published and who signed in, in whichever process."""

import http.client
import json
import os
import re
import signal
import time
import urllib.parse
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from decimal import Decimal
from pathlib import Path

import pytest
from workspace.company import OCTOBER, lines, restated
from workspace.folder import Workspace

from .copies import copy
from .server import Server, serving
from .test_access import PASSWORD, trainfare

WORKERS = 3
TIMEOUT_SECONDS = 240
ALLOWED_WITHOUT_CATALOG = 20


@pytest.fixture(scope="module")
def shared(company: Workspace, tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """October and November, built, with local sign-in; on each database."""
    made = copy(company, tmp_path_factory.mktemp("shared") / "workspace")
    settings = (made.folder / "trainfare.toml").read_text(encoding="utf-8")
    made.write("trainfare.toml", f'{settings}\n[serve]\nsign_in = "local"\n')
    trainfare(made, "user", "add", "fin", "--role", "finance", given=PASSWORD + "\n")
    return made


@pytest.fixture(scope="module")
def serving_together(shared: Workspace) -> Iterator[Server]:
    with serving(shared.folder, "--workers", str(WORKERS), log=shared.folder / "server.log") as server:
        wait_for_workers(server, set())
        yield server


def children(server: Server) -> set[int]:
    """The worker processes: the children of the server that listen on the port."""
    pid = server.process.pid
    pids = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="utf-8").split()
    return {int(child) for child in pids if _sockets(int(child)) & _listening(server.port)}


def _sockets(pid: int) -> set[str]:
    """The sockets of a process; none after it has ended."""
    found = set()
    with suppress(OSError):
        for link in Path(f"/proc/{pid}/fd").iterdir():
            with suppress(OSError):
                found.update(re.findall(r"socket:\[(\d+)\]", os.readlink(link)))
    return found


def _table() -> list[list[str]]:
    return [line.split() for line in Path("/proc/net/tcp").read_text(encoding="utf-8").splitlines()[1:]]


def _listening(port: int) -> set[str]:
    return {row[9] for row in _table() if row[1].endswith(f":{port:04X}") and row[3] == "0A"}


def answering(server: Server, connection: http.client.HTTPConnection) -> set[int]:
    """The process at the other end of a connection; none if that end is closed."""
    mine = connection.sock.getsockname()[1] if connection.sock else 0
    ends = {row[9] for row in _table() if row[1].endswith(f":{server.port:04X}") and row[2].endswith(f":{mine:04X}")}
    return {pid for pid in children(server) if ends & _sockets(pid)}


def wait_for_workers(server: Server, gone: set[int]) -> None:
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while len(children(server) - gone) < WORKERS:
        assert time.monotonic() < deadline, "the processes did not start"
        time.sleep(0.1)


def totals(server: Server, cookie: str) -> set[Decimal]:
    """The totals that the processes return; each process is asked at least once."""
    found, reached = set(), set()
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while len(reached) < WORKERS:
        assert time.monotonic() < deadline, "some process accepted no connection"
        with closing(http.client.HTTPConnection("127.0.0.1", server.port, timeout=TIMEOUT_SECONDS)) as connection:
            connection.request("GET", "/api/v1/report?window=2026-10", headers={"Cookie": cookie})
            answer = connection.getresponse()
            body = answer.read()
            assert answer.status == 200, body
            found.add(Decimal(json.loads(body)["total"]))
            reached |= answering(server, connection)
    return found


def signed_in(server: Server) -> str:
    page = server.ask("/sign-in", headers={"Accept": "text/html"})
    token = re.search(r'name="_csrf_token" value="([^"]+)"', page.text)
    assert token
    csrf = next(text.split(";")[0] for text in page.cookies if text.startswith("trainfare_csrf="))
    form = {"_csrf_token": token[1], "name": "fin", "password": PASSWORD, "back": "/"}
    headers = {"Content-Type": "application/x-www-form-urlencoded", "Cookie": csrf}
    response = server.ask("/sign-in", "POST", headers, urllib.parse.urlencode(form).encode())
    assert response.status == 303, response.text
    return next(text.split(";")[0] for text in response.cookies if text.startswith("trainfare_session="))


def test_every_process_serves_what_was_published_meanwhile(shared: Workspace, serving_together: Server) -> None:
    """A session of one process is valid in all; a book published while they run is served by all."""
    cookie, before = signed_in(serving_together), shared.total(OCTOBER)
    assert totals(serving_together, cookie) == {before}
    shared.write_bill(OCTOBER, restated(lines(OCTOBER), "gpu-1", "0.000000000001"))
    shared.build()
    assert totals(serving_together, cookie) == {before + Decimal("0.000000000001")}


def reached(server: Server, seen: set[int], path: str, headers: dict[str, str], body: bytes | None = None) -> int:
    """Send a request on a connection of its own; return its status, and add the process that answered to `seen`."""
    with closing(http.client.HTTPConnection("127.0.0.1", server.port, timeout=TIMEOUT_SECONDS)) as connection:
        connection.request("POST" if body else "GET", path, body, headers)
        answer = connection.getresponse()
        seen |= answering(server, connection)
        answer.read()
        return answer.status


def test_guesses_of_a_password_are_counted_for_all_processes(serving_together: Server) -> None:
    """Per process it would be three times as many."""
    page = serving_together.ask("/sign-in")
    csrf = page.headers["set-cookie"].split(";")[0]
    form = {"name": "eve", "password": "guess", "_csrf_token": csrf.partition("=")[2].strip('"')}
    headers = {"Content-Type": "application/x-www-form-urlencoded", "Cookie": csrf}
    seen: set[int] = set()
    started = time.monotonic()
    body = urllib.parse.urlencode(form).encode()
    statuses: list[int] = []
    while len(statuses) < 30 or len(seen) < 2:
        statuses.append(reached(serving_together, seen, "/sign-in", headers, body))
        assert time.monotonic() - started < TIMEOUT_SECONDS, "only one process answered"
    returned = int((time.monotonic() - started) / 6) + 1
    assert set(statuses) == {401, 429}
    assert 10 <= statuses.count(401) <= 10 + returned


def test_requests_are_counted_for_all_processes(shared: Workspace, tmp_path: Path) -> None:
    """Each process alone would allow 40. A process that waits too long for the catalog allows one request itself."""
    made = copy(shared, tmp_path / "workspace")
    settings = (made.folder / "trainfare.toml").read_text(encoding="utf-8")
    made.write("trainfare.toml", settings.replace('sign_in = "local"', 'sign_in = "local"\nrequests_per_minute = 40'))
    token = trainfare(made, "token", "create", "busy")
    with serving(made.folder, "--workers", str(WORKERS)) as server:
        wait_for_workers(server, set())
        seen: set[int] = set()
        started = time.monotonic()
        headers = {"Authorization": f"Bearer {token}"}
        with ThreadPoolExecutor(6) as clients:
            asked = [clients.submit(reached, server, seen, "/api/v1/books", headers) for _ in range(90)]
            statuses = [one.result() for one in asked]
        returned = int((time.monotonic() - started) / 60 * 40) + 1
    assert 40 <= statuses.count(200) <= 40 + returned + ALLOWED_WITHOUT_CATALOG
    assert {*statuses} <= {200, 429}
    assert len(seen) > 1, "only one process answered"


def test_a_process_that_is_killed_is_replaced(shared: Workspace, serving_together: Server) -> None:
    server = serving_together
    cookie, (victim, *_) = signed_in(server), sorted(children(server))
    os.kill(victim, signal.SIGKILL)
    wait_for_workers(server, {victim})
    assert totals(server, cookie) == {shared.total(OCTOBER)}
