"""An API server for faults that no real one can be made to produce: objects, versions, watches, and what goes wrong.

It answers the requests of a collector as Kubernetes does; `tests/test_real_kubernetes.py` uses the real thing.
"""

import copy
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

TOKEN = "s3cret-token"
PATHS = {"/api/v1/pods": "Pod", "/api/v1/nodes": "Node", "/apis/batch/v1/jobs": "Job"}
RESOURCES = {"batch/v1": ["jobs"]}


@dataclass
class FakeServer:
    port: int
    version: int = 100
    objects: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    events: list[tuple[int, str, str, dict[str, Any]]] = field(default_factory=list)
    oldest: int = 0
    """Watches from versions before this one have expired."""
    refused: set[str] = field(default_factory=set)
    hides_reviews: bool = False
    uid: str = "cluster-1"
    ahead: timedelta = timedelta()
    watch_seconds: float = 30.0
    page: int = 3
    answer: tuple[int, str] | None = None
    """What is answered to everything instead."""
    failures: int = 0
    """So many requests fail with status 503."""
    requests: list[str] = field(default_factory=list)
    changed: threading.Condition = field(default_factory=threading.Condition)

    def put(self, one: dict[str, Any]) -> None:
        with self.changed:
            self.version += 7
            key = (one["kind"], one["metadata"]["uid"])
            kind = "MODIFIED" if key in self.objects else "ADDED"
            stored = copy.deepcopy(one)
            stored["metadata"]["resourceVersion"] = str(self.version)
            self.objects[key] = stored
            self.events.append((self.version, kind, one["kind"], stored))
            self.changed.notify_all()

    def remove(self, kind: str, uid: str) -> None:
        with self.changed:
            self.version += 7
            stored = copy.deepcopy(self.objects.pop((kind, uid)))
            stored["metadata"]["resourceVersion"] = str(self.version)
            self.events.append((self.version, "DELETED", kind, stored))
            self.changed.notify_all()

    def forget(self) -> None:
        """Compact the history: watches from before now expire."""
        self.oldest = self.version

    def now(self) -> datetime:
        return datetime.now(UTC) + self.ahead

    def kubeconfig(self, folder: Path, token: str = TOKEN) -> Path:
        path = folder / "kubeconfig"
        document = {
            "current-context": "lab",
            "clusters": [{"name": "lab", "cluster": {"server": f"http://127.0.0.1:{self.port}"}}],
            "users": [{"name": "me", "user": {"token": token}}],
            "contexts": [{"name": "lab", "context": {"cluster": "lab", "user": "me"}}],
        }
        path.write_text(json.dumps(document), encoding="utf-8")
        return path


def _handler(server: FakeServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            url = urlsplit(self.path)
            asked = {name: values[0] for name, values in parse_qs(url.query).items()}
            server.requests.append(self.path)
            if server.answer:
                self._send(*server.answer)
            elif server.failures > 0:
                server.failures -= 1
                self._send(503, "{}")
            elif self.headers.get("Authorization") != f"Bearer {TOKEN}":
                self._send(401, '{"kind": "Status", "code": 401}')
            elif url.path in server.refused:
                self._send(403, '{"kind": "Status", "code": 403}')
            elif asked.get("watch"):
                self._watch(PATHS[url.path], int(asked["resourceVersion"]))
            else:
                self._get(url.path, asked)

        def do_POST(self) -> None:
            """Answer whether the user may do something."""
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["spec"]["resourceAttributes"]
            group = f"/apis/{asked['group']}/v1" if asked["group"] else "/api/v1"
            if self.headers.get("Authorization") != f"Bearer {TOKEN}":
                self._send(401, "{}")
            elif server.hides_reviews:
                self._send(403, "{}")
            else:
                self._json({"status": {"allowed": f"{group}/{asked['resource']}" not in server.refused}})

        def _get(self, path: str, asked: dict[str, str]) -> None:
            if path == "/apis":
                groups = [
                    {
                        "name": name.split("/")[0],
                        "versions": [{"groupVersion": name}],
                        "preferredVersion": {"groupVersion": name},
                    }
                    for name in RESOURCES
                ]
                self._json({"groups": groups})
            elif path.startswith("/apis/") and path.removeprefix("/apis/") in RESOURCES:
                names = RESOURCES[path.removeprefix("/apis/")]
                self._json({"resources": [{"name": name} for name in names]})
            elif path == "/api/v1/namespaces/kube-system":
                self._json({"metadata": {"uid": server.uid}})
            elif path in PATHS:
                self._list(PATHS[path], asked)
            else:
                self._send(404, '{"kind": "Status", "code": 404}')

        def _list(self, kind: str, asked: dict[str, str]) -> None:
            with server.changed:
                found = [one for (of, _), one in sorted(server.objects.items()) if of == kind]
                start = int(asked.get("continue", "0"))
                limit = min(int(asked["limit"]), server.page)
                more = {"continue": str(start + limit)} if start + limit < len(found) else {}
                items = [
                    {key: value for key, value in one.items() if key != "kind"} for one in found[start : start + limit]
                ]
                document = {"metadata": {"resourceVersion": str(server.version), **more}, "items": items}
            self._json(document)

        def _watch(self, kind: str, version: int) -> None:
            self.send_response(200)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            until = time.monotonic() + server.watch_seconds
            if version < server.oldest:
                self._event("ERROR", {"kind": "Status", "code": 410, "message": "too old resource version"})
            else:
                while time.monotonic() < until and not server.answer:
                    with server.changed:
                        news = [one for one in server.events if one[0] > version and one[2] == kind]
                        if not news:
                            server.changed.wait(0.05)
                    for number, of, _, one in news:
                        self._event(of, one)
                        version = number
            self.wfile.write(b"0\r\n\r\n")

        def _event(self, of: str, one: dict[str, Any]) -> None:
            line = json.dumps({"type": of, "object": one}).encode() + b"\n"
            self.wfile.write(f"{len(line):x}\r\n".encode() + line + b"\r\n")
            self.wfile.flush()

        def _json(self, document: Any) -> None:
            self._send(200, json.dumps(document))

        def _send(self, status: int, text: str) -> None:
            body = text.encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def date_time_string(self, timestamp: float | None = None) -> str:
            return format_datetime(server.now(), usegmt=True)

        def log_message(self, format: str, *args: Any) -> None:
            """Nobody reads it."""

        def handle(self) -> None:
            try:
                super().handle()
            except OSError:
                """The collector has left."""

    return Handler


@contextmanager
def running() -> Iterator[FakeServer]:
    """Start a server on a free port, and stop it."""
    http = ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler)
    http.daemon_threads = True
    server = FakeServer(http.server_address[1])
    http.RequestHandlerClass = _handler(server)
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.watch_seconds = 0
        http.shutdown()
        http.server_close()
        thread.join()
