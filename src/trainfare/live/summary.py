"""A window by job, label or machine: what each spent, and what it spends per hour now. Sums are rounded once, here."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

from trainfare.live.money import IDLE, Payer
from trainfare.live.window import BILLED, Part, Unknown, Window
from trainfare.money import PLACES
from trainfare.tables import LABELS

MACHINE_KEYS = ("machine", "cluster", "pool", "category")
KEYS = ("job", "attempt", *LABELS, *MACHINE_KEYS)
"""What a window can be grouped by."""
IDLE_NAME, NO_LABEL = "__idle__", "(none)"
_PER_HOUR = 3600


@dataclass(frozen=True)
class Spent:
    """The spend of one group in one currency. What is not known completely is None, and at least the known part."""

    group: str
    currency: str
    cost: Decimal | None
    at_least: Decimal
    per_hour: Decimal | None
    per_hour_at_least: Decimal
    reasons: tuple[str, ...] = ()
    """Why the cost is not known completely."""


@dataclass
class _Sums:
    cost: Fraction = Fraction(0)
    per_second: Fraction = Fraction(0)
    cost_reasons: set[str] = field(default_factory=set)
    rate_reasons: set[str] = field(default_factory=set)


def amount(units: Fraction) -> Decimal:
    """Return units of 10^-12 as an amount of a currency, rounded to whole units."""
    with localcontext() as exact:
        exact.prec = 60
        return Decimal(round(units)).scaleb(-PLACES)  # half a unit goes to the even one


def summarize(spent: Window, now: Window, by: str = "job", visibility: Sequence[str] | None = None) -> list[Spent]:
    """Return the groups of a window by cost, with the rate of `now`; with a visibility, only attempts it covers."""
    sums: dict[tuple[str, str], _Sums] = {}
    for found, is_rate in ((spent, False), (now, True)):
        for part in found.parts:
            if is_visible(found, part.payer, visibility):
                one = sums.setdefault((_group(found, part, by), part.currency), _Sums())
                if is_rate:
                    one.per_second += part.units
                else:
                    one.cost += part.units
        for unknown in found.unknowns:
            _mark(sums, found, unknown, by, is_rate, visibility)
    rows = [_spent(group, currency, one) for (group, currency), one in sums.items()]
    return sorted(rows, key=lambda row: (row.currency, -row.at_least, -row.per_hour_at_least, row.group))


def is_visible(found: Window, payer: Payer, visibility: Sequence[str] | None) -> bool:
    """Return whether a viewer may see what a payer spends: everything, or attempts with one of its labels."""
    if visibility is None:
        return True
    row = found.attempts.get(payer)
    return row is not None and any(f"{name}:{row[name]}" in visibility for name in LABELS if row[name])


def _group(found: Window, part: Part, by: str) -> str:
    if by == "category":
        return part.category
    if by in MACHINE_KEYS:
        return _of_machine(found.machines[part.machine], by)
    return _of_payer(found, part.payer, by)


def _of_machine(machine: Mapping[str, Any], by: str) -> str:
    return str(machine["machine_id"] if by == "machine" else machine[by] or NO_LABEL)


def _of_payer(found: Window, payer: Payer, by: str) -> str:
    if payer == IDLE:
        return IDLE_NAME
    row = found.attempts[payer]
    if by in LABELS:
        return str(row[by] or NO_LABEL)
    return str(row["job_id"]) if by == "job" else f"{row['job_id']}#{row['attempt']}"


def _mark(
    sums: dict[tuple[str, str], _Sums],
    found: Window,
    unknown: Unknown,
    by: str,
    is_rate: bool,
    visibility: Sequence[str] | None,
) -> None:
    """Mark the groups whose cost includes time of a machine that has no known price. Billed time is in a book."""
    if unknown.reason == BILLED:
        return
    payers = [payer for payer in unknown.payers or (IDLE,) if is_visible(found, payer, visibility)]
    groups = {_of_payer(found, payer, by) for payer in payers} if by not in MACHINE_KEYS else set()
    if by in ("machine", "category") and payers:
        groups = {unknown.machine_id if by == "machine" else "compute"}
    elif by in MACHINE_KEYS and payers:
        machine = next((one for one in found.machines.values() if one["machine_id"] == unknown.machine_id), None)
        groups = {_of_machine(machine, by) if machine else NO_LABEL}
    currencies = {currency for _, currency in sums} or {""}
    for group in groups:
        for currency in {known for name, known in sums if name == group} or {min(currencies)}:
            one = sums.setdefault((group, currency), _Sums())
            (one.rate_reasons if is_rate else one.cost_reasons).add(f"{unknown.machine_id}: {unknown.reason}")


def _spent(group: str, currency: str, one: _Sums) -> Spent:
    cost, per_hour = amount(one.cost), amount(one.per_second * _PER_HOUR)
    return Spent(
        group,
        currency,
        None if one.cost_reasons else cost,
        cost,
        None if one.rate_reasons else per_hour,
        per_hour,
        tuple(sorted(one.cost_reasons | one.rate_reasons)),
    )
