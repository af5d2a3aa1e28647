"""Charges as cost reports of Oracle Cloud of the same month: several files, each with lines that no other has.

Machines are billed by GPU hour. A line is never changed: a correction is another line that names it.
What the reports cannot represent is lost. They have no kinds of lines but corrections: credits and support are usage,
and tax is on the invoice only. They have no fees of commitments: what one covers has its price, and what it did not
cover is a line, too, so effective cost is as billed. They have no contracted prices, no months but those of usage, no
instance types but in descriptions, and no reservations.
"""

import csv
import gzip
import io
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

from trainfare.money import amount
from trainfare.period import Month
from trainfare.simulate.charges import CLOUD_BILL, Charge
from trainfare.simulate.clock import stamp
from trainfare.simulate.fleet import EU, G5, P4D, P5, US, MachineType
from trainfare.simulate.focus import ACCOUNT_NAMES, decimal

TENANCY = "ocid1.tenancy.oc1..acmelearning"
REGIONS = {US: "us-ashburn-1", EU: "eu-frankfurt-1"}
SHAPES = {P5: "BM.GPU.H100.8", P4D: "BM.GPU4.8", G5: "BM.GPU.A10.4"}
SERVICES = {
    "Amazon Elastic Compute Cloud": "COMPUTE",
    "Amazon Elastic Block Store": "BLOCK_STORAGE",
    "Amazon Simple Storage Service": "OBJECTSTORE",
    "AWS Data Transfer": "NETWORK",
    "AWS Savings Plans for Compute": "COMPUTE",
    "Amazon FSx": "FILE_STORAGE",
    "Amazon Virtual Private Cloud": "VIRTUAL_CLOUD_NETWORK",
    "Amazon Athena": "DATA_FLOW",
    "Amazon SageMaker": "DATA_SCIENCE",
    "Amazon Relational Database Service": "DATABASE",
    "Amazon CloudFront": "NETWORK",
    "Elastic Load Balancing": "LOAD_BALANCER",
    "Amazon GuardDuty": "CLOUD_GUARD",
    "Amazon CloudWatch": "LOGGING",
    "AWS Support (Enterprise)": "SUPPORT",
}
"""By the name of a service in the FOCUS bill: Oracle's service for the like of it."""
COLUMNS = (
    *("lineItem/referenceNo", "lineItem/tenantId", "lineItem/intervalUsageStart", "lineItem/intervalUsageEnd"),
    *("product/service", "product/compartmentId", "product/compartmentName", "product/region"),
    *("product/availabilityDomain", "product/resourceId", "usage/billedQuantity", "usage/billedQuantityOverage"),
    *("cost/subscriptionId", "cost/productSku", "product/Description", "cost/unitPrice", "cost/unitPriceOverage"),
    *("cost/myCost", "cost/myCostOverage", "cost/currencyCode", "cost/billingUnitReadable", "cost/overageFlag"),
    *("lineItem/isCorrection", "lineItem/backreferenceNo"),
)
TAG = "tags/Acme."
Correction = tuple[Charge, Charge]
"""A line, and the difference that corrects it."""
Row = dict[str, str]


def write(
    folder: Path,
    month: Month,
    charges: Iterable[Charge],
    late: Sequence[Charge] = (),
    corrections: Sequence[Correction] = (),
    reports: int = 3,
) -> list[Path]:
    """Write the cloud's lines of a month as reports, and what comes later as one more."""
    given = [one for one in charges if one.source == CLOUD_BILL and _is_reported(one)]
    given.sort(key=lambda charge: charge.period)
    keys = sorted({key for charge in (*given, *late) for key, _ in charge.tags})
    numbers = {id(charge): f"V2.{month}.{number:08d}" for number, charge in enumerate((*given, *late), 1)}
    rows = [_row(charge, numbers[id(charge)]) for charge in given]
    size = -(-len(rows) // reports)
    parts = [rows[start : start + size] for start in range(0, len(rows), size)]
    if late or corrections:
        parts.append([_row(charge, numbers[id(charge)]) for charge in late])
        for number, (corrected, difference) in enumerate(corrections, 1):
            marks = {"lineItem/isCorrection": "true", "lineItem/backreferenceNo": numbers[id(corrected)]}
            parts[-1].append(_row(difference, f"V2.{month}.C{number:07d}") | marks)
    return [_report(folder / f"{month}-{number:010d}.csv.gz", part, keys) for number, part in enumerate(parts, 1)]


def ocid(charge_resource: str, region: str) -> str:
    """Return Oracle's id of a resource, given its id in the FOCUS bill."""
    if not charge_resource:
        return ""
    kind = "instance" if ":instance/" in charge_resource else "resource"
    return f"ocid1.{kind}.oc1.{REGIONS.get(region, region)}.{charge_resource.rpartition('/')[2]}"


def _is_reported(charge: Charge) -> bool:
    """Return whether the reports have a line like this: not for taxes and fees of commitments."""
    return charge.charge_category != "Tax" and not (charge.charge_category == "Purchase" and charge.commitment_id)


def _report(path: Path, rows: Sequence[Row], keys: Sequence[str]) -> Path:
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, [*COLUMNS, *(TAG + key for key in keys)], restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    path.write_bytes(gzip.compress(text.getvalue().encode(), mtime=0))
    return path


def _minute(moment: int) -> str:
    return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%dT%H:%MZ")


def _amount(units: int) -> str:
    """Return an amount, a small one with an exponent."""
    exact = amount(units)
    return f"{exact.normalize():E}" if exact and abs(exact) < Decimal("0.000001") else decimal(units)


def _row(charge: Charge, number: str) -> Row:
    kind = charge.offer.instance
    is_machine = isinstance(kind, MachineType)
    gpus = kind.gpus if isinstance(kind, MachineType) else 1
    row = {
        "lineItem/referenceNo": number,
        "lineItem/tenantId": TENANCY,
        "lineItem/intervalUsageStart": _minute(charge.period[0]),
        "lineItem/intervalUsageEnd": stamp(charge.period[1]),
        "product/service": SERVICES[charge.offer.service_name],
        "product/compartmentId": f"ocid1.compartment.oc1..{ACCOUNT_NAMES[charge.account]}",
        "product/compartmentName": ACCOUNT_NAMES[charge.account],
        "product/region": REGIONS[charge.region],
        "product/resourceId": ocid(charge.resource_id, charge.region),
        "cost/productSku": charge.offer.sku,
        "product/Description": f"{SHAPES[kind]} GPU hour" if isinstance(kind, MachineType) else charge.offer.meter,
        "cost/myCost": _amount(charge.costs[0]),
        "cost/myCostOverage": "0",
        "cost/currencyCode": "USD",
        "cost/billingUnitReadable": "GPU Per Hour" if is_machine else charge.offer.unit,
        "cost/overageFlag": "N",
        "lineItem/isCorrection": "true" if charge.charge_class == "Correction" else "false",
        "lineItem/backreferenceNo": "V2.earlier.00000001" if charge.charge_class == "Correction" else number,
    }
    if charge.prices is not None and charge.quantity is not None and charge.commitment_status != "Unused":
        price = f"{amount(charge.prices[0]) / gpus:f}"
        row |= {"usage/billedQuantity": decimal(charge.quantity * gpus, 6), "cost/unitPrice": price}
    return row | {TAG + key: value for key, value in charge.tags}
