"""Charges as Google Cloud's detailed usage cost export of the same month: JSON lines, as BigQuery extracts them.

What the export has other rows for is written as Google does. A machine hour is a row each for its GPUs, cores and
memory. The savings plan is a commitment to each of the three, in the older model: hourly fees on rows of their own, and
a credit that takes back the cost of what they cover. A credit for a machine is on its first hour. Months are Pacific
ones, so the first hours of a month are invoiced with the one before. Rows are only ever appended.
What the export cannot represent is lost: all but the billed cost of taxes, the hour in which a commitment was unused,
and whether a reservation was used.
"""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

from trainfare.money import UNITS
from trainfare.period import Month
from trainfare.simulate.charges import CLOUD_BILL, PLAN_ID, Charge, cost
from trainfare.simulate.clock import HOUR, span_of
from trainfare.simulate.fleet import EU, G5, P4D, P5, US, MachineType
from trainfare.simulate.focus import ACCOUNT_NAMES, decimal
from trainfare.simulate.price_list import SAVINGS_PLAN_RATE

BILLING_ACCOUNT = "01A2B3-C4D5E6-F70819"
PACIFIC = ZoneInfo("America/Los_Angeles")
REGIONS = {US: "us-central1", EU: "europe-west4"}
PLACES = {US: "Americas", EU: "EMEA"}
MACHINE_TYPES = {P5: "a3-highgpu-8g", P4D: "a2-highgpu-8g", G5: "g2-standard-48"}
GPUS = {P5: "Nvidia H100 80GB", P4D: "Nvidia Tesla A100", G5: "Nvidia L4"}
FAMILIES = {P5: "A3", P4D: "A2", G5: "G2"}
SERVICES = {
    "Amazon Elastic Compute Cloud": ("Compute Engine", "N2 Instance Core running in Americas"),
    "Amazon Elastic Block Store": ("Compute Engine", "SSD backed PD Capacity"),
    "Amazon Simple Storage Service": ("Cloud Storage", "Standard Storage US Multi-region"),
    "AWS Data Transfer": ("Compute Engine", "Network Inter Zone Data Transfer Out"),
    "AWS Savings Plans for Compute": ("Compute Engine", "Commitment v1"),
    "Amazon FSx": ("Cloud Filestore", "Filestore Capacity Zonal"),
    "Amazon Virtual Private Cloud": ("Networking", "Cloud NAT Gateway: Data Processing Charge"),
    "Amazon Athena": ("BigQuery", "Analysis (us)"),
    "Amazon SageMaker": ("Vertex AI", "Vertex AI: Custom Training on N1"),
    "Amazon Relational Database Service": ("Cloud SQL", "Cloud SQL for PostgreSQL: Zonal - vCPU"),
    "Amazon CloudFront": ("Networking", "Cloud CDN Cache Data Transfer"),
    "Elastic Load Balancing": ("Networking", "Cloud Load Balancer Forwarding Rule"),
    "Amazon GuardDuty": ("Security Command Center", "Premium Tier events"),
    "Amazon CloudWatch": ("Cloud Logging", "Log Storage cost"),
    "AWS Support (Enterprise)": ("Support", "Enterprise Support"),
    "Tax": ("Invoice", "Tax"),
}
"""By the name of a service in the FOCUS bill: Google's service and SKU for the like of it."""
MEMORY, CORES, GPU = 0, 1, 2
PERCENT = {MEMORY: 8, CORES: 17}
"""The parts of a machine's price for memory and cores; the rest is for its GPUs."""
Row = dict[str, object]
Costs = tuple[int, int, int, int]


def write(path: Path, month: Month, charges: Iterable[Charge], later: Sequence[Charge] = ()) -> Path:
    """Write the cloud's lines of a month; `later` are differences and lines that were appended to it afterwards."""
    given = sorted((one for one in charges if one.source == CLOUD_BILL), key=lambda charge: charge.period)
    rows = [row | {"export_time": _time(span_of(month)[1])} for row in _rows(given, month)]
    rows += [row | {"export_time": _time(span_of(month)[1] + HOUR)} for charge in later for row in _line(charge, month)]
    path.write_text("".join(_json(row) + "\n" for row in rows), encoding="utf-8")
    return path


def machine_name(resource_id: str, account: str, region: str) -> str:
    """Return the global name of a machine, given its id in the FOCUS bill; of anything else a name of its own."""
    name = resource_id.rpartition("/")[2]
    number = int(name[2:], 16) if resource_id.startswith("arn:aws:ec2:") and ":instance/" in resource_id else 0
    zone = f"projects/{account}/zones/{REGIONS.get(region, region)}-a"
    return f"//compute.googleapis.com/{zone}/{f'instances/{number}' if number else f'resources/{name}'}"


def invoice_month(charge: Charge, month: Month) -> str:
    """Return the month that Google invoices a line in: that of its start, unless it is for the month as a whole."""
    start = datetime.fromtimestamp(charge.period[0], UTC).astimezone(PACIFIC)
    is_of_month = charge.period == span_of(month) or charge.charge_class
    return str(month).replace("-", "") if is_of_month else f"{start:%Y%m}"


def _time(moment: int) -> str:
    return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def _number(amount: int, places: int = 12) -> str:
    """Return a number between marks that `_json` removes. BigQuery has a FLOAT64, which keeps 15 digits."""
    text = decimal(amount, places)
    assert len(text.replace("-", "").replace(".", "").strip("0")) <= 15, "more digits than a float has"
    return f"#{text}#"


def _json(row: Row) -> str:
    return re.sub(r'"#([^"]*)#"', r"\1", json.dumps(row))


def _rows(charges: Sequence[Charge], month: Month) -> Iterator[Row]:
    """Yield the rows of the month. A credit that names a machine is on its first hour."""
    named = {one.resource_id: one for one in charges if one.charge_category == "Credit" and one.resource_id}
    apart = {id(credit) for credit in named.values()}
    for charge in charges:
        if charge.charge_category == "Purchase" and charge.commitment_id:
            yield from _fees(charge, month)
        elif charge.commitment_status != "Unused" and id(charge) not in apart:
            rows = _line(charge, month)
            is_machine_hour = isinstance(charge.offer.instance, MachineType)
            if is_machine_hour and (credit := named.pop(charge.resource_id, None)):
                rows[0]["credits"] = [*_entries(rows[0]), _promotion(credit)]
            yield from rows
    assert not named, "every credit that names a machine is on an hour of it"


def _entries(row: Row) -> list[object]:
    found = row["credits"]
    assert isinstance(found, list)
    return found


def _promotion(credit: Charge) -> Row:
    return {"name": credit.description, "amount": _number(credit.costs[1]), "type": "PROMOTION", "id": "promo-1"}


def _line(charge: Charge, month: Month) -> list[Row]:
    """Return the rows of one line: three for a machine hour, one for everything else."""
    kind = charge.offer.instance
    if isinstance(kind, MachineType):
        return [_machine_row(charge, month, kind, part) for part in (GPU, CORES, MEMORY)]
    service, sku = SERVICES[charge.offer.service_name]
    row = _common(charge, month, (service, sku), charge.costs, charge.quantity or 0, charge.offer.unit)
    if charge.charge_category == "Credit":
        return [row | {"cost": 0, "cost_at_list": 0, "credits": [_promotion(charge)]}]
    if charge.charge_category == "Tax":
        return [row | {"cost_type": "tax", "cost_at_list": None, "project": None}]
    return [row | ({"project": None} if service == "Support" else {})]


def _common(charge: Charge, month: Month, named: tuple[str, str], costs: Costs, quantity: int, unit: str) -> Row:
    service, sku = named
    place: Row = {"location": REGIONS[charge.region], "region": REGIONS[charge.region]}
    row: Row = {
        "billing_account_id": BILLING_ACCOUNT,
        "service": {"id": service.upper()[:4], "description": service},
        "sku": {"id": f"{charge.offer.sku or sku}", "description": sku},
        "usage_start_time": _time(charge.period[0]),
        "usage_end_time": _time(charge.period[1]),
        "project": {"id": ACCOUNT_NAMES[charge.account], "number": charge.account, "labels": []},
        "labels": [{"key": key, "value": value} for key, value in charge.tags],
        "system_labels": [],
        "location": place,
        "cost": _number(costs[3] if charge.commitment_id else costs[1]),
        "cost_at_list": _number(costs[2]),
        "currency": "USD",
        "currency_conversion_rate": 1,
        "usage": {"amount_in_pricing_units": _number(quantity, 6), "pricing_unit": unit},
        "credits": [],
        "invoice": {"month": invoice_month(charge, month)},
        "cost_type": "regular",
        "adjustment_info": None,
    }
    if charge.resource_id:
        global_name = machine_name(charge.resource_id, charge.account, charge.region)
        row["resource"] = {"name": charge.resource_name, "global_name": global_name}
    if charge.charge_class == "Correction":
        info = {
            "id": "adj-1",
            "description": charge.description,
            "mode": "MANUAL_ADJUSTMENT",
            "type": "USAGE_CORRECTION",
        }
        row |= {"cost_type": "adjustment", "adjustment_info": info}
    return row


def _machine_row(charge: Charge, month: Month, kind: MachineType, part: int) -> Row:
    """Return the row for the GPUs, cores or memory of a machine hour."""
    texts = {
        GPU: (f"{GPUS[kind]} GPU", kind.gpus),
        CORES: (f"{FAMILIES[kind]} Instance Core", kind.cpus),
        MEMORY: (f"{FAMILIES[kind]} Instance Ram", kind.memory_gb),
    }
    text, amount = texts[part]
    is_spot = charge.offer.pricing_category == "Dynamic"
    attached = " attached to Spot Preemptible VMs" if part == GPU else ""
    sku = f"{'' if part == GPU else 'Spot Preemptible '}{text}{attached}" if is_spot else text
    effective, billed, listed, contracted = (_part(paid, part) for paid in charge.costs)
    assert charge.quantity is not None
    row = _common(
        charge,
        month,
        ("Compute Engine", f"{sku} running in {PLACES[charge.region]}"),
        (effective, billed, listed, contracted),
        charge.quantity * amount,
        "hour" if part != MEMORY else "gibibyte hour",
    )
    if charge.commitment_status == "Used":
        covered = {"name": "Committed use discount", "type": "COMMITTED_USAGE_DISCOUNT", "id": f"{part}-{PLAN_ID[-4:]}"}
        row["credits"] = [covered | {"amount": _number(-contracted)}]
    row["system_labels"] = [{"key": "compute.googleapis.com/machine_spec", "value": MACHINE_TYPES[kind]}]
    return row


def _part(amount: int, part: int) -> int:
    """Return the part of an amount that is for GPUs, cores or memory, to ten decimals; the parts add up to it."""
    step: int = UNITS // 10**10
    parts = {one: amount * percent // 100 // step * step for one, percent in PERCENT.items()}
    return parts[part] if part in parts else amount - sum(parts.values())


def commitment_rates() -> dict[int, int]:
    """Return what the commitment costs per machine hour: for GPUs, cores and memory."""
    step: int = UNITS // 10**4
    rates = {part: SAVINGS_PLAN_RATE * percent // 100 // step * step for part, percent in PERCENT.items()}
    return rates | {GPU: SAVINGS_PLAN_RATE - sum(rates.values())}


def _fees(fee: Charge, month: Month) -> Iterator[Row]:
    """Yield the fees of the commitments to GPUs, cores and memory of every hour."""
    hours = range(*fee.period, HOUR)
    assert fee.quantity is not None
    assert fee.quantity % len(hours) == 0
    machines = fee.quantity // len(hours)
    sizes = {GPU: P5.gpus, CORES: P5.cpus, MEMORY: P5.memory_gb}
    texts = {GPU: f"{GPUS[P5]} GPU running", CORES: "A3 Cpu", MEMORY: "A3 Ram"}
    for hour in hours:
        line = fee._replace(period=(hour, hour + HOUR), resource_id="")
        for part, rate in commitment_rates().items():
            paid = cost(rate, machines)
            sku = f"Commitment v1: {texts[part]} in {PLACES[fee.region]} for 1 Year"
            unit = "hour" if part != MEMORY else "gibibyte hour"
            row = _common(line, month, ("Compute Engine", sku), (paid,) * 4, machines * sizes[part], unit)
            yield row | {"subscription": {"instance_id": f"{part}-{PLAN_ID[-4:]}"}}
