"""Measure what it takes to record a day of a Kubernetes cluster, and to turn the recording into placements.

    python bench/collect.py [--nodes 5000] [--pods 100000]

A server in a process of its own plays a day as fast as it is read: every node reports its status every 5 minutes, every
pod is created, bound, started, completed and removed. The collector records it through list and watch, as from a real
API server, and seals it; then the recording is folded. Prints processor seconds and peak memory of both, which the
server is not part of.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

DAY = datetime(2026, 10, 1, tzinfo=UTC)
STEPS = 5
"""Events in the life of a pod."""
HEARTBEATS = 288
PATHS = {"/api/v1/pods": "Pod", "/api/v1/nodes": "Node", "/apis/batch/v1/jobs": "Job"}
PADDING: dict[str, Any] = {"f:spec": {f"f:field{number}": {"f:name": {}, "f:value": {}} for number in range(60)}}
"""What nobody reads, and every object has: about 2 KB."""


def node(number: int, beat: int, version: int) -> dict[str, Any]:
    heard = (DAY + timedelta(minutes=5 * beat)).strftime("%Y-%m-%dT%H:%M:%SZ")
    condition = {"type": "Ready", "status": "True", "lastHeartbeatTime": heard, "lastTransitionTime": at(0)}
    return {
        "metadata": {
            "name": f"node-{number}",
            "uid": f"node-uid-{number}",
            "resourceVersion": str(version),
            "creationTimestamp": at(0),
            "labels": {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3", "karpenter.sh/nodepool": "gpu"},
            "managedFields": [PADDING, PADDING],
        },
        "spec": {"providerID": f"aws:///us-east-1a/i-{number:017x}"},
        "status": {
            "capacity": {"cpu": "192", "memory": "2Ti", "nvidia.com/gpu": "8"},
            "conditions": [condition],
            "images": [{"names": [f"registry/image-{one}@sha256:{'a' * 64}"]} for one in range(20)],
        },
    }


def pod(number: int, step: int, version: int, nodes: int, pods: int) -> dict[str, Any]:
    start = number * 80_000 // pods
    conditions = [{"type": "PodScheduled", "status": "True", "lastTransitionTime": at(start + 2)}] if step else []
    ended = {"state": {"terminated": {"exitCode": 0, "reason": "Completed", "finishedAt": at(start + 3600)}}}
    owner = {"kind": "Job", "name": f"job-{number // 8}", "uid": f"job-uid-{number // 8}", "controller": True}
    environment = [{"name": f"VARIABLE_{one}", "value": "x" * 40} for one in range(30)]
    requests = {"cpu": "20", "memory": "200Gi", "nvidia.com/gpu": "1"}
    return {
        "metadata": {
            "name": f"pod-{number}",
            "namespace": "training",
            "uid": f"pod-uid-{number}",
            "resourceVersion": str(version),
            "creationTimestamp": at(start),
            "labels": {"team": f"team-{number % 20}", "job-name": f"job-{number // 8}"},
            "ownerReferences": [owner],
            "managedFields": [PADDING],
        },
        "spec": {
            **({"nodeName": f"node-{number % nodes}"} if step else {}),
            "containers": [{"name": "train", "env": environment, "resources": {"requests": requests}}],
        },
        "status": {
            "phase": ("Pending", "Pending", "Running", "Succeeded", "Succeeded")[step],
            "conditions": conditions,
            "containerStatuses": [ended if step >= 3 else {"state": {}}],
        },
    }


def at(seconds: int) -> str:
    return (DAY + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")


def history(kind: str, nodes: int, pods: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the events of a kind in a day; their versions count from 1,000,000 on."""
    version = 1_000_000
    if kind == "Node":
        for beat in range(HEARTBEATS):
            for number in range(nodes):
                version += 1
                yield "MODIFIED", node(number, beat, version)
    if kind == "Pod":
        lag = max(pods // 24, 1)  # a pod runs for an hour, so others begin before it ends
        for turn in range(pods + lag):
            for step, number in ((0, turn), (1, turn), (2, turn), (3, turn - lag), (4, turn - lag)):
                if 0 <= number < pods:
                    version += 1
                    of = ("ADDED", "MODIFIED", "MODIFIED", "MODIFIED", "DELETED")[step]
                    yield of, pod(number, step, version, nodes, pods)


def serve(nodes: int, pods: int) -> None:
    """Play the API server; print the port."""
    begun: set[str] = set()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            url = urlsplit(self.path)
            asked = {name: values[0] for name, values in parse_qs(url.query).items()}
            if "watch" in asked:
                self.watch(PATHS[url.path])
            elif url.path == "/apis":
                batch = {"groupVersion": "batch/v1"}
                self.send({"groups": [{"name": "batch", "versions": [batch], "preferredVersion": batch}]})
            elif url.path == "/apis/batch/v1":
                self.send({"resources": [{"name": "jobs"}]})
            elif url.path in PATHS:
                start, limit = int(asked.get("continue", "0")), int(asked["limit"])
                found = range(start, min(start + limit, nodes)) if PATHS[url.path] == "Node" else range(0)
                more = {"continue": str(start + limit)} if len(found) == limit and limit > 1 else {}
                items = [node(number, 0, number + 1) for number in found]
                version = "2000000000" if limit == 1 else "900000"  # everything is news that is under way
                self.send({"metadata": {"resourceVersion": version, **more}, "items": items})
            else:
                self.send({"metadata": {"uid": "bench"}})

        def watch(self, kind: str) -> None:
            self.send_response(200)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            if kind not in begun:
                begun.add(kind)
                for of, one in history(kind, nodes, pods):
                    line = json.dumps({"type": of, "object": one}).encode() + b"\n"
                    self.wfile.write(f"{len(line):x}\r\n".encode() + line + b"\r\n")
            self.wfile.flush()
            time.sleep(5)
            self.wfile.write(b"0\r\n\r\n")

        def send(self, document: Any) -> None:
            body = json.dumps(document).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            """Nobody reads it."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    print(server.server_address[1], flush=True)
    server.serve_forever()


def record(folder: Path, hours: float) -> None:
    """Record the day; its end is when nothing more comes."""
    from trainfare.collect import kubernetes
    from trainfare.collect.run import collect
    from trainfare.settings.collectors import CollectorSettings
    from trainfare.settings.config import Config
    from trainfare.store import Store

    kubernetes.PATIENCE_SECONDS = hours * 3600
    settings = CollectorSettings(name="bench", system="kubernetes", options={"kubeconfig": "kubeconfig"})
    with Store.open(folder) as store:
        print(f"recorded {collect(Config(folder=folder), settings, store, seal=True, wait_seconds=3)}")


def fold(folder: Path) -> None:
    from trainfare.engine.duckdb import DuckDB
    from trainfare.sources import deliveries
    from trainfare.store import Store

    with Store.open(folder) as store:
        engine = DuckDB()
        files = [deliveries.from_catalog(row, store.archive(row)) for _, row in store.catalog.recordings.segments()]
        deliveries.prepare_recordings(engine, files, print)
        print(f"folded into {engine.row('SELECT count(*) FROM recorded_placements')[0]} placements")


def measured(phase: str, folder: Path) -> None:
    """Run a phase in a process of its own, and print what it took."""
    started = time.monotonic()
    process = subprocess.Popen([sys.executable, __file__, "--phase", phase, "--folder", str(folder)])
    _, status, used = os.wait4(process.pid, 0)
    assert status == 0, f"{phase} failed"
    seconds = used.ru_utime + used.ru_stime
    print(f"{phase}: {seconds:.1f} processor s, {time.monotonic() - started:.1f} s, {used.ru_maxrss / 1024:.0f} MB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=5000)
    parser.add_argument("--pods", type=int, default=100_000)
    parser.add_argument("--phase", choices=("serve", "record", "fold"))
    parser.add_argument("--folder", type=Path)
    chosen = parser.parse_args()
    if chosen.phase == "serve":
        serve(chosen.nodes, chosen.pods)
    elif chosen.phase:
        {"record": lambda: record(chosen.folder, 24), "fold": lambda: fold(chosen.folder)}[chosen.phase]()
    else:
        run(chosen.nodes, chosen.pods)


def run(nodes: int, pods: int) -> None:
    events = nodes * HEARTBEATS + pods * STEPS
    print(f"{nodes:,} nodes, {pods:,} pods, {events:,} events")
    command = [sys.executable, __file__, "--phase", "serve", "--nodes", str(nodes), "--pods", str(pods)]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout
        port = int(server.stdout.readline())
        with tempfile.TemporaryDirectory(prefix="bench-collect-") as made:
            kubeconfig = {
                "current-context": "bench",
                "clusters": [{"name": "bench", "cluster": {"server": f"http://127.0.0.1:{port}"}}],
                "contexts": [{"name": "bench", "context": {"cluster": "bench"}}],
            }
            (Path(made) / "kubeconfig").write_text(json.dumps(kubeconfig), encoding="utf-8")
            for phase in ("record", "fold"):
                measured(phase, Path(made))
    finally:
        server.terminate()
        server.wait(timeout=30)


if __name__ == "__main__":
    main()
