"""Charges as lines of an AWS Cost and Usage Report, legacy or 2.0, of the same month as the FOCUS export.

What the report has other rows for is written as AWS does: usage under the savings plan at its on-demand cost, with a
negation, and the plan's fee per hour with what of it was used. What it cannot represent is lost: every basis of a tax
but the invoice, and the service category.
"""

import csv
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

from trainfare.period import Month
from trainfare.simulate.charges import CLOUD_BILL, Charge
from trainfare.simulate.clock import HOUR, Span, span_of, stamp
from trainfare.simulate.focus import decimal

PAYER = "999888777666"
PRODUCT_CODES = {
    "Amazon Elastic Compute Cloud": "AmazonEC2",
    "Amazon Elastic Block Store": "AmazonEC2",
    "Amazon Simple Storage Service": "AmazonS3",
    "AWS Data Transfer": "AWSDataTransfer",
    "AWS Savings Plans for Compute": "ComputeSavingsPlans",
    "Amazon FSx": "AmazonFSx",
    "Amazon Virtual Private Cloud": "AmazonVPC",
    "Amazon Athena": "AmazonAthena",
    "Amazon SageMaker": "AmazonSageMaker",
    "Amazon Relational Database Service": "AmazonRDS",
    "Amazon CloudFront": "AmazonCloudFront",
    "Elastic Load Balancing": "AWSELB",
    "Amazon GuardDuty": "AmazonGuardDuty",
    "Amazon CloudWatch": "AmazonCloudWatch",
    "AWS Support (Enterprise)": "AWSSupportEnterprise",
    "Tax": "Tax",
}
COLUMNS = (
    *("identity/LineItemId", "bill/InvoiceId", "bill/BillingEntity", "bill/PayerAccountId"),
    *("bill/BillingPeriodStartDate", "bill/BillingPeriodEndDate", "lineItem/UsageAccountId", "lineItem/LineItemType"),
    *("lineItem/UsageStartDate", "lineItem/UsageEndDate", "lineItem/ProductCode", "lineItem/UsageType"),
    *("lineItem/Operation", "lineItem/ResourceId", "lineItem/CurrencyCode", "lineItem/UnblendedCost"),
    *("lineItem/LineItemDescription", "product/regionCode", "product/sku", "pricing/publicOnDemandCost"),
    *("savingsPlan/SavingsPlanARN", "savingsPlan/SavingsPlanEffectiveCost", "savingsPlan/TotalCommitmentToDate"),
    "savingsPlan/UsedCommitment",
)
Row = dict[str, str]


def write(path: Path, month: Month, charges: Iterable[Charge], version: int = 1) -> Path:
    """Write the cloud's lines of a month as CSV: version 1 is the legacy report, version 2 has its tags in a map."""
    given = [charge for charge in charges if charge.source == CLOUD_BILL]
    keys = sorted({key for charge in given for key, _ in charge.tags})
    rows = list(_rows(given, month))
    names = [*COLUMNS, *(f"resourceTags/user:{key}" for key in keys)]
    if version == 2:
        names = [_snake(name) for name in COLUMNS] + ["resource_tags", "bill_payer_account_name"]
        rows = [_version_2(row) for row in rows]
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, names, restval="", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    return path


def _snake(name: str) -> str:
    """Return the name of a column in CUR 2.0."""
    known = {"savingsPlan/SavingsPlanARN": "savings_plan_savings_plan_a_r_n"}
    written = "".join(f"_{char.lower()}" if char.isupper() else char for char in name.replace("/", "_"))
    return known.get(name, written.replace("__", "_"))


def _version_2(row: Row) -> Row:
    tags = {name.split(":")[1]: value for name, value in row.items() if name.startswith("resourceTags/")}
    own = {_snake(name): value for name, value in row.items() if not name.startswith("resourceTags/")}
    written = json.dumps({f"user_{key}": value for key, value in tags.items()}) if tags else ""
    return own | {"resource_tags": written, "bill_payer_account_name": "Acme Learning"}


def _rows(charges: list[Charge], month: Month) -> Iterator[Row]:
    start, end = span_of(month)
    fixed = {
        "bill/InvoiceId": f"AWS-{month}",
        "bill/BillingEntity": "AWS",
        "bill/PayerAccountId": PAYER,
        "bill/BillingPeriodStartDate": stamp(start),
        "bill/BillingPeriodEndDate": stamp(end),
        "lineItem/CurrencyCode": "USD",
    }
    lines = sorted(charges, key=lambda charge: charge.period)
    is_plan = [bool(charge.commitment_id) for charge in lines]
    plain = [charge for charge, planned in zip(lines, is_plan, strict=True) if not planned]
    planned = [charge for charge, planned in zip(lines, is_plan, strict=True) if planned]
    for number, row in enumerate([*map(_plain, plain), *_plan(planned, (start, end))], 1):
        yield fixed | {"identity/LineItemId": f"{number:012d}"} | row


def _common(charge: Charge, cost: int, type_: str) -> Row:
    row = {
        "lineItem/UsageAccountId": charge.account,
        "lineItem/LineItemType": type_,
        "lineItem/UsageStartDate": stamp(charge.period[0]),
        "lineItem/UsageEndDate": stamp(charge.period[1]),
        "lineItem/ProductCode": PRODUCT_CODES[charge.offer.service_name],
        "lineItem/UsageType": charge.offer.meter,
        "lineItem/ResourceId": charge.resource_id,
        "lineItem/UnblendedCost": decimal(cost),
        "lineItem/LineItemDescription": charge.description,
        "product/regionCode": charge.region,
        "product/sku": charge.offer.sku,
    }
    return row | {f"resourceTags/user:{key}": value for key, value in charge.tags}


def _plain(charge: Charge) -> Row:
    types = {"Usage": "Usage", "Purchase": "Fee", "Credit": "Credit", "Tax": "Tax"}
    type_ = "Refund" if charge.charge_class == "Correction" else types[charge.charge_category]
    row = _common(charge, charge.costs[1], type_)
    if charge.reservation_status == "Unused":
        row["lineItem/UsageType"] = row["lineItem/UsageType"].replace("BoxUsage", "UnusedBox")
    return row | {"pricing/publicOnDemandCost": decimal(charge.costs[2])}


def _plan(charges: list[Charge], month: Span) -> Iterator[Row]:
    """Yield covered usage with its negations, and the plan's fee of every hour with the part that was used."""
    used: dict[int, int] = defaultdict(int)
    for charge in charges:
        if charge.commitment_status == "Used":
            effective, _, listed, contracted = charge.costs
            used[charge.period[0]] += effective
            arn = {"savingsPlan/SavingsPlanARN": charge.commitment_id}
            costs = {"pricing/publicOnDemandCost": decimal(listed)}
            costs["savingsPlan/SavingsPlanEffectiveCost"] = decimal(effective)
            yield _common(charge, contracted, "SavingsPlanCoveredUsage") | arn | costs
            yield _common(charge, -contracted, "SavingsPlanNegation") | arn | {"lineItem/ResourceId": ""}
    (fee,) = (charge for charge in charges if charge.charge_category == "Purchase")
    hours = range(*month, HOUR)
    an_hour, rest = divmod(fee.costs[1], len(hours))
    assert rest == 0, "the fee is a multiple of the hourly commitment"
    for hour in hours:
        row = _common(fee._replace(period=(hour, hour + HOUR)), an_hour, "SavingsPlanRecurringFee")
        commitment = {"savingsPlan/SavingsPlanARN": fee.commitment_id}
        commitment |= {"savingsPlan/TotalCommitmentToDate": decimal(an_hour)}
        yield row | commitment | {"savingsPlan/UsedCommitment": decimal(used[hour])}
