"""Clients that send the worst they may: the service refuses or cancels it, and others do not notice.

Times are compared generously, because other work may share the machine; `bench/siege.py` measures against the targets.
"""

import http.client
import json
import random
import signal
import socket
import statistics
import subprocess
import threading
import time
import urllib.parse
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import soak
from workspace.folder import Workspace

from trainfare.serve.connections import REQUEST_SECONDS

from .copies import copy
from .server import COMMAND, Server, free_port, serving
from .test_access import trainfare
from .test_proxies import sign_in

pytestmark = pytest.mark.services

WORST = "/api/v1/report?window=2025-12-01,2026-12-01&step=1d&aggregate=team,machine,category"
"""One query per day of a year."""
QUERY_SECONDS = 3
ATTACK_SECONDS = 10
NOTICEABLE_SECONDS = QUERY_SECONDS / 2
"""Whoever had to wait for a query that is canceled would wait longer; usually a response takes some milliseconds."""
PATIENCE_SECONDS = 120


@dataclass(frozen=True)
class Target:
    server: Server
    tokens: dict[str, str]
    log: Path

    def ask(self, path: str, token: str = "") -> tuple[int, dict[str, str], float]:
        started = time.monotonic()
        headers = {"Authorization": f"Bearer {self.tokens[token]}"} if token else {}
        answer = self.server.ask(path, headers=headers)
        is_problem = "problem+json" in answer.headers.get("content-type", "")
        return answer.status, answer.json if is_problem else {}, time.monotonic() - started

    def median(self, path: str, token: str = "") -> float:
        """The usual time of a response, all of which must be successes."""
        found = [self.ask(path, token) for _ in range(15)]
        assert {status for status, _, _ in found} == {200}
        return statistics.median(seconds for _, _, seconds in found)

    def logged(self, path: str, status: int) -> list[dict[str, object]]:
        """The logged requests with this outcome. A request is logged after its response was sent, so maybe late."""
        lines = self.log.read_text(encoding="utf-8").splitlines(keepends=True)
        found = [json.loads(line) for line in lines if line.startswith("{") and line.endswith("\n")]
        return [one for one in found if (one["path"], one["status"]) == (path, status)]


@pytest.fixture(scope="module")
def target(company: Workspace, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Target]:
    made = copy(company, tmp_path_factory.mktemp("target") / "workspace")
    settings = (made.folder / "trainfare.toml").read_text(encoding="utf-8")
    serve = f'sign_in = "local"\nquery_seconds = {QUERY_SECONDS}\nrequests_per_minute = 100000\n'
    made.write("trainfare.toml", f"{settings}\n[serve]\n{serve}")
    trainfare(made, "user", "add", "ana", "--role", "viewer", given="correct horse battery\n")
    roles = {"nlp": ("--role", "team", "--sees", "team:nlp"), "all": ("--role", "viewer")}
    tokens = {name: trainfare(made, "token", "create", name, *role) for name, role in roles.items()}
    with serving(made.folder, log=made.folder / "server.log") as server:
        server.ask("/readyz")
        yield Target(server, tokens, made.folder / "server.log")


def attack(clients: int, one: Callable[[int], None]) -> tuple[threading.Event, list[threading.Thread]]:
    """Start clients that do this again and again until the event is set."""
    stop = threading.Event()

    def run(number: int) -> None:
        while not stop.is_set():
            one(number)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(clients)]
    for thread in threads:
        thread.start()
    return stop, threads


def test_a_query_that_takes_too_long_is_canceled_with_what_to_do(target: Target) -> None:
    status, problem, seconds = target.ask(f"{WORST}&filter=owner:nobody", "nlp")
    assert (status, problem["title"]) == (503, f"it took longer than {QUERY_SECONDS} seconds and was canceled")
    assert "shorter period" in problem["detail"]
    assert seconds < QUERY_SECONDS + PATIENCE_SECONDS
    assert target.ask("/api/v1/report?window=2026-10", "nlp")[0] == 200


def test_a_query_ends_when_its_client_disconnects(target: Target) -> None:
    path = f"{WORST}&filter=owner:gone"
    before = len(_logged_when_quiet(target))
    head = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {target.tokens['nlp']}\r\n\r\n"
    with socket.create_connection(("127.0.0.1", target.server.port)) as client:
        client.sendall(head.encode())
        time.sleep(0.5)
    deadline = time.monotonic() + 60
    while len(canceled := target.logged("/api/v1/report", 503)) == before:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    (ended,) = canceled[before:]
    assert float(str(ended["ms"])) < QUERY_SECONDS * 1000, "it ended before its time limit"


def _logged_when_quiet(target: Target) -> list[dict[str, object]]:
    """The canceled queries, once the line of the last one before this test is surely written."""
    before = len(target.logged("/livez", 200))
    target.ask("/livez")
    while len(target.logged("/livez", 200)) == before:
        time.sleep(0.05)
    return target.logged("/api/v1/report", 503)


def test_more_rows_than_a_response_may_have_are_refused_before_any_is_computed(target: Target) -> None:
    status, problem, _ = target.ask("/api/v1/report?window=2020-01-01,2028-01-01&step=1d", "nlp")
    assert (status, problem["title"]) == (400, "more than 400 steps")
    assert "7d or 1M" in problem["detail"]
    status, problem, _ = target.ask("/allocation/compute?window=2020-01-01,2028-01-01&step=1d", "nlp")
    assert (status, problem["title"]) == (400, "more than 400 steps")


def test_many_queries_of_one_token_delay_nobody_else(target: Target) -> None:
    statuses: Counter[int] = Counter()

    def one(number: int) -> None:
        statuses[target.ask(f"{WORST}&filter=owner:nobody-{number}-{time.monotonic()}", "nlp")[0]] += 1

    stop, threads = attack(45, one)
    time.sleep(1)
    times = {path: target.median(path) for path in ("/livez", "/sign-in", "/api")}
    times |= {path: target.median(path, "all") for path in ("/api/v1/books", "/api/v1/report?window=2026-10")}
    stop.set()
    for thread in threads:
        thread.join()
    print(times, dict(statuses))
    assert max(times.values()) < NOTICEABLE_SECONDS
    assert set(statuses) <= {429, 503}


def test_half_sent_requests_delay_nobody_and_are_ended(target: Target) -> None:
    begun = b"POST /sign-in HTTP/1.1\r\nHost: a\r\nContent-Type: text/plain\r\nContent-Length: 99\r\n\r\nname="
    halves = (b"GET /api/v1/books HTTP/1.1\r\nHost: a\r\n", begun, b"", b"GET ")
    started = time.monotonic()
    clients = [socket.create_connection(("127.0.0.1", target.server.port)) for _ in range(400)]
    try:
        for number, client in enumerate(clients):
            client.sendall(halves[number % len(halves)])
        times = {"/livez": target.median("/livez"), "report": target.median("/api/v1/report?window=2026-10", "all")}
        assert max(times.values()) < NOTICEABLE_SECONDS
        for client in clients:
            client.settimeout(PATIENCE_SECONDS)
            answer = client.recv(1000)  # the end of the connection, or 408 before it
            assert not answer or answer.startswith((b"HTTP/1.1 408", b"HTTP/1.1 4"))
    finally:
        for client in clients:
            client.close()
    assert time.monotonic() - started >= REQUEST_SECONDS - 1, "a slow client has some time"


def test_sign_ins_with_unknown_names_delay_nobody(target: Target) -> None:
    statuses: Counter[int] = Counter()
    page = target.server.ask("/sign-in")
    csrf = page.headers["set-cookie"].split(";")[0]
    headers = {"Content-Type": "application/x-www-form-urlencoded", "Cookie": csrf}

    def guess(number: int) -> None:
        form = {"name": f"nobody-{number}", "password": "guess", "_csrf_token": csrf.partition("=")[2].strip('"')}
        answer = target.server.ask("/sign-in", "POST", headers, urllib.parse.urlencode(form).encode())
        statuses[answer.status] += 1

    started = time.monotonic()
    threads = [threading.Thread(target=guess, args=(number,)) for number in range(60)]
    for thread in threads:
        thread.start()
    times = {"/livez": target.median("/livez"), "report": target.median("/api/v1/report?window=2026-10", "all")}
    for thread in threads:
        thread.join()
    assert max(times.values()) < NOTICEABLE_SECONDS
    assert set(statuses) == {401, 429}
    assert statuses[401] <= 30 + (time.monotonic() - started) / 2 + 1, "an attempt comes back every two seconds"


def test_a_missing_file_of_the_lake_is_reported_without_its_path(company: Workspace, tmp_path: Path) -> None:
    made = copy(company, tmp_path / "workspace")
    for file in (made.folder / "lake").rglob("*.parquet"):
        file.unlink()
    with serving(made.folder, log=made.folder / "server.log") as server:
        for path in ("/api/v1/report?window=2026-10", "/?from=2026-10&to=2026-10", "/api/v1/diff?month=2026-10"):
            answer = server.ask(path, headers={"Accept": "text/html"})
            assert answer.status in (404, 503)
            assert str(made.folder) not in answer.text
            assert "parquet" not in answer.text


@pytest.mark.soak
def test_a_service_that_is_stopped_says_nothing_but_that(company: Workspace, tmp_path: Path) -> None:
    """Stopped at any moment, by either signal, while it prepares books and answers: no traceback and no abort."""
    made = copy(company, tmp_path / "workspace")
    rounds = 6 * soak.SCALE
    soak.announce("stopped services", rounds)
    chance = random.Random(soak.SEED)
    for number in range(rounds):
        workers = ("--workers", "2") if number % 3 == 2 else ()
        command = [COMMAND, "serve", "-w", made.folder, "--port", str(free_port()), *workers]
        process = subprocess.Popen(command, stderr=subprocess.PIPE)
        asking = threading.Thread(target=_keep_asking, args=(process, int(command[5])))
        asking.start()
        time.sleep(chance.uniform(1, 5))
        process.send_signal(chance.choice([signal.SIGTERM, signal.SIGINT]))
        _, printed = process.communicate(timeout=PATIENCE_SECONDS)
        asking.join()
        lines = [
            line for line in printed.decode().splitlines() if line and not line.startswith(("{", "Trainfare is on"))
        ]
        assert lines in ([], ["interrupted"]), printed.decode()
        assert process.returncode in (0, 130, -signal.SIGTERM, -signal.SIGINT)


def _keep_asking(process: "subprocess.Popen[bytes]", port: int) -> None:
    server = Server(port, process)
    while process.poll() is None:
        try:
            server.ask("/readyz")
            server.ask(WORST)
        except (OSError, http.client.HTTPException):
            time.sleep(0.05)


def test_a_person_can_sign_in_during_all_that(target: Target) -> None:
    """Last, because guesses above came from the same address: their limit has to end first."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while (status := sign_in(target.server, "ana", "correct horse battery").status) == 429:
        assert time.monotonic() < deadline
        time.sleep(2)
    assert status == 303
