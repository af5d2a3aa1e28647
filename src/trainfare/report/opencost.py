"""Costs in the format of OpenCost's allocation API, so that its clients work with Trainfare.

Amounts are JSON numbers, as in OpenCost, with all of their digits. A job corresponds to a controller, a team to a
namespace. Time that no job held is `__idle__`; charges that no rule allocates are `__unallocated__`, and so is cost
without a value of the requested key.
"""

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

from trainfare.query import cost, groups, keys
from trainfare.query.cost import Question
from trainfare.query.open_books import OpenBooks
from trainfare.query.window import Window
from trainfare.report.documents import utc_text

IDLE, UNALLOCATED, OUTSIDE = "__idle__", "__unallocated__", "__outside__"
KEY_NAMES = {
    "namespace": "team",
    "controller": "job",
    "controllerkind": "state",
    "deployment": "job",
    "job": "job",
    "pod": "attempt",
    "container": "attempt",
    "node": "machine",
    "cluster": "cluster",
    "department": "cost_center",
    "environment": "priority",
    "owner": "owner",
    "product": "project",
    "service": "project",
    "team": "team",
}
"""OpenCost's aggregation keys and ours. Our own keys are accepted as they are; `label:KEY` is a label."""
COLUMNS = {
    "gpuCost": ("compute", "power", "facility"),
    "pvCost": ("storage",),
    "networkCost": ("network",),
    "sharedCost": ("platform", "support", "tax", "credit", "other"),
    "externalCost": ("license", "labor"),
}
"""The categories in each cost column; each is in one. A machine has one price, so CPU and memory are part of gpuCost,
and so are the power and the facility of owned machines, which the price of a rented one includes."""


def parse(aggregate: str, opened: OpenBooks) -> list[str]:
    """Return the keys of an `aggregate`, OpenCost's or ours; without any, everything is one allocation."""
    requested = [part.strip() for part in aggregate.split(",") if part.strip()]
    if not requested or requested == ["all"]:
        return []
    return keys.parse([KEY_NAMES.get(part.lower(), part.removeprefix("label:")) for part in requested], opened.engine)


def allocations(
    opened: OpenBooks, question: Question, steps: Sequence[Window], include_idle: bool
) -> list[dict[str, dict[str, Any]]]:
    """Return one set of allocations, by name, per step of the window."""
    return [_set(opened, question, step, include_idle) for step in steps]


def accumulated(sets: Sequence[dict[str, dict[str, Any]]]) -> dict[str, dict[str, Any]]:
    """Add up several sets."""
    total: dict[str, dict[str, Any]] = {}
    for one in sets:
        for name, allocation in one.items():
            known = total.setdefault(name, allocation | {column: Decimal(0) for column in _SUMMED})
            for column in _SUMMED:
                known[column] += allocation[column] or 0
            known["end"] = allocation["end"]
            known["window"] = {"start": known["start"], "end": allocation["end"]}
    return total


_SUMMED = (*COLUMNS, "totalCost", "minutes", "gpuHours")


def _set(opened: OpenBooks, question: Question, step: Window, include_idle: bool) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    start, end = utc_text(step.start), utc_text(step.end)
    for row in opened.engine.records(_select(opened, question, step)):
        name = _name(row, question.by)
        if name == OUTSIDE or (name == IDLE and not include_idle):
            continue
        allocation = found.setdefault(name, _empty(name, row, question.by, start, end))
        allocation["totalCost"] += row["cost"]
        for column, categories in COLUMNS.items():
            if row["category"] in categories:
                allocation[column] += row["cost"]
    for held in cost.rows(opened, replace(question, days=step.days), question.by):
        values = {f"k{index}": value for index, value in enumerate(held.group.values())}
        name = _name({"payer_kind": "attempt"} | values, question.by)
        if name in found:
            found[name]["minutes"] = Decimal(held.wall_seconds) / 60
            found[name]["gpuHours"] = None if held.gpu_seconds is None else held.gpu_seconds / 3600
    return found


def _select(opened: OpenBooks, question: Question, step: Window) -> str:
    named = "".join(f", {keys.share_sql(key)} AS k{index}" for index, key in enumerate(question.by))
    selection = replace(question, days=step.days).selection
    return (
        f"SELECT s.payer_kind, s.category, CAST(sum(s.{question.basis}) AS DECIMAL(38,12)) AS cost{named} "
        f"FROM {groups.selected_shares(opened, selection, [*question.by, 'category'])} GROUP BY ALL ORDER BY ALL"
    )


def _name(row: dict[str, Any], by: Sequence[str]) -> str:
    special = {"idle": IDLE, "unallocated": UNALLOCATED, "outside": OUTSIDE}
    if row["payer_kind"] in special:
        return special[row["payer_kind"]]
    values = [row[f"k{index}"] for index in range(len(by))]
    return "/".join(UNALLOCATED if value is None else str(value) for value in values) if values else "__all__"


def _empty(name: str, row: dict[str, Any], by: Sequence[str], start: str | None, end: str | None) -> dict[str, Any]:
    labels = {
        keys.display_name(key): str(row[f"k{index}"]) for index, key in enumerate(by) if row[f"k{index}"] is not None
    }
    known = {} if name.startswith("__") else labels
    return {
        "name": name,
        "properties": {"labels": known}
        | {theirs: known[ours] for theirs, ours in _PROPERTIES.items() if ours in known},
        "window": {"start": start, "end": end},
        "start": start,
        "end": end,
        "minutes": None,
        "gpuHours": None,
        "cpuCost": Decimal(0),
        "ramCost": Decimal(0),
        **{column: Decimal(0) for column in COLUMNS},
        "totalCost": Decimal(0),
    }


_PROPERTIES = {"namespace": "team", "controller": "job", "node": "machine", "cluster": "cluster"}
