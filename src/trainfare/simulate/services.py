"""Charges that no machine causes: storage, traffic, managed services, the web shop, an unused reservation, refunds."""

from collections.abc import Iterator
from random import Random

from trainfare.simulate.charges import MICRO, Charge, Tags, UsageScope, usage_charge
from trainfare.simulate.clock import DAY, HOUR, Span, day_of, span_of, split_span
from trainfare.simulate.company import Workload
from trainfare.simulate.fleet import EU, P5, SHOP, TRAINING_EU, TRAINING_US, US
from trainfare.simulate.price_list import (
    BALANCER,
    CROSS_REGION,
    DATABASE,
    DELIVERY,
    GUARD,
    LUSTRE,
    MANAGED,
    NAT,
    OBJECTS,
    QUERIES,
    WATCH,
    WEB_SERVER,
    Offer,
    machine_hour,
)

BUCKETS: tuple[tuple[str, Tags, int], ...] = (
    ("atlas-corpus", (("project", "atlas-llm"), ("team", "nlp")), 310_000),
    ("atlas-checkpoints", (("project", "atlas-llm"),), 220_000),
    ("retrieval-index", (("project", "retrieval"),), 60_000),
    ("nlp-scratch", (("team", "nlp"),), 90_000),
    ("street-scenes-raw", (("project", "street-scenes"),), 190_000),
    ("defect-images", (("project", "defect-detect"), ("owner", "goran.petek")), 70_000),
    ("vision-scratch", (("team", "vision"), ("env", "train")), 50_000),
    ("speech-recordings", (("cost_center", "CC-4300"),), 60_000),
    ("kira-demos", (("owner", "kira.holm"),), 4_000),
    ("research-archive", (("project", "archive-2019"),), 45_000),
    ("build-logs", (), 120_000),
    ("old-datasets", (("env", "unknown"),), 260_000),
)
FILE_SYSTEMS: tuple[tuple[str, Tags, int], ...] = (
    ("fs-nlp", (("team", "nlp"), ("cost_center", "CC-4100")), 48_000),
    ("fs-vision", (("team", "vision"),), 24_000),
    ("fs-common", (), 42_000),
)


def service_charges(rng: Random, workload: Workload) -> list[Charge]:
    """Return all daily and hourly lines of one month that no machine causes."""
    days = split_span(span_of(workload.month), DAY)
    return [
        *_storage(rng, workload, days),
        *_transfers(rng, workload, days),
        *_managed(rng, workload),
        *_shop(rng, workload, days),
        *_reservation(workload),
        *_refunds(workload),
    ]


def _in_us(period: Span) -> UsageScope:
    return UsageScope(TRAINING_US, US, period)


def _scaled(workload: Workload, amount: float) -> int:
    """Return a quantity in millionths, scaled to the size of the company."""
    return int(amount * min(workload.scale, 4.0) * MICRO)


def _storage(rng: Random, workload: Workload, days: list[Span]) -> Iterator[Charge]:
    """Yield one line a day per bucket and file system; most are tagged, with various keys, and some are not."""
    for name, tags, gigabytes in BUCKETS:
        growth = rng.uniform(1.0, 1.01)
        for number, day in enumerate(days):
            quantity = _scaled(workload, gigabytes * growth**number / len(days))
            resource = (f"arn:aws:s3:::{name}", name)
            yield usage_charge(OBJECTS, _in_us(day), quantity, "object storage", resource, tags)
    for name, tags, gigabytes in FILE_SYSTEMS:
        resource = (f"arn:aws:fsx:{US}:{TRAINING_US}:file-system/{name}", name)
        for day in days:
            yield usage_charge(LUSTRE, _in_us(day), _scaled(workload, gigabytes / len(days)), "Lustre", resource, tags)


def _transfers(rng: Random, workload: Workload, days: list[Span]) -> Iterator[Charge]:
    """Yield datasets sent from the US to Ireland, tagged by team; then untagged gateways and queries."""
    for team, gigabytes in (("vision", 9_000), ("speech", 4_000)):
        for day in days:
            quantity = _scaled(workload, gigabytes * rng.uniform(0.5, 1.5))
            text = "transfer us-east-1 to eu-west-1"
            yield usage_charge(CROSS_REGION, _in_us(day), quantity, text, tags=(("team", team),))
    for account, region, name in (
        (TRAINING_US, US, "nat-0a1"),
        (TRAINING_US, US, "nat-0b2"),
        (TRAINING_EU, EU, "nat-0c3"),
    ):
        resource = (f"arn:aws:ec2:{region}:{account}:natgateway/{name}", name)
        for hour in split_span(span_of(workload.month), HOUR):
            quantity = _scaled(workload, rng.uniform(40, 160))
            yield usage_charge(NAT, UsageScope(account, region, hour), quantity, "NAT gateway data", resource)
    for day in days:
        yield usage_charge(QUERIES, _in_us(day), _scaled(workload, rng.uniform(2, 9)), "data scanned")


def _managed(rng: Random, workload: Workload) -> Iterator[Charge]:
    """Yield managed preprocessing tagged with its job, on a day the job ran or on one it did not."""
    start, end = span_of(workload.month)
    for attempt in rng.sample(workload.attempts, min(len(workload.attempts), max(6, round(70 * workload.scale)))):
        job = attempt.job
        day = day_of(max(start, attempt.started)) - DAY * (rng.random() < 0.3)
        day = min(max(day, start), end - DAY)
        pool = attempt.machines[0].pool
        account, region = (TRAINING_EU, EU) if pool.region == EU else (TRAINING_US, US)
        resource = (f"arn:aws:sagemaker:{region}:{account}:processing-job/prep-{job.job_id}", f"prep-{job.job_id}")
        tags = (("job_id", job.job_id), ("team", job.team))
        scope = UsageScope(account, region, (day, day + DAY))
        quantity = rng.randint(2, 40) * MICRO // 2
        yield usage_charge(MANAGED, scope, quantity, "managed preprocessing", resource, tags)


def _shop(rng: Random, workload: Workload, days: list[Span]) -> Iterator[Charge]:
    """Yield the web shop: on the same bill, but not training."""
    daily: tuple[tuple[Offer, str, float, str], ...] = (
        (DATABASE, "rds:cluster/shop-orders", 48, "database"),
        (DATABASE, "rds:cluster/shop-catalog", 48, "database"),
        (DELIVERY, "cloudfront:distribution/E1SHOP", 3_400, "content delivery"),
        (BALANCER, "elasticloadbalancing:loadbalancer/shop", 7_200, "load balancer"),
        (GUARD, "guardduty:detector/main", 5_500, "events analyzed"),
        (WATCH, "logs:log-group/shop", 160, "logs taken in"),
    )
    tags = (("service", "storefront"),)
    for offer, name, amount, text in daily:
        resource = (f"arn:aws:{name}", name.rpartition("/")[2])
        for day in days:
            quantity = _scaled(workload, amount if offer is DATABASE else amount * rng.uniform(0.8, 1.2))
            yield usage_charge(offer, UsageScope(SHOP, US, day), quantity, text, resource, tags)
    for number in range(1, 1 + max(1, round(4 * workload.scale))):
        name = f"i-0{number:016x}"
        resource = (f"arn:aws:ec2:{US}:{SHOP}:instance/{name}", f"web-{number:02d}")
        for hour in split_span(span_of(workload.month), HOUR):
            scope = UsageScope(SHOP, US, hour)
            yield usage_charge(WEB_SERVER, scope, MICRO, "m5.4xlarge on-demand instance hour", resource, tags)


def _reservation(workload: Workload) -> Iterator[Charge]:
    """Yield a GPU machine that was reserved for two days and never started."""
    start, _ = span_of(workload.month)
    reservation = f"arn:aws:ec2:{EU}:{TRAINING_EU}:capacity-reservation/cr-0d81c2f5a7"
    offer, resource = machine_hour(P5, EU, "Standard"), (reservation, "cr-0d81c2f5a7")
    for hour in split_span((start + 19 * DAY, start + 21 * DAY), HOUR):
        scope = UsageScope(TRAINING_EU, EU, hour)
        line = usage_charge(offer, scope, MICRO, "unused capacity reservation", resource)
        yield line._replace(reservation_id=reservation, reservation_status="Unused")


def _refunds(workload: Workload) -> Iterator[Charge]:
    """Yield a refund for an hour of last month on this month's bill, and one for an hour of this month."""
    start, _ = span_of(workload.month)
    older = [m for m in workload.machines if m.kind is P5 and m.existed[0] < start - 4 * HOUR]
    for machine in older[:1]:
        hour = (start - 3 * HOUR, start - 2 * HOUR)
        yield _refund(machine.resource_id, machine.machine_id, hour, "Correction")
    present = [m for m in workload.machines if m.kind is P5 and m.existed[0] < start + 5 * DAY < m.existed[1] - DAY]
    for machine in present[:1]:
        hour = (start + 5 * DAY, start + 5 * DAY + HOUR)
        yield _refund(machine.resource_id, machine.machine_id, hour, "")


def _refund(resource_id: str, name: str, hour: Span, charge_class: str) -> Charge:
    offer = machine_hour(P5, US, "Standard")
    text = "refund for an hour of degraded network"
    line = usage_charge(offer, _in_us(hour), -MICRO, text, (resource_id, name))
    return line._replace(charge_class=charge_class)
