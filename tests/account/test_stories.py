"""Machines and who holds them, told as stories: see story.py for how to read and add one."""

import json

import pytest

from .books import HOUR, Bookkeeper, Case, hours_of, placement
from .story import story


@story
def test_idle_hours_are_a_payer():
    """
    machine  n1  4 gpus  4 h  8.00 USD
    attempt  a   4 gpus  2 h
    attempt  b   4 gpus  1 h
    =>
    a         4.00
    b         2.00
    __idle__  2.00  not held by any job
    """


@story
def test_a_part_of_a_machine_leaves_the_rest_idle():
    """
    machine  n1  8 gpus  10 h  80.00 USD
    attempt  a   3 gpus  10 h
    =>
    a         30.00
    __idle__  50.00
    """


@story
def test_four_of_seven_slices_of_a_gpu_for_a_day():
    """
    machine  n1  7 gpus  1 day  70.00 USD
    attempt  a   4 gpus  1 day
    =>
    a         40.00
    __idle__  30.00
    """


@story
def test_two_kinds_of_gpus_in_one_node_are_two_machines():
    """
    machine  node-a100  10 gpus   1 day  30.00 USD
    attempt  a          10 gpus   1 day
    machine  node-h100  100 gpus  1 day  70.00 USD
    attempt  a          10 gpus   1 day  from 0 h
    attempt  b          90 gpus   1 day  from 0 h
    =>
    a  37.00
    b  63.00
    """


@story
def test_gpus_are_held_in_fractions():
    """
    machine  n1  1 gpu     4 h  4.00 USD
    attempt  a   0.5 gpu   4 h  from 0 h
    attempt  b   0.25 gpu  4 h  from 0 h
    =>
    a         2.00
    b         1.00
    __idle__  1.00
    """


@story
def test_who_follows_does_not_overlap_who_ended():
    """
    machine  n1  4 gpus  4 h  8.00 USD
    attempt  a   4 gpus  2 h  from 0 h
    attempt  b   4 gpus  2 h  from 2 h
    =>
    a  4.00
    b  4.00
    """


@story
def test_who_ended_when_the_charge_begins_pays_none_of_it():
    """
    machine  n1  4 gpus  2 h  8.00 USD  from 4 h
    attempt  a   4 gpus  4 h  from 0 h
    attempt  b   4 gpus  1 h  from 6 h
    =>
    __idle__  8.00
    ! JOB_WITHOUT_MACHINE
    ! MACHINE_WITHOUT_JOBS
    ! NOT_BILLED_YET
    """


@story
def test_two_holders_share_only_the_time_they_overlap():
    """
    machine  n1  4 h  4.00 USD
    attempt  a   4 h  from 0 h
    attempt  b   1 h  from 2 h
    =>
    a  3.50
    b  0.50
    ! MACHINE_SIZE_UNKNOWN
    ! HELD_AMOUNT_UNKNOWN
    """


@story
def test_a_machine_held_beyond_its_capacity_is_shared_by_its_holders():
    """
    machine  n1  4 gpus  4 h  8.00 USD
    attempt  a   4 gpus  4 h  from 0 h
    attempt  b   4 gpus  2 h  from 2 h
    =>
    a  6.00
    b  2.00
    ! HELD_BEYOND_CAPACITY
    """


@story
def test_an_hour_beyond_capacity_leaves_the_other_hours_as_they_are():
    """
    machine  n1  4 gpus  4 h  8.00 USD
    attempt  a   2 gpus  4 h  from 0 h
    attempt  b   4 gpus  1 h  from 0 h
    =>
    a         3.666666666667
    b         1.333333333333
    __idle__  3.00
    ! HELD_BEYOND_CAPACITY
    """


@story
def test_who_does_not_say_how_much_holds_the_whole_machine():
    """
    machine  n1  4 gpus  4 h  8.00 USD
    attempt  a   1 h
    attempt  b   1 gpu  1 h
    =>
    a         2.00
    b         0.50
    __idle__  5.50
    ! HELD_AMOUNT_UNKNOWN
    """


@story
def test_a_machine_without_gpus_is_shared_by_cpus():
    """
    machine  n1  0 gpus  8 cpus  4 h  8.00 USD
    attempt  a   0 gpus  2 cpus  4 h  from 0 h
    attempt  b   0 gpus  4 cpus  2 h  from 0 h
    =>
    a         2.00
    b         2.00
    __idle__  4.00
    """


@story
def test_a_job_that_holds_no_gpu_of_a_gpu_machine_pays_nothing_for_it():
    """
    machine  n1  4 gpus  8 cpus  4 h  8.00 USD
    attempt  a   0 gpus  2 cpus  4 h  from 0 h
    attempt  b   2 gpus  2 cpus  4 h  from 0 h
    =>
    a         0.00
    b         4.00
    __idle__  4.00
    """


@story
def test_daily_charges_are_shared_day_by_day():
    """
    machine  n1  1 gpu   1 day  10.00 USD
    charge   hours  20.00 USD  on n1  from 1 day   1 day
    charge   hours  30.00 USD  on n1  from 2 days  1 day
    attempt  a   1 gpu  36 h  from 12 h
    =>
    a         25.00
    __idle__  35.00
    """


@story
def test_a_monthly_charge_is_shared_over_all_of_its_hours():
    """
    machine  n1  1 gpu  1 month  744.00 USD
    attempt  a   1 gpu  100 h  from 30 h
    =>
    a         100.00
    __idle__  644.00
    """


@story
def test_a_charge_of_an_odd_span_is_shared_by_the_second():
    """
    machine  n1  2 gpus  90 min  9.00 USD  from 45 min
    attempt  a   2 gpus  60 min  from 0 h
    attempt  b   1 gpu   60 min  from 60 min
    =>
    a         1.50
    b         3.00
    __idle__  4.50
    """


@story
def test_a_charge_across_midnight_loses_nothing():
    """
    machine  n1  1 gpu   2 h  4.00 USD  from 23 h
    attempt  a   1 gpu  60 min  from 1410 min
    =>
    a         2.00
    __idle__  2.00
    """


@story
def test_charges_of_different_spans_are_each_shared_by_their_own_time():
    """
    machine  n1  1 gpu  1 h  1.00 USD
    charge   hours  24.00 USD   on n1  1 day
    charge   hours  744.00 USD  on n1  1 month
    attempt  a   1 gpu  1 h
    =>
    a         3.00
    __idle__  766.00
    """


@story
def test_every_attempt_of_a_job_pays_for_itself():
    """
    machine  n1   4 gpus  4 h  8.00 USD
    attempt  a    4 gpus  1 h  state failed
    attempt  a#2  4 gpus  3 h
    =>
    a    2.00
    a#2  6.00
    """


@story
def test_an_attempt_on_several_machines_pays_its_part_of_each():
    """
    machine  n1  4 gpus  2 h  8.00 USD
    attempt  a   4 gpus  1 h  from 0 h
    machine  n2  4 gpus  2 h  6.00 USD
    attempt  a   4 gpus  1 h  from 0 h
    =>
    a         7.00
    __idle__  7.00
    """


@story
def test_rows_of_one_attempt_that_overlap_are_added_up():
    """
    machine  n1  4 gpus  4 h  8.00 USD
    attempt  a   2 gpus  4 h  from 0 h
    attempt  a   2 gpus  2 h  from 0 h
    =>
    a         6.00
    __idle__  2.00
    ! OVERLAPPING_ROWS
    """


def test_rows_that_overlap_are_found_on_machines_that_are_not_on_the_bill(keeper: Bookkeeper):
    rows = [placement("a", "ghost", span, gpus=1) for span in ((0, 2 * HOUR), (HOUR, 3 * HOUR))]
    told = keeper.book(Case([hours_of("m1", (0, HOUR), "1")], rows))
    assert "OVERLAPPING_ROWS" in told.findings


@story
def test_a_row_delivered_twice_counts_once():
    """
    machine  n1  4 gpus  4 h  8.00 USD
    attempt  a   2 gpus  4 h  twice
    =>
    a         4.00
    __idle__  4.00
    ! ROW_DELIVERED_TWICE
    """


@story
def test_a_job_that_still_runs_pays_for_what_is_billed():
    """
    machine  n1  4 gpus  4 h  8.00 USD
    attempt  a   4 gpus  running  from 1 h
    =>
    a         6.00
    __idle__  2.00
    """


@story
def test_a_machine_that_no_job_held_is_idle():
    """
    machine  n1  4 gpus  4 h  8.00 USD
    machine  n2  4 gpus  4 h  8.00 USD
    attempt  a   4 gpus  4 h
    =>
    a         8.00
    __idle__  8.00
    ! MACHINE_WITHOUT_JOBS
    """


@story
def test_a_job_on_a_machine_that_is_not_on_the_bill_pays_nothing():
    """
    machine  n1  4 gpus  4 h  8.00 USD
    attempt  a   4 gpus  4 h
    attempt  b   4 gpus  4 h  on n9
    =>
    a  8.00
    ! JOB_WITHOUT_MACHINE
    """


@story
def test_a_job_before_and_after_the_bill_pays_only_for_the_billed_part():
    """
    machine  n1  4 gpus  2 h   8.00 USD  from 2 h
    attempt  a   2 gpus  10 h  from 0 h
    =>
    a         4.00
    __idle__  4.00
    ! NOT_BILLED_YET
    """


@story
def test_a_machine_is_found_by_the_last_part_of_its_resource_id():
    """
    machine  arn:cloud:instance/n1  4 h  8.00 USD
    attempt  a  4 h  on N1  from 0 h
    =>
    a  8.00
    ! MACHINE_SIZE_UNKNOWN
    ! HELD_AMOUNT_UNKNOWN
    """


@story
def test_rows_of_one_attempt_that_name_two_teams_are_told():
    """
    machine  n1  4 gpus  4 h  8.00 USD
    attempt  a   4 gpus  2 h  team x
    attempt  a   4 gpus  2 h  team y
    =>
    a  8.00
    ! LABELS_DISAGREE
    """


@story
def test_a_label_that_some_rows_leave_out_is_no_disagreement():
    """
    machine  n1  4 gpus  4 h  8.00 USD
    attempt  a   4 gpus  2 h  team x
    attempt  a   4 gpus  2 h  owner ana
    =>
    a  8.00
    """


def test_of_teams_that_disagree_the_last_in_order_counts(keeper: Bookkeeper):
    rows = [
        placement("a", "m1", (hour * HOUR, (hour + 1) * HOUR), gpus=1, team=team) for hour, team in enumerate("yxz")
    ]
    account = keeper.book(Case([hours_of("m1", (0, 3 * HOUR), "3")], rows))
    assert [*account.rows("team")] == ["z"]
    (told,) = account.opened.engine.row("SELECT evidence FROM findings WHERE code = 'LABELS_DISAGREE'")
    assert json.loads(told) == ["job a attempt 1: team x, 1 more, z"]


@pytest.mark.parametrize("order", [1, -1])
def test_other_labels_of_all_rows_of_an_attempt_are_kept(keeper: Bookkeeper, order: int):
    """Of two values of one key the last in order counts, as it does for the other columns."""
    said = ["stage,branch,it's", 'pre,,b"1', ",main,", "post,,"]
    names, *rows = (line.split(",") for line in said)
    folder = keeper.write(Case([hours_of("m1", (0, 3 * HOUR), "3")]))
    times = ["2026-10-01T00:00:00Z,2026-10-01T01:00:00Z", "2026-10-01T01:00:00Z,2026-10-01T02:00:00Z"]
    times.append("2026-10-01T02:00:00Z,2026-10-01T03:00:00Z")
    lines = [f"a,1,m1,{time},1,{row[0]},{row[1]},'{row[2]}'" for time, row in zip(times, rows[::order], strict=True)]
    header = f"job_id,attempt,machine_id,started,ended,gpus,{','.join(names)}"
    (folder / "jobs.csv").write_text("\n".join([header, *lines, ""]))
    account = keeper.account(folder)
    (labels,) = account.opened.engine.row("SELECT labels FROM attempts")
    assert json.loads(labels) == {"stage": "pre", "branch": "main", "it's": "'b\"1'"}


@story
def test_who_ended_without_an_end_is_told():
    """
    machine  n1  4 gpus  4 h  8.00 USD
    attempt  a   4 gpus  running  from 1 h  state completed
    =>
    a         6.00
    __idle__  2.00  not held by any job
    ! END_UNKNOWN
    """
