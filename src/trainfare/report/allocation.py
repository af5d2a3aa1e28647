"""Costs in the shape of OpenCost's allocation API, so that its clients can be pointed at us.

Its figures are numbers, and so are these, with all of their digits. A job is what it calls
a controller, a team a namespace. What nobody held is `__idle__`; what no rule could give to anybody is
`__unallocated__`, as is what has no value of the key asked for.
"""

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

from trainfare.errors import TrainfareError
from trainfare.report import cost, groups, keys
from trainfare.report.cost import Question
from trainfare.report.opened import Opened
from trainfare.report.render import moment
from trainfare.report.window import Window

IDLE, UNALLOCATED, OUTSIDE = "__idle__", "__unallocated__", "__outside__"
NAMES = {
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
"""What OpenCost aggregates by, in our words. Any key of ours may be given as it is; `label:KEY` is a label."""
COLUMNS = {
    "gpuCost": ("compute",),
    "pvCost": ("storage",),
    "networkCost": ("network",),
    "sharedCost": ("platform", "support", "tax", "credit", "other"),
    "externalCost": ("licence", "labour"),
}
"""Categories by the cost column they are shown in. Machines are priced whole, so CPU and memory are within gpuCost."""


def parse(aggregate: str, opened: Opened) -> list[str]:
    """The keys of an `aggregate`, theirs or ours; without any, everything is one allocation."""
    asked = [part.strip() for part in aggregate.split(",") if part.strip()]
    if not asked or asked == ["all"]:
        return []
    return keys.parse([NAMES.get(part.lower(), part.removeprefix("label:")) for part in asked], opened.engine)


def allocations(
    opened: Opened, question: Question, pieces: Sequence[Window], include_idle: bool
) -> list[dict[str, dict[str, Any]]]:
    """One set of allocations per piece of the window, by name."""
    return [_set(opened, question, piece, include_idle) for piece in pieces]


def accumulated(sets: Sequence[dict[str, dict[str, Any]]]) -> dict[str, dict[str, Any]]:
    """Several sets added up to one."""
    whole: dict[str, dict[str, Any]] = {}
    for one in sets:
        for name, told in one.items():
            known = whole.setdefault(name, told | {column: Decimal(0) for column in _SUMMED})
            for column in _SUMMED:
                known[column] += told[column] or 0
            known["end"], known["window"] = told["end"], {"start": known["start"], "end": told["end"]}
    return whole


_SUMMED = (*COLUMNS, "totalCost", "minutes", "gpuHours")


def _set(opened: Opened, question: Question, piece: Window, include_idle: bool) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    start, end = moment(piece.start), moment(piece.end)
    for row in opened.engine.records(_select(opened, question, piece)):
        name = _name(row, question.by)
        if name == OUTSIDE or (name == IDLE and not include_idle):
            continue
        told = found.setdefault(name, _empty(name, row, question.by, start, end))
        told["totalCost"] += row["cost"]
        for column, categories in COLUMNS.items():
            if row["category"] in categories:
                told[column] += row["cost"]
    for held in cost.rows(opened, replace(question, days=piece.days), question.by):
        values = {f"k{index}": value for index, value in enumerate(held.group.values())}
        name = _name({"payer_kind": "attempt"} | values, question.by)
        if name in found:
            found[name]["minutes"] = Decimal(held.wall_seconds) / 60
            found[name]["gpuHours"] = None if held.gpu_seconds is None else held.gpu_seconds / 3600
    return found


def _select(opened: Opened, question: Question, piece: Window) -> str:
    named = "".join(f", {keys.of_share(key)} AS k{index}" for index, key in enumerate(question.by))
    slice_ = replace(question, days=piece.days).slice
    return (
        f"SELECT s.payer_kind, s.category, CAST(sum(s.{question.basis}) AS DECIMAL(38,12)) AS cost{named} "
        f"FROM {groups.paid(opened, slice_, question.by)} GROUP BY ALL ORDER BY ALL"
    )


def _name(row: dict[str, Any], by: Sequence[str]) -> str:
    special = {"idle": IDLE, "unallocated": UNALLOCATED, "outside": OUTSIDE}
    if row["payer_kind"] in special:
        return special[row["payer_kind"]]
    values = [row[f"k{index}"] for index in range(len(by))]
    return "/".join(UNALLOCATED if value is None else str(value) for value in values) if values else "__all__"


def _empty(name: str, row: dict[str, Any], by: Sequence[str], start: str | None, end: str | None) -> dict[str, Any]:
    labels = {keys.shown(key): str(row[f"k{index}"]) for index, key in enumerate(by) if row[f"k{index}"] is not None}
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


def require_steps(pieces: Sequence[Window], most: int) -> None:
    if len(pieces) > most:
        raise TrainfareError("step", f"{len(pieces)} steps", f"Ask for at most {most}.")
