"""A second implementation of the AWS report, in plain Python: random rows, and the charges they must become."""

from dataclasses import dataclass
from decimal import Decimal
from random import Random

PLAN = "arn:aws:savingsplans::111122223333:savingsplan/sp-1"
RESERVED = "arn:aws:ec2:us-east-1:111122223333:reserved-instances/ri-1"
TYPES = (
    *("Usage", "SavingsPlanCoveredUsage", "SavingsPlanNegation", "SavingsPlanRecurringFee", "SavingsPlanUpfrontFee"),
    *("DiscountedUsage", "RIFee", "Fee", "EdpDiscount", "PrivateRateDiscount", "BundledDiscount", "Discount"),
    *("RiVolumeDiscount", "Credit", "Refund", "Tax", "FlatRateSubscription", "SomethingNew", "usage"),
)
COLUMNS = (
    *("identity/LineItemId", "bill/InvoiceId", "bill/BillingEntity", "bill/PayerAccountId"),
    *("bill/BillingPeriodStartDate", "bill/BillingPeriodEndDate", "lineItem/UsageAccountId", "lineItem/LineItemType"),
    *("lineItem/UsageStartDate", "lineItem/UsageEndDate", "lineItem/ProductCode", "lineItem/UsageType"),
    *("lineItem/Operation", "lineItem/ResourceId", "lineItem/CurrencyCode", "lineItem/UnblendedCost"),
    *("lineItem/LineItemDescription", "product/region", "pricing/publicOnDemandCost", "savingsPlan/SavingsPlanARN"),
    *("savingsPlan/SavingsPlanEffectiveCost", "savingsPlan/TotalCommitmentToDate", "savingsPlan/UsedCommitment"),
    *("savingsPlan/AmortizedUpfrontCommitmentForBillingPeriod", "reservation/ReservationARN"),
    *("reservation/EffectiveCost", "reservation/UnusedAmortizedUpfrontFeeForBillingPeriod"),
    *("reservation/UnusedRecurringFee", "reservation/AmortizedUpfrontFeeForBillingPeriod"),
    *(
        "splitLineItem/ParentResourceId",
        "splitLineItem/SplitCost",
        "resourceTags/user:team",
        "resourceTags/aws:eks:node",
    ),
)
NET_COLUMNS = ("lineItem/NetUnblendedCost", "savingsPlan/NetSavingsPlanEffectiveCost", "reservation/NetEffectiveCost")
DISCOUNTS = ("EdpDiscount", "PrivateRateDiscount", "BundledDiscount", "Discount", "RiVolumeDiscount")
Row = dict[str, str]


@dataclass(frozen=True)
class Expected:
    """A charge that a row must become."""

    row: int
    category: str
    billed: Decimal
    effective: Decimal
    list_cost: Decimal | None
    status: str | None
    resource: str | None


def amount(chance: Random, low: int = 0) -> str:
    return f"{Decimal(chance.randint(low, 10**9)).scaleb(-chance.choice((2, 6, 10, 12))):f}"


def rows(seed: int, count: int = 60, has_net: bool = False) -> list[Row]:
    """Return random rows of every type. Columns that a type does not use have traps: values that must not count."""
    chance = Random(seed)
    found = []
    for number in range(count):
        type_ = TYPES[number % len(TYPES)]
        day = chance.randint(1, 28)
        row = dict.fromkeys((*COLUMNS, *(NET_COLUMNS if has_net else ())), "") | {
            "identity/LineItemId": f"id{number}",
            "bill/InvoiceId": chance.choice(("", "INV-1")),
            "bill/PayerAccountId": "012345678901",
            "bill/BillingPeriodStartDate": "2026-10-01T00:00:00.000Z",
            "bill/BillingPeriodEndDate": "2026-11-01T00:00:00.000Z",
            "lineItem/UsageAccountId": chance.choice(("000000000001", "000000000002")),
            "lineItem/LineItemType": type_,
            "lineItem/UsageStartDate": f"2026-10-{day:02d}T03:00:00Z",
            "lineItem/UsageEndDate": f"2026-10-{day:02d}T04:00:00Z",
            "lineItem/ProductCode": chance.choice(("AmazonEC2", "AmazonS3", "ComputeSavingsPlans")),
            "lineItem/UsageType": chance.choice(
                ("BoxUsage:p5.48xlarge", "USW2-SpotUsage:g5.xlarge", "TimedStorage-ByteHrs")
            ),
            "lineItem/Operation": chance.choice(("RunInstances", "RunInstances", "EKSPod-EC2"))
            if type_ == "Usage"
            else "x",
            "lineItem/ResourceId": chance.choice(("", f"i-{number}")),
            "lineItem/CurrencyCode": "USD",
            "lineItem/UnblendedCost": amount(chance, -(10**9) if type_ in ("Credit", "Refund", *DISCOUNTS) else 0),
            "pricing/publicOnDemandCost": amount(chance),
            "resourceTags/user:team": chance.choice(("", "nlp")),
        }
        if type_.startswith("SavingsPlan"):
            row["savingsPlan/SavingsPlanARN"] = PLAN
            row["savingsPlan/SavingsPlanEffectiveCost"] = amount(chance)
            row["savingsPlan/UsedCommitment"] = amount(chance)
            same = chance.random() < 0.3
            row["savingsPlan/TotalCommitmentToDate"] = row["savingsPlan/UsedCommitment"] if same else amount(chance)
        if type_ in ("DiscountedUsage", "RIFee") or (type_ == "Fee" and chance.random() < 0.5):
            row["reservation/ReservationARN"] = RESERVED
            row["reservation/EffectiveCost"] = amount(chance)
            row["reservation/UnusedRecurringFee"] = amount(chance)
            row["reservation/UnusedAmortizedUpfrontFeeForBillingPeriod"] = amount(chance)
        if has_net:
            row |= {name: amount(chance) for name in NET_COLUMNS if chance.random() < 0.8}
        if type_ == "Refund" and chance.random() < 0.5:
            row["lineItem/ProductCode"] = "ComputeSavingsPlans"
            row["lineItem/LineItemDescription"] = "Refund for one-time fee for Savings Plan ID: 1"
        found.append(row)
    return found


def expected(given: list[Row]) -> list[Expected]:
    """Return the charges that these rows must become, in order."""
    found = []
    for number, row in enumerate(given, 1):
        if row["lineItem/LineItemType"] == "SavingsPlanNegation" or row["lineItem/Operation"] == "EKSPod-EC2":
            continue
        found.append(_charge(number, row))
        if (unused := _unused(row)) is not None and unused != 0:
            arn = row["savingsPlan/SavingsPlanARN"] or row["reservation/ReservationARN"]
            found.append(Expected(number, "Usage", Decimal(0), unused, Decimal(0), "Unused", arn))
    return found


def _unused(row: Row) -> Decimal | None:
    if row["lineItem/LineItemType"] == "SavingsPlanRecurringFee":
        return Decimal(row["savingsPlan/TotalCommitmentToDate"]) - Decimal(row["savingsPlan/UsedCommitment"])
    if row["lineItem/LineItemType"] == "RIFee":
        upfront = row["reservation/UnusedAmortizedUpfrontFeeForBillingPeriod"]
        return Decimal(upfront) + Decimal(row["reservation/UnusedRecurringFee"])
    return None


def _charge(number: int, row: Row) -> Expected:
    type_, cost = row["lineItem/LineItemType"], Decimal(row["lineItem/UnblendedCost"])
    has_net = NET_COLUMNS[0] in row
    net = Decimal(row.get(NET_COLUMNS[0]) or cost)
    covered = type_ in ("SavingsPlanCoveredUsage", "DiscountedUsage")
    plan_refund = type_ == "Refund" and row["lineItem/LineItemDescription"].startswith("Refund for one-time fee")
    purchase = type_ in ("SavingsPlanRecurringFee", "SavingsPlanUpfrontFee", "RIFee", "Fee", "FlatRateSubscription")
    effective = net
    if type_ == "SavingsPlanCoveredUsage":
        effective = Decimal(row.get(NET_COLUMNS[1]) or row["savingsPlan/SavingsPlanEffectiveCost"])
    elif type_ == "DiscountedUsage":
        effective = Decimal(row.get(NET_COLUMNS[2]) or row["reservation/EffectiveCost"])
    elif type_ in ("SavingsPlanRecurringFee", "SavingsPlanUpfrontFee", "RIFee") or plan_refund:
        effective = Decimal(0)
    if type_ == "Fee" and row["reservation/ReservationARN"]:
        effective = Decimal(0)
    if has_net and type_ in DISCOUNTS:
        effective = Decimal(0)
    category = "Usage" if type_ == "Usage" or covered else "Purchase" if purchase or plan_refund else "Adjustment"
    category = {"Tax": "Tax", "Credit": "Credit"}.get(
        type_, "Usage" if type_ == "Refund" and not plan_refund else category
    )
    listed = Decimal(row["pricing/publicOnDemandCost"]) if type_ == "Usage" or covered else cost
    resource = row["lineItem/ResourceId"] or None
    if purchase or plan_refund:
        resource = row["savingsPlan/SavingsPlanARN"] or row["reservation/ReservationARN"] or resource
    return Expected(
        number, category, Decimal(0) if covered else cost, effective, listed, "Used" if covered else None, resource
    )
