"""What every payer owes, computed in plain Python from the simulated events themselves.

The reference result that published books are compared with. It reads no file and runs no SQL; it knows only the
built-in rules, and splits with `money.split`. Rules are listed in the order in which they are matched.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import NamedTuple

from trainfare.money import split
from trainfare.simulate.charges import Charge
from trainfare.simulate.clock import DAY, Span, day_of, overlap, span_of, split_span
from trainfare.simulate.company import Workload
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


class PayerDay(NamedTuple):
    """One payer's day on one machine. The sort order breaks ties: attempts first, then by name, machine and day.

    A payer that is not an attempt has one entry per reason.
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


Weights = dict[PayerDay, int]
Amounts = list[int]
"""Effective, billed, list, contracted in whole units."""

Scope = tuple[str, ...]
"""What a pot is split within: a machine, a label and its value, or just a reason."""


@dataclass(frozen=True, eq=False)
class Rule:
    """`match` returns the scope of a matching charge, else None; `weigh` returns the weights of a pot's payers."""

    name: str
    match: Callable[["Holdings", Charge], Scope | None]
    weigh: Callable[["Holdings", Span, Scope], Weights]


class Pot(NamedTuple):
    """Charges that are split together."""

    rule: Rule
    period: Span
    scope: Scope
    category: str
    source: str
    account: str


Shares = dict[tuple[str, str, PayerDay], Amounts]
"""Amounts per source, rule and payer day."""


def category_of(charge: Charge) -> str:
    if charge.charge_category in BY_CHARGE:
        return BY_CHARGE[charge.charge_category]
    if "Support" in charge.offer.service_name:
        return "support"
    return BY_SERVICE.get(charge.offer.service_category, "other")


@dataclass(frozen=True)
class Holdings:
    """The placements of a month, indexed for computing weights over any period."""

    workload: Workload

    @cached_property
    def machines(self) -> dict[str, Machine]:
        return {machine.resource_id: machine for machine in self.workload.machines}

    @cached_property
    def by_machine(self) -> dict[str, list[Attempt]]:
        found = defaultdict(list)
        for attempt in self.workload.attempts:
            for machine in attempt.machines:
                found[machine.resource_id].append(attempt)
        return found

    @cached_property
    def by_label(self) -> dict[tuple[str, str], list[Attempt]]:
        found = defaultdict(list)
        for attempt in self.workload.attempts:
            for key in ("job_id", *TAG_KEYS):
                found[key, attempt.job.label(key)].append(attempt)
        return found

    def machine_weights(self, machine: Machine, period: Span) -> Weights:
        """Return micro-GPU seconds of one machine per attempt and day; unheld time is idle."""
        weights: Weights = {}
        for start, end in split_span(overlap(machine.existed, period), DAY):
            day = day_of(start)
            idle = machine.kind.gpus * MICRO * (end - start)
            for attempt in self.by_machine[machine.resource_id]:
                if attempt.started < end and attempt.ended > start:
                    weight = attempt.micro_gpus * (min(end, attempt.ended) - max(start, attempt.started))
                    weights[PayerDay(False, attempt.job.job_id, attempt.number, machine.machine_id, day)] = weight
                    idle -= weight
            weights[PayerDay(True, IDLE, 0, machine.machine_id, day)] = idle
        return weights

    def label_weights(self, key: str, value: str, period: Span) -> Weights:
        """Return micro-GPU seconds over all machines, per day and attempt of the jobs with this label."""
        weights: Weights = {}
        during = [a for a in self.by_label[key, value] if a.started < period[1] and a.ended > period[0]]
        for attempt in during:
            for start, end in split_span(overlap((attempt.started, attempt.ended), period), DAY):
                payer_day = PayerDay(False, attempt.job.job_id, attempt.number, "", day_of(start))
                weights[payer_day] = attempt.micro_gpus * (end - start) * len(attempt.machines)
        return weights


def _single_payer(payer: str, period: Span, scope: Scope) -> Weights:
    """Give everything to one payer, on the day the charge begins."""
    return {PayerDay(True, payer, 0, "", day_of(period[0]), " ".join(scope)): 1}


def _names_a_job(holdings: Holdings, charge: Charge) -> Scope | None:
    tags = dict(charge.tags)
    return ("job_id", tags["job_id"]) if "job_id" in tags else None


def _by_job_attempts(holdings: Holdings, period: Span, scope: Scope) -> Weights:
    key, value = scope
    month = span_of(holdings.workload.month)
    return holdings.label_weights(key, value, period) or holdings.label_weights(key, value, month)


def _is_unused(holdings: Holdings, charge: Charge) -> Scope | None:
    if charge.commitment_status == "Unused":
        return ("unused commitment",)
    return ("unused reservation",) if charge.reservation_status == "Unused" else None


def _is_a_machine(holdings: Holdings, charge: Charge) -> Scope | None:
    is_machine = charge.charge_category != "Tax" and charge.resource_id in holdings.machines
    return (charge.resource_id,) if is_machine else None


def _by_machine_holders(holdings: Holdings, period: Span, scope: Scope) -> Weights:
    return holdings.machine_weights(holdings.machines[scope[0]], period)


def _is_a_purchase(holdings: Holdings, charge: Charge) -> Scope | None:
    return ("commitment purchase",) if charge.charge_category == "Purchase" and charge.commitment_id else None


def _is_tagged(holdings: Holdings, charge: Charge) -> Scope | None:
    tags = dict(charge.tags)
    return next(((key, tags[key]) for key in TAG_KEYS if key in tags), None)


def _by_labeled_attempts(holdings: Holdings, period: Span, scope: Scope) -> Weights:
    key, value = scope
    return holdings.label_weights(key, value, period) or _single_payer(f"{key}:{value}", period, ("tagged",))


def _is_overhead(holdings: Holdings, charge: Charge) -> Scope | None:
    is_company_wide = category_of(charge) in ("tax", "credit", "support") or charge.charge_category == "Adjustment"
    return () if is_company_wide else None


def _is_not_training(holdings: Holdings, charge: Charge) -> Scope | None:
    service = charge.offer.service_category
    is_other_machine = service == "Compute" and charge.resource_id and charge.resource_id not in holdings.machines
    if service in NOT_TRAINING:
        return ("other service",)
    return ("other machine",) if is_other_machine else None


# Overheads are weighted last, by what all other rules allocated: see `true_shares`.
OVERHEADS = Rule("overheads", _is_overhead, lambda holdings, period, scope: {})
RULES = (
    Rule("named job", _names_a_job, _by_job_attempts),
    Rule("unused capacity", _is_unused, lambda holdings, period, scope: _single_payer(IDLE, period, scope)),
    Rule("purchases", _is_a_purchase, lambda holdings, period, scope: _single_payer(UNALLOCATED, period, scope)),
    Rule("machines", _is_a_machine, _by_machine_holders),
    Rule("tagged", _is_tagged, _by_labeled_attempts),
    OVERHEADS,
    Rule("not training", _is_not_training, lambda holdings, period, scope: _single_payer(OUTSIDE, period, scope)),
    Rule(
        "everything else",
        lambda holdings, charge: (category_of(charge),),
        lambda holdings, period, scope: _single_payer(UNALLOCATED, period, scope),
    ),
)


def true_shares(workload: Workload, charges: Iterable[Charge]) -> dict[tuple[str, str], Amounts]:
    """Return what each payer owes under each rule, per basis. Adds up to the charges exactly."""
    holdings = Holdings(workload)
    pots = _collect_pots(holdings, charges)
    shares: Shares = {}
    for (rule, period, scope), group in groupby(pots, key=lambda pot: (pot.rule, pot.period, pot.scope)):
        if rule is not OVERHEADS:
            pots_of_group = list(group)
            weights = rule.weigh(holdings, period, scope)
            for pot in pots_of_group:
                _split_pot(pot, pots[pot], weights, shares)
    spent = _effective_by_source(shares)
    for pot, amounts in pots.items():
        if pot.rule is OVERHEADS:
            weights = {payer_day: max(0, cost) // MICRO for payer_day, cost in spent[pot.source].items()}
            _split_pot(pot, amounts, weights, shares)
    return _by_payer(shares)


def _collect_pots(holdings: Holdings, charges: Iterable[Charge]) -> dict[Pot, Amounts]:
    """Assign every charge to the first rule that matches it. Overheads share one period, the month."""
    pots: dict[Pot, Amounts] = {}
    month = span_of(holdings.workload.month)
    for charge in charges:
        rule, scope = next((rule, scope) for rule in RULES if (scope := rule.match(holdings, charge)) is not None)
        period = month if rule is OVERHEADS else charge.period
        pot = Pot(rule, period, scope, category_of(charge), charge.source, charge.account)
        amounts = pots.setdefault(pot, [0, 0, 0, 0])
        for basis, cost in enumerate(charge.costs):
            amounts[basis] += cost
    return pots


def _split_pot(pot: Pot, amounts: Amounts, weights: Weights, shares: Shares) -> None:
    """Split a pot on every basis and add the parts to `shares`."""
    parts = {total: split(total, weights) for total in set(amounts)}
    for payer_day in parts[amounts[0]]:
        share = shares.setdefault((pot.source, pot.rule.name, payer_day), [0, 0, 0, 0])
        for basis, total in enumerate(amounts):
            share[basis] += parts[total][payer_day]


def _effective_by_source(shares: Shares) -> dict[str, Weights]:
    spent: dict[str, Weights] = defaultdict(lambda: defaultdict(int))
    for (source, _, payer_day), amounts in shares.items():
        spent[source][payer_day] += amounts[0]
    return spent


def _by_payer(shares: Shares) -> dict[tuple[str, str], Amounts]:
    owed: dict[tuple[str, str], Amounts] = {}
    for (_, rule, payer_day), amounts in shares.items():
        sums = owed.setdefault((payer_day.payer, rule), [0, 0, 0, 0])
        for basis, part in enumerate(amounts):
            sums[basis] += part
    return owed
