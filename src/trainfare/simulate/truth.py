"""What every payer owes, worked out from the invented events themselves in plain Python.

This is the answer that the pipeline is measured against. It reads no file and runs no SQL; it only knows the
built-in rules, and divides with `money.split`. The rules are in the order in which they are asked.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import NamedTuple

from trainfare.money import split
from trainfare.simulate.charges import Charge
from trainfare.simulate.clock import DAY, Span, day_of, overlap, pieces, span_of
from trainfare.simulate.company import Work
from trainfare.simulate.fleet import Machine
from trainfare.simulate.schedule import Attempt

MICRO = 10**6
IDLE, OUTSIDE, UNALLOCATED = "__idle__", "__outside__", "__unallocated__"
TAG_KEYS = ("project", "team", "cost_center", "owner")
NOT_TRAINING = {
    "Business Applications",
    "Databases",
    "Developer Tools",
    "End User Computing",
    "Identity",
    "Integration",
    "Internet of Things",
    "Management and Governance",
    "Media",
    "Migration",
    "Mobile",
    "Multicloud",
    "Security",
    "Web",
}
BY_CHARGE = {"Tax": "tax", "Credit": "credit", "Adjustment": "other"}
BY_SERVICE = {
    "Compute": "compute",
    "Storage": "storage",
    "Networking": "network",
    "AI and Machine Learning": "platform",
}


class Piece(NamedTuple):
    """One payer's day on one machine. Sorts as ties are broken: attempts first, then by name, machine and day.

    A payer that is no attempt has a piece for each reason it is given money for.
    """

    is_pseudo: bool
    name: str
    attempt: int
    machine_id: str
    day: int
    reason: str = ""

    @property
    def payer(self) -> str:
        return self.name if self.is_pseudo else f"{self.name}#{self.attempt}"


Weights = dict[Piece, int]
Amounts = list[int]
"""Effective, billed, list, contracted in whole units."""

Scope = tuple[str, ...]
"""What a pot is shared among: a machine, a label and its value, or just a reason."""


@dataclass(frozen=True, eq=False)
class Rule:
    """`takes` gives the scope of a charge that the rule is for, else None; `weighs` who shares a pot, and how much."""

    name: str
    takes: Callable[["Held", Charge], Scope | None]
    weighs: Callable[["Held", Span, Scope], Weights]


class Pot(NamedTuple):
    """Charges that are divided together."""

    rule: Rule
    period: Span
    scope: Scope
    category: str
    source: str
    account: str


Shares = dict[tuple[str, str, Piece], Amounts]
"""Parts per source, rule and piece."""


def category_of(charge: Charge) -> str:
    if charge.charge_category in BY_CHARGE:
        return BY_CHARGE[charge.charge_category]
    if "Support" in charge.offer.service_name:
        return "support"
    return BY_SERVICE.get(charge.offer.service_category, "other")


@dataclass(frozen=True)
class Held:
    """Who held what: the placements of a month, ready to be asked for any time."""

    work: Work

    @cached_property
    def machines(self) -> dict[str, Machine]:
        return {machine.resource_id: machine for machine in self.work.machines}

    @cached_property
    def by_machine(self) -> dict[str, list[Attempt]]:
        found = defaultdict(list)
        for attempt in self.work.attempts:
            for machine in attempt.machines:
                found[machine.resource_id].append(attempt)
        return found

    @cached_property
    def by_label(self) -> dict[tuple[str, str], list[Attempt]]:
        found = defaultdict(list)
        for attempt in self.work.attempts:
            for key in ("job_id", *TAG_KEYS):
                found[key, attempt.job.label(key)].append(attempt)
        return found

    def of_machine(self, machine: Machine, period: Span) -> Weights:
        """Micro-GPU seconds of one machine per attempt and day; what nobody held is idle's."""
        weights: Weights = {}
        for start, end in pieces(overlap(machine.existed, period), DAY):
            day = day_of(start)
            idle = machine.kind.gpus * MICRO * (end - start)
            for attempt in self.by_machine[machine.resource_id]:
                if attempt.started < end and attempt.ended > start:
                    weight = attempt.micro_gpus * (min(end, attempt.ended) - max(start, attempt.started))
                    weights[Piece(False, attempt.job.job_id, attempt.number, machine.machine_id, day)] = weight
                    idle -= weight
            weights[Piece(True, IDLE, 0, machine.machine_id, day)] = idle
        return weights

    def of_label(self, key: str, value: str, period: Span) -> Weights:
        """Micro-GPU seconds, over all machines, per attempt of the jobs with this label and day."""
        weights: Weights = {}
        during = [a for a in self.by_label[key, value] if a.started < period[1] and a.ended > period[0]]
        for attempt in during:
            for start, end in pieces(overlap((attempt.started, attempt.ended), period), DAY):
                piece = Piece(False, attempt.job.job_id, attempt.number, "", day_of(start))
                weights[piece] = attempt.micro_gpus * (end - start) * len(attempt.machines)
        return weights


def _alone(payer: str, period: Span, scope: Scope) -> Weights:
    """One payer takes it all, on the day the charge begins."""
    return {Piece(True, payer, 0, "", day_of(period[0]), " ".join(scope)): 1}


def _names_a_job(held: Held, charge: Charge) -> Scope | None:
    tags = dict(charge.tags)
    return ("job_id", tags["job_id"]) if "job_id" in tags else None


def _among_its_attempts(held: Held, period: Span, scope: Scope) -> Weights:
    key, value = scope
    return held.of_label(key, value, period) or held.of_label(key, value, span_of(held.work.month))


def _is_unused(held: Held, charge: Charge) -> Scope | None:
    if charge.commitment_status == "Unused":
        return ("unused commitment",)
    return ("unused reservation",) if charge.reservation_status == "Unused" else None


def _is_a_machine(held: Held, charge: Charge) -> Scope | None:
    is_machine = charge.charge_category != "Tax" and charge.resource_id in held.machines
    return (charge.resource_id,) if is_machine else None


def _among_its_holders(held: Held, period: Span, scope: Scope) -> Weights:
    return held.of_machine(held.machines[scope[0]], period)


def _is_a_purchase(held: Held, charge: Charge) -> Scope | None:
    return ("commitment purchase",) if charge.charge_category == "Purchase" and charge.commitment_id else None


def _is_tagged(held: Held, charge: Charge) -> Scope | None:
    tags = dict(charge.tags)
    return next(((key, tags[key]) for key in TAG_KEYS if key in tags), None)


def _among_the_labelled(held: Held, period: Span, scope: Scope) -> Weights:
    key, value = scope
    return held.of_label(key, value, period) or _alone(f"{key}:{value}", period, ("tagged",))


def _is_overhead(held: Held, charge: Charge) -> Scope | None:
    of_everybody = category_of(charge) in ("tax", "credit", "support") or charge.charge_category == "Adjustment"
    return () if of_everybody else None


def _is_not_training(held: Held, charge: Charge) -> Scope | None:
    service = charge.offer.service_category
    is_other_machine = service == "Compute" and charge.resource_id and charge.resource_id not in held.machines
    if service in NOT_TRAINING:
        return ("other service",)
    return ("other machine",) if is_other_machine else None


# Overheads are weighed last, by what all the other rules gave: see `settle`.
OVERHEADS = Rule("overheads", _is_overhead, lambda held, period, scope: {})
RULES = (
    Rule("named job", _names_a_job, _among_its_attempts),
    Rule("unused capacity", _is_unused, lambda held, period, scope: _alone(IDLE, period, scope)),
    Rule("purchases", _is_a_purchase, lambda held, period, scope: _alone(UNALLOCATED, period, scope)),
    Rule("machines", _is_a_machine, _among_its_holders),
    Rule("tagged", _is_tagged, _among_the_labelled),
    OVERHEADS,
    Rule("not training", _is_not_training, lambda held, period, scope: _alone(OUTSIDE, period, scope)),
    Rule(
        "everything else",
        lambda held, charge: (category_of(charge),),
        lambda held, period, scope: _alone(UNALLOCATED, period, scope),
    ),
)


def settle(work: Work, charges: Iterable[Charge]) -> dict[tuple[str, str], Amounts]:
    """What each payer owes by each rule, per basis. Adds up to the charges exactly."""
    held = Held(work)
    pots = _fill_pots(held, charges)
    shares: Shares = {}
    for (rule, period, scope), alike in groupby(pots, key=lambda pot: (pot.rule, pot.period, pot.scope)):
        if rule is not OVERHEADS:
            same = list(alike)
            weights = rule.weighs(held, period, scope)
            for pot in same:
                _divide(pot, pots[pot], weights, shares)
    spent = _effective_by_source(shares)
    for pot, amounts in pots.items():
        if pot.rule is OVERHEADS:
            _divide(pot, amounts, {piece: max(0, whole) // MICRO for piece, whole in spent[pot.source].items()}, shares)
    return _by_payer(shares)


def _fill_pots(held: Held, charges: Iterable[Charge]) -> dict[Pot, Amounts]:
    """Give every charge to the first rule that takes it. Overheads are one pot for the month, whatever their period."""
    pots: dict[Pot, Amounts] = {}
    month = span_of(held.work.month)
    for charge in charges:
        rule, scope = next((rule, scope) for rule in RULES if (scope := rule.takes(held, charge)) is not None)
        period = month if rule is OVERHEADS else charge.period
        pot = Pot(rule, period, scope, category_of(charge), charge.source, charge.account)
        amounts = pots.setdefault(pot, [0, 0, 0, 0])
        for basis, cost in enumerate(charge.costs):
            amounts[basis] += cost
    return pots


def _divide(pot: Pot, amounts: Amounts, weights: Weights, shares: Shares) -> None:
    """Split a pot on every basis and add the parts to what is shared already."""
    parts = {whole: split(whole, weights) for whole in set(amounts)}
    for piece in parts[amounts[0]]:
        share = shares.setdefault((pot.source, pot.rule.name, piece), [0, 0, 0, 0])
        for basis, whole in enumerate(amounts):
            share[basis] += parts[whole][piece]


def _effective_by_source(shares: Shares) -> dict[str, Weights]:
    spent: dict[str, Weights] = defaultdict(lambda: defaultdict(int))
    for (source, _, piece), amounts in shares.items():
        spent[source][piece] += amounts[0]
    return spent


def _by_payer(shares: Shares) -> dict[tuple[str, str], Amounts]:
    owed: dict[tuple[str, str], Amounts] = {}
    for (_, rule, piece), amounts in shares.items():
        sums = owed.setdefault((piece.payer, rule), [0, 0, 0, 0])
        for basis, part in enumerate(amounts):
            sums[basis] += part
    return owed
