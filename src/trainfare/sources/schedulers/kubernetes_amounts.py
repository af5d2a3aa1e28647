"""How much of a node a Kubernetes pod holds: CPU, memory and GPUs, counted as the scheduler counts them.

- Init containers run one after another before the others, so the largest counts, not their sum. One with
  `restartPolicy: Always` is a sidecar: it keeps running and adds to everything after it. `overhead` is added last.
- Resources of the pod itself, where given, replace those of its containers. A limit without a request is a request.
- `nvidia.com/gpu` is a whole GPU, unless the node says otherwise: under MIG with the single strategy the product ends
  with `-MIG-1g.5gb` and one is a slice; with time-slicing or MPS the node offers each GPU several times
  (`nvidia.com/gpu.replicas`). `nvidia.com/mig-1g.5gb` is a slice of the mixed strategy. A slice is its compute slices
  over those of the GPU: 4 on an A30, otherwise 7.
- Devices of a claim (DRA) count once, split evenly across the pods that share it; with admin access they are observed,
  not held.
"""

import re
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any

GPU_RESOURCES = re.compile(r"(nvidia\.com/gpu|amd\.com/gpu|google\.com/tpu|habana\.ai/gaudi|gpu\.intel\.com/(i915|xe))")
"""Resources of which one is one whole device."""
SHARED = "nvidia.com/gpu.shared"
MIG = re.compile(r"nvidia\.com/mig-(\d)g\.\d+gb.*")
PRODUCT = "nvidia.com/gpu.product"
REPLICAS = "nvidia.com/gpu.replicas"
CORES_PER_GPU, A30_CORES = 7, 4
GIB = 2**30
_SUFFIXES: dict[str, Fraction] = {
    "": Fraction(1),
    **{letter: Fraction(1, 1000**power) for power, letter in enumerate("mun", 1)},
    **{letter: Fraction(1000**power) for power, letter in enumerate("kMGTPE", 1)},
    **{f"{letter}i": Fraction(1024**power) for power, letter in enumerate("KMGTPE", 1)},
}

Requests = dict[str, Fraction]


def quantity(text: object) -> Fraction:
    """Return a quantity such as `500m`, `1Gi` or `2e3`; a ValueError says that it is none."""
    found = re.fullmatch(r"([+-]?[0-9.]+)(?:[eE]([+-]?\d{1,2})|([numkMGTPE]|[KMGTPE]i)?)", str(text))
    if not found:
        raise ValueError(f"'{text}' is not a quantity")
    power = int(found[2] or 0)
    exponent = Fraction(10**power) if power >= 0 else Fraction(1, 10**-power)
    return Fraction(found[1]) * exponent * _SUFFIXES[found[3] or ""]


def pod_requests(spec: Mapping[str, Any]) -> Requests:
    """Return what the scheduler reserves for a pod, by resource."""
    running = _sum(_requests(one) for one in spec.get("containers") or ())
    sidecars: Requests = {}
    largest: Requests = {}
    for one in spec.get("initContainers") or ():
        asked = _sum((sidecars, _requests(one)))
        largest = _largest(largest, asked)
        if one.get("restartPolicy") == "Always":
            sidecars = asked
    held = _largest(_sum((running, sidecars)), largest)
    held |= _requests(spec)
    return _sum((held, {name: quantity(text) for name, text in (spec.get("overhead") or {}).items()}))


def _requests(one: Mapping[str, Any]) -> Requests:
    resources = one.get("resources") or {}
    texts = {**(resources.get("limits") or {}), **(resources.get("requests") or {})}
    return {name: quantity(text) for name, text in texts.items()}


def _sum(parts: Iterable[Requests]) -> Requests:
    total: Requests = {}
    for part in parts:
        for name, amount in part.items():
            total[name] = total.get(name, Fraction(0)) + amount
    return total


def _largest(first: Requests, second: Requests) -> Requests:
    return {name: max(first.get(name, Fraction(0)), second.get(name, Fraction(0))) for name in {*first, *second}}


def gpus(amounts: Mapping[str, Fraction], node_labels: Mapping[str, str]) -> Fraction | None:
    """Return the GPUs that these amounts of a node's resources are; None if the node does not say how much one is."""
    product = node_labels.get(PRODUCT, "")
    total = Fraction(0)
    for name, amount in amounts.items():
        if found := MIG.fullmatch(name):
            total += amount * Fraction(int(found[1]), _cores(product, name))
        elif name == SHARED or (name == "nvidia.com/gpu" and product.endswith("-SHARED")):
            replicas = node_labels.get(REPLICAS, "")
            if amount and not replicas.isdigit():
                return None
            total += amount * _slice(product) / (int(replicas or 0) or 1)
        elif name == "nvidia.com/gpu":
            total += amount * _slice(product)
        elif GPU_RESOURCES.fullmatch(name):
            total += amount
    return total


def _slice(product: str) -> Fraction:
    """Return the part of a GPU that a device of this product is: less than all of it under MIG."""
    found = re.search(r"-MIG-(\d)g\.\d+gb", product)
    return Fraction(int(found[1]), _cores(product, product)) if found else Fraction(1)


def _cores(product: str, profile: str) -> int:
    is_a30 = "A30" in product.upper() or re.search(r"(1g\.6gb|2g\.12gb|4g\.24gb)", profile)
    return A30_CORES if is_a30 else CORES_PER_GPU


def claimed_gpus(claim: Mapping[str, Any]) -> Fraction:
    """Return the GPUs that each pod holds through a resource claim."""
    status = claim.get("status") or {}
    results = ((status.get("allocation") or {}).get("devices") or {}).get("results") or ()
    held = [one for one in results if not one.get("adminAccess") and "gpu" in str(one.get("driver"))]
    pods = [one for one in status.get("reservedFor") or () if one.get("resource", "pods") == "pods"]
    return Fraction(len(held), max(len(pods), 1))
