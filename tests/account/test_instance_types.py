"""Instance types as data, and machines that are known from the bill alone."""

import csv
import re
from decimal import Decimal
from importlib import resources
from typing import Any

import pytest

from .books import HOUR, Account, Bookkeeper, Case, hours_of, placement

Size = tuple[Decimal, str, Decimal | None, Decimal | None]


def read(name: str) -> list[dict[str, str]]:
    text = resources.files("trainfare.normalize").joinpath(name).read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))


TYPES = read("instance_types.csv")
SIZES = {row["instance_type"]: row for row in TYPES}


def test_no_instance_type_is_listed_twice() -> None:
    assert len(TYPES) > 80
    assert len(SIZES) == len(TYPES)


def test_a_size_names_its_source_and_the_date_of_that_source() -> None:
    assert [row for row in TYPES if bool(row["source"]) != bool(row["source_date"])] == []
    assert all(re.fullmatch("20[0-9]{2}-[0-9]{2}-[0-9]{2}", row["source_date"]) for row in TYPES if row["source_date"])
    assert len([row for row in TYPES if not row["source"]]) <= 14, "sizes whose source is not recorded only get fewer"


def test_sizes_are_plausible() -> None:
    for row in TYPES:
        gpus = Decimal(row["gpus"])
        assert Decimal("0.1") < gpus <= 4096, row
        assert row["gpu_model"], row
        if row["cpus"]:
            assert Decimal(1) <= Decimal(row["cpus"]) / gpus <= 144, row
            assert Decimal("1.5") <= Decimal(row["memory_gb"] or row["cpus"]) / Decimal(row["cpus"]) * 2 <= 64, row
        assert bool(row["cpus"]) or not row["memory_gb"], row


def test_the_number_of_gpus_in_a_name_is_the_number_listed() -> None:
    patterns = (
        r"-([0-9]+)g(?:-metal)?$",
        r"hightpu-([0-9]+)t$",
        r"^gpu_([0-9]+)x_",
        r"_([0-9]+)gpu-",
        r"^gd-([0-9]+)x",
    )
    patterns += (r"\.([0-9]+)x$", r"^[bv]m\.gpu[0-9a-z.-]*\.([0-9]+)$")
    named = [(row, found[1]) for row in TYPES for one in patterns if (found := re.search(one, row["instance_type"]))]
    assert len(named) > 15
    assert [row for row, number in named if Decimal(row["gpus"]) != Decimal(number)] == []


def test_a_type_is_distinctive_enough_to_be_found_in_a_description() -> None:
    names = [re.sub("^standard ", "", name.replace("_", " ")) for name in SIZES]
    assert [name for name in names if not (re.search("[0-9]", name) and len(name) >= 3)] == []
    assert [name for name in names if re.fullmatch("[a-z]{1,2}[0-9]{2,3}s?", name) and name[0] != "n"] == []


def machines(account: Account) -> dict[str, dict[str, Any]]:
    return {row["machine_id"]: row for row in account.opened.engine.records("SELECT * FROM machines")}


def expected(instance_type: str) -> Size:
    row = SIZES[instance_type]
    known = [Decimal(row[name]) if row[name] else None for name in ("cpus", "memory_gb")]
    return Decimal(row["gpus"]), row["gpu_model"], known[0], known[1]


def built_size(keeper: Bookkeeper, **columns: object) -> Size:
    """Return the size of the only machine of a bill with one line and without a machine file."""
    bill = [hours_of("res-1", (0, 4 * HOUR), "8.00", **columns)]
    found = machines(keeper.book(Case(bill, [placement("a", "elsewhere", (0, HOUR), gpus=1)])))
    (machine,) = [row for row in found.values() if row["on_bill"]]
    return machine["gpus"], machine["gpu_model"], machine["cpus"], machine["memory_gb"]


@pytest.mark.parametrize(
    "instance_type",
    [
        *("p5.48xlarge", "g6e.12xlarge", "a3-megagpu-8g", "Standard_ND96isr_H100_v5", "BM.GPU.H100.8"),
        *("a3-highgpu-2g", "BM.GPU.L40S.4", "gpu_8x_h100_sxm5", "gpu-h200-sxm_8gpu-128vcpu-1600gb"),
    ],
)
def test_a_machine_is_known_from_the_instance_type_on_the_bill(keeper: Bookkeeper, instance_type: str) -> None:
    details = f'{{"InstanceType": "{instance_type}"}}'
    assert built_size(keeper, SkuPriceDetails=details) == expected(instance_type.lower())


@pytest.mark.parametrize(
    ("description", "instance_type"),
    [
        ("$98.32 per On Demand Linux p5.48xlarge Instance Hour", "p5.48xlarge"),
        ("USW2-BoxUsage:g6e.12xlarge", "g6e.12xlarge"),
        ("A3 Mega VM a3-megagpu-8g running in Iowa", "a3-megagpu-8g"),
        ("Virtual Machines NCads A100 v4 Series - NC24ads A100 v4 - US East", "standard_nc24ads_a100_v4"),
        ("Standard_ND96amsr_A100_v4 in westeurope", "standard_nd96amsr_a100_v4"),
        ("Compute - BM.GPU.H100.8 - GPU Hour", "bm.gpu.h100.8"),
        ("On-demand gpu_1x_a100_sxm4 in us-east-1", "gpu_1x_a100_sxm4"),
    ],
)
def test_a_machine_is_known_from_its_description_alone(
    keeper: Bookkeeper, description: str, instance_type: str
) -> None:
    assert built_size(keeper, ChargeDescription=description) == expected(instance_type)


def test_a_machine_is_known_from_its_sku_alone(keeper: Bookkeeper) -> None:
    assert built_size(keeper, SkuId="p4de.24xlarge") == expected("p4de.24xlarge")


@pytest.mark.parametrize(
    "description",
    [
        "an xp5.48xlarge2 of another maker",
        "NC24ads A100 v40, which does not exist",
        "Nvidia H100 80GB GPU running in Americas",
        "m5.24xlarge without GPUs",
    ],
)
def test_a_name_that_only_resembles_a_type_is_no_machine(keeper: Bookkeeper, description: str) -> None:
    bill = [hours_of("res-1", (0, 4 * HOUR), "8.00", ChargeDescription=description)]
    account = keeper.book(Case(bill, [placement("a", "elsewhere", (0, HOUR), gpus=1)]))
    assert [row for row in machines(account).values() if row["on_bill"]] == []


def test_of_several_types_in_a_description_the_longest_name_counts(keeper: Bookkeeper) -> None:
    assert built_size(keeper, ChargeDescription="g5.xlarge or p4de.24xlarge") == expected("p4de.24xlarge")


def test_attached_gpus_are_counted_as_the_bill_states_them(keeper: Bookkeeper) -> None:
    details = '{"InstanceType": "n1-standard-16", "GpuCount": "4"}'
    assert built_size(keeper, SkuPriceDetails=details) == (Decimal(4), None, None, None)
