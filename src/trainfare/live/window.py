"""The spend of any window, exactly: seconds summed by the database, times prices, per payer and machine.

A window ends, for each machine, where the records of those who would know are complete: later time would look idle.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from sqlalchemy import Connection, select

from trainfare.allocate.weights import SECOND_PARTS
from trainfare.live import money
from trainfare.live.holdings import EVENTS, FILES
from trainfare.live.money import HOUR, IDLE, Charge, Hold, Payer
from trainfare.store.live import sums
from trainfare.store.live.sums import Slice
from trainfare.store.live.tables import ATTEMPTS, MACHINES, SOURCES

RECORDED_LATER = (FILES, EVENTS)
TIME_CATEGORIES = ("compute", "platform")
"""The categories of which a machine without any has no known price."""
LATEST = 2**62
NO_PRICE, UNKNOWN_MACHINE = "no known price", "no source knows this machine"
BILLED, LEDGER = "billed already", "its cost comes from a ledger"
REASONS = {
    NO_PRICE: "no bill, contract or price list has a price for it",
    UNKNOWN_MACHINE: "neither the bill nor a machine file has a machine of this name",
    BILLED: "the bill covers this time: the book of the month has its cost",
    LEDGER: "the book of the month amortizes its cost; there is no price by the second",
}
"""Why the cost of a machine's time is not known here."""


@dataclass(frozen=True)
class Part:
    """What one payer is charged for one machine in one category; units are 10^-12 of the currency."""

    machine: int
    payer: Payer
    category: str
    currency: str
    units: Fraction


@dataclass(frozen=True)
class Unknown:
    """Time of a machine whose cost is not known."""

    machine_id: str
    reason: str
    seconds: int
    payers: frozenset[Payer]


@dataclass(frozen=True)
class Source:
    """Whose records the account rests on, and how far they are complete."""

    name: str
    complete_through: int | None
    problem: str | None = None


@dataclass(frozen=True)
class Window:
    """The spend of a window: what is known of it, and what is not."""

    starts: int
    ends: int
    """The end that was asked for. The account of each machine ends where the records of its sources do."""
    through: int | None
    """Up to where the least complete machine is counted; None if none is."""
    parts: Sequence[Part]
    unknowns: Sequence[Unknown]
    sources: Sequence[Source]
    machines: Mapping[int, Mapping[str, Any]]
    attempts: Mapping[Payer, Mapping[str, Any]]

    def totals(self, currency: str | None = None) -> dict[str, Fraction]:
        """Return the known spend by currency, in units."""
        found: dict[str, Fraction] = {}
        for part in self.parts:
            if currency in (None, part.currency):
                found[part.currency] = found.get(part.currency, Fraction(0)) + part.units
        return found


@dataclass(frozen=True)
class _Facts:
    """What does not depend on the window."""

    machines: Mapping[int, Mapping[str, Any]]
    attempts: Mapping[int, Mapping[str, Any]]
    sources: Sequence[Source]

    def payer(self, attempt: int) -> Payer:
        row = self.attempts[attempt]
        return money.attempt_payer(row["job_id"], row["attempt"])

    def through(self, machine: int) -> int | None:
        """Up to where all who would know are complete.

        Of a machine that nobody names yet, that is the collector named like its cluster, or else any of them. A file or
        an event says what was held, not what is: it decides only where no collector does.
        """
        row = self.machines[machine]
        named = [one for one in self.sources if one.name in row["sources"].split("\n")]
        named = named or [one for one in self.sources if row["cluster"] and one.name == row["cluster"]]
        deciding = [one for one in named or self.sources if one.name not in RECORDED_LATER]
        ends = [one.complete_through for one in deciding or named or self.sources]
        return None if not ends or None in ends else min(end for end in ends if end is not None)

    def groups(self) -> dict[int, frozenset[int]]:
        """The machines by where their records end; those of which nothing is known are in none."""
        found: dict[int, set[int]] = {}
        for machine in self.machines:
            through = self.through(machine)
            if through is not None:
                found.setdefault(through, set()).add(machine)
        return {through: frozenset(machines) for through, machines in found.items()}


@dataclass
class _Found:
    parts: dict[tuple[int, Payer, str, str], Fraction] = field(default_factory=dict)
    unknowns: dict[tuple[int, str], tuple[int, set[Payer]]] = field(default_factory=dict)

    def add(self, machine: int, key: tuple[str, str], split: Mapping[Payer, int | Fraction]) -> None:
        for payer, units in split.items():
            if units:
                one = (machine, payer, *key)
                self.parts[one] = self.parts.get(one, Fraction(0)) + units

    def miss(self, machine: int, reason: str, seconds: int, payers: Iterable[Payer]) -> None:
        before, known = self.unknowns.get((machine, reason), (0, set()))
        self.unknowns[machine, reason] = before + seconds, known | {*payers}


def window(connection: Connection, starts: int, ends: int, known_at: int = LATEST) -> Window:
    """Return the spend from one second up to another, by what was known at a time: by default, now."""
    facts = _facts(connection)
    groups = {min(through, ends): machines for through, machines in sorted(facts.groups().items()) if through < ends}
    complete = frozenset(
        machine for through, machines in facts.groups().items() if through >= ends for machine in machines
    )
    groups |= {ends: complete} if complete else {}
    slices = [Slice(starts, through, machines, known_at) for through, machines in groups.items()]
    return _window(connection, facts, (starts, ends), slices)


def last(connection: Connection, seconds: int, known_at: int = LATEST) -> Window:
    """Return the spend of the last seconds of each machine's records: a window of full length, wherever they end."""
    facts = _facts(connection)
    slices = [Slice(through - seconds, through, machines, known_at) for through, machines in facts.groups().items()]
    end = max((one.ends for one in slices), default=0)
    return _window(connection, facts, (end - seconds, end), slices)


def rate(connection: Connection, known_at: int = LATEST) -> Window:
    """Return what the last second of each machine's records cost: times 3600, the rate per hour."""
    return last(connection, 1, known_at)


def _window(connection: Connection, facts: _Facts, bounds: tuple[int, int], slices: Sequence[Slice]) -> Window:
    found, unknowns = _Found(), []
    for given in slices:
        _add_spend(connection, facts, given, found)
    throughs = [one.ends for one in slices if one.machines]
    if throughs:
        unknowns = _unknown_machines(connection, facts, Slice(bounds[0], max(throughs), None, slices[0].known_at))
    for (machine, reason), (seconds, payers) in sorted(found.unknowns.items()):
        unknowns.append(Unknown(facts.machines[machine]["machine_id"], reason, seconds, frozenset(payers)))
    parts = [Part(*key[:2], *key[2:], units) for key, units in sorted(found.parts.items())]
    attempts = {money.attempt_payer(row["job_id"], row["attempt"]): row for row in facts.attempts.values()}
    through = min(throughs, default=None)
    return Window(*bounds, through, parts, unknowns, facts.sources, facts.machines, attempts)


def _facts(connection: Connection) -> _Facts:
    machines = {row["id"]: dict(row) for row in connection.execute(select(MACHINES)).mappings()}
    attempts = {row["id"]: dict(row) for row in connection.execute(select(ATTEMPTS)).mappings()}
    rows = connection.execute(select(SOURCES).order_by(SOURCES.c.name)).mappings()
    sources = [Source(row["name"], row["complete_through"], row["problem"]) for row in rows]
    return _Facts(machines, attempts, sources)


def _add_spend(connection: Connection, facts: _Facts, given: Slice, found: _Found) -> None:
    """Add what the machines of one slice cost, and the time of which that is not known."""
    buckets = given.buckets
    present = {(row["machine"], row["bucket"]): row for row in sums.presence(connection, given)}
    weights: dict[tuple[int, int], dict[Payer, int]] = {}
    for row in sums.weights(connection, given):
        weights.setdefault((row["machine"], row["bucket"]), {})[facts.payer(row["attempt"])] = row["weight"]
    charges: dict[tuple[int, int], list[Mapping[str, Any]]] = {}
    for row in sums.charges(connection, given):
        charges.setdefault((row["machine"], row["bucket"]), []).append(row)
    crowded = sums.crowded(connection, given)
    cut = {key for key, rows in charges.items() if any(row["seconds"] != present[key]["seconds"] for row in rows)}
    holds = _holds(connection, facts, given, {machine for machine, _ in crowded | cut})
    for key, rows in charges.items():
        here = _Here(present[key]["capacity"], buckets[key[1]], weights.get(key, {}))
        if key in crowded or key in cut:
            here = _Here(here.capacity, here.bucket, None, holds.get(key[0], []))
        for (category, currency), split in here.splits(rows):
            found.add(key[0], (category, currency), split)
    for key, row in present.items():
        if not any(one["category"] in TIME_CATEGORIES for one in charges.get(key, ())):
            reason = _reason(facts.machines[key[0]], buckets[key[1]])
            found.miss(key[0], reason, row["seconds"], weights.get(key, {}))


@dataclass(frozen=True)
class _Here:
    """One machine in one bucket: how much there is of it, and who held it."""

    capacity: int | None
    bucket: tuple[int, int]
    weights: Mapping[Payer, int] | None
    """What each payer held; None if that depends on the second."""
    holds: Sequence[Hold] = ()

    def splits(
        self, rows: Sequence[Mapping[str, Any]]
    ) -> Iterable[tuple[tuple[str, str], Mapping[Payer, int | Fraction]]]:
        """Yield the category and currency of each pot, and how it is split."""
        is_hour = self.bucket[1] - self.bucket[0] == HOUR and self.bucket[0] % HOUR == 0
        pots: dict[tuple[Any, ...], list[Charge]] = {}
        for row in rows:
            accounts = row["billing_account"] or "", row["account"] or ""
            key = (row["category"], row["currency"], *accounts, row["starts"], row["ends"])
            one = Charge(int(row["units"]), row["rated_seconds"], row["seconds"], row["starts"], row["ends"])
            pots.setdefault(key, []).append(one)
        for (category, currency, *_, starts, ends), charges in pots.items():
            split = self._hour(charges, starts, ends) if is_hour else self._part(charges, starts, ends)
            yield (category, currency), split

    def _hour(self, charges: Sequence[Charge], starts: int, ends: int) -> Mapping[Payer, int]:
        if self.weights is not None:
            return money.split_hour(charges, self.weights, (self.capacity or 0) * (ends - starts))
        if money.is_crowded(self.holds, self.capacity, starts, ends):
            weights = money.crowded_weights(self.holds, self.capacity, starts, ends)
            return money.split_hour(charges, weights, SECOND_PARTS * (ends - starts))
        weights = money.plain_weights(self.holds, starts, ends)
        return money.split_hour(charges, weights, (self.capacity or 0) * (ends - starts))

    def _part(self, charges: Sequence[Charge], starts: int, ends: int) -> Mapping[Payer, Fraction]:
        if self.weights is None:
            return money.split_part(charges, money.held_seconds(self.holds, self.capacity, starts, ends))
        assert self.capacity or not self.weights, "a machine of unknown size is crowded as soon as it is held"
        return money.split_part(charges, {payer: Fraction(w, self.capacity or 1) for payer, w in self.weights.items()})


def _holds(connection: Connection, facts: _Facts, given: Slice, machines: set[int]) -> dict[int, list[Hold]]:
    """Return the holdings of some machines, where it takes more than their sums."""
    found: dict[int, list[Hold]] = {}
    if machines:
        for row in sums.holdings(connection, Slice(given.starts, given.ends, frozenset(machines), given.known_at)):
            one = Hold(facts.payer(row["attempt"]), row["amount"], row["starts"], row["ends"])
            found.setdefault(row["machine"], []).append(one)
    return found


def _reason(machine: Mapping[str, Any], bucket: tuple[int, int]) -> str:
    if machine["has_ledger"]:
        return LEDGER
    return BILLED if machine["billed_through"] is not None and bucket[1] <= machine["billed_through"] else NO_PRICE


def _unknown_machines(connection: Connection, facts: _Facts, given: Slice) -> list[Unknown]:
    found: dict[str, tuple[int, set[Payer]]] = {}
    for row in sums.holdings(connection, given):
        if row["machine"] is None:
            seconds, payers = found.get(row["machine_name"], (0, set()))
            length = min(row["ends"], given.ends) - max(row["starts"], given.starts)
            found[row["machine_name"]] = seconds + length, payers | {facts.payer(row["attempt"])}
    return [Unknown(name, UNKNOWN_MACHINE, *_frozen(one)) for name, one in sorted(found.items())]


def _frozen(one: tuple[int, set[Payer]]) -> tuple[int, frozenset[Payer]]:
    return one[0], frozenset(one[1])


def payer_name(payer: Payer) -> str:
    """Return a payer as an account shows it."""
    return "__idle__" if payer == IDLE else f"{payer[1]}#{payer[2]}"
