"""A real server process on a free loopback port, stopped by its process id."""

import http.client
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

COMMAND = Path(sys.executable).with_name("trainfare")
STARTUP_SECONDS = 60


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
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request(method, path, body, dict(headers or {}))
            response = connection.getresponse()
            headers = {name.lower(): value for name, value in response.getheaders()}
            return Answer(response.status, headers, response.read(), response.headers.get_all("set-cookie", []))
        finally:
            connection.close()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


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
            process.wait(timeout=30)


def wait_until_ready(server: Server) -> None:
    deadline = time.monotonic() + STARTUP_SECONDS
    while True:
        try:
            server.ask("/livez")
        except OSError:
            if server.process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError("the server did not start") from None
            time.sleep(0.1)
        else:
            return
