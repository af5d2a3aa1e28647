"""Sending to real HTTP servers that are good, busy, slow, garbage or not there: nothing is lost and nobody waits.

These servers answer as the product does, or as no server should; `tests/web/test_events.py` has the real one.
"""

import gzip
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from trainfare_sdk import Settings, sender, spool

from .programs import events, files, run

Answer = Callable[["Received", BaseHTTPRequestHandler, bytes], None]
DEADLINE = 60.0


class Received:
    """What a server got."""

    def __init__(self) -> None:
        self.requests = 0
        self.batches: list[list[dict[str, Any]]] = []
        self.tokens: list[str | None] = []

    @property
    def ids(self) -> list[tuple[str, str]]:
        return [(one["source"], one["id"]) for batch in self.batches for one in batch]


def accept(received: Received, request: BaseHTTPRequestHandler, body: bytes) -> None:
    lines = [json.loads(line) for line in gzip.decompress(body).splitlines()]
    received.batches.append(lines)
    reply(request, 200, json.dumps({"accepted": len(lines), "duplicates": 0, "rejected": []}))


def reply(request: BaseHTTPRequestHandler, status: int, text: str, **headers: str) -> None:
    request.send_response(status)
    for name, value in headers.items():
        request.send_header(name.replace("_", "-"), value)
    request.send_header("Content-Length", str(len(text.encode())))
    request.end_headers()
    request.wfile.write(text.encode())


@contextmanager
def serving(answer: Answer) -> Iterator[tuple[str, Received]]:
    received = Received()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            received.requests += 1
            received.tokens.append(self.headers["Authorization"])
            assert self.path == "/api/v1/events"
            assert self.headers["Content-Encoding"] == "gzip"
            body = self.rfile.read(int(self.headers["Content-Length"]))
            with suppress(BrokenPipeError, ConnectionResetError):
                answer(received, self, body)

        def log_message(self, format: str, *given: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", received
    finally:
        server.shutdown()
        server.server_close()


def sending(folder: Path, server: str, count: int = 3, **options: Any) -> sender.Sender:
    """A sender for a spool with this many events."""
    spooled = spool.Spool(str(folder), {"v": 1, "job": "a", "attempt": 1, "machine": "n1"})
    for number in range(count):
        spooled.write("trainfare.step", {"step": number})
    return sender.Sender(spooled, Settings(mode="online", server=server, **options))


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sender, "FIRST_PAUSE_SECONDS", 0.01)


def until_sent(one: sender.Sender) -> None:
    deadline = time.monotonic() + DEADLINE
    while not one.send_all():
        assert time.monotonic() < deadline
        time.sleep(0.01)


PROGRAM = """
import time, trainfare_sdk
settings = trainfare_sdk.Settings(heartbeat_seconds=0.1, flush_seconds=0.3)
with trainfare_sdk.job("a", settings=settings) as job:
    for number in range(300):
        job.log(gpu_busy_seconds=number)
    time.sleep(0.3)
    ended = time.monotonic()
print(time.monotonic() - ended)
"""


def test_a_good_server_gets_every_event_once_in_order_with_the_token(tmp_path: Path) -> None:
    program = PROGRAM.replace("flush_seconds=0.3", "flush_seconds=60")
    with serving(accept) as (server, received):
        code, _, err = run(program, tmp_path, TRAINFARE_SERVER=server, TRAINFARE_TOKEN="s3cret")
    assert (code, err) == (0, "")
    written = [(one["source"], one["id"]) for one in events(tmp_path)]
    assert received.ids == written
    assert set(received.tokens) == {"Bearer s3cret"}
    (path,) = files(tmp_path)
    assert path.with_name(path.name + ".sent").read_text() == f"{path.stat().st_size}\n"


def drip(received: Received, request: BaseHTTPRequestHandler, body: bytes) -> None:
    request.wfile.write(b"HTTP/1.1 200 OK\r\n")
    for _ in range(600):
        request.wfile.write(b"X-Slow: yes\r\n")
        request.wfile.flush()
        time.sleep(0.1)


def garbage(received: Received, request: BaseHTTPRequestHandler, body: bytes) -> None:
    request.wfile.write(b"\x00\xff\x13\x37" * 1000)


def login_page(received: Received, request: BaseHTTPRequestHandler, body: bytes) -> None:
    reply(request, 200, "<html>Please sign in</html>")


def hang_up(received: Received, request: BaseHTTPRequestHandler, body: bytes) -> None:
    request.connection.shutdown(socket.SHUT_RDWR)


def other_json(received: Received, request: BaseHTTPRequestHandler, body: bytes) -> None:
    reply(request, 200, '{"accepted": 1, "duplicates": 0, "rejected": []}')


@pytest.mark.parametrize("answer", [drip, garbage, login_page, hang_up, other_json], ids=lambda one: one.__name__)
def test_a_bad_server_costs_training_nothing_and_loses_nothing(answer: Answer, tmp_path: Path) -> None:
    """The job ends within its flush time; every event is in the spool, and none counts as received."""
    with serving(answer) as (server, received):
        code, out, err = run(PROGRAM, tmp_path, TRAINFARE_SERVER=server)
        assert received.requests >= 1
    assert code == 0
    assert float(out) < 10
    assert "Traceback" not in err
    assert len([one for one in events(tmp_path) if one["type"] == "trainfare.usage"]) == 300
    assert not list(tmp_path.glob("*.sent"))


@pytest.mark.parametrize(
    "server", ["http://127.0.0.1:1", "https://127.0.0.1:1", "http://no.such.host.invalid", "nonsense"]
)
def test_an_unreachable_server_is_only_a_warning(server: str, tmp_path: Path) -> None:
    code, out, err = run(PROGRAM, tmp_path, TRAINFARE_SERVER=server)
    assert code == 0
    assert float(out) < 10
    assert len(err.splitlines()) <= 1
    assert "Traceback" not in err


def test_events_are_sent_again_until_the_server_has_them(tmp_path: Path) -> None:
    """Busy, then garbage, then half a batch, then gone wrong: each event arrives at least once, in order."""
    answers = [
        lambda received, request, body: reply(request, 503, "busy", Retry_After="0"),
        login_page,
        lambda received, request, body: reply(request, 429, "", Retry_After="x"),
        hang_up,
        other_json,
        lambda received, request, body: accept(received, _Broken(request), body),
    ]

    def answer(received: Received, request: BaseHTTPRequestHandler, body: bytes) -> None:
        (answers.pop(0) if answers else accept)(received, request, body)

    with serving(answer) as (server, received):
        one = sending(tmp_path, server, 1200)
        until_sent(one)
    written = [(event["source"], event["id"]) for event in events(tmp_path)]
    assert [*dict.fromkeys(received.ids)] == written
    assert len(received.ids) > len(written), "the batch whose answer was lost arrives twice"


class _Broken:
    """A connection on which the answer to a received batch is lost."""

    def __init__(self, request: BaseHTTPRequestHandler) -> None:
        self._request = request

    def send_response(self, status: int) -> None:
        self._request.connection.shutdown(socket.SHUT_RDWR)
        raise ConnectionResetError

    send_header = end_headers = send_response


def test_a_batch_that_is_too_large_is_halved(tmp_path: Path) -> None:
    def answer(received: Received, request: BaseHTTPRequestHandler, body: bytes) -> None:
        if gzip.decompress(body).count(b"\n") > 50:
            reply(request, 413, "")
        else:
            accept(received, request, body)

    with serving(answer) as (server, received):
        until_sent(sending(tmp_path, server, 200))
    assert len(received.ids) == len(set(received.ids)) == 200
    assert max(len(batch) for batch in received.batches) <= 50


def test_a_refused_token_is_not_tried_again_at_once(tmp_path: Path) -> None:
    with serving(lambda received, request, body: reply(request, 401, "")) as (server, received):
        one = sending(tmp_path, server)
        for _ in range(20):
            assert not one.send_all()
        assert received.requests == 1


def test_a_request_that_never_ends_is_cut_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sender, "REQUEST_SECONDS", 0.2)
    with serving(drip) as (server, _):
        one = sending(tmp_path, server)
        thread = threading.Thread(target=one.send_all)
        thread.start()
        deadline = time.monotonic() + DEADLINE
        while thread.is_alive() and time.monotonic() < deadline:
            one.cut_off()
            thread.join(0.05)
        assert not thread.is_alive()


def test_a_token_comes_from_a_file_and_is_never_a_setting(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("abc\n")
    assert Settings(token=f"file:{tmp_path}/token").read_token() == "abc"
    assert Settings(token=f"file:{tmp_path}/nothing").read_token() is None
    assert Settings(token="abc").read_token() is None
