"""Kubernetes objects -> placements and machines. Pure functions over pods, nodes and claims as the API writes them.

- A pod holds its node from the moment it is bound (condition PodScheduled) until all of its containers are over or the
  pod is removed: also while its image is pulled, and while it is Terminating. It does not outlive its node.
- A restarted container is the same placement.
- The node's name is the machine, its provider id the resource on the bill: `aws:///us-east-1a/i-0abc` is `i-0abc`.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

from trainfare.settings.config import spellings
from trainfare.sources.schedulers import kubernetes_amounts as amounts
from trainfare.sources.schedulers.kubernetes_jobs import Membership, Turn, attempts, membership
from trainfare.tables import LABELS

Object = Mapping[str, Any]
PREEMPTED = ("PreemptionByScheduler", "EvictionByEvictionAPI", "Evicted", "Preempting", "Shutdown", "Terminated")
NODE_FAILED = ("DeletionByTaintManager", "DeletionByPodGC", "NodeLost", "NodeShutdown", "NodeAffinity")
_POOLS = (
    *("karpenter.sh/nodepool", "eks.amazonaws.com/nodegroup", "cloud.google.com/gke-nodepool"),
    "kubernetes.azure.com/agentpool",
)
_REGIONS = ("topology.kubernetes.io/region", "failure-domain.beta.kubernetes.io/region")
_QUEUE = "kueue.x-k8s.io/queue-name"


def placements(
    pods: Iterable[tuple[int, Object]],
    nodes: Sequence[Object],
    claims: Iterable[Object],
    owners: Mapping[str, Object] | None = None,
) -> list[Object]:
    """Return the rows of `rows` for pods that are in memory."""
    return list(rows([*pods], nodes, claims, owners or {}))


def rows(
    pods: Iterable[tuple[int, Object]], nodes: Sequence[Object], claims: Iterable[Object], owners: Mapping[str, Object]
) -> Iterator[Object]:
    """Yield a row of placements for each pod that was bound; `line` is the number given with the pod.

    One goes through `pods` twice: to number attempts, then for the rows. `owners` are the metadata of owners by uid:
    their labels fill in for those that a pod lacks.
    """
    node_labels = {one["metadata"]["name"]: one["metadata"].get("labels") or {} for one in nodes}
    removed: dict[str, list[str]] = {}
    for one in nodes:
        if one.get("removed"):
            removed.setdefault(one["metadata"]["name"], []).append(one["removed"])
    claimed = {_name(one["metadata"]): amounts.claimed_gpus(one) for one in claims}
    numbers = attempts(_turns(pods))
    for line, pod in pods:
        member, started = membership(pod), _bound(pod)
        if member and started and pod["spec"].get("nodeName"):
            row: dict[str, Any] = {"line": line, "attempt": numbers[pod["metadata"]["uid"]], "started": started}
            marks = _marks(pod["metadata"], owners)
            row |= _placement(pod, member, node_labels, claimed) | _labels(marks)
            row["labels"] |= next(({"queue": one[_QUEUE]} for one in marks if _QUEUE in one), {})
            yield row | _lost(row, removed.get(row["machine_id"], ()))


def _turns(pods: Iterable[tuple[int, Object]]) -> Iterator[Turn]:
    for _, pod in pods:
        if member := membership(pod):
            yield Turn(pod["metadata"]["uid"], member, pod["metadata"].get("creationTimestamp", ""), _ended(pod))


def _lost(row: Mapping[str, Any], removed: Iterable[str]) -> dict[str, Any]:
    """Return what is different about a placement whose node was removed under it: its end and its state."""
    gone = min((time for time in removed if time >= row["started"]), default=None)
    if gone is None or (row["ended"] and row["ended"] <= gone):
        return {}
    return {"ended": gone, "state": row["state"] if row["state"] == "completed" else "node_failed"}


def _marks(metadata: Object, owners: Mapping[str, Object]) -> list[Mapping[str, str]]:
    """Return the labels of a pod, of its owner, of the owner of that, and so on."""
    found: list[Mapping[str, str]] = []
    seen: set[str] = set()
    while metadata:
        found.append(metadata.get("labels") or {})
        uids = [one.get("uid", "") for one in metadata.get("ownerReferences") or () if one.get("controller")]
        metadata = owners.get(uids[0], {}) if uids and uids[0] not in seen else {}
        seen |= {*uids}
    return found


def _placement(
    pod: Object, member: Membership, node_labels: Mapping[str, Mapping[str, str]], claimed: Mapping[str, Fraction]
) -> dict[str, Any]:
    node = pod["spec"]["nodeName"]
    requests = amounts.pod_requests(pod["spec"])
    held = amounts.gpus(requests, node_labels.get(node, {}))
    ended = _ended(pod)
    return {
        "job_id": member.job_id,
        "machine_id": node,
        "ended": ended,
        "gpus": _decimal(None if held is None else held + _claims(pod, claimed), 6),
        "cpus": _decimal(requests.get("cpu", Fraction(0)), 3),
        "memory_gb": _decimal(requests.get("memory", Fraction(0)) / amounts.GIB, 3),
        "state": _state(pod) if ended else "running",
        "submitted": pod["metadata"].get("creationTimestamp"),
        "labels": {"namespace": pod["metadata"].get("namespace", "default"), "kind": member.kind},
        **({"priority": pod["spec"]["priorityClassName"]} if pod["spec"].get("priorityClassName") else {}),
    }


def machines(nodes: Iterable[tuple[int, Object]]) -> list[Object]:
    """Return a row of machines for each node."""
    rows: list[Object] = []
    for line, node in nodes:
        labels, capacity = node["metadata"].get("labels") or {}, (node.get("status") or {}).get("capacity") or {}
        sizes = {name: amounts.quantity(text) for name, text in capacity.items()}
        rows.append(
            {
                "line": line,
                "machine_id": node["metadata"]["name"],
                "resource_id": resource_id((node.get("spec") or {}).get("providerID")) or node["metadata"]["name"],
                "gpus": _decimal(amounts.gpus(sizes, labels), 6),
                "gpu_model": labels.get(amounts.PRODUCT),
                "cpus": _decimal(sizes.get("cpu"), 3),
                "memory_gb": _decimal(sizes["memory"] / amounts.GIB, 3) if "memory" in sizes else None,
                "pool": _first(labels, _POOLS),
                "region": _first(labels, _REGIONS),
                "existed_from": node["metadata"].get("creationTimestamp"),
                "existed_to": node.get("removed"),
            }
        )
    return rows


def resource_id(provider_id: str | None) -> str | None:
    """Return the resource id on the bill: of `aws:///ZONE/i-0abc` the instance, of Azure the path, else the name."""
    if not provider_id:
        return None
    scheme, _, rest = provider_id.rpartition("://")
    return rest if scheme == "azure" else rest.rstrip("/").rpartition("/")[2]


def _bound(pod: Object) -> str | None:
    """Return when a pod was bound to its node."""
    status = pod.get("status") or {}
    for one in status.get("conditions") or ():
        if one.get("type") == "PodScheduled" and one.get("status") == "True" and one.get("lastTransitionTime"):
            return str(one["lastTransitionTime"])
    return status.get("startTime")


def _ended(pod: Object) -> str | None:
    """Return when a pod was over: when its last container was, else when its state last changed or it was removed.

    A node may remove a pod without another word about its phase. If all containers were over by then, so was the pod:
    when it was removed matters only if it was not.
    """
    status = pod.get("status") or {}
    is_over = status.get("phase") in ("Succeeded", "Failed")
    containers = (*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ()))
    finished = [((one.get("state") or {}).get("terminated") or {}).get("finishedAt") for one in containers]
    if not is_over and not (pod.get("removed") and finished and all(finished)):
        return pod.get("removed")
    changed = [one.get("lastTransitionTime") for one in status.get("conditions") or ()]
    known = [time for time in finished if time] or [time for time in changed if time]
    return max(known, default=_bound(pod))


def _state(pod: Object) -> str:
    status = pod["status"]
    if status["phase"] == "Succeeded":
        return "completed"
    reasons = _reasons(status)
    if any(reason in NODE_FAILED for reason in reasons):
        return "node_failed"
    if any(reason in PREEMPTED for reason in reasons):
        return "preempted"
    if status["phase"] != "Failed":  # it was removed while it ran, and nothing says why
        return "unknown"
    return "timeout" if status.get("reason") == "DeadlineExceeded" else "failed"


def _reasons(status: Object) -> list[str | None]:
    disruptions = [one for one in status.get("conditions") or () if one.get("type") == "DisruptionTarget"]
    return [status.get("reason"), *(one.get("reason") for one in disruptions)]


def _claims(pod: Object, claimed: Mapping[str, Fraction]) -> Fraction:
    """Return the GPUs that a pod holds through claims."""
    namespace = pod["metadata"].get("namespace", "default")
    given = (pod.get("status") or {}).get("resourceClaimStatuses") or ()
    names = [one.get("resourceClaimName") for one in given]
    names += [one.get("resourceClaimName") for one in pod["spec"].get("resourceClaims") or ()]
    return sum((claimed.get(f"{namespace}/{name}", Fraction(0)) for name in {*names} if name), Fraction(0))


def _name(metadata: Object) -> str:
    return f"{metadata.get('namespace', 'default')}/{metadata['name']}"


def _labels(marks: Iterable[Mapping[str, str]]) -> dict[str, str]:
    """Return the labels of the contract, under any spelling, with or without a prefix; of several, the first."""
    found: dict[str, str] = {}
    for one in marks:
        plain = {re.sub(r"^.*/", "", key): value for key, value in sorted(one.items(), reverse=True)}
        for label in LABELS:
            value = next((plain[name] for name in spellings(label) if plain.get(name)), None)
            found |= {label: value} if value and label not in found else {}
    return found


def _first(labels: Mapping[str, str], names: Iterable[str]) -> str | None:
    return next((labels[name] for name in names if name in labels), None)


def _decimal(value: Fraction | None, digits: int) -> Decimal | None:
    """Return an amount with this many digits; what is beyond them is cut off, so that parts never exceed the whole."""
    if value is None:
        return None
    return Decimal(value.numerator * 10**digits // value.denominator).scaleb(-digits)
