"""Several processes that serve together: each knows what was published, and whoever signed in, wherever that was."""

import http.client
import json
import os
import re
import signal
import time
import urllib.parse
from collections.abc import Iterator
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
ANSWER_SECONDS = 60


@pytest.fixture(scope="module")
def shared(company: Workspace, tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """October and November, built, where people sign in; on each database."""
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
    """The processes that answer: those of the server's children that hold the port."""
    pid = server.process.pid
    told = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="utf-8").split()
    return {int(child) for child in told if _sockets(int(child)) & _listening(server.port)}


def _sockets(pid: int) -> set[str]:
    """What a process holds; nothing once it is gone."""
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
    """The process at the other end of a connection; none if it was closed there."""
    mine = connection.sock.getsockname()[1] if connection.sock else 0
    ends = {row[9] for row in _table() if row[1].endswith(f":{server.port:04X}") and row[2].endswith(f":{mine:04X}")}
    return {pid for pid in children(server) if ends & _sockets(pid)}


def wait_for_workers(server: Server, gone: set[int]) -> None:
    deadline = time.monotonic() + ANSWER_SECONDS
    while len(children(server) - gone) < WORKERS:
        assert time.monotonic() < deadline, "the processes did not start"
        time.sleep(0.1)


def totals(server: Server, cookie: str) -> set[Decimal]:
    """What each process answers, each asked at least once."""
    told, reached = set(), set()
    deadline = time.monotonic() + ANSWER_SECONDS
    while len(reached) < WORKERS:
        assert time.monotonic() < deadline, "some process took no connection"
        with closing(http.client.HTTPConnection("127.0.0.1", server.port, timeout=ANSWER_SECONDS)) as connection:
            connection.request("GET", "/api/v1/report?window=2026-10", headers={"Cookie": cookie})
            answer = connection.getresponse()
            body = answer.read()
            assert answer.status == 200, body
            told.add(Decimal(json.loads(body)["total"]))
            reached |= answering(server, connection)
    return told


def signed_in(server: Server) -> str:
    page = server.ask("/sign-in", headers={"Accept": "text/html"})
    token = re.search(r'name="_csrf_token" value="([^"]+)"', page.text)
    assert token
    csrf = next(text.split(";")[0] for text in page.cookies if text.startswith("trainfare_csrf="))
    form = {"_csrf_token": token[1], "name": "fin", "password": PASSWORD, "back": "/"}
    headers = {"Content-Type": "application/x-www-form-urlencoded", "Cookie": csrf}
    told = server.ask("/sign-in", "POST", headers, urllib.parse.urlencode(form).encode())
    assert told.status == 303, told.text
    return next(text.split(";")[0] for text in told.cookies if text.startswith("trainfare_session="))


def test_every_process_answers_with_what_was_published_meanwhile(shared: Workspace, serving_together: Server) -> None:
    """Who signed in at one process is known to all; so is a book that is published while they serve."""
    cookie, before = signed_in(serving_together), shared.total(OCTOBER)
    assert totals(serving_together, cookie) == {before}
    shared.write_bill(OCTOBER, restated(lines(OCTOBER), "gpu-1", "0.000000000001"))
    shared.build()
    assert totals(serving_together, cookie) == {before + Decimal("0.000000000001")}


def test_a_process_that_is_killed_is_replaced(shared: Workspace, serving_together: Server) -> None:
    server = serving_together
    cookie, (victim, *_) = signed_in(server), sorted(children(server))
    os.kill(victim, signal.SIGKILL)
    wait_for_workers(server, {victim})
    assert totals(server, cookie) == {shared.total(OCTOBER)}
