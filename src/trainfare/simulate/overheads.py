"""What is charged for the whole company at once, and the bill of the owned cluster."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from random import Random

from trainfare.money import units
from trainfare.simulate.catalogue import (
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
from trainfare.simulate.charges import CLOUD_BILL, MICRO, OWNED_BILL, Charge, Costs, sold
from trainfare.simulate.clock import Span, overlap, span_of
from trainfare.simulate.company import Work
from trainfare.simulate.fleet import BASEMENT, EU, OWNED, SHOP, TRAINING_EU, TRAINING_US, US

TENTH_PLACE = 100  # units in 10^-10, the finest a line of these bills goes
SUPPORT_PER_MILLE = 24
TAX_PER_MILLE = {TRAINING_US: 14, TRAINING_EU: 30, SHOP: 14}
CREDIT = Offer("", *VM, "", "", "", 0, 0, "")
STORAGE_CREDIT = Offer("", *OBJECT_STORAGE, "", "", "", 0, 0, "")
TAX = Offer("", "Other", "Other (Other)", "Tax", "", "", "", 0, 0, "")


def of_cloud(work: Work, charges: Sequence[Charge]) -> list[Charge]:
    """Credits, the support fee and tax, each worked out from the lines before it."""
    credits_given = list(_credits(work))
    month = span_of(work.month)
    so_far = _sums([*charges, *credits_given])
    fee = _part(so_far[None], SUPPORT_PER_MILLE)
    support = _flat(SUPPORT, TRAINING_US, month, (fee[1],) * 4, "Purchase", "enterprise support")
    support = support._replace(quantity=MICRO, prices=(fee[1], fee[1]))
    taxes = [
        _flat(TAX, account, month, _part(so_far[account], rate), "Tax", "sales tax")
        for account, rate in TAX_PER_MILLE.items()
    ]
    return [*credits_given, support, *taxes]


def _sums(charges: Sequence[Charge]) -> dict[str | None, Costs]:
    """The costs of all lines per account, and under None of all accounts."""
    sums: dict[str | None, list[int]] = {account: [0, 0, 0, 0] for account in (None, *TAX_PER_MILLE)}
    for charge in charges:
        for basis, amount in enumerate(charge.costs):
            sums[charge.account][basis] += amount
            sums[None][basis] += amount
    return {account: (e, b, li, c) for account, (e, b, li, c) in sums.items()}


def _part(costs: Costs, per_mille: int) -> Costs:
    """So many thousandths of each cost, cut at ten decimals."""
    e, b, li, c = (amount * per_mille // 1000 // TENTH_PLACE * TENTH_PLACE for amount in costs)
    return e, b, li, c


def _flat(offer: Offer, account: str, period: Span, costs: Costs, category: str, text: str) -> Charge:
    region = EU if account == TRAINING_EU else US
    return Charge(CLOUD_BILL, offer, account, region, period, costs, description=text, charge_category=category)


def _credits(work: Work) -> Iterator[Charge]:
    """A promotion, a goodwill credit that names a machine, and one that names a team."""
    month = span_of(work.month)
    size = min(work.scale, 4.0)

    def credit(account: str, amount: str, text: str) -> Charge:
        given = -int(units(amount) * size) // TENTH_PLACE * TENTH_PLACE
        return _flat(CREDIT, account, month, (given,) * 4, "Credit", text)

    yield credit(TRAINING_US, "9000", "migration programme credit")
    yield credit(TRAINING_EU, "1250.5", "migration programme credit")
    spot = next(machine for machine in work.machines if machine.pool.spot)
    goodwill = credit(spot.pool.account, "83.3333333333", "goodwill for an interrupted instance")
    about = replace(CREDIT, resource_type=INSTANCE)
    yield goodwill._replace(offer=about, resource_id=spot.resource_id, resource_name=spot.machine_id)
    research = credit(TRAINING_US, "1500", "research grant credit")
    yield research._replace(offer=STORAGE_CREDIT, tags=(("team", "speech"),))


def of_servers(rng: Random, work: Work) -> list[Charge]:
    """The owned cluster's internal bill: a few lines a month for each machine, its filer and its support contract."""
    month = span_of(work.month)
    lines = []
    for machine in (machine for machine in work.machines if machine.pool.account == OWNED):
        there = overlap(machine.existed, month)
        part = (there[1] - there[0]) * MICRO // (month[1] - month[0])
        resource = (machine.resource_id, machine.machine_id)
        lines.append(sold(DEPRECIATION, OWNED, BASEMENT, month, part, "depreciation over 48 months", resource))
        power = rng.randint(4_300, 5_200) * part
        lines.append(sold(POWER, OWNED, BASEMENT, month, power, "power and cooling", resource))
        lines.append(sold(UPLINK, OWNED, BASEMENT, month, part, "network ports", resource))
    for name, gigabytes in (("asr-core", 60_000), ("tts-voices", 25_000), ("street-scenes", 15_000)):
        share = (f"acme:{BASEMENT}:share/{name}", name)
        lines.append(sold(FILER, OWNED, BASEMENT, month, gigabytes * MICRO, "NFS space", share, (("project", name),)))
    common = (f"acme:{BASEMENT}:share/common", "common")
    lines.append(sold(FILER, OWNED, BASEMENT, month, 30_000 * MICRO, "NFS space", common))
    fee = units("1480.75")
    care = Charge(
        OWNED_BILL, CARE, OWNED, BASEMENT, month, (fee,) * 4, MICRO, (fee, fee), description="support contract"
    )
    return [*lines, care._replace(charge_category="Purchase")]
