"""One charge as the simulator knows it, and the charges that machines cause by existing."""

from collections.abc import Iterator
from functools import cache
from random import Random
from typing import NamedTuple

from trainfare.money import UNITS, units
from trainfare.simulate.catalogue import (
    DISK_SPACE,
    PLAN,
    PLAN_UNUSED,
    REGIONAL,
    SAVINGS_PLAN_RATE,
    SPOT,
    Offer,
    machine_hour,
)
from trainfare.simulate.clock import DAY, HOUR, Span, overlap, pieces, span_of
from trainfare.simulate.company import Work
from trainfare.simulate.fleet import OWNED, P5, TRAINING_US, US, Machine

MICRO = 10**6
CLOUD_BILL, OWNED_BILL = "cloud", "owned"
PLAN_ID = f"arn:aws:savingsplans::{TRAINING_US}:savingsplan/5f2c1b7e-90d4-4c3a-8a61-2b7d0c9e4411"
PLAN_MACHINES = 7

Tags = tuple[tuple[str, str], ...]
Costs = tuple[int, int, int, int]
"""Effective, billed, list and contracted, in whole units, in the order of `tables.BASES`."""


class Charge(NamedTuple):
    source: str
    offer: Offer
    account: str
    region: str
    period: Span
    costs: Costs
    quantity: int | None = None
    """Millionths of the offer's unit; None where nothing is counted, as on tax."""
    prices: tuple[int, int] | None = None
    """List and contracted price of one unit."""
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
    """Price times quantity; exact, because both are kept to few enough decimals."""
    return price * quantity // MICRO


def sold(
    offer: Offer,
    account: str,
    region: str,
    period: Span,
    quantity: int,
    description: str,
    resource: tuple[str, str] = ("", ""),
    tags: Tags = (),
    price: int | None = None,
) -> Charge:
    """An ordinary line: what was used, at the negotiated price, or at the `price` of the moment."""
    source = OWNED_BILL if account == OWNED else CLOUD_BILL
    prices = (offer.list_price, offer.contracted_price if price is None else price)
    paid = cost(prices[1], quantity)
    costs = (paid, paid, cost(prices[0], quantity), paid)
    return Charge(source, offer, account, region, period, costs, quantity, prices, *resource, description, tags=tags)


def micro_hours(span: Span) -> int:
    return (span[1] - span[0]) * MICRO // HOUR


def whole(span: Span, step: int) -> Span:
    """The full hour or day that `span` is in: bills count in these."""
    start = span[0] - span[0] % step
    return start, start + step


def plan_size(work: Work) -> int:
    """The machine hours, in millionths, that the savings plan covers in every hour."""
    return max(1, round(PLAN_MACHINES * work.scale)) * MICRO


def of_machines(rng: Random, work: Work) -> list[Charge]:
    """Every hour of every cloud machine with its disk, its daily traffic, and what the savings plan changes."""
    cloud = [machine for machine in work.machines if machine.pool.account != OWNED]
    covered, unused = cover(work, cloud)
    market = spot_prices(rng, work)
    charges: list[Charge] = []
    for machine in cloud:
        there = overlap(machine.existed, span_of(work.month))
        for span in pieces(there, HOUR):
            hour = whole(span, HOUR)
            price = market.get((machine.pool.name, hour[0]))
            charges += _instance(machine, hour, micro_hours(span), price, covered.get((machine.machine_id, hour[0]), 0))
            charges.append(_disk(machine, hour, span, work))
        charges += _traffic(rng, machine, there)
    charges += [_unused(moment, quantity) for moment, quantity in unused.items() if quantity]
    charges.append(_purchase(work))
    return charges


def cover(work: Work, cloud: list[Machine]) -> tuple[dict[tuple[str, int], int], dict[int, int]]:
    """What the savings plan pays for: in each hour the first machines up to its size; the rest of it goes unused."""
    covered: dict[tuple[str, int], int] = {}
    start, end = span_of(work.month)
    left = dict.fromkeys(range(start, end, HOUR), plan_size(work))
    for machine in sorted(cloud, key=lambda machine: machine.existed[0]):
        if machine.kind is not P5:
            continue
        for span in pieces(overlap(machine.existed, (start, end)), HOUR):
            hour = span[0] - span[0] % HOUR
            taken = min(micro_hours(span), left[hour])
            left[hour] -= taken
            covered[machine.machine_id, hour] = taken
    return covered, left


def spot_prices(rng: Random, work: Work) -> dict[tuple[str, int], int]:
    """A market price per spot pool and hour, wandering around its usual level."""
    start, end = span_of(work.month)
    prices = {}
    for pool in sorted({machine.pool for machine in work.machines if machine.pool.spot}, key=lambda pool: pool.name):
        level = 1.0
        for hour in range(start, end, HOUR):
            level += rng.uniform(-0.02, 0.02) - 0.03 * (level - 1)
            prices[pool.name, hour] = int(units(SPOT[pool.kind]) * level) // (UNITS // 10**4) * (UNITS // 10**4)
    return prices


def _instance(machine: Machine, hour: Span, quantity: int, price: int | None, covered: int) -> list[Charge]:
    """The hour itself: at the market's price, or as much as the plan covers and the rest on demand."""
    kind, pool = machine.kind, machine.pool
    where = (pool.account, pool.region, hour)
    what = ((machine.resource_id, machine.machine_id), _tags(pool.name))
    if price is not None:
        offer = machine_hour(kind, pool.region, "Dynamic")
        return [sold(offer, *where, quantity, f"{kind.name} spot instance hour", *what, price)]
    lines = []
    if covered:
        offer = machine_hour(kind, pool.region, "Committed")
        line = sold(offer, *where, covered, f"{kind.name} hour covered by a savings plan", *what)
        costs = (cost(SAVINGS_PLAN_RATE, covered), 0, *line.costs[2:])
        lines.append(line._replace(costs=costs, commitment_id=PLAN_ID, commitment_status="Used"))
    if quantity > covered:
        offer = machine_hour(kind, pool.region, "Standard")
        lines.append(sold(offer, *where, quantity - covered, f"{kind.name} on-demand instance hour", *what))
    return lines


def _disk(machine: Machine, hour: Span, span: Span, work: Work) -> Charge:
    """The disk of a machine is billed under the machine's own id, for the seconds it was there."""
    start, end = span_of(work.month)
    quantity = machine.kind.disk_gb * MICRO * (span[1] - span[0]) // (end - start)
    pool, resource = machine.pool, (machine.resource_id, machine.machine_id)
    return sold(DISK_SPACE, pool.account, pool.region, hour, quantity, "gp3 volume space", resource, _tags(pool.name))


def _traffic(rng: Random, machine: Machine, there: Span) -> Iterator[Charge]:
    """One line a day for what the machine exchanged with other zones of its region."""
    pool, resource = machine.pool, (machine.resource_id, machine.machine_id)
    for span in pieces(there, DAY):
        quantity = rng.randint(150, 900) * (span[1] - span[0]) * MICRO // DAY
        text = "data transfer between zones"
        yield sold(REGIONAL, pool.account, pool.region, whole(span, DAY), quantity, text, resource)


@cache
def _tags(pool: str) -> Tags:
    return (("env", "train"), ("pool", pool))


def _unused(hour: int, quantity: int) -> Charge:
    """The part of the plan that an hour left over. Public prices know no such thing, so its list cost is 0."""
    resource = (PLAN_ID, "compute savings plan")
    line = sold(PLAN_UNUSED, TRAINING_US, US, (hour, hour + HOUR), quantity, "savings plan, unused part", resource)
    costs = (cost(SAVINGS_PLAN_RATE, quantity), 0, 0, 0)
    return line._replace(costs=costs, commitment_id=PLAN_ID, commitment_status="Unused")


def _purchase(work: Work) -> Charge:
    """The plan's monthly fee. Its effective cost is on the hours it covers and on those it does not."""
    start, end = span_of(work.month)
    resource = (PLAN_ID, "compute savings plan")
    line = sold(PLAN, TRAINING_US, US, (start, end), plan_size(work) * (end - start) // HOUR, "monthly fee", resource)
    return line._replace(costs=(0, *line.costs[1:]), charge_category="Purchase", commitment_id=PLAN_ID)
