"""A machine file that gives no resource ids: a name stands for everything on the bill that has it, as it does without a file."""

from decimal import Decimal

import pytest

from .books import HOUR, Bookkeeper, Case, charge, placement

NAMED = '{"Name": "n1"}'
INSTANCE = {"ServiceCategory": "Compute", "ServiceName": "Virtual Machines"}


def hours(first: int, last: int) -> tuple[int, int]:
    return first * HOUR, last * HOUR


@pytest.mark.parametrize("machines", [[{"machine_id": "n1", "gpus": 2}], []], ids=["listed", "not listed"])
@pytest.mark.parametrize(
    ("instance", "beside", "tags"),
    [("i-1", "eni-1", NAMED), ("p/instances/n1", "p/disks/n1", "")],
    ids=["by a tag", "by the end of the id"],
)
def test_what_is_attached_to_a_machine_does_not_take_its_place(
    keeper: Bookkeeper, machines: list[dict[str, object]], instance: str, beside: str, tags: str
):
    charges = [
        charge(hours(0, 4), "8.00", **INSTANCE, ResourceId=instance, Tags=tags),
        charge(hours(0, 4), "0.04", ServiceCategory="Networking", ResourceId=beside, Tags=tags),
    ]
    account = keeper.book(Case(charges, [placement("a", "n1", hours(0, 4), gpus=2)], machines))
    assert account.owed() == {"a": Decimal("8.04")}


def test_an_instance_that_came_in_its_place_has_its_jobs(keeper: Bookkeeper):
    charges = [
        charge(hours(0, 4), "8.00", **INSTANCE, ResourceId="i-1", Tags=NAMED),
        charge(hours(24, 28), "6.00", **INSTANCE, ResourceId="i-2", Tags=NAMED),
    ]
    held = [placement("a", "n1", hours(0, 2), gpus=2), placement("b", "n1", hours(24, 28), gpus=2)]
    account = keeper.book(Case(charges, held, [{"machine_id": "n1", "gpus": 2}]))
    assert account.owed() == {"a": Decimal("4.00"), "__idle__": Decimal("4.00"), "b": Decimal("6.00")}
    assert account.findings == set()
