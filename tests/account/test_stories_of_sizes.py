"""Stories of machine sizes, known from files, bills and logs or unknown: see story.py for how to read and add one."""

from .story import story


@story
def test_the_holder_of_a_machine_of_unknown_size_pays_for_all_of_it():
    """
    machine  n1  4 h     8.00 USD
    attempt  a   2 gpus  1 h
    =>
    a         2.00
    __idle__  6.00
    ! MACHINE_SIZE_UNKNOWN
    """


@story
def test_holders_of_a_machine_of_unknown_size_share_it_by_stated_amounts():
    """
    machine  n1  4 h     8.00 USD
    attempt  a   3 gpus  4 h  from 0 h
    attempt  b   1 gpus  4 h  from 0 h
    =>
    a  6.00
    b  2.00
    ! MACHINE_SIZE_UNKNOWN
    """


@story
def test_gpus_missing_from_the_log_are_reported():
    """
    machine  n1  4 gpus  4 h  8.00 USD
    attempt  a   0 gpus  2 cpus  4 h
    =>
    __idle__  8.00
    ! GPUS_NOT_IN_LOG
    """


@story
def test_one_job_with_a_gpu_shows_that_the_log_has_gpus():
    """
    machine  n1  4 gpus  4 h  8.00 USD
    attempt  a   0 gpus  2 cpus  4 h  from 0 h
    machine  n2  4 gpus  4 h  8.00 USD
    attempt  b   1 gpu   4 h
    =>
    b         2.00
    __idle__  14.00
    """


@story
def test_gpus_counted_on_the_bill_are_known():
    """
    machine  n1  1 h  8.00 USD  gpu_count 4
    attempt  a   1 gpu  1 h
    =>
    a         2.00
    __idle__  6.00  not held by any job
    """


@story
def test_a_resource_with_gpus_on_the_bill_is_a_machine():
    """
    machine  n1  1 h  8.00 USD  gpu_count 4
    machine  n2  1 h  3.00 USD  gpu_count 0
    =>
    __idle__     8.00  not held by any job
    __outside__  3.00
    ! MACHINE_WITHOUT_JOBS
    """


@story
def test_a_machine_file_takes_precedence_over_the_bill():
    """
    machine  n1  2 gpus  1 h  8.00 USD  gpu_count 4
    attempt  a   1 gpu   1 h
    =>
    a         4.00
    __idle__  4.00  not held by any job
    """


@story
def test_an_invalid_gpu_count_is_ignored():
    """
    machine  n1  1 h  8.00 USD  gpu_count several
    attempt  a   1 gpu  1 h
    =>
    a  8.00
    ! MACHINE_SIZE_UNKNOWN
    """
