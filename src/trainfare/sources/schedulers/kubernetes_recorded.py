"""Kubernetes objects as observations: which fields are kept, and the placements and machines of their histories.

Everything else is left out when an object is read: environments, arguments, volumes and unknown annotations may contain
secrets.
"""

import json
import re
from collections.abc import Mapping, Sequence
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
KINDS = (POD, NODE, CLAIM)
_ANNOTATIONS = re.compile(rf"({re.escape(jobs.JOBSET)}|{re.escape(jobs.VOLCANO)}).*|{re.escape(jobs.STEP)}")
_STATES = ("containerStatuses", "initContainerStatuses")
_TIMES = ("lastTransitionTime", "finishedAt", "startTime", "creationTimestamp", "deletionTimestamp")


def allowed(one: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of an object that may be kept."""
    metadata, spec, status = one["metadata"], one.get("spec") or {}, one.get("status") or {}
    kept = _only(metadata, "name", "namespace", "uid", "labels", "creationTimestamp", "deletionTimestamp")
    kept["annotations"] = {k: v for k, v in (metadata.get("annotations") or {}).items() if _ANNOTATIONS.fullmatch(k)}
    owners = metadata.get("ownerReferences") or ()
    kept["ownerReferences"] = [_only(owner, "kind", "name", "controller") for owner in owners]
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


def changed_at(fields: Any) -> datetime | None:
    """Return the latest time that an object mentions: an object that mentions a later one is newer."""
    found = re.findall(rf'"(?:{"|".join(_TIMES)})": "([^"]+)"', json.dumps(fields))
    return datetime.fromisoformat(max(found)) if found else None


def make_placements(engine: DuckDB, histories: Sequence[History], into: str, problems: Problems) -> None:
    """Create `into` and `INTO_machines`: the placements and machines of one cluster."""
    by_kind: dict[str, list[History]] = {kind: [] for kind in KINDS}
    for one in histories:
        by_kind[one.kind].append(one)
    pods = [(one.seq, _as_last_known(one)) for one in by_kind[POD]]
    nodes, claims = ([one.fields for one in by_kind[kind]] for kind in (NODE, CLAIM))
    between = {one.seq: ended_between(one) for one in by_kind[POD] if one.gone}
    rows = []
    for row in kubernetes_pods.placements(pods, nodes, claims):
        labels = dict(row["labels"])
        labels |= {ENDED_BETWEEN: between[row["line"]]} if row["line"] in between else {}
        rows.append({**row, "log_cluster": histories[0].cluster or None, "labels": json.dumps(labels, sort_keys=True)})
    load_rows(engine, into, {column.name: column.type for column in PLACEMENTS.columns}, rows)
    listed = kubernetes_pods.machines((one.seq, one.fields) for one in by_kind[NODE])
    load_rows(engine, f"{into}_machines", {column.name: column.type for column in MACHINES.columns}, listed)


def _as_last_known(one: History) -> Mapping[str, Any]:
    """Return a pod with its end, where that is known from its removal only."""
    removed = one.deleted_at if one.op is Op.DELETED else one.gone[0] if one.gone else None
    return {**one.fields, "removed": f"{removed:%Y-%m-%dT%H:%M:%SZ}"} if removed else one.fields


def _only(one: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: one[name] for name in names if one.get(name) is not None}
