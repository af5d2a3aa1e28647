"""Kubernetes objects as observations: which fields are kept, and the placements and machines of their histories.

Everything else is left out when an object is read: environments, arguments, volumes and unknown annotations may contain
secrets.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from trainfare.engine.duckdb import DuckDB
from trainfare.errors import Problems
from trainfare.sources.recordings.fold import ENDED_BETWEEN, History, ended_between
from trainfare.sources.recordings.loading import load_rows
from trainfare.sources.schedulers import kubernetes_jobs as jobs
from trainfare.sources.schedulers import kubernetes_pods
from trainfare.store.recordings.values import Op
from trainfare.tables import MACHINES, PLACEMENTS

SYSTEM = "kubernetes"
POD, NODE, CLAIM = "Pod", "Node", "ResourceClaim"
VOLCANO_JOB = "Job.batch.volcano.sh"
KINDS = (POD, NODE, CLAIM)
OWNERS = (*("Job", "JobSet", "TrainJob", "PyTorchJob", "MPIJob", "RayJob", "RayCluster", VOLCANO_JOB, "Workflow"),)
"""The kinds that own pods. Only their names and labels are kept, for pods without labels of their own."""
_ANNOTATIONS = re.compile(rf"({re.escape(jobs.JOBSET)}|{re.escape(jobs.VOLCANO)}).*|{re.escape(jobs.STEP)}")
_STATES = ("containerStatuses", "initContainerStatuses")
_PAST_TIMES = ("lastTransitionTime", "finishedAt", "startTime", "creationTimestamp")
_TIMES = (*_PAST_TIMES, "deletionTimestamp")


def kind_of(one: Mapping[str, Any]) -> str:
    """Return the kind under which an object that states its kind is recorded."""
    is_volcano = str(one.get("apiVersion")).startswith("batch.volcano.sh/") and one.get("kind") == "Job"
    return VOLCANO_JOB if is_volcano else str(one.get("kind"))


def allowed(one: Mapping[str, Any], kind: str) -> dict[str, Any]:
    """Return the fields of an object of a kind that may be kept."""
    metadata = one["metadata"]
    kept = _only(metadata, "name", "namespace", "uid", "labels", "creationTimestamp", "deletionTimestamp")
    owners = metadata.get("ownerReferences") or ()
    kept["ownerReferences"] = [_only(owner, "kind", "name", "uid", "controller") for owner in owners]
    if kind in OWNERS:
        return {"metadata": kept}
    spec, status = one.get("spec") or {}, one.get("status") or {}
    kept["annotations"] = {k: v for k, v in (metadata.get("annotations") or {}).items() if _ANNOTATIONS.fullmatch(k)}
    held = _only(spec, "nodeName", "priorityClassName", "resources", "overhead", "providerID")
    for name in ("containers", "initContainers"):
        held[name] = [_only(container, "resources", "restartPolicy") for container in spec.get(name) or ()]
    held["resourceClaims"] = [_only(claim, "resourceClaimName") for claim in spec.get("resourceClaims") or ()]
    state = _only(status, "phase", "reason", "startTime", "capacity", "allocation", "reservedFor")
    state["conditions"] = [
        _only(condition, "type", "status", "reason", "lastTransitionTime")
        for condition in status.get("conditions") or ()
    ]
    for name in _STATES:
        ends = [((container.get("state") or {}).get("terminated") or {}) for container in status.get(name) or ()]
        state[name] = [{"state": {"terminated": _only(end, "finishedAt", "reason", "exitCode")}} for end in ends]
    claims = status.get("resourceClaimStatuses") or ()
    state["resourceClaimStatuses"] = [_only(claim, "resourceClaimName") for claim in claims]
    return {"metadata": kept, "spec": held, "status": state}


def op_of(one: Mapping[str, Any]) -> Op:
    """Return whether an object is in a final state."""
    return Op.ENDED if (one.get("status") or {}).get("phase") in ("Succeeded", "Failed") else Op.SEEN


def changed_at(fields: Any, names: Sequence[str] = _TIMES) -> datetime | None:
    """Return the latest time that an object mentions: an object that mentions a later one is newer."""
    found = re.findall(rf'"(?:{"|".join(names)})": "([^"]+)"', json.dumps(fields))
    return datetime.fromisoformat(max(found)) if found else None


def make_placements(engine: DuckDB, histories: Iterable[History], into: str, problems: Problems) -> None:
    """Create `into` and `INTO_machines`: the placements and machines of one cluster.

    There may be millions of pods, so `histories` is gone through again rather than kept.
    """
    others = [_dated(one) for one in histories if one.kind != POD]
    nodes = [one for one in others if one.kind == NODE]
    claims = [one.fields for one in others if one.kind == CLAIM]
    owners = {one.uid: one.fields["metadata"] for one in others if one.kind in OWNERS}
    pods = _Pods(histories)
    rows = kubernetes_pods.rows(pods, [_as_last_known(one) for one in nodes], claims, owners)
    columns = {column.name: column.type for column in PLACEMENTS.columns}
    load_rows(engine, into, columns, (_finished(row, pods.missed, pods.cluster) for row in rows))
    listed = kubernetes_pods.machines((one.seq, _as_last_known(one)) for one in nodes)
    load_rows(engine, f"{into}_machines", {column.name: column.type for column in MACHINES.columns}, listed)


class _Pods:
    """The pods among histories, as often as one goes through them; those that were missed are noted."""

    def __init__(self, histories: Iterable[History]) -> None:
        self._histories = histories
        self.cluster = ""
        self.missed: dict[int, tuple[str, str]] = {}
        """By observation: the end of a pod that was missed, and the two times between which it ended."""

    def __iter__(self) -> Iterator[tuple[int, Mapping[str, Any]]]:
        for one in self._histories:
            if one.kind == POD:
                dated = _dated(one)
                self.cluster = one.cluster
                if dated.gone:
                    self.missed[one.seq] = (str(_text(dated.gone[0])), ended_between(dated))
                yield one.seq, _as_last_known(dated)


def _finished(row: Mapping[str, Any], missed: Mapping[int, tuple[str, str]], cluster: str) -> Mapping[str, Any]:
    """Return a placement with its cluster, and with a label if its end is not known exactly."""
    labels = dict(row["labels"])
    end, between = missed.get(row["line"], (None, ""))
    labels |= {ENDED_BETWEEN: between} if end and row["ended"] == end else {}
    return {**row, "log_cluster": cluster or None, "labels": json.dumps(labels, sort_keys=True)}


def _dated(one: History) -> History:
    """Return a history whose object, if it was missed, existed at every time that it mentions itself."""
    known = changed_at(one.fields, _PAST_TIMES) if one.gone else None
    if not one.gone or not known or known <= one.gone[0]:
        return one
    return replace(one, gone=(known, max(known, one.gone[1])))


def _as_last_known(one: History) -> Mapping[str, Any]:
    """Return an object with its end, where that is known from its removal only."""
    removed = _text(one.deleted_at if one.op is Op.DELETED else one.gone[0] if one.gone else None)
    return {**one.fields, "removed": removed} if removed else one.fields


def _text(moment: datetime | None) -> str | None:
    return f"{moment:%Y-%m-%dT%H:%M:%SZ}" if moment else None


def _only(one: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: one[name] for name in names if one.get(name) is not None}
