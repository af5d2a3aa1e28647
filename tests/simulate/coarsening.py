"""The FOCUS bill of a simulated month, coarsened to what each native format can represent.

Written from what the formats state, in plain Python, without the readers and their SQL: a native bill must give the
shares of the FOCUS bill that is coarsened in this way.
"""

import csv
import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

from trainfare.simulate import azure, google, oracle
from trainfare.simulate.files import SimulatedMonth
from trainfare.simulate.fleet import G5, P4D, P5

Row = dict[str, str]
COSTS = ("EffectiveCost", "BilledCost", "ListCost", "ContractedCost")
KINDS = {kind.name: kind for kind in (P5, P4D, G5)}
PACIFIC_HOURS = 7
"""Pacific daylight time is behind UTC by this, all through October 2026."""
UNIT = Decimal("1e-12")
GOOGLE_CATEGORIES = {
    "Amazon CloudFront": "Networking",
    "Elastic Load Balancing": "Networking",
    "AWS Support (Enterprise)": "Other",
    "Tax": "Other",
}
AZURE_CATEGORIES = GOOGLE_CATEGORIES | {"Tax": ""}
"""Service categories that the services of a provider have, where they differ from those of the FOCUS bill."""


def read(path: Path) -> list[Row]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def write(path: Path, rows: Iterable[Row]) -> Path:
    rows = list(rows)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    return path


def machines(simulated: SimulatedMonth, path: Path, rename: Callable[[str, str, str], str]) -> Path:
    """Write the list of machines with the ids that a provider gives them."""
    rows = read(simulated.machines)
    for row in rows:
        if row["resource_id"].startswith("arn:"):
            row["resource_id"] = rename(row["resource_id"], row["account"], row["region"])
    return write(path, rows)


def _instant(row: Row, column: str = "ChargePeriodStart") -> datetime:
    return datetime.fromisoformat(row[column]).replace(tzinfo=UTC)


def _stamp(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def _instance_type(row: Row, names: dict[object, str]) -> str:
    kind = KINDS.get(json.loads(row["SkuPriceDetails"] or "{}").get("InstanceType", ""))
    return json.dumps({"InstanceType": names[kind]}) if kind else ""


def _is_fee(row: Row) -> bool:
    return row["ChargeCategory"] == "Purchase" and bool(row["CommitmentDiscountId"])


def _common(row: Row, account: str, categories: dict[str, str]) -> Row:
    """Return the row without what no native format has."""
    category = categories.get(row["ServiceName"], row["ServiceCategory"])
    return row | {
        "BillingAccountId": account,
        "ServiceCategory": category,
        "ResourceType": "",
        "CapacityReservationId": "",
        "CapacityReservationStatus": "",
    }


def to_google(rows: list[Row]) -> list[Row]:
    """Return the bill with Pacific months, and the unused part of commitments spread over their fees."""
    found: list[Row] = []
    goodwill = {row["ResourceId"]: row for row in rows if row["ChargeCategory"] == "Credit" and row["ResourceId"]}
    for row in rows:
        one = _common(row, google.BILLING_ACCOUNT, GOOGLE_CATEGORIES)
        one["SkuPriceDetails"] = _instance_type(row, dict(google.MACHINE_TYPES))
        one["SubAccountId"] = row["SubAccountName"]
        if row["ResourceId"]:
            one["ResourceId"] = google.machine_name(row["ResourceId"], row["SubAccountId"], row["RegionId"])
        one |= _pacific_month(row)
        if row["ChargeCategory"] == "Tax":
            one |= {"EffectiveCost": row["BilledCost"], "ContractedCost": row["BilledCost"], "ListCost": ""}
        if row["ChargeCategory"] == "Tax" or "Support" in row["ServiceName"]:
            one["SubAccountId"] = ""
        if row["ChargeClass"] == "Correction":
            one["ChargeCategory"] = "Adjustment"
        if one["SkuPriceDetails"] and (credit := goodwill.pop(row["ResourceId"], None)):
            same = {name: one[name] for name in one if name not in (*COSTS, "ServiceName", "ServiceCategory")}
            found.append(one | same | {"ChargeCategory": "Credit"} | {name: credit[name] for name in COSTS})
        if _is_fee(row):
            found += _hourly_fees(one, rows)
        elif row["CommitmentDiscountStatus"] != "Unused" and not (
            row["ChargeCategory"] == "Credit" and row["ResourceId"]
        ):
            found.append(one)
    assert not goodwill
    return found


def _pacific_month(row: Row) -> Row:
    """Return the billing period: the Pacific month in which a line starts, or this one for what is about the month."""
    months = [datetime(2026, month, 1, PACIFIC_HOURS, tzinfo=UTC) for month in (9, 10, 11)]
    of_month = row["ChargePeriodEnd"] > "2026-10-03" and row["ChargePeriodStart"] == "2026-10-01T00:00:00Z"
    is_earlier = _instant(row) < months[1] and not row["ChargeClass"] and not of_month
    start, end = months[:2] if is_earlier else months[1:]
    return {"BillingPeriodStart": _stamp(start), "BillingPeriodEnd": _stamp(end)}


def _hourly_fees(fee: Row, rows: list[Row]) -> list[Row]:
    """Return the fee of every hour, and what of it was not used in its Pacific month, in proportion to the fees.

    There are three commitments, to GPUs, cores and memory: each has its own sums, rounded to a unit of money.
    """
    hours = [datetime(2026, 10, 1, tzinfo=UTC) + timedelta(hours=number) for number in range(744)]
    used: dict[str, Decimal] = defaultdict(Decimal)
    for row in rows:
        if row["CommitmentDiscountStatus"] == "Used":
            used[_pacific_month(row)["BillingPeriodStart"]] += Decimal(row["PricingQuantity"])
    lengths = Counter(_pacific_month(fee | _hour(hour))["BillingPeriodStart"] for hour in hours)
    machines_held = Decimal(fee["PricingQuantity"]) / len(hours)
    found = []
    unused: dict[datetime, int] = defaultdict(int)
    for rate in google.commitment_rates().values():
        paid = int(rate * machines_held)
        so_far: dict[str, int] = defaultdict(int)
        for hour in hours:
            month = _pacific_month(fee | _hour(hour))["BillingPeriodStart"]
            owed = machines_held * lengths[month]
            before, after = (int(units * used[month] // owed) for units in (so_far[month], so_far[month] + paid))
            so_far[month] += paid
            unused[hour] += paid - (after - before)
    an_hour = Decimal(fee["BilledCost"]) / len(hours)
    for hour in hours:
        one = fee | _hour(hour) | {"ResourceId": ""}
        one |= _pacific_month(one)
        found.append(one | dict.fromkeys(COSTS, f"{an_hour:f}") | {"EffectiveCost": "0"})
        rest = one | dict.fromkeys(COSTS, "0") | {"EffectiveCost": f"{unused[hour] * UNIT:f}"}
        found.append(rest | {"ChargeCategory": "Usage", "CommitmentDiscountStatus": "Unused"})
    return found


def _hour(start: datetime) -> Row:
    return {"ChargePeriodStart": _stamp(start), "ChargePeriodEnd": _stamp(start + timedelta(hours=1))}


def scale_sets(rows: list[Row]) -> dict[str, str]:
    """Return the scale set of each machine that is in one: the pool of a spot machine."""
    pools = {
        row["ResourceId"]: json.loads(row["Tags"] or "{}").get("pool", "") for row in rows if row["SkuPriceDetails"]
    }
    return {machine: pool for machine, pool in pools.items() if "spot" in pool}


def to_azure(rows: list[Row]) -> list[Row]:
    """Return the bill by day, without credits, and without list and contracted cost where there is no price."""
    sets = scale_sets(rows)
    found = []
    for row in rows:
        one = _common(row, azure.ENROLLMENT, AZURE_CATEGORIES)
        one["SkuPriceDetails"] = _instance_type(row, dict(azure.SIZES))
        resource = (row["ResourceId"], row["SubAccountId"], row["RegionId"], sets.get(row["ResourceId"], ""))
        one["ResourceId"] = azure.resource_id(*resource)
        one["SubAccountId"] = azure.SUBSCRIPTIONS[row["SubAccountId"]]
        day = _instant(row).replace(hour=0)
        one |= {"ChargePeriodStart": _stamp(day), "ChargePeriodEnd": _stamp(day + timedelta(days=1))}
        if row["ChargeCategory"] == "Tax":
            one["EffectiveCost"] = row["BilledCost"]
        if row["ChargeCategory"] != "Usage" or row["CommitmentDiscountStatus"] == "Unused" or row["ChargeClass"]:
            one |= {"ListCost": "", "ContractedCost": ""}
        if row["ChargeCategory"] == "Credit":
            one["ChargeCategory"] = "Usage"
        if row["ChargeClass"] == "Correction":
            one["ChargeCategory"] = "Purchase"
        found.append(one)
    return found


def to_oracle(rows: list[Row]) -> list[Row]:
    """Return the bill as usage alone, with one cost and a list cost, in the months of usage."""
    found = []
    for row in rows:
        if row["ChargeCategory"] == "Tax" or _is_fee(row):
            continue
        one = _common(row, oracle.TENANCY, GOOGLE_CATEGORIES)
        one["SkuPriceDetails"] = _instance_type(row, dict(oracle.SHAPES))
        one["ResourceId"] = oracle.ocid(row["ResourceId"], row["RegionId"])
        one["SubAccountId"] = f"ocid1.compartment.oc1..{row['SubAccountName']}"
        one |= {"BilledCost": row["EffectiveCost"], "ContractedCost": "", "ChargeCategory": "Usage"}
        one |= {"BillingPeriodStart": "", "BillingPeriodEnd": ""}
        one |= {"CommitmentDiscountId": "", "CommitmentDiscountStatus": ""}
        if row["ChargeCategory"] == "Credit" or row["CommitmentDiscountStatus"] == "Unused":
            one["ListCost"] = ""
        one["Tags"] = json.dumps({f"Acme.{key}": value for key, value in json.loads(row["Tags"] or "{}").items()})
        found.append(one)
    return found
