"""A collector follows a real Kubernetes while jobs go through everything that matters, and is killed all the time.

What it recorded must be what an independent reading of etcd shows, to the second: it hears of every change of every pod
from the database below the API server, and is never killed. `make test-kubernetes`.
"""

import json
import random
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from collect.test_slurm_recorded import placements
from services import kubernetes_cluster
from services.kubernetes_cluster import COLLECTOR, NOBODY, History, KubernetesCluster
from soak import SCALE, announce

from trainfare.collect import kubernetes_kinds
from trainfare.store import Store

pytestmark = [
    pytest.mark.kubernetes,
    pytest.mark.skipif(kubernetes_cluster.missing() is not None, reason=str(kubernetes_cluster.missing())),
]

SETTINGS = '[[collector]]\nname = "lab"\nsystem = "kubernetes"\noptions = {{ kubeconfig = "{}" }}\n'
SECOND = timedelta(seconds=1)
LATE = timedelta(seconds=5)
"""By how much two that listen may hear of the same removal at different times, on a busy machine."""
TOLERATED = {"key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute"}
HELD = (
    "job_id, machine_id, started, attempt, ended, CAST(gpus AS INTEGER), json_extract_string(labels, '$.ended_between')"
)


@pytest.fixture(scope="module")
def cluster() -> Iterator[KubernetesCluster]:
    with kubernetes_cluster.running() as started:
        permit(started)
        for name, value in (("low", 100), ("high", 10_000)):
            body = {"metadata": {"name": name}, "value": value}
            started.call("POST", "/apis/scheduling.k8s.io/v1/priorityclasses", body)
        yield started


def permit(cluster: KubernetesCluster) -> None:
    """Give the collector the role that is printed for it, and nothing else."""
    import yaml

    role = yaml.safe_load("\n".join(kubernetes_kinds.role()))
    cluster.call("POST", "/apis/rbac.authorization.k8s.io/v1/clusterroles", role)
    binding = {
        "metadata": {"name": "trainfare"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "trainfare"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "collector"}],
    }
    cluster.call("POST", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", binding)


def job(cluster: KubernetesCluster, name: str, model: str, gpus: int, seconds: str, **more: Any) -> str:
    """Start a job. Its containers end after so many seconds, if any."""
    environment = {"RUN_SECONDS": seconds, "EXIT_CODE": more.pop("code", "0"), "REASON": more.pop("reason", "")}
    container = {
        "name": "train",
        "image": "registry.local/train:1",
        "env": [{"name": key, "value": value} for key, value in environment.items()],
        "resources": {"requests": {"cpu": "200m", "memory": "64Mi"}, "limits": {"nvidia.com/gpu": str(gpus)}},
    }
    spec = {
        "restartPolicy": "Never",
        "priorityClassName": more.pop("priority", "low"),
        "nodeSelector": {"nvidia.com/gpu.product": model},
        "tolerations": [TOLERATED | {"tolerationSeconds": 2}],
        "terminationGracePeriodSeconds": 3,
        "automountServiceAccountToken": False,
        "containers": [container],
    }
    count = more.pop("parallelism", 1)
    whole = {"backoffLimit": 2, "parallelism": count, "template": {"spec": spec}} | more
    body = {"metadata": {"name": name, "labels": {"team": f"team-{name}"}}, "spec": whole}
    cluster.call("POST", "/apis/batch/v1/namespaces/default/jobs", body)
    return name


def resize(cluster: KubernetesCluster, name: str, parallelism: int) -> None:
    path = f"/apis/batch/v1/namespaces/default/jobs/{name}"
    cluster.call("PATCH", path, {"spec": {"parallelism": parallelism}}, "application/merge-patch+json")


def remove(cluster: KubernetesCluster, path: str, **options: Any) -> None:
    cluster.call("DELETE", path, {"propagationPolicy": "Background", **options})


def pod_path(pod: Any) -> str:
    return f"/api/v1/namespaces/default/pods/{pod['metadata']['name']}"


def drive(cluster: KubernetesCluster, suffix: str) -> None:
    """Let jobs complete, fail, be preempted, evicted, resized, removed, and lose their node."""
    named = "{}-" + suffix
    running, over = ("Running",), ("Succeeded", "Failed")
    wide = job(cluster, named.format("wide"), "a100", 8, "20", parallelism=2, completions=2)
    cluster.wait_until(lambda: len(cluster.pods(wide, *running)) == 2, "both nodes are held")
    urgent = job(cluster, named.format("urgent"), "a100", 8, "5", priority="high")
    crash = job(cluster, named.format("crash"), "h100", 1, "2", code="17", backoffLimit=1)
    memory = job(cluster, named.format("memory"), "h100", 1, "2", code="137", reason="OOMKilled", backoffLimit=0)
    elastic = job(cluster, named.format("elastic"), "h100", 1, "", parallelism=3)
    job(cluster, named.format("waits"), "h100", 64, "1")
    cluster.wait_until(lambda: len(cluster.pods(elastic, *running)) == 3, "three pods of the elastic job run")
    resize(cluster, elastic, 1)
    cluster.wait_until(lambda: len(cluster.pods(elastic)) == 1, "one pod of the elastic job is left")
    resize(cluster, elastic, 2)
    cluster.wait_until(lambda: len(cluster.pods(elastic, *running)) == 2, "two pods of the elastic job run")
    evicted, forced = cluster.pods(elastic, *running)
    body = {"metadata": {"name": evicted["metadata"]["name"], "namespace": "default"}}
    cluster.call("POST", f"{pod_path(evicted)}/eviction", body)
    remove(cluster, pod_path(forced), gracePeriodSeconds=0)
    cluster.wait_until(lambda: cluster.pods(urgent, *over), "the urgent job is over")
    cluster.wait_until(lambda: cluster.pods(crash, "Failed") and cluster.pods(memory, "Failed"), "two jobs failed")
    cluster.wait_until(lambda: len(cluster.pods(wide, "Succeeded")) == 2, "the wide job is over")
    for name in (crash, elastic, named.format("waits")):
        remove(cluster, f"/apis/batch/v1/namespaces/default/jobs/{name}")


def lose_a_node(cluster: KubernetesCluster) -> None:
    """Let a node die under two pods; one is removed by force, the other with its node."""
    name = job(cluster, f"lost-{random.randrange(10**6)}", "h100", 2, "", parallelism=2)
    cluster.wait_until(lambda: len(cluster.pods(name, "Running")) == 2, "two pods run")
    first, _ = cluster.pods(name, "Running")
    cluster.stop("node-h100-0", 0.1)
    cluster.wait_until(lambda: not cluster.pods(name, "Running"), "the pods of the dead node are to be removed")
    remove(cluster, pod_path(first), gracePeriodSeconds=0)
    remove(cluster, "/api/v1/nodes/h100-0")
    path = f"/api/v1/namespaces/default/pods?labelSelector=job-name%3D{name}"
    remove(cluster, f"/apis/batch/v1/namespaces/default/jobs/{name}")
    cluster.wait_until(lambda: not cluster.call("GET", path)["items"], "nothing of the job is left")
    cluster.start_node("h100-0")
    cluster.equip("h100-0")


class Collecting(threading.Thread):
    """Collects again and again in a process of its own, which is killed at random moments."""

    def __init__(self, folder: Path, seed: int) -> None:
        super().__init__(daemon=True)
        self.folder, self.chance, self.over, self.kills = folder, random.Random(seed), threading.Event(), 0

    def run(self) -> None:
        while not self.over.is_set():
            process = collector(self.folder, "--every", "5s")
            self.over.wait(self.chance.uniform(4, 14))
            process.kill()
            process.communicate()
            self.kills += 1


def collector(folder: Path, *options: str) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "trainfare", "collect", "-w", str(folder), *options]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


# The independent reading


def time_of(text: str) -> datetime:
    return datetime.fromisoformat(text)


def bound(pod: Any) -> datetime:
    return time_of(
        next(one["lastTransitionTime"] for one in pod["status"]["conditions"] if one["type"] == "PodScheduled")
    )


def written_end(pod: Any) -> datetime | None:
    """When a pod was over according to what is written in it."""
    statuses = pod["status"].get("containerStatuses", [])
    ends = [one["state"]["terminated"]["finishedAt"] for one in statuses if "terminated" in one["state"]]
    is_over = pod["status"]["phase"] in ("Succeeded", "Failed")
    if len(ends) == len(pod["spec"]["containers"]):
        return max(map(time_of, ends))
    if is_over:
        return max(time_of(one["lastTransitionTime"]) for one in pod["status"]["conditions"])
    return None


def expected(history: History) -> list[dict[str, Any]]:
    """What each pod held, and until when: either as it is written, or as it was removed, or with its node."""
    nodes = [one for one in history.states.values() if "spec" in one and "containers" not in one["spec"]]
    pods = [one for one in history.states.values() if "containers" in one["spec"] and one["spec"].get("nodeName")]
    found = []
    for pod in pods:
        uid = pod["metadata"]["uid"]
        is_over = pod["status"]["phase"] in ("Succeeded", "Failed")
        removed = history.removed.get(uid)
        written = written_end(pod) if is_over or removed else None
        gone = [
            history.removed[node["metadata"]["uid"]]
            for node in nodes
            if node["metadata"]["name"] == pod["spec"]["nodeName"] and node["metadata"]["uid"] in history.removed
        ]
        lost = min((time for time in gone if time >= bound(pod)), default=None)
        heard = min((time for time in (removed, lost) if time and not written), default=None)
        found.append(
            {
                "job": f"default/{pod['metadata']['ownerReferences'][0]['name']}",
                "node": pod["spec"]["nodeName"],
                "started": bound(pod),
                "created": time_of(pod["metadata"]["creationTimestamp"]),
                "gpus": int(pod["spec"]["containers"][0]["resources"]["limits"]["nvidia.com/gpu"]),
                "written": written,
                "heard": heard,
            }
        )
    return found


def differences(history: History, rows: list[tuple[Any, ...]]) -> list[str]:
    """Pair what was recorded with what happened; return what is different, in words."""
    left = [(*(one.replace(tzinfo=UTC) if isinstance(one, datetime) else one for one in row),) for row in rows]
    wrong = []
    for pod in expected(history):
        same = [row for row in left if row[:3] == (pod["job"], pod["node"], pod["started"]) and row[5] == pod["gpus"]]
        fitting = [row for row in same if fits(pod, row[4], row[6])]
        if fitting:
            left.remove(fitting[0])
        else:
            wrong.append(f"{pod} is none of {same}")
    return wrong + [f"{row} never happened" for row in left]


def fits(pod: dict[str, Any], ended: datetime | None, between: str | None) -> bool:
    if between:
        # Nobody recorded what was written in it before it was removed.
        low, high = map(time_of, between.split(" and "))
        over = pod["heard"] or pod["written"]
        return bool(over) and ended == low and low - SECOND <= over <= high + SECOND
    if pod["written"] or not pod["heard"]:
        return bool(ended == pod["written"])
    return ended is not None and abs(ended - pod["heard"]) <= LATE


def sealed(folder: Path, errors: str = "") -> list[tuple[Any, ...]]:
    """Collect once more, and return what was recorded."""
    last = collector(folder, "--seal")
    _, errors = last.communicate(timeout=300)
    assert last.returncode == 0, errors
    with Store.open(folder) as store:
        return placements(store).rows(f"SELECT {HELD} FROM read")


def test_a_killed_collector_records_what_happened_to_every_pod(cluster: KubernetesCluster, tmp_path: Path) -> None:
    seed, rounds = random.randrange(10**6), max(SCALE // 2, 1)
    announce("kubernetes", rounds)
    history = History(cluster)
    history.start()
    (tmp_path / "trainfare.toml").write_text(SETTINGS.format(cluster.kubeconfig(COLLECTOR)), encoding="utf-8")
    assert history.opened.wait(60)
    watching = Collecting(tmp_path, seed)
    watching.start()
    try:
        for number in range(rounds):
            drive(cluster, str(number))
            cluster.stop("api")
            cluster.start_api()
            lose_a_node(cluster)
    finally:
        watching.over.set()
        watching.join()
    time.sleep(3)
    rows = sealed(tmp_path)
    between = sum(1 for row in rows if row[6])
    print(f"{len(rows)} placements, {between} of them ended between two times; {watching.kills} kills, seed {seed}")
    assert differences(history, rows) == [], f"seed {seed}, {watching.kills} kills"
    assert watching.kills >= 3
    assert len(rows) >= 12 * rounds
    exact = [row for row in rows if row[4] and not row[6]]
    assert len(exact) >= len(rows) / 2, "most ends are known to the second"
    assert {row[0].split("-")[0] for row in rows} >= {"default/wide", "default/urgent", "default/crash", "default/lost"}


def test_permissions_that_are_missing_are_named(cluster: KubernetesCluster, tmp_path: Path) -> None:
    (tmp_path / "trainfare.toml").write_text(SETTINGS.format(cluster.kubeconfig(NOBODY)), encoding="utf-8")
    process = collector(tmp_path)
    _, errors = process.communicate(timeout=300)
    assert process.returncode == 4
    assert "does not permit it to list and watch nodes and pods and jobs.batch" in errors
    assert '- {apiGroups: [""], resources: [nodes, pods], verbs: [list, watch]}' in errors


def test_a_token_that_the_cluster_does_not_know(cluster: KubernetesCluster, tmp_path: Path) -> None:
    (tmp_path / "trainfare.toml").write_text(SETTINGS.format(cluster.kubeconfig("wrong")), encoding="utf-8")
    process = collector(tmp_path)
    _, errors = process.communicate(timeout=300)
    assert process.returncode == 4
    assert errors.startswith("collector lab: the API server does not accept the credentials\n")


def test_a_pod_that_was_removed_while_nobody_listened_ended_between_two_times(
    cluster: KubernetesCluster, tmp_path: Path
) -> None:
    history = History(cluster)
    history.start()
    (tmp_path / "trainfare.toml").write_text(SETTINGS.format(cluster.kubeconfig(COLLECTOR)), encoding="utf-8")
    name = job(cluster, "unheard", "a100", 1, "")
    (pod,) = cluster.wait_until(lambda: cluster.pods(name, "Running"), "a pod runs")
    sealed(tmp_path)
    time.sleep(4)
    remove(cluster, pod_path(pod), gracePeriodSeconds=0)
    cluster.wait_until(lambda: pod["metadata"]["uid"] in history.removed, "it is removed")
    time.sleep(3)
    (row,) = [row for row in sealed(tmp_path) if row[0] == f"default/{name}" and row[6]]
    (happened,) = [one for one in expected(history) if one["job"] == f"default/{name}" and one["heard"]]
    remove(cluster, f"/apis/batch/v1/namespaces/default/jobs/{name}")
    assert fits(happened, row[4].replace(tzinfo=UTC), row[6])


CREATE = {
    "ServiceAccount": "/api/v1/namespaces/trainfare/serviceaccounts",
    "ClusterRole": "/apis/rbac.authorization.k8s.io/v1/clusterroles",
    "ClusterRoleBinding": "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
    "ConfigMap": "/api/v1/namespaces/trainfare/configmaps",
    "PersistentVolumeClaim": "/api/v1/namespaces/trainfare/persistentvolumeclaims",
    "Deployment": "/apis/apps/v1/namespaces/trainfare/deployments",
}


@pytest.mark.parametrize(("token", "is_missing"), [(COLLECTOR, False), (NOBODY, True)])
def test_the_manifest_of_init_is_accepted_and_permissions_are_as_reported(
    cluster: KubernetesCluster, tmp_path: Path, token: str, is_missing: bool
) -> None:
    import yaml

    command = [sys.executable, "-m", "trainfare", "init", str(tmp_path / "w"), "--kubernetes"]
    done = subprocess.run(
        [*command, "--kubeconfig", str(cluster.kubeconfig(token))], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert ("missing: not permitted: list and watch nodes, pods, jobs.batch;" in done.stderr) is is_missing
    namespace, *documents = yaml.safe_load_all(done.stdout)
    if not is_missing:
        cluster.call("POST", "/api/v1/namespaces", namespace)
    assert {one["kind"] for one in documents} == {*CREATE}
    for one in documents:
        one["metadata"]["name"] += "-again"  # the role itself exists already
        cluster.call("POST", f"{CREATE[one['kind']]}?dryRun=All", one)


@pytest.mark.parametrize("off_by", [3, 20])
def test_the_comparison_notices_an_end_that_is_wrong(off_by: int) -> None:
    """The check of the check: another second is fine for what was heard, and nothing is for what is written."""
    end = datetime(2026, 10, 1, 12, tzinfo=UTC)
    heard = {"written": None, "heard": end}
    assert fits(heard, end + SECOND, None)
    assert not fits(heard, end + off_by * SECOND, None)
    assert not fits({"written": end, "heard": None}, end + SECOND, None)
    assert not fits(heard, end - 9 * SECOND, "2026-10-01T11:00:00Z and 2026-10-01T11:59:50Z")


BILL = (
    "BilledCost,EffectiveCost,BillingCurrency,ChargeCategory,ServiceCategory,BillingPeriodStart,BillingPeriodEnd,"
    "ChargePeriodStart,ChargePeriodEnd,ResourceId\n"
)


def test_a_newcomer_gets_from_a_cluster_and_its_bill_to_cost(cluster: KubernetesCluster, tmp_path: Path) -> None:
    """As on the page: init, collect, build. Every node costs 24 million for the day, so that seconds show."""
    workspace, now = tmp_path / "costs", datetime.now(UTC)
    name = job(cluster, "newcomer", "a100", 4, "4")
    cluster.wait_until(lambda: cluster.pods(name, "Succeeded"), "the job is over")
    (pod,) = cluster.pods(name, "Succeeded")

    def trainfare(*arguments: str) -> str:
        done = subprocess.run([sys.executable, "-m", "trainfare", *arguments], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    trainfare("init", str(workspace), "--kubernetes", "--kubeconfig", str(cluster.kubeconfig()))
    trainfare("collect", "-w", str(workspace))
    month, after = now.strftime("%Y-%m-01"), (now.replace(day=1) + timedelta(days=32)).strftime("%Y-%m-01")
    day, next_day = now.strftime("%Y-%m-%d"), (now + timedelta(days=1)).strftime("%Y-%m-%d")
    times = ",".join(f"{one}T00:00:00Z" for one in (month, after, day, next_day))
    lines = [f"24000000.00,24000000.00,USD,Usage,Compute,{times},{node}\n" for node in kubernetes_cluster.NODES]
    (workspace / "bill.csv").write_text(BILL + "".join(lines), encoding="utf-8")
    with (workspace / "trainfare.toml").open("a", encoding="utf-8") as settings:
        settings.write('\n[[source]]\nname = "cloud"\npath = "bill.csv"\n')
    trainfare("build", "-w", str(workspace))
    explained = json.loads(trainfare("explain", name, "-w", str(workspace), "--format", "json"))
    seconds = ((written_end(pod) or now) - bound(pod)).total_seconds()
    joined = time_of(cluster.node(pod["spec"]["nodeName"])["metadata"]["creationTimestamp"])
    existed = time_of(f"{next_day}T00:00:00Z") - joined
    expected_cost = Fraction(24_000_000) * Fraction(int(seconds) * 4, int(existed.total_seconds()) * 8)
    assert abs(Fraction(explained["cost"]) - expected_cost) <= Fraction(1, 100), "to the cent"
    trainfare("reconcile", "-w", str(workspace))
