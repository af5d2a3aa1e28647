"""A machine name that several resources used: it is resolved by time, and contradictions are reported."""

import pytest

from .books import HOUR, Account, Bookkeeper, Case, Row, hours_of, placement, stamp


def listed(resource: str, start: int | None, end: int | None) -> Row:
    """A row of the machine file; hours count from the first of the month."""
    times = {"existed_from": start, "existed_to": end}
    return {"machine_id": "gpu01", "resource_id": resource, "gpus": 8} | {
        name: stamp(None if hour is None else hour * HOUR) for name, hour in times.items()
    }


def booked(keeper: Bookkeeper, held: tuple[int, int], *machines: Row) -> Account:
    start, end = held
    rows = [placement("a", "GPU01", (start * HOUR, end * HOUR), gpus=8)]
    return keeper.book(Case([hours_of(name, (0, 24 * HOUR), "24") for name in ("i-1", "i-2")], rows, machines))


def evidence(account: Account, code: str) -> list[list[str]]:
    found = account.opened.engine.rows(f"SELECT evidence FROM findings WHERE code = '{code}'")
    return [texts for (texts,) in found]


@pytest.mark.parametrize("held", [(6, 8), (6, 7), (5, 7), (7, 9), (5, 9), (0, 24)])
def test_a_placement_in_the_gap_between_two_instances_is_reported(keeper: Bookkeeper, held: tuple[int, int]):
    account = booked(keeper, held, listed("i-1", None, 6), listed("i-2", 8, None))
    assert "HELD_WHILE_GONE" in account.findings


@pytest.mark.parametrize("held", [(0, 6), (8, 24), (9, 10)])
def test_a_placement_on_one_instance_is_fine(keeper: Bookkeeper, held: tuple[int, int]):
    account = booked(keeper, held, listed("i-1", None, 6), listed("i-2", 8, None))
    assert not {"HELD_WHILE_GONE", "MACHINE_LISTED_TWICE"} & account.findings


def test_a_placement_across_instances_without_a_gap_is_fine(keeper: Bookkeeper):
    account = booked(keeper, (0, 24), listed("i-1", 0, 6), listed("i-2", 6, 24))
    assert not {"HELD_WHILE_GONE", "MACHINE_LISTED_TWICE"} & account.findings


@pytest.mark.parametrize("held", [(0, 2), (23, 25)])
def test_a_placement_before_the_first_or_after_the_last_instance_is_reported(keeper: Bookkeeper, held: tuple[int, int]):
    assert "HELD_WHILE_GONE" in booked(keeper, held, listed("i-1", 1, 6), listed("i-2", 6, 24)).findings


@pytest.mark.parametrize("times", [((None, None), (None, None)), ((None, 7), (6, None)), ((0, 24), (6, 7))])
def test_a_name_of_two_resources_at_the_same_time_is_reported(
    keeper: Bookkeeper, times: tuple[tuple[int | None, int | None], tuple[int | None, int | None]]
):
    account = booked(keeper, (0, 2), listed("i-1", *times[0]), listed("i-2", *times[1]))
    assert "MACHINE_LISTED_TWICE" in account.findings
    (texts,) = evidence(account, "MACHINE_LISTED_TWICE")
    assert "machine gpu01 is i-1 and i-2" in texts


def test_a_row_in_two_machine_files_is_fine(keeper: Bookkeeper):
    account = booked(
        keeper,
        (0, 2),
        listed("i-1", None, None),
        listed("i-1", None, None),
    )
    assert "MACHINE_LISTED_TWICE" not in account.findings
