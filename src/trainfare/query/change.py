"""The change of cost between two periods, in steps that add up to it exactly."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext
from typing import Any

from trainfare.engine.duckdb import quoted, step_text
from trainfare.money import PLACES
from trainfare.query import keys
from trainfare.query.conversions import applied_conversions
from trainfare.query.cost import PACKAGE, Question
from trainfare.query.groups import Groups, selected_shares
from trainfare.query.open_books import OpenBooks
from trainfare.query.selection import LOST_STATES

MEANINGS = {
    "volume": "more or fewer GPU hours, at the rate of the previous period",
    "mix": "the same hours on other GPU models, each at its previous rate; a new model counts at its own rate",
    "price": "changed rates per GPU hour for the same GPU models: prices, discounts, and everything else",
    "lost": "attempts that failed, were preempted, timed out or were requeued",
    "currency": "converted cost, at other exchange rates than in the previous period",
    "idle": "machine time that no job held",
    "unallocated": "charges that no rule allocates",
    "outside": "charges that are not for training",
}
FIRST_STEPS = ("volume", "mix", "price", "lost", "currency")
LAST_STEPS = ("idle", "unallocated", "outside")
UNIT = Decimal(1).scaleb(-PLACES)


@dataclass(frozen=True)
class PeriodCosts:
    """The cost of one period in the parts that a change is divided into.

    `rates` has the average exchange rate of each converted currency; it is empty for a viewer who may not see all of
    the converted cost.
    """

    rows: Sequence[Mapping[str, Any]]
    rates: Mapping[str, Decimal]


@dataclass(frozen=True)
class Change:
    """`before` plus all steps equals `after`, exactly."""

    before: Decimal
    after: Decimal
    steps: list[dict[str, Any]]


def period_costs(opened: OpenBooks, question: Question) -> PeriodCosts:
    """Return the cost of one period in its parts, and the exchange rates of converted cost."""
    facts = Groups(question.basis, question.selection, ["gpu_model", keys.HAS_GPUS, keys.ATTEMPT_STATE])
    fragments = {
        "basis": question.basis,
        "shares": selected_shares(opened, question.selection, ["category", "converted_from", *facts.by]),
        "facts": facts.facts(opened),
        "lost": ", ".join(quoted(state) for state in LOST_STATES),
    }
    rows = opened.engine.records(step_text(PACKAGE, "change", fragments))
    was_converted = any(row["converted_from"] for row in rows)
    return PeriodCosts(rows, _average_rates(opened, question) if was_converted else {})


def _average_rates(opened: OpenBooks, question: Question) -> dict[str, Decimal]:
    """Return the average exchange rate per currency, over all cost converted in the selected days, whoever paid it."""
    money = question.selection.money
    if question.days:
        money += f" AND day >= DATE '{question.days[0]}' AND day < DATE '{question.days[1]}'"
    original: dict[str, Decimal] = defaultdict(Decimal)
    converted: dict[str, Decimal] = defaultdict(Decimal)
    for one in applied_conversions(opened, money, question.basis):
        original[one.converted_from] += one.original or 0
        converted[one.converted_from] += one.converted or 0
    return {name: converted[name] / original[name] for name in original if original[name] > 0 < converted[name]}


def change(before: PeriodCosts, after: PeriodCosts) -> Change:
    """Return the steps from one period to the next; steps of zero are left out."""
    with localcontext(prec=80):
        rows = [_at_previous_rates(row, before.rates, after.rates) for row in after.rows]
        found = _steps(before.rows, rows) | {"currency": _sum(after.rows) - _sum(rows)}
        middle = sorted(found.keys() - {*FIRST_STEPS, *LAST_STEPS})
        steps = [
            {"step": name, "change": found[name], "meaning": MEANINGS.get(name, f"{name} costs of jobs")}
            for name in (*FIRST_STEPS, *middle, *LAST_STEPS)
            if found.get(name)
        ]
        return Change(_sum(before.rows), _sum(after.rows), steps)


def _at_previous_rates(
    row: Mapping[str, Any], before: Mapping[str, Decimal], after: Mapping[str, Decimal]
) -> Mapping[str, Any]:
    """Return a part of the later period at the exchange rates of the previous one, if both are known."""
    origin = row["converted_from"]
    if origin not in before or origin not in after:
        return row
    return {**row, "cost": (row["cost"] * before[origin] / after[origin]).quantize(UNIT)}


def _steps(before: Sequence[Mapping[str, Any]], after: Sequence[Mapping[str, Any]]) -> dict[str, Decimal]:
    """Return the change of each part; that of GPU machines as volume, mix and price."""
    names = {row["part"] for row in (*before, *after)} - {"gpu"}
    sums = {name: [_sum(row for row in side if row["part"] == name) for side in (before, after)] for name in names}
    return _machine_steps(_by_model(before), _by_model(after)) | {name: now - was for name, (was, now) in sums.items()}


def _sum(rows: Iterable[Mapping[str, Any]]) -> Decimal:
    return sum((row["cost"] for row in rows), Decimal(0))


@dataclass
class ModelCost:
    """The cost of GPU machines of one model, and the GPU time held."""

    cost: Decimal = Decimal(0)
    gpu_micros: int = 0


def _by_model(rows: Sequence[Mapping[str, Any]]) -> dict[str, ModelCost]:
    found: dict[str, ModelCost] = defaultdict(ModelCost)
    for row in rows:
        if row["part"] == "gpu":
            found[row["kind"]].cost += row["cost"]
            found[row["kind"]].gpu_micros += row["gpu_micros"]
    return found


def _machine_steps(before: Mapping[str, ModelCost], after: Mapping[str, ModelCost]) -> dict[str, Decimal]:
    """Return volume, mix and price of GPU machines.

    Each is rounded to a unit except the last, which is the remainder.
    """
    cost_before, cost_after = (sum((model.cost for model in side.values()), Decimal(0)) for side in (before, after))
    held_before, held_after = (sum(model.gpu_micros for model in side.values()) for side in (before, after))
    if not held_before:
        return {"volume": cost_after - cost_before, "mix": Decimal(0), "price": Decimal(0)}
    rates = {name: model.cost / model.gpu_micros for name, model in before.items() if model.gpu_micros}
    at_old_average = (cost_before * held_after / held_before).quantize(UNIT)
    at_old_rates = sum(
        (model.gpu_micros * rates[name] if name in rates else model.cost for name, model in after.items()),
        Decimal(0),
    ).quantize(UNIT)
    return {
        "volume": at_old_average - cost_before,
        "mix": at_old_rates - at_old_average,
        "price": cost_after - at_old_rates,
    }
