"""Charges as the simulator knows them, and those that machines cause by existing."""

from collections.abc import Iterator
from functools import cache
from random import Random
from typing import NamedTuple

from trainfare.money import UNITS, units
from trainfare.simulate.clock import DAY, HOUR, Span, overlap, span_of, split_span
from trainfare.simulate.company import Workload
from trainfare.simulate.fleet import OWNED, P5, TRAINING_US, US, Machine
from trainfare.simulate.price_list import (
    DISK_SPACE,
    PLAN,
    PLAN_UNUSED,
    REGIONAL,
    SAVINGS_PLAN_RATE,
    SPOT,
    Offer,
    machine_hour,
)

MICRO = 10**6
CLOUD_BILL, OWNED_BILL = "cloud", "owned"
PLAN_ID = f"arn:aws:savingsplans::{TRAINING_US}:savingsplan/5f2c1b7e-90d4-4c3a-8a61-2b7d0c9e4411"
PLAN_MACHINES = 7

Tags = tuple[tuple[str, str], ...]
Costs = tuple[int, int, int, int]
"""Effective, billed, list and contracted cost in whole units, in the order of `tables.BASES`."""


class Charge(NamedTuple):
    source: str
    offer: Offer
    account: str
    region: str
    period: Span
    costs: Costs
    quantity: int | None = None
    """Millionths of the offer's unit; None where nothing is metered, as for tax."""
    prices: tuple[int, int] | None = None
    """List and contracted unit price."""
    resource_id: str = ""
    resource_name: str = ""
    description: str = ""
    charge_category: str = "Usage"
    charge_class: str = ""
    tags: Tags = ()
    commitment_id: str = ""
    commitment_status: str = ""
    reservation_id: str = ""
    reservation_status: str = ""


def cost(price: int, quantity: int) -> int:
    """Return price times quantity; exact, because both have few enough decimals."""
    return price * quantity // MICRO


class UsageScope(NamedTuple):
    """Where and when something was used."""

    account: str
    region: str
    period: Span


def usage_charge(
    offer: Offer,
    scope: UsageScope,
    quantity: int,
    description: str,
    resource: tuple[str, str] = ("", ""),
    tags: Tags = (),
    price: int | None = None,
) -> Charge:
    """Return an ordinary line: the usage at the contracted price, or at the market `price` if one is given."""
    source = OWNED_BILL if scope.account == OWNED else CLOUD_BILL
    prices = (offer.list_price, offer.contracted_price if price is None else price)
    paid = cost(prices[1], quantity)
    costs = (paid, paid, cost(prices[0], quantity), paid)
    return Charge(source, offer, *scope, costs, quantity, prices, *resource, description, tags=tags)


def micro_hours(span: Span) -> int:
    return (span[1] - span[0]) * MICRO // HOUR


def full_period(span: Span, step: int) -> Span:
    """Return the full hour or day that contains `span`: bills are metered in these."""
    start = span[0] - span[0] % step
    return start, start + step


def plan_size(workload: Workload) -> int:
    """Return the machine hours, in millionths, that the savings plan covers in every hour."""
    return max(1, round(PLAN_MACHINES * workload.scale)) * MICRO


def machine_charges(rng: Random, workload: Workload) -> list[Charge]:
    """Return every hour of every cloud machine with its disk and daily traffic, and the savings plan's own charges."""
    cloud = [machine for machine in workload.machines if machine.pool.account != OWNED]
    covered, unused = apply_savings_plan(workload, cloud)
    market = spot_prices(rng, workload)
    charges: list[Charge] = []
    for machine in cloud:
        present = overlap(machine.existed, span_of(workload.month))
        for span in split_span(present, HOUR):
            hour = full_period(span, HOUR)
            price = market.get((machine.pool.name, hour[0]))
            charges += _instance_charges(
                machine, hour, micro_hours(span), price, covered.get((machine.machine_id, hour[0]), 0)
            )
            charges.append(_disk_charge(machine, hour, span, workload))
        charges += _traffic_charges(rng, machine, present)
    charges += [_unused_plan_charge(moment, quantity) for moment, quantity in unused.items() if quantity]
    charges.append(_plan_fee(workload))
    return charges


def apply_savings_plan(workload: Workload, cloud: list[Machine]) -> tuple[dict[tuple[str, int], int], dict[int, int]]:
    """Return what the savings plan covers (in each hour the oldest machines, up to its size) and what stays unused."""
    covered: dict[tuple[str, int], int] = {}
    start, end = span_of(workload.month)
    left = dict.fromkeys(range(start, end, HOUR), plan_size(workload))
    for machine in sorted(cloud, key=lambda machine: machine.existed[0]):
        if machine.kind is not P5:
            continue
        for span in split_span(overlap(machine.existed, (start, end)), HOUR):
            hour = span[0] - span[0] % HOUR
            covered_hours = min(micro_hours(span), left[hour])
            left[hour] -= covered_hours
            covered[machine.machine_id, hour] = covered_hours
    return covered, left


def spot_prices(rng: Random, workload: Workload) -> dict[tuple[str, int], int]:
    """Return a market price per spot pool and hour: a random walk around its usual level."""
    start, end = span_of(workload.month)
    prices = {}
    for pool in sorted(
        {machine.pool for machine in workload.machines if machine.pool.spot}, key=lambda pool: pool.name
    ):
        level = 1.0
        for hour in range(start, end, HOUR):
            level += rng.uniform(-0.02, 0.02) - 0.03 * (level - 1)
            prices[pool.name, hour] = int(units(SPOT[pool.kind]) * level) // (UNITS // 10**4) * (UNITS // 10**4)
    return prices


def _instance_charges(machine: Machine, hour: Span, quantity: int, price: int | None, covered: int) -> list[Charge]:
    """Return the machine hour: at the market price, or the covered part under the plan and the rest on demand."""
    kind, pool = machine.kind, machine.pool
    scope = UsageScope(pool.account, pool.region, hour)
    labels = ((machine.resource_id, machine.machine_id), _tags(pool.name))
    if price is not None:
        offer = machine_hour(kind, pool.region, "Dynamic")
        return [usage_charge(offer, scope, quantity, f"{kind.name} spot instance hour", *labels, price)]
    lines = []
    if covered:
        offer = machine_hour(kind, pool.region, "Committed")
        line = usage_charge(offer, scope, covered, f"{kind.name} hour covered by a savings plan", *labels)
        costs = (cost(SAVINGS_PLAN_RATE, covered), 0, *line.costs[2:])
        lines.append(line._replace(costs=costs, commitment_id=PLAN_ID, commitment_status="Used"))
    if quantity > covered:
        offer = machine_hour(kind, pool.region, "Standard")
        lines.append(usage_charge(offer, scope, quantity - covered, f"{kind.name} on-demand instance hour", *labels))
    return lines


def _disk_charge(machine: Machine, hour: Span, span: Span, workload: Workload) -> Charge:
    """Return the disk charge, billed under the machine's own id for the seconds the machine existed."""
    start, end = span_of(workload.month)
    quantity = machine.kind.disk_gb * MICRO * (span[1] - span[0]) // (end - start)
    pool, resource = machine.pool, (machine.resource_id, machine.machine_id)
    scope = UsageScope(pool.account, pool.region, hour)
    return usage_charge(DISK_SPACE, scope, quantity, "gp3 volume space", resource, _tags(pool.name))


def _traffic_charges(rng: Random, machine: Machine, present: Span) -> Iterator[Charge]:
    """Yield one line a day for the machine's traffic with other zones of its region."""
    pool, resource = machine.pool, (machine.resource_id, machine.machine_id)
    for span in split_span(present, DAY):
        quantity = rng.randint(150, 900) * (span[1] - span[0]) * MICRO // DAY
        scope = UsageScope(pool.account, pool.region, full_period(span, DAY))
        yield usage_charge(REGIONAL, scope, quantity, "data transfer between zones", resource)


@cache
def _tags(pool: str) -> Tags:
    return (("env", "train"), ("pool", pool))


def _unused_plan_charge(hour: int, quantity: int) -> Charge:
    """Return the part of the plan that an hour left unused. It has no public price, so its list cost is 0."""
    resource = (PLAN_ID, "compute savings plan")
    scope = UsageScope(TRAINING_US, US, (hour, hour + HOUR))
    line = usage_charge(PLAN_UNUSED, scope, quantity, "savings plan, unused part", resource)
    costs = (cost(SAVINGS_PLAN_RATE, quantity), 0, 0, 0)
    return line._replace(costs=costs, commitment_id=PLAN_ID, commitment_status="Unused")


def _plan_fee(workload: Workload) -> Charge:
    """Return the plan's monthly fee. Its effective cost is on the covered and the unused hours."""
    start, end = span_of(workload.month)
    resource = (PLAN_ID, "compute savings plan")
    quantity = plan_size(workload) * (end - start) // HOUR
    line = usage_charge(PLAN, UsageScope(TRAINING_US, US, (start, end)), quantity, "monthly fee", resource)
    return line._replace(costs=(0, *line.costs[1:]), charge_category="Purchase", commitment_id=PLAN_ID)
