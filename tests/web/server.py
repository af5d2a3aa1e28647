"""A real server process on a free loopback port, stopped by its process id."""

import http.client
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from services.ports import free_port

COMMAND = Path(sys.executable).with_name("trainfare")
STARTUP_SECONDS = 240
"""Other work may share the machine."""
ANSWER_SECONDS, STOP_SECONDS, LOG_SECONDS = 240, 120, 60


@dataclass(frozen=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    body: bytes
    cookies: Sequence[str] = ()
    """The values of all Set-Cookie headers."""

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def text(self) -> str:
        return self.body.decode()


@dataclass(frozen=True)
class Server:
    port: int
    process: "subprocess.Popen[bytes]"

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def ask(
        self, path: str, method: str = "GET", headers: Mapping[str, str] | None = None, body: bytes | None = None
    ) -> Answer:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=ANSWER_SECONDS)
        try:
            connection.request(method, path, body, dict(headers or {}))
            response = connection.getresponse()
            headers = {name.lower(): value for name, value in response.getheaders()}
            return Answer(response.status, headers, response.read(), response.headers.get_all("set-cookie", []))
        finally:
            connection.close()


@contextmanager
def serving(
    workspace: Path, *arguments: str, log: Path | None = None, port: int = 0, command: Path = COMMAND
) -> Iterator[Server]:
    """Run `trainfare serve` on a workspace until the block ends; on a free port if none is given."""
    port = port or free_port()
    serve = [str(command), "serve", "-w", str(workspace), "--port", str(port), *arguments]
    with (log or Path(os.devnull)).open("wb") as output:
        process = subprocess.Popen(serve, stdout=output, stderr=output)
        server = Server(port, process)
        try:
            wait_until_ready(server)
            yield server
        finally:
            process.terminate()
            process.wait(timeout=STOP_SECONDS)


def wait_until_ready(server: Server) -> None:
    deadline = time.monotonic() + STARTUP_SECONDS
    while True:
        try:
            server.ask("/livez")
        except (OSError, http.client.HTTPException):
            if server.process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError("the server did not start") from None
            time.sleep(0.1)
        else:
            return


def log_lines(log: Path) -> list[dict[str, Any]]:
    """The complete lines of a server's log that are JSON."""
    lines = log.read_text(encoding="utf-8").splitlines(keepends=True)
    return [json.loads(line) for line in lines if line.startswith("{") and line.endswith("}\n")]


def logged(log: Path, answer: Answer) -> dict[str, Any]:
    """The line of this response in a server's log: it is written after the response is sent, so wait for it."""
    deadline = time.monotonic() + LOG_SECONDS
    while True:
        for line in log_lines(log):
            if line.get("request") == answer.headers["x-request-id"]:
                return line
        assert time.monotonic() < deadline, "the request was not logged"
        time.sleep(0.02)
