"""What changed between two periods, in steps that add up to the change exactly."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext
from typing import Any

from trainfare.engine.duckdb import quoted, step_text
from trainfare.money import PLACES
from trainfare.report.converted import conversions
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
    "currency": "what was converted, at other exchange rates than those of the period before",
    "idle": "machines that nobody held",
    "unallocated": "charges that no rule could give to anybody",
    "outside": "charges that are not training",
}
ORDER = ("volume", "mix", "price", "lost", "currency")
LAST = ("idle", "unallocated", "outside")
UNIT = Decimal(1).scaleb(-PLACES)


@dataclass(frozen=True)
class Parts:
    """One period's money in the parts that a change is told by. `rates` has, for each currency that was converted, the average rate;
    it has none for whoever may not see all of that money.
    """

    rows: Sequence[Mapping[str, Any]]
    rates: Mapping[str, Decimal]


@dataclass(frozen=True)
class Change:
    """`before` plus every step is `after`, to the last digit."""

    before: Decimal
    after: Decimal
    steps: list[dict[str, Any]]


def parts(opened: Opened, question: Question) -> Parts:
    """One period's money in its parts, and the rates of what was converted."""
    if kept := Groups(question.basis, question.slice, ()).of_digest(opened, {*LABELS, "category", "payer"}):
        rows = opened.engine.records(step_text(PACKAGE, "digest_change", kept))
    else:
        fragments = {
            "basis": question.basis,
            "shares": question.slice.shares,
            "placements": question.slice.placements,
            "lost": ", ".join(quoted(state) for state in LOST),
        }
        rows = opened.engine.records(step_text(PACKAGE, "change", fragments))
    was_converted = any(row["converted_from"] for row in rows)
    return Parts(rows, _average_rates(opened, question) if was_converted else {})


def _average_rates(opened: Opened, question: Question) -> dict[str, Decimal]:
    """By currency, what one of it was worth over all that was converted in the days asked about, whoever paid it."""
    money = question.slice.money
    if question.days:
        money += f" AND day >= DATE '{question.days[0]}' AND day < DATE '{question.days[1]}'"
    original: dict[str, Decimal] = defaultdict(Decimal)
    converted: dict[str, Decimal] = defaultdict(Decimal)
    for one in conversions(opened, money, question.basis):
        original[one.converted_from] += one.original or 0
        converted[one.converted_from] += one.converted or 0
    return {name: converted[name] / original[name] for name in original if original[name] > 0 < converted[name]}


def change(before: Parts, after: Parts) -> Change:
    """The steps from one period to the next; those without any money are left out."""
    with localcontext(prec=80):
        rows = [_at_rates_before(row, before.rates, after.rates) for row in after.rows]
        found = _steps(before.rows, rows) | {"currency": _sum(after.rows) - _sum(rows)}
        middle = sorted(found.keys() - {*ORDER, *LAST})
        steps = [
            {"step": name, "change": found[name], "meaning": MEANINGS.get(name, f"{name} costs of jobs")}
            for name in (*ORDER, *middle, *LAST)
            if found.get(name)
        ]
        return Change(_sum(before.rows), _sum(after.rows), steps)


def _at_rates_before(
    row: Mapping[str, Any], before: Mapping[str, Decimal], after: Mapping[str, Decimal]
) -> Mapping[str, Any]:
    """A part of the later period with what it would have cost at the rates of the period before, where both are known."""
    origin = row["converted_from"]
    if origin not in before or origin not in after:
        return row
    return {**row, "cost": (row["cost"] * before[origin] / after[origin]).quantize(UNIT)}


def _steps(before: Sequence[Mapping[str, Any]], after: Sequence[Mapping[str, Any]]) -> dict[str, Decimal]:
    """What each part became more or less by; GPU machines in volume, mix and price."""
    names = {row["part"] for row in (*before, *after)} - {"gpu"}
    sums = {name: [_sum(row for row in side if row["part"] == name) for side in (before, after)] for name in names}
    return _of_machines(_kinds(before), _kinds(after)) | {name: now - was for name, (was, now) in sums.items()}


def _sum(rows: Iterable[Mapping[str, Any]]) -> Decimal:
    return sum((row["cost"] for row in rows), Decimal(0))


@dataclass
class Kind:
    """What GPU machines of one kind cost, and how long their GPUs were held."""

    cost: Decimal = Decimal(0)
    gpu_micros: int = 0


def _kinds(rows: Sequence[Mapping[str, Any]]) -> dict[str, Kind]:
    found: dict[str, Kind] = defaultdict(Kind)
    for row in rows:
        if row["part"] == "gpu":
            found[row["kind"]].cost += row["cost"]
            found[row["kind"]].gpu_micros += row["gpu_micros"]
    return found


def _of_machines(before: Mapping[str, Kind], after: Mapping[str, Kind]) -> dict[str, Decimal]:
    """Volume, mix and price of GPU machines. Each is rounded to a unit but the last, which is the rest."""
    cost_before, cost_after = (sum((kind.cost for kind in side.values()), Decimal(0)) for side in (before, after))
    held_before, held_after = (sum(kind.gpu_micros for kind in side.values()) for side in (before, after))
    if not held_before:
        return {"volume": cost_after - cost_before, "mix": Decimal(0), "price": Decimal(0)}
    rates = {name: kind.cost / kind.gpu_micros for name, kind in before.items() if kind.gpu_micros}
    as_before = (cost_before * held_after / held_before).quantize(UNIT)
    at_old_rates = sum(
        (kind.gpu_micros * rates[name] if name in rates else kind.cost for name, kind in after.items()),
        Decimal(0),
    ).quantize(UNIT)
    return {
        "volume": as_before - cost_before,
        "mix": at_old_rates - as_before,
        "price": cost_after - at_old_rates,
    }
