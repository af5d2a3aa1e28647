"""The measures that rules weigh payers by, as SQL."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal

_GPU = "CASE WHEN coalesce(gpu_micros, 0) > 0 OR most_gpus > 0 THEN 'gpu' "
_CPU = "WHEN coalesce(cpu_millis, 0) > 0 OR most_cpus > 0 THEN 'cpu' "
MEASURES = {
    "gpu_seconds": _GPU + _CPU + "ELSE 'wall' END",
    "bytes_sent": _GPU + _CPU + "ELSE 'wall' END",
    "requests": _GPU + _CPU + "ELSE 'wall' END",
    "cpu_seconds": "CASE " + _CPU + "ELSE 'wall' END",
    "memory": "CASE WHEN coalesce(memory_mbs, 0) > 0 OR most_memory > 0 THEN 'memory' ELSE 'wall' END",
    "dominant": "CASE WHEN coalesce(gpu_micros, cpu_millis, memory_mbs) IS NULL THEN 'wall' ELSE 'dominant' END",
    "weighted": "'weighted'",
    "wall_seconds": "'wall'",
    "evenly": "'wall'",
}
"""By what a machine or cluster is weighed under each `by`, from what it has and what was held of it."""


def _portion(column: str) -> str:
    """Return SQL for the millionths of a machine's resource that a placement held."""
    return f"coalesce(p.{column} * 1000000 // nullif(m.{column}, 0), CASE WHEN p.{column} > 0 THEN 1000000 ELSE 0 END)"


_GPUS_HELD = "coalesce(p.gpu_micros, m.gpu_micros, 1000000)"
HELD_AMOUNTS = {
    "gpu_seconds": _GPUS_HELD,
    "bytes_sent": _GPUS_HELD,
    "requests": _GPUS_HELD,
    "cpu_seconds": "coalesce(p.cpu_millis, m.cpu_millis, 1000)",
    "memory": "coalesce(p.memory_mbs, m.memory_mbs, 1000)",
    "dominant": (
        "CASE WHEN coalesce(p.gpu_micros, p.cpu_millis, p.memory_mbs) IS NULL THEN 1000000 "
        f"ELSE greatest({_portion('gpu_micros')}, {_portion('cpu_millis')}, {_portion('memory_mbs')}) END"
    ),
    "wall_seconds": "1",
    "evenly": "1",
}
"""How much placement p on machine m holds within a wider scope, per second."""
FALLBACKS = {
    **dict.fromkeys(("gpu_seconds", "bytes_sent", "requests"), ("cpu_seconds", "wall_seconds")),
    **dict.fromkeys(("cpu_seconds", "memory", "dominant"), ("wall_seconds",)),
}
"""What a pot within a scope is weighed by if no job held any of the measure, in this order."""
BY_TIME = ("wall_seconds", "evenly")
MEASURED = {"bytes_sent": "bytes_sent", "requests": "storage_requests"}
"""The measurement behind each `by` that needs one. Pots without a measurement are weighed by what was held."""


@dataclass(frozen=True)
class Resource:
    """A resource that can be weighted: its column, the most that any placement held, and the column's units in one."""

    column: str
    most: str
    units: int


RESOURCES = {
    "gpu": Resource("gpu_micros", "most_gpus", 1_000_000),
    "cpu": Resource("cpu_millis", "most_cpus", 1000),
    "memory_gb": Resource("memory_mbs", "most_memory", 1000),
}


def weighted_hold(weights: Mapping[str, Decimal]) -> str:
    """Return SQL for the weighted resources of placement p on machine s; without any amount it holds all of it."""
    columns = ", ".join(f"p.{RESOURCES[name].column}" for name in weights)
    terms = " + ".join(f"coalesce(p.{RESOURCES[name].column}, 0) * {n}" for name, n in _factors(weights).items())
    return f"CASE WHEN coalesce({columns}) IS NOT NULL THEN {terms} ELSE coalesce(s.capacity, 1) END"


def weighted_size(weights: Mapping[str, Decimal]) -> str:
    """Return SQL for the weighted resources of a machine: unknown if a resource is that was held, or if all are."""
    columns = ", ".join(RESOURCES[name].column for name in weights)
    terms = " + ".join(f"{_size(RESOURCES[name])} * {n}" for name, n in _factors(weights).items())
    return f"CASE WHEN coalesce({columns}) IS NOT NULL THEN {terms} END"


def _size(resource: Resource) -> str:
    return f"coalesce({resource.column}, CASE WHEN {resource.most} = 0 THEN 0 END)"


def _factors(weights: Mapping[str, Decimal]) -> dict[str, int]:
    """Return the integer by which each column counts, in the ratio of the weights and as small as possible."""
    scaled = {name: int(weight * 1_000_000_000 / RESOURCES[name].units) for name, weight in weights.items()}
    return {name: factor // math.gcd(*scaled.values()) for name, factor in scaled.items()}
