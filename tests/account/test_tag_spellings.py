"""Tags in their common spellings mean the labels of jobs, without settings."""

import json
from decimal import Decimal

import pytest

from .books import HOUR, Bookkeeper, Case, charge, hours_of, placement

DAY_OF_WORK = (0, 4 * HOUR)


def owed(keeper: Bookkeeper, tags: dict[str, str], settings: str = "") -> dict[str, Decimal]:
    """Return who pays for a bucket with these tags; `a` and `b` each hold a machine that costs 4.00."""
    bill = [hours_of(name, DAY_OF_WORK, "4.00", SkuPriceDetails='{"GpuCount": "1"}') for name in ("n1", "n2")]
    bill.append(charge(DAY_OF_WORK, "3.00", ServiceCategory="Storage", ResourceId="bucket", Tags=json.dumps(tags)))
    held = [
        placement("a", "n1", DAY_OF_WORK, gpus=1, team="nlp", cost_center="4711"),
        placement("b", "n2", DAY_OF_WORK, gpus=1, team="vision", cost_center="4712"),
    ]
    return keeper.book(Case(bill, held, settings=settings)).owed()


@pytest.mark.parametrize(
    "key",
    [
        *("team", "Team", "TEAM"),
        *("cost_center", "cost-center", "costcenter", "CostCenter", "costCenter", "Cost-Center", "Cost Center"),
        *("Cost_Center", "COST_CENTER"),
        *("job_id", "JobId", "job-id", "trainfare_job"),
    ],
)
def test_a_tag_in_a_common_spelling_is_recognized(keeper: Bookkeeper, key: str) -> None:
    label = key.lower().replace("-", "").replace("_", "").replace(" ", "")
    value = {"team": "NLP", "costcenter": "4711"}.get(label, "a")
    assert owed(keeper, {key: value}) == {"a": Decimal("7.00"), "b": Decimal("4.00")}


@pytest.mark.parametrize("key", ["teams", "Team Name", "squad", "center", "cost"])
def test_a_tag_that_only_resembles_a_label_is_not_recognized(keeper: Bookkeeper, key: str) -> None:
    paid = {"a": Decimal("4.00"), "b": Decimal("4.00"), "__unallocated__": Decimal("3.00")}
    assert owed(keeper, {key: "nlp"}) == paid


def test_the_label_itself_takes_precedence_over_its_other_spellings(keeper: Bookkeeper) -> None:
    assert owed(keeper, {"Team": "vision", "team": "nlp"})["a"] == Decimal("7.00")


def test_the_settings_replace_the_common_spellings(keeper: Bookkeeper) -> None:
    settings = '[labels]\nteam = ["squad"]'
    assert owed(keeper, {"Team": "vision", "squad": "nlp"}, settings)["a"] == Decimal("7.00")
    assert owed(keeper, {"Team": "nlp"}, settings)["__unallocated__"] == Decimal("3.00")
