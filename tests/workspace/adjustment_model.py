"""A slow model of adjustments in plain Python: whatever happened before, payers end up with what the month says.

Machines have one GPU each and charges are for full hours, so an hour is paid by its holder or is idle: nothing is
divided, except the tax, which is split by what was spent in the month, as `money.split` says.
"""

import copy
from collections import Counter
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from trainfare.money import split

MICRO, UNIT = 10**6, 10**12
Shares = dict[tuple[str, str | None, str, str], int]
"""Units of 10^-12 by payer, machine, day and category."""


@dataclass
class Records:
    """What the files say about one month."""

    hours: dict[tuple[str, int], int] = field(default_factory=dict)
    """The price of each machine and hour since the start of the month, in units."""
    tax: int = 0
    holders: dict[tuple[str, int], str] = field(default_factory=dict)
    """The job that holds a machine in an hour."""

    def copy(self) -> "Records":
        return Records(dict(self.hours), self.tax, dict(self.holders))


def allocated(month: str, records: Records, is_outside: bool) -> Shares:
    """Allocate a month under the rule in force: machines to their holders, or everything outside."""
    shares: Counter[tuple[str, str | None, str, str]] = Counter()
    for (machine, hour), units in records.hours.items():
        holder = records.holders.get((machine, hour))
        payer = "__outside__" if is_outside else f"{holder}#1" if holder else "__idle__"
        # What goes outside is not split within a machine.
        shares[payer, None if is_outside else machine, f"{month}-{hour // 24 + 1:02}", "compute"] += units
    weights = {key: units * MICRO // UNIT for key, units in shares.items() if units * MICRO >= UNIT}
    if records.tax and weights:
        # Ties go to the first attempt by name; other payers come after all attempts.
        order = sorted(weights, key=lambda key: (key[0].startswith("__"), key[0], key[1] or "", key[2]))
        numbered = {number: weights[key] for number, key in enumerate(order)}
        for number, part in split(records.tax, numbered).items():
            payer, machine, day, _ = order[number]
            shares[payer, machine, day, "tax"] += part
    elif records.tax:
        shares["__unallocated__", None, f"{month}-01", "tax"] += records.tax
    return {key: units for key, units in shares.items() if units}


def minus(one: Shares, other: Shares) -> Shares:
    """Subtract share by share; what did not change has no share."""
    difference = {key: one.get(key, 0) - other.get(key, 0) for key in {*one, *other}}
    return {key: units for key, units in difference.items() if units}


def plus(one: Shares, other: Shares) -> Shares:
    return minus(one, {key: -units for key, units in other.items()})


@dataclass
class Closed:
    """A closed month: its rule, everything booked for it in closed books, and the bill that this was made from."""

    is_outside: bool
    booked: Shares
    hours: dict[tuple[str, int], int]
    tax: int


@dataclass
class Model:
    """The books of consecutive months, by the definition of an adjustment and nothing else."""

    records: dict[str, Records]
    is_outside: bool = False
    closed: dict[str, Closed] = field(default_factory=dict)
    adjustments: dict[str, Shares] = field(default_factory=dict)
    """What the first open month books, by closed month."""
    before: dict[str, dict[str, Closed]] = field(default_factory=dict)
    """By closed month, what was closed before it."""
    moved: dict[str, int] = field(default_factory=dict)
    """What would be paid by others if a closed month was open."""

    def build(self) -> None:
        self.adjustments, self.moved = {}, {}
        for month, closed in self.closed.items():
            now = self.records[month]
            if (now.hours, now.tax) != (closed.hours, closed.tax):
                difference = minus(allocated(month, now, closed.is_outside), closed.booked)
                if difference:
                    self.adjustments[month] = difference
            booked = plus(closed.booked, self.adjustments.get(month, {}))
            by_payer: Counter[str] = Counter()
            for (payer, *_), units in minus(allocated(month, now, self.is_outside), booked).items():
                by_payer[payer] += units
            if moved := sum(units for units in by_payer.values() if units > 0):
                self.moved[month] = moved

    def open_months(self) -> list[str]:
        return [month for month in self.records if month not in self.closed]

    def own(self, month: str) -> Shares:
        return allocated(month, self.records[month], self.is_outside)

    def close(self) -> str:
        """Close the first open month: its adjustments are booked, until it is reopened."""
        month = self.open_months()[0]
        self.before[month] = copy.deepcopy(self.closed)
        for adjusted, shares in self.adjustments.items():
            closed = self.closed[adjusted]
            now = self.records[adjusted]
            closed.booked, closed.hours, closed.tax = plus(closed.booked, shares), dict(now.hours), now.tax
        now = self.records[month]
        self.closed[month] = Closed(self.is_outside, self.own(month), dict(now.hours), now.tax)
        return month

    def reopen(self) -> str:
        """Reopen the last closed month: nothing that its book has is booked any more."""
        month = max(self.closed)
        self.closed = self.before.pop(month)
        return month


def money(units: int) -> Decimal:
    return Decimal(units) / UNIT


def readable(shares: Shares) -> dict[Any, Decimal]:
    return {key: money(units) for key, units in sorted(shares.items(), key=str)}
