"""What changed between two periods, in steps that add up to the change exactly."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext
from typing import Any

from trainfare.engine.duckdb import quoted, step_text
from trainfare.money import PLACES
from trainfare.report.cost import PACKAGE, Question
from trainfare.report.groups import Groups
from trainfare.report.opened import Opened
from trainfare.report.slice import LOST
from trainfare.tables import LABELS

MEANINGS = {
    "volume": "more or fewer GPU hours, at the rate of the period before",
    "mix": "the same hours on other kinds of GPU, each at its rate before; a kind that is new counts at its own",
    "price": "other rates per GPU hour for the same kinds: prices, discounts, and whatever else is left",
    "lost": "attempts that failed, were preempted, timed out or were requeued",
    "idle": "machines that nobody held",
    "unallocated": "charges that no rule could give to anybody",
    "outside": "charges that are not training",
}
ORDER = ("volume", "mix", "price", "lost")
LAST = ("idle", "unallocated", "outside")


@dataclass(frozen=True)
class Change:
    """`before` plus every step is `after`, to the last digit."""

    before: Decimal
    after: Decimal
    steps: list[dict[str, Any]]


def parts(opened: Opened, question: Question) -> list[dict[str, Any]]:
    """One period's money in the parts that a change is told by."""
    if kept := Groups(question.basis, question.slice, ()).of_digest(opened, {*LABELS, "category", "payer"}):
        return opened.engine.records(step_text(PACKAGE, "digest_change", kept))
    fragments = {
        "basis": question.basis,
        "shares": question.slice.shares,
        "placements": question.slice.placements,
        "lost": ", ".join(quoted(state) for state in LOST),
    }
    return opened.engine.records(step_text(PACKAGE, "change", fragments))


def change(before: Sequence[Mapping[str, Any]], after: Sequence[Mapping[str, Any]]) -> Change:
    """The steps from one period to the next; those without any money are left out."""
    with localcontext(prec=80):
        return _in_steps(before, after)


def _in_steps(before: Sequence[Mapping[str, Any]], after: Sequence[Mapping[str, Any]]) -> Change:
    """What `change` gives, in a context wide enough for every digit."""
    totals = [sum((row["cost"] for row in side), Decimal(0)) for side in (before, after)]
    found = _of_machines(
        [row for row in before if row["part"] == "gpu"], [row for row in after if row["part"] == "gpu"]
    )
    names = {row["part"] for row in (*before, *after)} - {"gpu"}
    for name in names:
        sums = [sum((row["cost"] for row in side if row["part"] == name), Decimal(0)) for side in (before, after)]
        found[name] = sums[1] - sums[0]
    middle = sorted(names - {*ORDER, *LAST})
    steps = [
        {"step": name, "change": found[name], "meaning": MEANINGS.get(name, f"{name} costs of jobs")}
        for name in (*ORDER, *middle, *LAST)
        if found.get(name)
    ]
    return Change(totals[0], totals[1], steps)


def _of_machines(before: Sequence[Mapping[str, Any]], after: Sequence[Mapping[str, Any]]) -> dict[str, Decimal]:
    """Volume, mix and price of GPU machines. Each is rounded to a unit but the last, which is the rest."""
    unit = Decimal(1).scaleb(-PLACES)
    cost_before, cost_after = (sum((row["cost"] for row in side), Decimal(0)) for side in (before, after))
    held_before, held_after = (sum(row["gpu_micros"] for row in side) for side in (before, after))
    if not held_before:
        return {"volume": cost_after - cost_before, "mix": Decimal(0), "price": Decimal(0)}
    rates = {row["kind"]: row["cost"] / row["gpu_micros"] for row in before if row["gpu_micros"]}
    as_before = (cost_before * held_after / held_before).quantize(unit)
    at_old_rates = sum(
        (row["gpu_micros"] * rates[row["kind"]] if row["kind"] in rates else row["cost"] for row in after),
        Decimal(0),
    ).quantize(unit)
    return {
        "volume": as_before - cost_before,
        "mix": at_old_rates - as_before,
        "price": cost_after - at_old_rates,
    }
