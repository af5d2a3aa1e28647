"""A machine file without resource ids: a name stands for every resource of that name, as it does without a file."""

from decimal import Decimal

import pytest

from .books import HOUR, Bookkeeper, Case, charge, placement

NAMED = '{"Name": "n1"}'
INSTANCE = {"ServiceCategory": "Compute", "ServiceName": "Virtual Machines"}


def hours(first: int, last: int) -> tuple[int, int]:
    return first * HOUR, last * HOUR


@pytest.mark.parametrize("machines", [[{"machine_id": "n1", "gpus": 2}], []], ids=["listed", "not listed"])
@pytest.mark.parametrize(
    ("instance", "attached", "tags"),
    [("i-1", "eni-1", NAMED), ("p/instances/n1", "p/disks/n1", "")],
    ids=["by a tag", "by the end of the id"],
)
def test_an_attached_resource_does_not_replace_its_machine(
    keeper: Bookkeeper, machines: list[dict[str, object]], instance: str, attached: str, tags: str
):
    charges = [
        charge(hours(0, 4), "8.00", **INSTANCE, ResourceId=instance, Tags=tags),
        charge(hours(0, 4), "0.04", ServiceCategory="Networking", ResourceId=attached, Tags=tags),
    ]
    account = keeper.book(Case(charges, [placement("a", "n1", hours(0, 4), gpus=2)], machines))
    assert account.owed() == {"a": Decimal("8.04")}


def test_a_replacement_instance_gets_the_jobs_of_its_time(keeper: Bookkeeper):
    charges = [
        charge(hours(0, 4), "8.00", **INSTANCE, ResourceId="i-1", Tags=NAMED),
        charge(hours(24, 28), "6.00", **INSTANCE, ResourceId="i-2", Tags=NAMED),
    ]
    held = [placement("a", "n1", hours(0, 2), gpus=2), placement("b", "n1", hours(24, 28), gpus=2)]
    account = keeper.book(Case(charges, held, [{"machine_id": "n1", "gpus": 2}]))
    assert account.owed() == {"a": Decimal("4.00"), "__idle__": Decimal("4.00"), "b": Decimal("6.00")}
    assert account.findings == set()


ARN = "arn:aws:ec2:us-east-1:123456789012:instance/i-0a1b2c3d4e5f60718"
AZURE = "/subscriptions/S-1/resourceGroups/Train/providers/Microsoft.Compute/virtualMachines/GPU-VM-7"
GCE = "//compute.googleapis.com/projects/acme/zones/us-central1-a/instances/gpu-7"
SIZE = {"SkuPriceDetails": '{"GpuCount": "2"}'}


@pytest.mark.parametrize(
    ("billed", "written"),
    [
        (ARN, ARN),
        (ARN, "i-0a1b2c3d4e5f60718"),
        (ARN, "I-0A1B2C3D4E5F60718"),
        (ARN, "aws:///us-east-1a/i-0a1b2c3d4e5f60718"),
        ("i-0a1b2c3d4e5f60718", ARN),
        ("i-0a1b2c3d4e5f60718", "aws:///us-east-1a/i-0a1b2c3d4e5f60718"),
        (AZURE, AZURE.lower()),
        (AZURE.lower(), AZURE.upper()),
        (AZURE, f"azure://{AZURE}"),
        (AZURE, "gpu-vm-7"),
        (GCE, "gce://acme/us-central1-a/gpu-7"),
        (GCE, "gpu-7"),
        ("gpu-7", "gce://acme/us-central1-a/gpu-7"),
    ],
)
@pytest.mark.parametrize("place", ["job log", "machine id", "resource id"])
def test_a_machine_is_matched_in_every_form_that_people_have(keeper: Bookkeeper, billed: str, written: str, place: str):
    bill = [charge(hours(0, 4), "8.00", **INSTANCE, ResourceId=billed)]
    machines = {
        "job log": [{"machine_id": written, "gpus": 2}],
        "machine id": [{"machine_id": written, "gpus": 2}],
        "resource id": [{"machine_id": "node-1", "resource_id": written, "gpus": 2}],
    }[place]
    if place == "job log":
        bill = [charge(hours(0, 4), "8.00", **INSTANCE, **SIZE, ResourceId=billed)]
        machines = []
    held = [placement("a", "node-1" if place == "resource id" else written, hours(0, 4), gpus=2)]
    assert keeper.book(Case(bill, held, machines)).owed() == {"a": Decimal("8.00")}


@pytest.mark.parametrize(
    ("billed", "written"),
    [
        (ARN, "i-0a1b2c3d4e5f6071"),
        (ARN, "0a1b2c3d4e5f60718"),
        (AZURE, "vm-7"),
        (GCE, "gce://acme/us-central1-a/gpu-77"),
        ("//compute.googleapis.com/projects/acme/zones/us-central1-a/instances/7", "azure:///virtualMachines/7"),
    ],
)
def test_a_name_that_only_resembles_a_resource_is_not_matched(keeper: Bookkeeper, billed: str, written: str):
    bill = [charge(hours(0, 4), "8.00", **INSTANCE, **SIZE, ResourceId=billed)]
    account = keeper.book(Case(bill, [placement("a", written, hours(0, 4), gpus=2)]))
    assert account.owed() == {"__idle__": Decimal("8.00")}
    assert "JOB_WITHOUT_MACHINE" in account.findings


def test_machines_of_one_name_in_two_zones_are_distinguished_by_their_provider_ids(keeper: Bookkeeper):
    zones = {"us-central1-a": "8.00", "us-central1-b": "6.00"}
    bill = [
        charge(hours(0, 4), cost, **INSTANCE, **SIZE, ResourceId=GCE.replace("us-central1-a", zone))
        for zone, cost in zones.items()
    ]
    held = [placement(zone, f"gce://acme/{zone}/gpu-7", hours(0, 4), gpus=2) for zone in zones]
    assert keeper.book(Case(bill, held)).owed() == {zone: Decimal(cost) for zone, cost in zones.items()}


def test_a_job_log_may_write_a_listed_machine_as_the_end_of_a_provider_id(keeper: Bookkeeper):
    bill = [charge(hours(0, 4), "8.00", **INSTANCE, ResourceId=ARN)]
    held = [placement("a", "aws:///us-east-1a/i-0a1b2c3d4e5f60718", hours(0, 4), gpus=2)]
    listed = [{"machine_id": "i-0a1b2c3d4e5f60718", "gpus": 2}]
    assert keeper.book(Case(bill, held, listed)).owed() == {"a": Decimal("8.00")}
