"""Cost flows as a Sankey chart, from left to right."""

from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any

from trainfare.money import decimal_text
from trainfare.serve.pages import labels
from trainfare.tables import ESTIMATED

OTHER = "Other"
SERIES_COLORS = 7

Flow = tuple[Sequence[str], Decimal]
"""The nodes that an amount passes through, one per stage, and the amount."""


def sankey(flows: Iterable[Flow], unit: str, most: int = 10) -> dict[str, Any]:
    """A chart of flows. Each stage shows its largest nodes by name and merges the others into one."""
    merged = _merge_small([(list(names), amount) for names, amount in flows if amount], most)
    nodes: dict[tuple[int, str], Decimal] = {}
    links: dict[tuple[int, str, str], Decimal] = {}
    for names, amount in merged:
        for stage, name in enumerate(names):
            nodes[stage, name] = nodes.get((stage, name), Decimal(0)) + amount
            if stage:
                link = (stage, names[stage - 1], name)
                links[link] = links.get(link, Decimal(0)) + amount
    numbers = {name: number for number, name in enumerate(dict.fromkeys(name for _, name in nodes))}
    return {
        "kind": "sankey",
        "unit": unit,
        "nodes": [
            {
                "id": f"{stage}|{name}",
                "name": labels.payer(name),
                "depth": stage,
                "value": decimal_text(amount),
                "color": name.strip("_") if name in labels.PAYERS else f"series-{numbers[name] % SERIES_COLORS + 1}",
                "hatched": stage == 0 and name == ESTIMATED,
            }
            for (stage, name), amount in nodes.items()
        ],
        "flows": [
            {"source": f"{stage - 1}|{origin}", "target": f"{stage}|{name}", "value": decimal_text(amount)}
            for (stage, origin, name), amount in links.items()
            if amount
        ],
    }


def _merge_small(flows: list[tuple[list[str], Decimal]], most: int) -> list[tuple[list[str], Decimal]]:
    """Rename all but the largest nodes of each stage to `Other`."""
    for stage in range(len(flows[0][0]) if flows else 0):
        largest = _largest([(names[stage], amount) for names, amount in flows], most)
        for names, _ in flows:
            names[stage] = names[stage] if names[stage] in largest else OTHER
    return flows


def _largest(parts: Iterable[tuple[str, Decimal]], most: int) -> set[str]:
    sums: dict[str, Decimal] = {}
    for name, amount in parts:
        sums[name] = sums.get(name, Decimal(0)) + abs(amount)
    ordered = sorted(sums, key=lambda name: (-sums[name], name))
    return set(ordered if len(ordered) <= most + 1 else ordered[:most])
