"""Stories of what job logs report: see story.py for how to read and add one."""

import json

import pytest

from .books import HOUR, Bookkeeper, Case, hours_of, placement, stamp
from .story import story


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
    account = keeper.book(Case([hours_of("m1", (0, HOUR), "1")], rows))
    assert "OVERLAPPING_ROWS" in account.findings


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
def test_rows_of_one_attempt_with_two_teams_are_reported():
    """
    machine  n1  4 gpus  4 h  8.00 USD
    attempt  a   4 gpus  2 h  team x
    attempt  a   4 gpus  2 h  team y
    =>
    a  8.00
    ! LABELS_DISAGREE
    """


@story
def test_a_label_missing_from_some_rows_is_no_disagreement():
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
    (evidence,) = account.opened.engine.row("SELECT evidence FROM findings WHERE code = 'LABELS_DISAGREE'")
    assert json.loads(evidence) == ["job a attempt 1: team x, 1 more, z"]


@pytest.mark.parametrize("order", [1, -1])
def test_other_labels_of_all_rows_of_an_attempt_are_stored(keeper: Bookkeeper, order: int):
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
def test_an_ended_attempt_without_an_end_ends_with_the_log():
    """
    machine  n1  4 gpus  4 h  8.00 USD
    attempt  b   0 gpus  3 h  from 0 h
    attempt  a   4 gpus  running  from 1 h  state node_failed
    =>
    a         4.00
    __idle__  4.00  not held by any job
    ! END_UNKNOWN
    """


@story
def test_an_ended_attempt_without_an_end_ends_when_the_next_one_starts():
    """
    machine  n1  4 gpus  4 h  8.00 USD
    attempt  a#1  1 gpus  running  from 0 h  state node_failed
    attempt  a#2  1 gpus  1 h  from 2 h
    =>
    a         1.00
    a#2       0.50
    __idle__  6.50  not held by any job
    ! END_UNKNOWN
    """


@story
def test_an_ended_attempt_without_an_end_ends_when_others_need_its_place():
    """
    machine  n1  4 gpus  4 h  8.00 USD
    attempt  a  2 gpus  running  from 0 h  state node_failed
    attempt  b  2 gpus  2 h  from 1 h
    attempt  c  1 gpus  1 h  from 2 h
    attempt  d  1 gpus  1 h  from 3 h
    =>
    a         2.00
    b         2.00
    c         0.50
    d         0.50
    __idle__  3.00  not held by any job
    ! END_UNKNOWN
    """


def test_an_ended_attempt_without_an_end_ends_when_its_machine_is_gone(keeper: Bookkeeper):
    charges = [hours_of("n1", (0, 4 * HOUR), "8.00")]
    machines = [{"machine_id": "n1", "gpus": 4, "existed_to": stamp(2 * HOUR)}]
    held = [
        placement("a", "n1", (0, None), gpus=4, state="node_failed"),
        placement("b", "n2", (0, 4 * HOUR), gpus=4),
    ]
    account = keeper.book(Case(charges, held, machines))
    assert account.rows("job")["a"].wall_seconds == 2 * HOUR
    assert "END_UNKNOWN" in account.findings


@story
def test_a_running_attempt_has_no_end_however_old_it_is():
    """
    machine  n1  4 gpus  4 h  8.00 USD
    attempt  b   0 gpus  3 h  from 0 h
    attempt  a   4 gpus  running  from 1 h
    =>
    a         6.00
    __idle__  2.00  not held by any job
    """
