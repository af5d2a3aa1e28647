"""Flows of money as a chart: what passes through each place, from left to right."""

from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any

from trainfare.report.render import exact
from trainfare.tables import ESTIMATED

REST = "everything else"
TONES = {"__idle__": "idle", "__unallocated__": "unallocated", "__outside__": "outside"}


def sankey(flows: Iterable[tuple[Sequence[str], Decimal]], unit: str, most: int = 10) -> dict[str, Any]:
    """The chart of flows, each the places it passes and its money. Of each step the largest are named, and the rest is one."""
    told = [(list(places), amount) for places, amount in flows if amount]
    depth = len(told[0][0]) if told else 0
    for step in range(depth):
        kept = _largest([(places[step], amount) for places, amount in told], most)
        for places, _ in told:
            places[step] = places[step] if places[step] in kept else REST
    nodes: dict[tuple[int, str], Decimal] = {}
    links: dict[tuple[int, str, str], Decimal] = {}
    for places, amount in told:
        for step, place in enumerate(places):
            nodes[step, place] = nodes.get((step, place), Decimal(0)) + amount
            if step:
                key = (step, places[step - 1], place)
                links[key] = links.get(key, Decimal(0)) + amount
    colours = {place: number for number, place in enumerate(dict.fromkeys(place for _, place in nodes))}
    return {
        "kind": "sankey",
        "unit": unit,
        "nodes": [
            {
                "id": f"{step}|{place}",
                "name": place,
                "depth": step,
                "value": exact(amount),
                "tone": TONES.get(place),
                "hatched": step == 0 and place == ESTIMATED,
                "series": colours[place] % 7,
            }
            for (step, place), amount in nodes.items()
        ],
        "links_between": [
            {"source": f"{step - 1}|{origin}", "target": f"{step}|{place}", "value": exact(amount)}
            for (step, origin, place), amount in links.items()
            if amount
        ],
    }


def _largest(parts: Iterable[tuple[str, Decimal]], most: int) -> set[str]:
    sums: dict[str, Decimal] = {}
    for place, amount in parts:
        sums[place] = sums.get(place, Decimal(0)) + abs(amount)
    ordered = sorted(sums, key=lambda place: (-sums[place], place))
    return set(ordered if len(ordered) <= most + 1 else ordered[:most])
