"""The providers' price list in FOCUS terms, with made-up prices close to those of 2026.

Prices have at most four decimals and quantities at most six, so a cost has at most ten and is exact.
"""

from dataclasses import dataclass
from functools import cache

from trainfare.money import units
from trainfare.simulate.fleet import EU, G5, P4D, P5, SERVER, MachineType

VM = ("Compute", "Virtual Machines", "Amazon Elastic Compute Cloud")
DISK = ("Storage", "Block Storage", "Amazon Elastic Block Store")
OBJECT_STORAGE = ("Storage", "Object Storage", "Amazon Simple Storage Service")
TRANSFER = ("Networking", "Network Connectivity", "AWS Data Transfer")
PLANS = ("Compute", "Other (Compute)", "AWS Savings Plans for Compute")


@dataclass(frozen=True)
class Offer:
    """One item that can be bought. `list_price` and `contracted_price` are units of money per `unit`."""

    sku: str
    service_category: str
    service_subcategory: str
    service_name: str
    resource_type: str
    meter: str
    unit: str
    list_price: int
    contracted_price: int
    pricing_category: str = "Standard"
    instance: MachineType | str | None = None

    @property
    def price_id(self) -> str:
        return f"{self.sku}.{self.pricing_category[:4].upper()}"

    @property
    def details(self) -> dict[str, str | int]:
        if isinstance(self.instance, MachineType):
            return {
                "InstanceType": self.instance.name,
                "GpuCount": self.instance.gpus,
                "CoreCount": self.instance.cpus,
                "MemorySize": self.instance.memory_gb,
            }
        return {"InstanceType": self.instance} if self.instance else {}


ON_DEMAND = {P5: "55.04", P4D: "21.9576", G5: "5.672"}
INSTANCE = "Instance"
# The negotiated discount on everything the cloud provider sells except spot machines.
DISCOUNT_PERCENT = 12
SAVINGS_PLAN_RATE = units("34.1248")
SPOT = {P4D: "12.4", G5: "3.1"}
EU_PERCENT = 108


def contracted(list_price: int) -> int:
    """Return the negotiated price, to four decimals like every price."""
    step = units("0.0001")
    return list_price * (100 - DISCOUNT_PERCENT) // 100 // step * step


@cache
def machine_hour(kind: MachineType, region: str, pricing: str) -> Offer:
    """Return the offer for an hour of a cloud GPU machine. The contracted price of a spot hour is the market price."""
    price = units(ON_DEMAND[kind]) * (EU_PERCENT if region == EU else 100) // 100
    price -= price % units("0.0001")
    usage = "SpotUsage" if pricing == "Dynamic" else "BoxUsage"
    sku = f"EC2-{region}-{usage}-{kind.name}"
    return Offer(sku, *VM, INSTANCE, f"{usage}:{kind.name}", "Hours", price, contracted(price), pricing, kind)


def _cloud_offer(sku: str, service: tuple[str, str, str], resource: str, meter: str, unit: str, price: str) -> Offer:
    return Offer(sku, *service, resource, meter, unit, units(price), contracted(units(price)))


DISK_SPACE = _cloud_offer("EBS-gp3", DISK, "Volume", "EBS:VolumeUsage.gp3", "GB-Months", "0.08")
REGIONAL = _cloud_offer("DT-regional", TRANSFER, INSTANCE, "DataTransfer-Regional-Bytes", "GB", "0.01")
CROSS_REGION = _cloud_offer("DT-use1-euw1", TRANSFER, "Data transfer", "USE1-EUW1-AWS-Out-Bytes", "GB", "0.02")
OBJECTS = _cloud_offer(
    "S3-standard",
    OBJECT_STORAGE,
    "Bucket",
    "TimedStorage-ByteHrs",
    "GB-Months",
    "0.021",
)
LUSTRE = _cloud_offer(
    "FSX-lustre", ("Storage", "File Storage", "Amazon FSx"), "File system", "Lustre:StorageUsage", "GB-Months", "0.145"
)
NAT = _cloud_offer(
    "VPC-nat",
    ("Networking", "Network Infrastructure", "Amazon Virtual Private Cloud"),
    "NAT gateway",
    "NatGateway-Bytes",
    "GB",
    "0.045",
)
QUERIES = _cloud_offer(
    "ATHENA-scan", ("Analytics", "Analytics Platforms", "Amazon Athena"), "Workgroup", "DataScannedInTB", "TB", "5"
)
MANAGED = _cloud_offer(
    "SM-processing",
    ("AI and Machine Learning", "Machine Learning", "Amazon SageMaker"),
    "Processing job",
    "Processing:ml.m5.12xlarge",
    "Hours",
    "2.765",
)
DATABASE = _cloud_offer(
    "RDS-aurora-r6g",
    ("Databases", "Relational Databases", "Amazon Relational Database Service"),
    "Database",
    "InstanceUsage:db.r6g.16xl",
    "Hours",
    "8.306",
)
DELIVERY = _cloud_offer(
    "CF-out", ("Web", "Other (Web)", "Amazon CloudFront"), "Distribution", "US-DataTransfer-Out-Bytes", "GB", "0.085"
)
BALANCER = _cloud_offer(
    "ELB-lcu",
    ("Web", "Application Platforms", "Elastic Load Balancing"),
    "Load balancer",
    "LCUUsage",
    "LCU-Hours",
    "0.008",
)
GUARD = _cloud_offer(
    "GD-events",
    ("Security", "Threat Detection and Response", "Amazon GuardDuty"),
    "Detector",
    "PaidEventsAnalyzed",
    "1000 Events",
    "0.004",
)
WATCH = _cloud_offer(
    "CW-logs",
    ("Management and Governance", "Observability", "Amazon CloudWatch"),
    "Log group",
    "DataProcessing-Bytes",
    "GB",
    "0.5",
)
WEB_SERVER = Offer(
    "EC2-us-east-1-BoxUsage-m5.4xlarge",
    *VM,
    INSTANCE,
    "BoxUsage:m5.4xlarge",
    "Hours",
    units("0.768"),
    contracted(units("0.768")),
    "Standard",
    "m5.4xlarge",
)
SUPPORT = Offer(
    "SUPPORT-enterprise",
    "Management and Governance",
    "Support",
    "AWS Support (Enterprise)",
    "Support plan",
    "Enterprise Support",
    "Months",
    0,
    0,
)
PLAN = Offer(
    "SP-compute-1y", *PLANS, "Savings Plan", "ComputeSP:1yrNoUpfront", "Hours", SAVINGS_PLAN_RATE, SAVINGS_PLAN_RATE
)
PLAN_UNUSED = Offer("SP-compute-1y", *PLANS, "Savings Plan", "ComputeSP:Unused", "Hours", 0, 0, "Committed")

ROOM = ("Other", "Other (Other)", "Basement hosting")
DEPRECIATION = Offer(
    "ACME-hgx-month",
    "Compute",
    "Virtual Machines",
    "Owned GPU servers",
    "Server",
    "Depreciation",
    "Months",
    units("7400"),
    units("7400"),
    "Standard",
    SERVER,
)
POWER = Offer("ACME-kwh", *ROOM, "Server", "Power and cooling", "kWh", units("0.27"), units("0.27"))
UPLINK = Offer(
    "ACME-port",
    "Networking",
    "Network Connectivity",
    "Basement network",
    "Server",
    "InfiniBand and uplink ports",
    "Months",
    units("410"),
    units("410"),
)
FILER = Offer(
    "ACME-nfs",
    "Storage",
    "File Storage",
    "Basement filer",
    "Share",
    "NFS space",
    "GB-Months",
    units("0.031"),
    units("0.031"),
)
CARE = Offer(
    "ACME-care",
    "Management and Governance",
    "Support",
    "Hardware Support",
    "Contract",
    "Next-day hardware support",
    "Months",
    0,
    0,
)
