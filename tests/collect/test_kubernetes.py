"""Kubernetes objects give the placements and machines that they must: one edge case each."""

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainfare.engine.duckdb import DuckDB, parquet
from trainfare.errors import BadInputError, Problems
from trainfare.sources import registry
from trainfare.sources.protocol import ArchivedFile, ReadOptions
from trainfare.sources.recordings import recording
from trainfare.sources.schedulers import kubernetes_amounts as amounts
from trainfare.sources.schedulers import kubernetes_pods
from trainfare.tables import MACHINES, PLACEMENTS

from .kubernetes_objects import HOUR, claim, node, pod

SAMPLES = Path(__file__).parents[3] / "shared" / "data" / "samples" / "kubernetes"


def held(*objects: dict[str, Any]) -> list[tuple[Any, ...]]:
    """Job, attempt, hours, GPUs and state of each placement of these objects, in order."""
    kinds = {kind: [one for one in objects if one["kind"] == kind] for kind in ("Pod", "Node", "ResourceClaim")}
    rows = kubernetes_pods.placements(enumerate(kinds["Pod"], 1), kinds["Node"], kinds["ResourceClaim"])
    return sorted(
        (row["job_id"], row["attempt"], _hour(row["started"]), _hour(row["ended"]), _plain(row["gpus"]), row["state"])
        for row in rows
    )


def _hour(time: str | None) -> int:
    return int(time[11:13]) if time else -1


def _plain(value: Decimal | None) -> str:
    return "unknown" if value is None else f"{value.normalize():f}"


JOBSET = {"jobset.sigs.k8s.io/jobset-name": "bert"}
RETRY = "jobset.sigs.k8s.io/restart-attempt"
TORCH = {"training.kubeflow.org/job-name": "bert", "training.kubeflow.org/operator-name": "pytorchjob-controller"}
REPLICA, INDEX = "training.kubeflow.org/replica-type", "training.kubeflow.org/replica-index"
RAY = {"ray.io/cluster": "c1", "ray.io/originated-from-crd": "RayJob", "ray.io/originated-from-cr-name": "tune"}
VOLCANO = {"volcano.sh/job-name": "bert"}
ARGO = {"workflows.argoproj.io/workflow": "flow"}
STEP = "workflows.argoproj.io/node-name"
COMPLETION = "batch.kubernetes.io/job-completion-index"
JOB = ("Job", "bert")
SPARE = {"reason": "PreemptionByScheduler", "type": "DisruptionTarget", "status": "True"}

OWNERS: dict[str, tuple[list[dict[str, Any]], list[tuple[Any, ...]]]] = {
    "a plain pod is a job": ([pod("a", 1, 3)], [("ml/a", 1, 1, 3, "1", "completed")]),
    "a plain pod that is created again is tried again": (
        [pod("a", 1, 2, "Failed", uid="x"), pod("a", 3, 4, uid="y")],
        [("ml/a", 1, 1, 2, "1", "failed"), ("ml/a", 2, 3, 4, "1", "completed")],
    ),
    "pods of a Job next to each other are one attempt": (
        [pod("p", 1, 3, owner=JOB), pod("q", 1, 3, owner=JOB)],
        [("ml/bert", 1, 1, 3, "1", "completed"), ("ml/bert", 1, 1, 3, "1", "completed")],
    ),
    "a pod of a Job after one that failed is the next attempt": (
        [pod("p", 1, 2, "Failed", owner=JOB), pod("q", 2, 4, owner=JOB)],
        [("ml/bert", 1, 1, 2, "1", "failed"), ("ml/bert", 2, 2, 4, "1", "completed")],
    ),
    "an index of a Job is retried by itself": (
        [
            pod("p0", 1, 4, owner=JOB, labels={COMPLETION: "0"}),
            pod("p1", 1, 2, "Failed", owner=JOB, labels={COMPLETION: "1"}),
            pod("p2", 2, 4, owner=JOB, labels={COMPLETION: "1"}),
        ],
        [
            ("ml/bert", 1, 1, 2, "1", "failed"),
            ("ml/bert", 1, 1, 4, "1", "completed"),
            ("ml/bert", 2, 2, 4, "1", "completed"),
        ],
    ),
    "a restart of a JobSet is an attempt of all its pods": (
        [
            pod("a", 1, 2, "Failed", labels=JOBSET | {RETRY: "0"}),
            pod("b", 1, 2, "Failed", labels=JOBSET | {RETRY: "0"}),
            pod("c", 3, 4, labels=JOBSET | {RETRY: "1"}),
        ],
        [
            ("ml/bert", 1, 1, 2, "1", "failed"),
            ("ml/bert", 1, 1, 2, "1", "failed"),
            ("ml/bert", 2, 3, 4, "1", "completed"),
        ],
    ),
    "a TrainJob has the name of its JobSet, and the restart as an annotation": (
        [pod("a", 1, 2, labels=JOBSET, annotations={RETRY: "2"}, owner=("Job", "bert-node-0"))],
        [("ml/bert", 3, 1, 2, "1", "completed")],
    ),
    "a worker of a PyTorchJob is retried by itself": (
        [
            pod("m", 1, 4, labels=TORCH | {REPLICA: "master", INDEX: "0"}),
            pod("w", 1, 2, "Failed", uid="w1", labels=TORCH | {REPLICA: "worker", INDEX: "0"}),
            pod("w", 2, 4, uid="w2", labels=TORCH | {REPLICA: "worker", INDEX: "0"}),
        ],
        [
            ("ml/bert", 1, 1, 2, "1", "failed"),
            ("ml/bert", 1, 1, 4, "1", "completed"),
            ("ml/bert", 2, 2, 4, "1", "completed"),
        ],
    ),
    "the launcher of an MPIJob holds no GPU": (
        [pod("l", 1, 4, gpus=None, labels=TORCH | {REPLICA: "launcher", INDEX: "0"})],
        [("ml/bert", 1, 1, 4, "0", "completed")],
    ),
    "a new RayCluster is a retry of its RayJob": (
        [pod("h1", 1, 2, "Failed", labels=RAY), pod("h2", 3, 4, labels=RAY | {"ray.io/cluster": "c2"})],
        [("ml/tune", 1, 1, 2, "1", "failed"), ("ml/tune", 2, 3, 4, "1", "completed")],
    ),
    "a RayCluster without a RayJob is one attempt however its workers come and go": (
        [pod("w1", 1, 2, labels={"ray.io/cluster": "dev"}), pod("w2", 3, 4, labels={"ray.io/cluster": "dev"})],
        [("ml/dev", 1, 1, 2, "1", "completed"), ("ml/dev", 1, 3, 4, "1", "completed")],
    ),
    "a version of a Volcano job is an attempt": (
        [
            pod("a", 1, 2, "Failed", uid="1", labels=VOLCANO, annotations={"volcano.sh/job-version": "0"}),
            pod("a", 3, 4, uid="2", labels=VOLCANO, annotations={"volcano.sh/job-version": "1"}),
        ],
        [("ml/bert", 1, 1, 2, "1", "failed"), ("ml/bert", 2, 3, 4, "1", "completed")],
    ),
    "a retried step of an Argo workflow is an attempt": (
        [
            pod("a", 1, 2, "Failed", labels=ARGO, annotations={STEP: "flow.train(0)"}),
            pod("b", 2, 3, labels=ARGO, annotations={STEP: "flow.train(1)"}),
            pod("c", 3, 4, labels=ARGO, annotations={STEP: "flow.eval"}),
        ],
        [
            ("ml/flow", 1, 1, 2, "1", "failed"),
            ("ml/flow", 1, 3, 4, "1", "completed"),
            ("ml/flow", 2, 2, 3, "1", "completed"),
        ],
    ),
    "a pod group of Kueue is one job": (
        [
            pod("a", 1, 2, labels={"kueue.x-k8s.io/pod-group-name": "g"}),
            pod("b", 1, 2, labels={"kueue.x-k8s.io/pod-group-name": "g"}),
        ],
        [("ml/g", 1, 1, 2, "1", "completed"), ("ml/g", 1, 1, 2, "1", "completed")],
    ),
    "the same name in two namespaces is two jobs": (
        [pod("a", 1, 2, uid="x"), pod("a", 1, 2, uid="y", namespace="other")],
        [("ml/a", 1, 1, 2, "1", "completed"), ("other/a", 1, 1, 2, "1", "completed")],
    ),
    "a daemon set trains nothing": ([pod("a", 1, owner=("DaemonSet", "dcgm"))], []),
    "a static pod trains nothing": ([pod("a", 1, owner=("Node", "n1"))], []),
    "the system trains nothing": ([pod("a", 1, namespace="kube-system")], []),
}
ENDS: dict[str, tuple[list[dict[str, Any]], list[tuple[Any, ...]]]] = {
    "a running pod has no end": ([pod("a", 1)], [("ml/a", 1, 1, -1, "1", "running")]),
    "a pod that pulls its image holds its node": ([pod("a", 1, phase="Pending")], [("ml/a", 1, 1, -1, "1", "running")]),
    "a pod that is Terminating holds its node": (
        [{**pod("a", 1), "metadata": pod("a", 1)["metadata"] | {"deletionTimestamp": HOUR.format(2)}}],
        [("ml/a", 1, 1, -1, "1", "running")],
    ),
    "a pod that was never bound holds nothing": ([pod("a", None, phase="Pending", node=None)], []),
    "a pod that was preempted": (
        [pod("a", 1, 2, "Failed", conditions=[SPARE])],
        [("ml/a", 1, 1, 2, "1", "preempted")],
    ),
    "a pod that was evicted": (
        [pod("a", 1, 2, "Failed", status={"reason": "Evicted"})],
        [("ml/a", 1, 1, 2, "1", "preempted")],
    ),
    "a pod whose node was lost": (
        [pod("a", 1, 2, "Failed", conditions=[SPARE | {"reason": "DeletionByTaintManager"}])],
        [("ml/a", 1, 1, 2, "1", "node_failed")],
    ),
    "a pod that took too long": (
        [pod("a", 1, 2, "Failed", status={"reason": "DeadlineExceeded"})],
        [("ml/a", 1, 1, 2, "1", "timeout")],
    ),
    "a failed pod without a container ended when its state last changed": (
        [pod("a", 1, None, "Failed", conditions=[{"type": "Ready", "lastTransitionTime": HOUR.format(5)}])],
        [("ml/a", 1, 1, 5, "1", "failed")],
    ),
    "a pod without a condition started when its kubelet says": (
        [pod("a", None, 4, status={"startTime": HOUR.format(2)})],
        [("ml/a", 1, 2, 4, "1", "completed")],
    ),
}
A100 = "NVIDIA-A100-SXM4-40GB"
PRODUCT, REPLICAS = amounts.PRODUCT, amounts.REPLICAS


def asks(**requests: Any) -> dict[str, Any]:
    limits = {name.replace("__", "/").replace("_", "."): str(value) for name, value in requests.items()}
    return {"spec": {"containers": [{"resources": {"limits": limits}}]}}


MIG_1G, MIG_3G = {"nvidia.com/mig-1g.5gb": "2"}, {"nvidia.com/mig-3g.20gb": "1"}
GPUS: dict[str, tuple[list[dict[str, Any]], str]] = {
    "whole GPUs": ([pod("a", gpus=4)], "4"),
    "none": ([pod("a", gpus=None)], "0"),
    "a limit without a request": ([pod("a", **asks(amd_com__gpu=2))], "2"),
    "TPU chips": ([pod("a", **asks(google_com__tpu=4))], "4"),
    "slices of the mixed strategy": (
        [pod("a", spec={"containers": [{"resources": {"limits": MIG_1G}}, {"resources": {"limits": MIG_3G}}]})],
        "0.714285",
    ),
    "slices of an A30": (
        [pod("a", spec={"containers": [{"resources": {"limits": {"nvidia.com/mig-1g.6gb": "1"}}}]})],
        "0.25",
    ),
    "slices of the single strategy": ([pod("a", gpus=7), node(labels={PRODUCT: f"{A100}-MIG-1g.5gb"})], "1"),
    "replicas of a shared GPU": ([pod("a"), node(labels={PRODUCT: f"{A100}-SHARED", REPLICAS: "4"})], "0.25"),
    "replicas under their own name": (
        [pod("a", **asks(nvidia_com__gpu_shared=1)), node(labels={PRODUCT: A100, REPLICAS: "10"})],
        "0.1",
    ),
    "replicas of a slice": ([pod("a"), node(labels={PRODUCT: f"{A100}-MIG-1g.5gb-SHARED", REPLICAS: "2"})], "0.071428"),
    "shared by an unknown number": ([pod("a"), node(labels={PRODUCT: f"{A100}-SHARED"})], "unknown"),
    "a claim of two devices": (
        [pod("a", gpus=None, status={"resourceClaimStatuses": [{"resourceClaimName": "c"}]}), claim("c", devices=2)],
        "2",
    ),
    "a claim that two pods share": (
        [pod("a", gpus=None, status={"resourceClaimStatuses": [{"resourceClaimName": "c"}]}), claim("c", pods=2)],
        "0.5",
    ),
    "a claim with admin access": (
        [
            pod("a", gpus=None, status={"resourceClaimStatuses": [{"resourceClaimName": "c"}]}),
            claim("c", adminAccess=True),
        ],
        "0",
    ),
    "a claim that is named in the pod": (
        [pod("a", gpus=None, spec={"resourceClaims": [{"resourceClaimName": "c"}], "containers": []}), claim("c")],
        "1",
    ),
    "a GPU that only an init container asks for": (
        [pod("a", gpus=1, spec={"initContainers": [{"resources": {"requests": {"nvidia.com/gpu": "2"}}}]})],
        "2",
    ),
}


@pytest.mark.parametrize("case", [*OWNERS, *ENDS])
def test_pods_give_the_placements_of_their_job(case: str) -> None:
    objects, expected = (OWNERS | ENDS)[case]
    assert held(*objects) == expected


@pytest.mark.parametrize("case", GPUS)
def test_a_pod_holds_the_gpus_it_was_given(case: str) -> None:
    objects, expected = GPUS[case]
    assert [row[4] for row in held(*objects)] == [expected]


def test_there_are_enough_cases() -> None:
    assert len(OWNERS) + len(ENDS) + len(GPUS) >= 40


sizes = st.integers(0, 8)
inits = st.lists(st.tuples(sizes, st.booleans()), max_size=4)


@given(st.lists(sizes, min_size=1, max_size=3), inits, sizes)
def test_requests_count_as_in_a_timeline_of_what_runs_together(
    containers: list[int], init: list[tuple[int, bool]], overhead: int
) -> None:
    """The model: walk through the life of the pod, and note the most that runs at any moment."""
    most, staying = 0, 0
    for size, is_sidecar in init:
        most = max(most, staying + size)
        staying += size if is_sidecar else 0
    most = max(most, staying + sum(containers)) + overhead
    asked = [{"resources": {"requests": {"cpu": f"{size}000m"}}} for size in containers]
    first = [
        {"resources": {"requests": {"cpu": str(size)}}} | ({"restartPolicy": "Always"} if is_sidecar else {})
        for size, is_sidecar in init
    ]
    spec = {"containers": asked, "initContainers": first, "overhead": {"cpu": str(overhead)}}
    assert amounts.pod_requests(spec)["cpu"] == most


def test_resources_of_the_pod_replace_those_of_its_containers() -> None:
    spec = {"containers": [{"resources": {"requests": {"cpu": "1"}}}], "resources": {"requests": {"cpu": "3"}}}
    assert amounts.pod_requests(spec) == {"cpu": 3}


@pytest.mark.parametrize(
    ("text", "value"),
    [("500m", "1/2"), ("1Gi", "1073741824"), ("2k", "2000"), ("1e3", "1000"), ("0.1", "1/10"), ("3", "3")],
)
def test_a_quantity(text: str, value: str) -> None:
    assert str(amounts.quantity(text)) == value


@pytest.mark.parametrize("text", ["", "1 Gi", "many", "1GiB", "--1"])
def test_what_is_no_quantity(text: str) -> None:
    with pytest.raises(ValueError, match="is not a quantity"):
        amounts.quantity(text)


@pytest.mark.parametrize(
    ("provider", "resource"),
    [
        ("aws:///us-east-1a/i-0abc", "i-0abc"),
        ("gce://project/us-central1-a/gke-n1", "gke-n1"),
        ("azure:///subscriptions/s/virtualMachineScaleSets/x/virtualMachines/2",) * 2,
        ("ocid1.instance.oc1", "ocid1.instance.oc1"),
        (None, None),
    ],
)
def test_the_resource_of_a_provider_id(provider: str | None, resource: str | None) -> None:
    expected = resource.removeprefix("azure://") if resource else None
    assert kubernetes_pods.resource_id(provider) == expected


def test_a_node_is_a_machine_with_its_physical_gpus() -> None:
    shared = node(
        labels={PRODUCT: f"{A100}-SHARED", REPLICAS: "4", "karpenter.sh/nodepool": "gpu"},
        capacity={"nvidia.com/gpu": "32"},
    )
    (row,) = kubernetes_pods.machines([(1, shared)])
    assert (row["machine_id"], row["resource_id"], row["gpus"], row["pool"]) == ("n1", "i-0abc", 8, "gpu")


def test_labels_are_found_under_any_spelling_and_prefix() -> None:
    (row,) = kubernetes_pods.placements([(1, pod("a", labels={"example.com/cost-center": "7", "Team": "nlp"}))], [], [])
    assert (row["cost_center"], row["team"]) == ("7", "nlp")


# Files


def write(path: Path, *items: Any) -> Path:
    path.write_text(json.dumps({"apiVersion": "v1", "items": items, "kind": "List"}, indent=4), encoding="utf-8")
    return path


def archive(engine: DuckDB, path: Path, number: int) -> ArchivedFile:
    source, head = registry.recognize(engine, path)
    assert source.NAME == "kubernetes"
    problems, target = Problems(), path.with_suffix(".parquet")
    source.archive(engine, head, target, ReadOptions(), problems)
    problems.raise_if_any()
    return ArchivedFile(target, number, "cluster")


EVENT = {"name": "e", "uid": "uid-e"}
"""Something that is not read, so the numbers of what is read have a gap."""


class Segment:
    """An archived file, to be folded with others."""

    def __init__(self, file: ArchivedFile) -> None:
        self.archive, self.number, self.recorder = file.location, file.delivery, "kubernetes"


@pytest.mark.parametrize("page", [1, 2, 5000])
def test_a_pod_in_several_files_counts_once_with_its_last_state(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, page: int
) -> None:
    """The second file lacks the first pod: it was cleaned up, and the other one is still the second attempt."""
    monkeypatch.setattr(recording, "_PAGE", page)
    first, second = pod("p", 1, 2, "Failed", owner=JOB), pod("q", 2, owner=JOB)
    engine = DuckDB()
    files = [
        archive(engine, write(tmp_path / "1.json", first, {"kind": "Event", "metadata": EVENT}, second, node()), 1),
        archive(engine, write(tmp_path / "2.json", pod("q", 2, 5, owner=JOB), node()), 2),
        archive(engine, write(tmp_path / "3.json", second), 3),
    ]
    recording.prepare(engine, [Segment(file) for file in files], pytest.fail)
    selects = [recording.rows(engine, file, ReadOptions(), PLACEMENTS) for file in files]
    columns = "attempt, hour(started), hour(ended), state"
    assert [engine.rows(f"SELECT {columns} FROM ({select})") for select in selects] == [
        [(1, 1, 2, "failed")],
        [(2, 2, 5, "completed")],
        [],
    ]
    machines = [engine.rows(str(recording.rows(engine, file, ReadOptions(), MACHINES))) for file in files]
    assert [len(rows) for rows in machines] == [0, 1, 0], "the node is the same in two files"


def test_secrets_of_a_pod_are_not_archived(tmp_path: Path) -> None:
    engine = DuckDB()
    secret = pod("a", 1, annotations={"kubectl.kubernetes.io/last-applied-configuration": "s3cret"})
    file = archive(engine, write(tmp_path / "1.json", secret), 1)
    (fields,) = engine.row(f"SELECT fields FROM {parquet(file.location)}")
    assert "s3cret" in (tmp_path / "1.json").read_text(encoding="utf-8")
    assert "s3cret" not in fields


def test_every_object_that_cannot_be_read_is_reported(tmp_path: Path) -> None:
    bad = pod("a", 1, spec={"containers": [{"resources": {"requests": {"cpu": "many"}}}]})
    path = write(tmp_path / "bad.json", bad, {"kind": "Pod"}, pod("c", 1), bad)
    with pytest.raises(BadInputError) as caught:
        archive(DuckDB(), path, 1)
    assert [problem.where.removeprefix(str(path)) for problem in caught.value.problems] == [" .items[1]"]
    with pytest.raises(BadInputError) as caught:
        archive(DuckDB(), write(path, bad, pod("c", 1), bad), 1)
    found = [(problem.where.removeprefix(str(path)), problem.what) for problem in caught.value.problems]
    what = "the Pod a cannot be read: 'many' is not a quantity"
    assert found == [(" .items[0]", what), (" .items[2]", what)]


@pytest.mark.skipif(not SAMPLES.exists(), reason="the recorded samples are not here")
def test_the_pods_of_a_real_cluster(tmp_path: Path) -> None:
    """A preempted, a crashing, a retried and a distributed job, recorded from Kubernetes 1.20."""
    engine = DuckDB()
    merged = [json.loads((SAMPLES / name).read_text(encoding="utf-8"))["items"] for name in ("pods.json", "nodes.json")]
    file = archive(engine, write(tmp_path / "cluster.json", *merged[0], *merged[1]), 1)
    select = recording.rows(engine, file, ReadOptions(), PLACEMENTS)
    found = engine.rows(f"SELECT job_id, attempt, machine_id, gpus, state FROM ({select}) ORDER BY ALL")
    assert found == [
        ("default/bert", 1, "h100-node-0", 4, "running"),
        ("default/crash", 1, "h100-node-0", 1, "running"),
        ("default/ddp", 1, "a100-node-0", 8, "completed"),
        ("default/ddp", 1, "a100-node-1", 8, "completed"),
        ("default/oom", 1, "h100-node-0", 1, "running"),
        ("default/real-fail", 1, "real-0", 1, "failed"),
        ("default/real-fail", 2, "real-0", 1, "failed"),
        ("default/real-fail", 3, "real-0", 1, "failed"),
        ("default/real-fail", 4, "real-0", 1, "running"),
        ("default/real-ok", 1, "real-0", 2, "completed"),
        ("default/urgent", 1, "a100-node-0", 8, "completed"),
    ]
