"""Kubernetes objects in the shape of the API, as short as a test case needs them."""

from typing import Any

HOUR = "2026-10-01T{:02}:00:00Z"


def pod(
    name: str,
    start: int | None = 0,
    end: int | None = None,
    phase: str = "",
    gpus: int | None = 1,
    node: str | None = "n1",
    **more: Any,
) -> dict[str, Any]:
    """A pod bound at hour `start`, whose container ended at hour `end`. `more` are labels, or parts by their name."""
    requests = {"cpu": "2", "memory": "4Gi"} | ({"nvidia.com/gpu": str(gpus)} if gpus else {})
    bound = {"type": "PodScheduled", "status": "True", "lastTransitionTime": HOUR.format(start or 0)}
    ended = {"state": {"terminated": {"finishedAt": HOUR.format(end), "exitCode": 0}}} if end is not None else {}
    owner = more.pop("owner", None)
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": more.pop("namespace", "ml"),
            "uid": more.pop("uid", f"uid-{name}"),
            "creationTimestamp": HOUR.format(more.pop("created", start or 0)),
            "labels": more.pop("labels", {}),
            "annotations": more.pop("annotations", {}),
            "ownerReferences": [{"kind": owner[0], "name": owner[1], "controller": True}] if owner else [],
        },
        "spec": {
            "nodeName": node,
            "containers": [
                {"name": "main", "resources": {"requests": requests}, "env": [{"name": "KEY", "value": "s3cret"}]}
            ],
            **more.pop("spec", {}),
        },
        "status": {
            "phase": phase or ("Succeeded" if end is not None else "Running"),
            "conditions": [*([bound] if start is not None else []), *more.pop("conditions", [])],
            "containerStatuses": [ended],
            **more.pop("status", {}),
        },
    }


def node(name: str = "n1", **more: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "uid": f"uid-{name}",
            "creationTimestamp": HOUR.format(0),
            "labels": more.pop("labels", {}),
        },
        "spec": {"providerID": more.pop("provider", "aws:///us-east-1a/i-0abc")},
        "status": {"capacity": {"cpu": "96", "memory": "1Ti", "nvidia.com/gpu": "8"} | more.pop("capacity", {})},
    }


def claim(name: str, pods: int = 1, devices: int = 1, **device: Any) -> dict[str, Any]:
    results = [{"driver": "gpu.nvidia.com", "device": f"gpu-{number}", **device} for number in range(devices)]
    return {
        "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": "ml", "uid": f"uid-{name}"},
        "status": {
            "allocation": {"devices": {"results": results}},
            "reservedFor": [{"resource": "pods", "name": f"p{number}", "uid": f"u{number}"} for number in range(pods)],
        },
    }
