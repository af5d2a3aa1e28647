"""Charges as Azure Cost Management exports of the same month, actual and amortized cost, as an enterprise gets them.

What the exports have other rows for is written as Azure does: the savings plan is bought in the actual export, in which
what it covers is free, and spread over used and unused hours in the amortized one. Prices are for blocks of a unit.
Spot machines are in scale sets, so AdditionalInfo names them.
What the exports cannot represent is lost: hours (all lines are for a day, a line for the month is on its first),
credits (they are negative usage), list and contracted cost where there is no price, and whether a reservation was used.
"""

import csv
import json
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from trainfare.period import Month
from trainfare.simulate.charges import CLOUD_BILL, PLAN_ID, Charge
from trainfare.simulate.clock import DAY, day_of, span_of
from trainfare.simulate.fleet import EU, G5, P4D, P5, SHOP, TRAINING_EU, TRAINING_US, US, MachineType
from trainfare.simulate.focus import decimal

ENROLLMENT = "8611537"
SUBSCRIPTIONS = {
    TRAINING_US: "5b0b6c7e-0f6a-4a51-9a45-0d7b7a5d1001",
    TRAINING_EU: "5b0b6c7e-0f6a-4a51-9a45-0d7b7a5d1002",
    SHOP: "5b0b6c7e-0f6a-4a51-9a45-0d7b7a5d1003",
}
REGIONS = {US: "EastUS", EU: "WestEurope"}
SIZES = {P5: "Standard_ND96isr_H100_v5", P4D: "Standard_ND96asr_v4", G5: "Standard_NV72ads_A10_v5"}
METERS = {
    "Amazon Elastic Compute Cloud": "Virtual Machines",
    "Amazon Elastic Block Store": "Storage",
    "Amazon Simple Storage Service": "Storage",
    "AWS Data Transfer": "Bandwidth",
    "AWS Savings Plans for Compute": "Virtual Machines",
    "Amazon FSx": "Azure Managed Lustre",
    "Amazon Virtual Private Cloud": "NAT Gateway",
    "Amazon Athena": "Azure Synapse Analytics",
    "Amazon SageMaker": "Azure Machine Learning",
    "Amazon Relational Database Service": "SQL Database",
    "Amazon CloudFront": "Content Delivery Network",
    "Elastic Load Balancing": "Load Balancer",
    "Amazon GuardDuty": "Microsoft Defender for Cloud",
    "Amazon CloudWatch": "Azure Monitor",
    "AWS Support (Enterprise)": "Azure Support",
    "Tax": "",
}
"""By the name of a service in the FOCUS bill: Azure's meter category for the like of it."""
BLOCKS = {"Hours": ("10 Hours", 10), "GB": ("100 GB", 100)}
"""By unit: the unit of measure, and how many units its price is for."""
COLUMNS = (
    *("InvoiceSectionName", "BillingAccountId", "BillingPeriodStartDate", "BillingPeriodEndDate", "SubscriptionId"),
    *("Date", "Product", "MeterId", "MeterCategory", "MeterName", "Quantity", "EffectivePrice"),
    *("CostInBillingCurrency", "BillingCurrencyCode", "ResourceLocation", "ResourceId", "ResourceName"),
    *("AdditionalInfo", "Tags", "ChargeType", "Frequency", "UnitPrice", "PayGPrice", "UnitOfMeasure"),
    *("PricingModel", "ReservationId", "benefitId", "benefitName"),
)
Row = dict[str, str]


def write(folder: Path, month: Month, charges: Iterable[Charge]) -> tuple[Path, Path]:
    """Write the cloud's lines of a month into `folder`; return the export of actual and of amortized cost."""
    given = sorted((one for one in charges if one.source == CLOUD_BILL), key=lambda charge: charge.period)
    paths = folder / "actual-cost.csv", folder / "amortized-cost.csv"
    for path, is_amortized in zip(paths, (False, True), strict=True):
        with path.open("w", encoding="utf-8-sig", newline="") as file:
            writer = csv.DictWriter(file, COLUMNS, restval="", lineterminator="\r\n")
            writer.writeheader()
            writer.writerows(_daily(_rows(given, month, is_amortized)))
    return paths


def resource_id(charge_resource: str, account: str, region: str, set_name: str = "") -> str:
    """Return Azure's id of a resource, given its id in the FOCUS bill; `set_name` is the scale set of a machine."""
    if not charge_resource:
        return ""
    name = charge_resource.rpartition("/")[2]
    group = f"/subscriptions/{SUBSCRIPTIONS[account]}/resourceGroups/{REGIONS.get(region, region)}/providers"
    if ":instance/" not in charge_resource:
        return f"{group}/Acme.Services/resources/{name}"
    if set_name:
        return f"{group}/Microsoft.Compute/virtualMachineScaleSets/{set_name}/virtualMachines/{name[2:]}"
    return f"{group}/Microsoft.Compute/virtualMachines/{name}"


def _date(moment: int) -> str:
    """Return a day with the month first and without zeros."""
    day = datetime.fromtimestamp(moment, UTC)
    return f"{day.month}/{day.day}/{day.year}"


def _rows(charges: Sequence[Charge], month: Month, is_amortized: bool) -> Iterator[tuple[Row, int, int]]:
    """Yield rows with their quantity and cost, which are added up by day."""
    start, end = span_of(month)
    fixed = {
        "InvoiceSectionName": "Acme Learning",
        "BillingAccountId": ENROLLMENT,
        "BillingCurrencyCode": "USD",
        "BillingPeriodStartDate": _date(start),
        "BillingPeriodEndDate": _date(end - DAY),
    }
    pools = {
        one.resource_id: dict(one.tags).get("pool", "")
        for one in charges
        if isinstance(one.offer.instance, MachineType)
    }
    for charge in charges:
        is_bought = charge.charge_category == "Purchase" and bool(charge.commitment_id)
        is_unused = charge.commitment_status == "Unused"
        if is_bought if is_amortized else is_unused:
            continue
        cost = charge.costs[0 if is_amortized and charge.commitment_id else 1]
        pool = pools.get(charge.resource_id, "")
        row = fixed | _common(charge, pool if "spot" in pool else "") | _kind(charge)
        yield row, charge.quantity or 0, cost


def _common(charge: Charge, set_name: str) -> Row:
    row = {
        "SubscriptionId": SUBSCRIPTIONS[charge.account],
        "Date": _date(day_of(charge.period[0])),
        "Product": charge.description,
        "MeterId": charge.offer.sku,
        "MeterCategory": METERS[charge.offer.service_name],
        "MeterName": charge.offer.meter,
        "ResourceLocation": REGIONS[charge.region],
        "Tags": ",".join(f'"{key}": "{value}"' for key, value in charge.tags),
        "Frequency": "UsageBased",
    }
    info: dict[str, object] = {}
    named = resource_id(charge.resource_id, charge.account, charge.region, set_name)
    if set_name:
        named, _, instance = named.rpartition("/virtualMachines/")
        info["VMName"] = f"{set_name}_{instance}"
    if isinstance(charge.offer.instance, MachineType):
        info |= {"UsageType": "ComputeHR", "ServiceType": SIZES[charge.offer.instance]}
    row |= {"ResourceId": named, "ResourceName": named.rpartition("/")[2]}
    return row | ({"AdditionalInfo": json.dumps(info)} if info else {}) | _prices(charge)


def _prices(charge: Charge) -> Row:
    unit, block = BLOCKS.get(charge.offer.unit, (f"1 {charge.offer.unit}", 1))
    if charge.prices is None or charge.charge_category != "Usage" or charge.commitment_status == "Unused":
        return {"UnitOfMeasure": unit if charge.offer.unit else ""}
    listed, contracted = (decimal(price * block) for price in charge.prices)
    return {"UnitOfMeasure": unit, "UnitPrice": contracted, "PayGPrice": listed}


def _kind(charge: Charge) -> Row:
    """Return what kind of line it is, in Azure's words; there is none for a credit."""
    models = {"Dynamic": "Spot", "Committed": "SavingsPlan"}
    row = {"ChargeType": charge.charge_category, "PricingModel": models.get(charge.offer.pricing_category, "OnDemand")}
    if charge.charge_category == "Credit":
        row["ChargeType"] = "Usage"
    if charge.charge_class == "Correction":
        row["ChargeType"] = "Refund"
    if charge.commitment_id:
        row |= {"PricingModel": "SavingsPlan", "benefitId": PLAN_ID, "benefitName": "compute savings plan"}
    if charge.commitment_status == "Unused":
        row["ChargeType"] = "UnusedSavingsPlan"
    if charge.charge_category == "Tax":
        row["PricingModel"] = ""
    return row


def _daily(rows: Iterable[tuple[Row, int, int]]) -> Iterator[Row]:
    """Add up rows that are equal but for quantity and cost: one row a day for each resource, meter and price."""
    sums: dict[tuple[tuple[str, str], ...], list[int]] = {}
    for row, quantity, cost in rows:
        found = sums.setdefault(tuple(row.items()), [0, 0])
        found[0] += quantity
        found[1] += cost
    for key, (quantity, cost) in sums.items():
        yield dict(key) | {"Quantity": decimal(quantity, 6), "CostInBillingCurrency": decimal(cost)}
