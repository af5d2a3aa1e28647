"""A real Kubernetes 1.20 on loopback: etcd, API server, scheduler, controllers, and hollow nodes with GPUs.

`make kubernetes` builds the programs once, outside the repository. Hollow nodes are real kubelets over containers that
only pretend to run: a pod says in its environment when its containers end and how. Everything else, such as phases,
Jobs, preemption and eviction, is that of Kubernetes.
"""

import base64
import json
import os
import ssl
import subprocess
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from .ports import free_port, free_ports

NUMBER = "1.20.2-1"
"""The version, and a number to be raised when something else is built."""
PROGRAMS = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubemark")
PATIENCE_SECONDS = 180
ADMIN, COLLECTOR, NOBODY = "token-of-admin", "token-of-collector", "token-of-nobody"
NODES = {"a100-0": ("a100", 8), "a100-1": ("a100", 8), "h100-0": ("h100", 8), "cpu-0": ("none", 0)}
"""The nodes: which GPUs they have, and how many."""


def installed() -> Path:
    cache = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(cache) / "trainfare" / f"kubernetes-{NUMBER}"


def missing() -> str | None:
    """Return why no cluster can be started here; None if one can."""
    absent = [name for name in PROGRAMS if not (installed() / "bin" / name).exists()]
    return f"Kubernetes is not built ({', '.join(absent)}): make kubernetes, about 10 minutes" if absent else None


@dataclass
class KubernetesCluster:
    folder: Path
    api_port: int
    etcd_port: int
    processes: dict[str, "subprocess.Popen[bytes]"] = field(default_factory=dict)

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.api_port}"

    def call(self, method: str, path: str, body: Any = None, kind: str = "application/json") -> Any:
        """Send a request as the administrator; return the answer. A server that is starting is asked again."""
        data = json.dumps(body).encode() if body is not None else None
        headers = {"Authorization": f"Bearer {ADMIN}", "Content-Type": kind}
        context = ssl._create_unverified_context()
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            request = urllib.request.Request(self.url + path, data, headers, method=method)
            try:
                with urllib.request.urlopen(request, context=context, timeout=30) as response:
                    return json.loads(response.read())
            except urllib.error.HTTPError as error:
                text = error.read().decode(errors="replace")
                if (error.code < 500 and error.code != 429) or time.monotonic() > deadline:
                    raise RuntimeError(f"{method} {path}: {error.code} {text[:500]}") from None
            except OSError:
                if time.monotonic() > deadline:
                    raise
            time.sleep(0.2)

    def kubeconfig(self, token: str = COLLECTOR) -> Path:
        path = self.folder / f"kubeconfig-{token}"
        cluster = {"server": self.url, "insecure-skip-tls-verify": True}
        document = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "lab",
            "clusters": [{"name": "lab", "cluster": cluster}],
            "users": [{"name": "me", "user": {"token": token}}],
            "contexts": [{"name": "lab", "context": {"cluster": "lab", "user": "me"}}],
        }
        path.write_text(json.dumps(document), encoding="utf-8")
        return path

    def start(self, name: str, program: str, *options: str) -> None:
        command = [str(installed() / "bin" / program), *options]
        with (self.folder / f"{name}.log").open("ab") as log:
            environment = {**os.environ, "HOME": str(self.folder)}
            self.processes[name] = subprocess.Popen(
                command, stdout=log, stderr=log, stdin=subprocess.DEVNULL, cwd=self.folder, env=environment
            )

    def stop(self, name: str, seconds: float = 10.0) -> None:
        """End a process by its id: at once if it takes too long."""
        process = self.processes.pop(name)
        process.terminate()
        try:
            process.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(timeout=30)

    def start_api(self) -> None:
        pki = self.folder / "pki"
        self.start(
            "api",
            "kube-apiserver",
            f"--etcd-servers=http://127.0.0.1:{self.etcd_port}",
            "--storage-media-type=application/json",
            *("--bind-address=127.0.0.1", "--advertise-address=127.0.0.1", f"--secure-port={self.api_port}"),
            *("--insecure-port=0", f"--cert-dir={pki}", f"--token-auth-file={pki / 'tokens.csv'}"),
            *("--authorization-mode=Node,RBAC", "--service-cluster-ip-range=10.96.0.0/16"),
            *("--service-account-issuer=https://kubernetes.default.svc", "--disable-admission-plugins=ServiceAccount"),
            *(f"--service-account-key-file={pki / 'sa.key'}", f"--service-account-signing-key-file={pki / 'sa.key'}"),
        )
        self.wait_until(lambda: self.call("GET", "/api/v1/nodes?limit=1"), "the API server answers")

    def start_node(self, name: str) -> None:
        model, _ = NODES[name]
        labels = f"nvidia.com/gpu.product={model},topology.kubernetes.io/region=us-east-1,karpenter.sh/nodepool={model}"
        self.start(
            f"node-{name}",
            "kubemark",
            *("--morph=kubelet", f"--name={name}", f"--kubeconfig={self.kubeconfig(ADMIN)}"),
            *(f"--kubelet-port={free_port()}", f"--kubelet-read-only-port={free_port()}", f"--node-labels={labels}"),
        )

    def equip(self, name: str) -> None:
        """Give a node its GPUs, in the documented way for extended resources."""
        _, gpus = NODES[name]
        self.wait_until(lambda: self.node(name), f"node {name} joins")
        if gpus:
            paths = [f"/status/{part}/nvidia.com~1gpu" for part in ("capacity", "allocatable")]
            patch = [{"op": "add", "path": path, "value": str(gpus)} for path in paths]
            self.call("PATCH", f"/api/v1/nodes/{name}/status", patch, "application/json-patch+json")
        self.wait_until(lambda: self._is_ready(name), f"node {name} is ready")

    def node(self, name: str) -> Any:
        return next(
            (one for one in self.call("GET", "/api/v1/nodes")["items"] if one["metadata"]["name"] == name), None
        )

    def _is_ready(self, name: str) -> bool:
        conditions = (self.node(name) or {}).get("status", {}).get("conditions", ())
        return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)

    def pods(self, job: str, *phases: str) -> list[Any]:
        """The pods of a job that are in one of these phases and are not being removed."""
        path = f"/api/v1/namespaces/default/pods?labelSelector=job-name%3D{job}"
        found = [one for one in self.call("GET", path)["items"] if not one["metadata"].get("deletionTimestamp")]
        return [one for one in found if not phases or one["status"]["phase"] in phases]

    def wait_until(self, condition: Callable[[], Any], what: str) -> Any:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not (found := condition()):
            for name, process in self.processes.items():
                if process.poll() is not None:
                    log = (self.folder / f"{name}.log").read_text(encoding="utf-8", errors="replace")
                    raise RuntimeError(f"{name} ended: {log[-2000:]}")
            if time.monotonic() > deadline:
                raise TimeoutError(f"not within {PATIENCE_SECONDS} s: {what}")
            time.sleep(0.3)
        return found


@contextmanager
def running() -> Iterator[KubernetesCluster]:
    """Start a cluster on free ports; stop all of it by process ids."""
    with tempfile.TemporaryDirectory(prefix="k8s-", ignore_cleanup_errors=True) as made:
        cluster = KubernetesCluster(Path(made), *free_ports(2))
        try:
            _start(cluster)
            yield cluster
        finally:
            for name in reversed([*cluster.processes]):
                cluster.stop(name, 3.0)


def _start(cluster: KubernetesCluster) -> None:
    pki = cluster.folder / "pki"
    pki.mkdir()
    subprocess.run(["openssl", "genrsa", "-out", pki / "sa.key", "2048"], check=True, capture_output=True)
    people = (f'{ADMIN},admin,admin,"system:masters"', f"{COLLECTOR},collector,collector", f"{NOBODY},nobody,nobody")
    (pki / "tokens.csv").write_text("\n".join(people) + "\n", encoding="utf-8")
    etcd, peer = f"http://127.0.0.1:{cluster.etcd_port}", f"http://127.0.0.1:{free_port()}"
    cluster.start(
        "etcd",
        "etcd",
        *(f"--data-dir={cluster.folder / 'etcd'}", "--unsafe-no-fsync"),
        *(f"--listen-client-urls={etcd}", f"--advertise-client-urls={etcd}"),
        *(f"--listen-peer-urls={peer}", f"--initial-advertise-peer-urls={peer}", f"--initial-cluster=default={peer}"),
    )
    cluster.start_api()
    admin = f"--kubeconfig={cluster.kubeconfig(ADMIN)}"
    ports = free_ports(2)
    local = ("--leader-elect=false", "--port=0", "--bind-address=127.0.0.1", f"--cert-dir={pki}")
    cluster.start(
        "controllers",
        "kube-controller-manager",
        *(admin, *local, f"--secure-port={ports[0]}", f"--service-account-private-key-file={pki / 'sa.key'}"),
        *("--node-monitor-grace-period=20s", "--pod-eviction-timeout=20s"),
    )
    cluster.start("scheduler", "kube-scheduler", admin, *local, f"--secure-port={ports[1]}")
    for name in NODES:
        cluster.start_node(name)
    for name in NODES:
        cluster.equip(name)


class History(threading.Thread):
    """Everything that happens to pods and nodes, read from etcd itself: also while the API server is down."""

    def __init__(self, cluster: KubernetesCluster) -> None:
        super().__init__(daemon=True)
        self.port, self.opened = cluster.etcd_port, threading.Event()
        self.states: dict[str, dict[str, Any]] = {}
        """The last state of each object, by uid."""
        self.removed: dict[str, datetime] = {}

    def run(self) -> None:
        for kind in ("pods", "minions"):
            threading.Thread(target=self._follow, args=(kind,), daemon=True).start()

    def _follow(self, kind: str) -> None:
        first, last = (
            base64.b64encode(text.encode()).decode() for text in (f"/registry/{kind}/", f"/registry/{kind}0")
        )
        asked = {"create_request": {"key": first, "range_end": last, "prev_kv": True, "start_revision": 1}}
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}/v3/watch", json.dumps(asked).encode())
        try:
            with urllib.request.urlopen(request) as response:
                self.opened.set()
                for line in response:
                    for event in json.loads(line).get("result", {}).get("events", ()):
                        self._note(event, datetime.now(UTC))
        except OSError:
            """The cluster has been stopped."""

    def _note(self, event: dict[str, Any], now: datetime) -> None:
        is_removal = event.get("type") == "DELETE"
        stored = json.loads(base64.b64decode(event["prev_kv" if is_removal else "kv"]["value"]))
        uid = stored["metadata"]["uid"]
        self.states[uid] = stored
        if is_removal:
            self.removed[uid] = now
