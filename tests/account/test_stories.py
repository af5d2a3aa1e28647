"""Stories of machines and their holders: see story.py for how to read and add one."""

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
def test_an_attempt_that_follows_another_does_not_overlap_it():
    """
    machine  n1  4 gpus  4 h  8.00 USD
    attempt  a   4 gpus  2 h  from 0 h
    attempt  b   4 gpus  2 h  from 2 h
    =>
    a  4.00
    b  4.00
    """


@story
def test_an_attempt_that_ended_when_the_charge_begins_pays_nothing():
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
def test_a_placement_without_an_amount_holds_the_entire_machine():
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
