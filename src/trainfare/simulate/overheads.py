"""Charges for the company as a whole (credits, support, tax), and the bill of the owned cluster."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from random import Random

from trainfare.money import units
from trainfare.simulate.charges import CLOUD_BILL, MICRO, OWNED_BILL, Charge, Costs, UsageScope, usage_charge
from trainfare.simulate.clock import Span, overlap, span_of
from trainfare.simulate.company import Workload
from trainfare.simulate.fleet import BASEMENT, EU, OWNED, SHOP, TRAINING_EU, TRAINING_US, US
from trainfare.simulate.price_list import (
    CARE,
    DEPRECIATION,
    FILER,
    INSTANCE,
    OBJECT_STORAGE,
    POWER,
    SUPPORT,
    UPLINK,
    VM,
    Offer,
)

TENTH_PLACE = 100  # units in 10^-10, the finest a line of these bills goes
SUPPORT_PER_MILLE = 24
TAX_PER_MILLE = {TRAINING_US: 14, TRAINING_EU: 30, SHOP: 14}
CREDIT = Offer("", *VM, "", "", "", 0, 0, "")
STORAGE_CREDIT = Offer("", *OBJECT_STORAGE, "", "", "", 0, 0, "")
TAX = Offer("", "Other", "Other (Other)", "Tax", "", "", "", 0, 0, "")


def cloud_overheads(workload: Workload, charges: Sequence[Charge]) -> list[Charge]:
    """Return credits, the support fee and tax, each computed from the lines before it."""
    credit_lines = list(_credits(workload))
    month = span_of(workload.month)
    subtotals = _sums([*charges, *credit_lines])
    fee = _per_mille(subtotals[None], SUPPORT_PER_MILLE)
    support = _flat(SUPPORT, TRAINING_US, month, (fee[1],) * 4, "Purchase", "enterprise support")
    support = support._replace(quantity=MICRO, prices=(fee[1], fee[1]))
    taxes = [
        _flat(TAX, account, month, _per_mille(subtotals[account], rate), "Tax", "sales tax")
        for account, rate in TAX_PER_MILLE.items()
    ]
    return [*credit_lines, support, *taxes]


def _sums(charges: Sequence[Charge]) -> dict[str | None, Costs]:
    """Sum the costs of all lines per account, and under None of all accounts."""
    sums: dict[str | None, list[int]] = {account: [0, 0, 0, 0] for account in (None, *TAX_PER_MILLE)}
    for charge in charges:
        for basis, amount in enumerate(charge.costs):
            sums[charge.account][basis] += amount
            sums[None][basis] += amount
    return {account: (e, b, li, c) for account, (e, b, li, c) in sums.items()}


def _per_mille(costs: Costs, per_mille: int) -> Costs:
    """Return `per_mille` thousandths of each cost, truncated to ten decimals."""
    e, b, li, c = (amount * per_mille // 1000 // TENTH_PLACE * TENTH_PLACE for amount in costs)
    return e, b, li, c


def _flat(offer: Offer, account: str, period: Span, costs: Costs, category: str, text: str) -> Charge:
    region = EU if account == TRAINING_EU else US
    return Charge(CLOUD_BILL, offer, account, region, period, costs, description=text, charge_category=category)


def _credits(workload: Workload) -> Iterator[Charge]:
    """Yield promotional credits, a goodwill credit that names a machine, and one that names a team."""
    month = span_of(workload.month)
    size = min(workload.scale, 4.0)

    def credit(account: str, amount: str, text: str) -> Charge:
        given = -int(units(amount) * size) // TENTH_PLACE * TENTH_PLACE
        return _flat(CREDIT, account, month, (given,) * 4, "Credit", text)

    yield credit(TRAINING_US, "9000", "migration program credit")
    yield credit(TRAINING_EU, "1250.5", "migration program credit")
    spot = next(machine for machine in workload.machines if machine.pool.spot)
    goodwill = credit(spot.pool.account, "83.3333333333", "goodwill for an interrupted instance")
    offer = replace(CREDIT, resource_type=INSTANCE)
    yield goodwill._replace(offer=offer, resource_id=spot.resource_id, resource_name=spot.machine_id)
    research = credit(TRAINING_US, "1500", "research grant credit")
    yield research._replace(offer=STORAGE_CREDIT, tags=(("team", "speech"),))


def owned_server_charges(rng: Random, workload: Workload) -> list[Charge]:
    """Return the owned cluster's internal bill: a few lines a month per machine, the filer and the support contract."""
    month = span_of(workload.month)
    scope = UsageScope(OWNED, BASEMENT, month)
    lines = []
    for machine in (machine for machine in workload.machines if machine.pool.account == OWNED):
        present = overlap(machine.existed, month)
        part = (present[1] - present[0]) * MICRO // (month[1] - month[0])
        resource = (machine.resource_id, machine.machine_id)
        lines.append(usage_charge(DEPRECIATION, scope, part, "depreciation over 48 months", resource))
        power = rng.randint(4_300, 5_200) * part
        lines.append(usage_charge(POWER, scope, power, "power and cooling", resource))
        lines.append(usage_charge(UPLINK, scope, part, "network ports", resource))
    for name, gigabytes in (("asr-core", 60_000), ("tts-voices", 25_000), ("street-scenes", 15_000)):
        share = (f"acme:{BASEMENT}:share/{name}", name)
        lines.append(usage_charge(FILER, scope, gigabytes * MICRO, "NFS space", share, (("project", name),)))
    common = (f"acme:{BASEMENT}:share/common", "common")
    lines.append(usage_charge(FILER, scope, 30_000 * MICRO, "NFS space", common))
    fee = units("1480.75")
    care = Charge(
        OWNED_BILL, CARE, OWNED, BASEMENT, month, (fee,) * 4, MICRO, (fee, fee), description="support contract"
    )
    return [*lines, care._replace(charge_category="Purchase")]
