"""Which job a Kubernetes pod belongs to, and which attempt of it.

| owner | job | attempt |
| --- | --- | --- |
| JobSet, TrainJob | label jobset-name, which is the TrainJob's name, too | restart-attempt + 1, for all pods together |
| Volcano | label job-name | by job-version, for all pods together |
| RayJob | label originated-from-cr-name | by RayCluster: a retry makes a new one |
| RayCluster | label cluster | 1: it is long-lived, and submissions share it |
| PyTorchJob, MPIJob | label job-name | pods of one replica in order of creation |
| Argo | label workflow | pods of one step in order of creation |
| Job | the owner's name | pods of one index in order of creation; without an index, of all |
| pod group of Kueue | label pod-group-name | pods of one name in order of creation |
| anything else | the pod's own name | pods of one name in order of creation |

Daemon sets, static pods and the system's own namespaces train nothing: they have no job.
"""

import bisect
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

SYSTEM_NAMESPACES = ("kube-system", "kube-public", "kube-node-lease")
JOBSET = "jobset.sigs.k8s.io/"
VOLCANO = "volcano.sh/"
RAY = "ray.io/"
TRAINING = "training.kubeflow.org/"
BATCH = "batch.kubernetes.io/"
WORKFLOW, STEP = "workflows.argoproj.io/workflow", "workflows.argoproj.io/node-name"
POD_GROUP = "kueue.x-k8s.io/pod-group-name"
_NEVER = "9999-12-31T23:59:59Z"


@dataclass(frozen=True)
class Membership:
    """The job of a pod, and how its attempt is found."""

    job_id: str
    kind: str
    round: str | None = None
    """Pods of a job with the same round are one attempt; rounds follow each other as their first pods do."""
    number: int | None = None
    """The attempt itself, where the pod states it."""
    lane: str = ""
    """Without a round or a number: pods of a job in one lane follow each other, each a new attempt."""


def membership(pod: Mapping[str, Any]) -> Membership | None:
    """Return the job that a pod belongs to; None for a pod that trains nothing."""
    metadata = pod["metadata"]
    namespace, owner = metadata.get("namespace", "default"), _controller(metadata)
    if namespace in SYSTEM_NAMESPACES or owner.get("kind") in ("DaemonSet", "Node"):
        return None
    marks = {**(metadata.get("annotations") or {}), **(metadata.get("labels") or {})}
    return _by_operator(marks, namespace) or _by_owner(metadata, marks, owner, namespace)


def _by_operator(marks: Mapping[str, str], namespace: str) -> Membership | None:
    """Return the job that an operator wrote on the pod."""
    if name := marks.get(f"{JOBSET}jobset-name"):
        restart = marks.get(f"{JOBSET}restart-attempt", "0")
        return Membership(f"{namespace}/{name}", "JobSet", number=int(restart) + 1 if restart.isdigit() else 1)
    if name := marks.get(f"{VOLCANO}job-name"):
        return Membership(f"{namespace}/{name}", "Volcano", round=marks.get(f"{VOLCANO}job-version", "0"))
    if cluster := marks.get(f"{RAY}cluster"):
        if marks.get(f"{RAY}originated-from-crd") == "RayJob":
            return Membership(f"{namespace}/{marks[f'{RAY}originated-from-cr-name']}", "RayJob", round=cluster)
        return Membership(f"{namespace}/{cluster}", "RayCluster", number=1)
    if name := marks.get(f"{TRAINING}job-name"):
        kind = marks.get(f"{TRAINING}operator-name", "training").removesuffix("-controller")
        replica = (marks.get(f"{TRAINING}{key}", "") for key in ("replica-type", "replica-index"))
        return Membership(f"{namespace}/{name}", kind, lane="/".join(replica))
    if name := marks.get(WORKFLOW):
        return Membership(f"{namespace}/{name}", "Argo", lane=re.sub(r"\(\d+\)$", "", marks.get(STEP, "")))
    return None


def _by_owner(
    metadata: Mapping[str, Any], marks: Mapping[str, str], owner: Mapping[str, Any], namespace: str
) -> Membership:
    if owner.get("kind") == "Job":
        index = marks.get(f"{BATCH}job-completion-index", "")
        return Membership(f"{namespace}/{owner['name']}", "Job", lane=f"index {index}" if index else "")
    if name := marks.get(POD_GROUP):
        return Membership(f"{namespace}/{name}", "pod group", lane=metadata["name"])
    return Membership(f"{namespace}/{metadata['name']}", owner.get("kind", "Pod"), lane=metadata["name"])


def _controller(metadata: Mapping[str, Any]) -> Mapping[str, Any]:
    owners = metadata.get("ownerReferences") or ()
    return next((one for one in owners if one.get("controller")), {})


@dataclass(frozen=True)
class Turn:
    """When a pod of a job was created, and when it was over, for counting attempts."""

    uid: str
    member: Membership
    created: str
    over: str | None


def attempts(turns: Iterable[Turn]) -> dict[str, int]:
    """Return the attempt of each pod, by uid.

    Pods of one lane run one after another. If they may also run next to each other, as those of a Job without indexes
    do, one is a retry for each earlier one that was over when it was created.
    """
    by_job: dict[str, list[Turn]] = {}
    for one in turns:
        by_job.setdefault(one.member.job_id, []).append(one)
    found: dict[str, int] = {}
    for pods in by_job.values():
        ordered = sorted(pods, key=lambda one: (one.created, one.uid))
        rounds = {name: place for place, name in enumerate(dict.fromkeys(one.member.round for one in ordered))}
        lanes: dict[str, list[str]] = {}
        for one in ordered:
            # Of the earlier pods in this lane: when each was over, in order; those that are not over, last.
            earlier = lanes.setdefault(one.member.lane, [])
            count = len(earlier) if one.member.lane else bisect.bisect_right(earlier, one.created)
            bisect.insort(earlier, one.over or _NEVER)
            ordinal = rounds[one.member.round] if one.member.round is not None else count
            found[one.uid] = one.member.number or ordinal + 1
    return found
