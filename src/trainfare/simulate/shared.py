"""Everything on the bill that is not a machine's own: storage, traffic, managed services, the web shop, overheads."""

from collections.abc import Iterator
from random import Random

from trainfare.simulate.catalogue import (
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
from trainfare.simulate.charges import MICRO, Charge, Tags, sold
from trainfare.simulate.clock import DAY, HOUR, Span, day_of, pieces, span_of
from trainfare.simulate.company import Work
from trainfare.simulate.fleet import EU, P5, SHOP, TRAINING_EU, TRAINING_US, US

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


def of_services(rng: Random, work: Work) -> list[Charge]:
    """All the daily and hourly lines of one month that no machine causes."""
    days = pieces(span_of(work.month), DAY)
    return [
        *_storage(rng, work, days),
        *_transfers(rng, work, days),
        *_managed(rng, work),
        *_shop(rng, work, days),
        *_reservation(work),
        *_fixes(work),
    ]


def _scaled(work: Work, amount: float) -> int:
    """An amount of a month's use as millionths, for a company of this size."""
    return int(amount * min(work.scale, 4.0) * MICRO)


def _storage(rng: Random, work: Work, days: list[Span]) -> Iterator[Charge]:
    """Buckets and file systems, a line a day; most are tagged, in more than one way, and some are not."""
    for name, tags, gigabytes in BUCKETS:
        growth = rng.uniform(1.0, 1.01)
        for number, day in enumerate(days):
            quantity = _scaled(work, gigabytes * growth**number / len(days))
            yield sold(OBJECTS, TRAINING_US, US, day, quantity, "object storage", (f"arn:aws:s3:::{name}", name), tags)
    for name, tags, gigabytes in FILE_SYSTEMS:
        resource = (f"arn:aws:fsx:{US}:{TRAINING_US}:file-system/{name}", name)
        for day in days:
            yield sold(LUSTRE, TRAINING_US, US, day, _scaled(work, gigabytes / len(days)), "Lustre", resource, tags)


def _transfers(rng: Random, work: Work, days: list[Span]) -> Iterator[Charge]:
    """Datasets sent from the US to Ireland, tagged by team; gateways and queries that nobody tagged."""
    for team, gigabytes in (("vision", 9_000), ("speech", 4_000)):
        for day in days:
            quantity = _scaled(work, gigabytes * rng.uniform(0.5, 1.5))
            text = "transfer us-east-1 to eu-west-1"
            yield sold(CROSS_REGION, TRAINING_US, US, day, quantity, text, tags=(("team", team),))
    for account, region, name in (
        (TRAINING_US, US, "nat-0a1"),
        (TRAINING_US, US, "nat-0b2"),
        (TRAINING_EU, EU, "nat-0c3"),
    ):
        resource = (f"arn:aws:ec2:{region}:{account}:natgateway/{name}", name)
        for hour in pieces(span_of(work.month), HOUR):
            quantity = _scaled(work, rng.uniform(40, 160))
            yield sold(NAT, account, region, hour, quantity, "NAT gateway data", resource)
    for day in days:
        yield sold(QUERIES, TRAINING_US, US, day, _scaled(work, rng.uniform(2, 9)), "data scanned")


def _managed(rng: Random, work: Work) -> Iterator[Charge]:
    """Managed preprocessing that names its job: on a day the job ran, or on one it did not."""
    start, end = span_of(work.month)
    for attempt in rng.sample(work.attempts, min(len(work.attempts), max(6, round(70 * work.scale)))):
        job = attempt.job
        day = day_of(max(start, attempt.started)) - DAY * (rng.random() < 0.3)
        day = min(max(day, start), end - DAY)
        pool = attempt.machines[0].pool
        account, region = (TRAINING_EU, EU) if pool.region == EU else (TRAINING_US, US)
        resource = (f"arn:aws:sagemaker:{region}:{account}:processing-job/prep-{job.job_id}", f"prep-{job.job_id}")
        tags = (("job_id", job.job_id), ("team", job.team))
        text = "managed preprocessing"
        yield sold(MANAGED, account, region, (day, day + DAY), rng.randint(2, 40) * MICRO // 2, text, resource, tags)


def _shop(rng: Random, work: Work, days: list[Span]) -> Iterator[Charge]:
    """What the company sells to its customers with: on the same bill, but not training."""
    daily: tuple[tuple[Offer, str, float, str], ...] = (
        (DATABASE, "rds:cluster/shop-orders", 48, "database"),
        (DATABASE, "rds:cluster/shop-catalogue", 48, "database"),
        (DELIVERY, "cloudfront:distribution/E1SHOP", 3_400, "content delivery"),
        (BALANCER, "elasticloadbalancing:loadbalancer/shop", 7_200, "load balancer"),
        (GUARD, "guardduty:detector/main", 5_500, "events analysed"),
        (WATCH, "logs:log-group/shop", 160, "logs taken in"),
    )
    tags = (("service", "storefront"),)
    for offer, name, amount, text in daily:
        resource = (f"arn:aws:{name}", name.rpartition("/")[2])
        for day in days:
            quantity = _scaled(work, amount if offer is DATABASE else amount * rng.uniform(0.8, 1.2))
            yield sold(offer, SHOP, US, day, quantity, text, resource, tags)
    for number in range(1, 1 + max(1, round(4 * work.scale))):
        name = f"i-0{number:016x}"
        resource = (f"arn:aws:ec2:{US}:{SHOP}:instance/{name}", f"web-{number:02d}")
        for hour in pieces(span_of(work.month), HOUR):
            yield sold(WEB_SERVER, SHOP, US, hour, MICRO, "m5.4xlarge on-demand instance hour", resource, tags)


def _reservation(work: Work) -> Iterator[Charge]:
    """A GPU machine reserved for two days that nobody started."""
    start, _ = span_of(work.month)
    reservation = f"arn:aws:ec2:{EU}:{TRAINING_EU}:capacity-reservation/cr-0d81c2f5a7"
    offer = machine_hour(P5, EU, "Standard")
    for hour in pieces((start + 19 * DAY, start + 21 * DAY), HOUR):
        line = sold(offer, TRAINING_EU, EU, hour, MICRO, "unused capacity reservation", (reservation, "cr-0d81c2f5a7"))
        yield line._replace(reservation_id=reservation, reservation_status="Unused")


def _fixes(work: Work) -> Iterator[Charge]:
    """A refund for an hour of last month, on this month's bill, and one within the month."""
    start, _ = span_of(work.month)
    lately = [m for m in work.machines if m.kind is P5 and m.existed[0] < start - 4 * HOUR]
    for machine in lately[:1]:
        hour = (start - 3 * HOUR, start - 2 * HOUR)
        yield _refund(machine.resource_id, machine.machine_id, hour, "Correction")
    whole_day = [m for m in work.machines if m.kind is P5 and m.existed[0] < start + 5 * DAY < m.existed[1] - DAY]
    for machine in whole_day[:1]:
        hour = (start + 5 * DAY, start + 5 * DAY + HOUR)
        yield _refund(machine.resource_id, machine.machine_id, hour, "")


def _refund(resource_id: str, name: str, hour: Span, charge_class: str) -> Charge:
    offer = machine_hour(P5, US, "Standard")
    text = "refund for an hour of degraded network"
    line = sold(offer, TRAINING_US, US, hour, -MICRO, text, (resource_id, name))
    return line._replace(charge_class=charge_class)
