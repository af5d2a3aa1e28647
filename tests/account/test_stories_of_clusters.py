"""Stories of clusters, which are the sum of their machines: see story.py for how to read and add one."""

from .books import Bookkeeper
from .story import account_of, story


@story
def test_an_overcommitted_machine_hides_no_idle_machine_of_its_cluster():
    """
    machine  n1  4 gpus  4 h  8.00 USD  cluster c1
    attempt  a   4 gpus  4 h  from 0 h
    attempt  b   4 gpus  4 h  from 0 h
    machine  n2  4 gpus  4 h  8.00 USD  cluster c1
    rules
    [[rule]]
    name = "cluster"
    match = { machine = true }
    among = "cluster"
    =>
    a         4.00
    b         4.00
    __idle__  8.00
    ! HELD_BEYOND_CAPACITY
    ! MACHINE_WITHOUT_JOBS
    """


@story
def test_a_cluster_is_cut_only_while_a_machine_is_overcommitted():
    """
    machine  n1  8 gpus  4 h  32.00 USD  cluster c1
    attempt  a   8 gpus  4 h  from 0 h
    attempt  b   8 gpus  2 h  from 2 h
    machine  n2  8 gpus  4 h  32.00 USD  cluster c1
    attempt  d   4 gpus  4 h
    rules
    [[rule]]
    name = "cluster"
    match = { machine = true }
    among = "cluster"
    =>
    a         24.00
    b          8.00
    d         16.00
    __idle__  16.00
    ! HELD_BEYOND_CAPACITY
    """


@story
def test_two_holders_of_one_machine_leave_the_time_of_the_other_idle():
    """
    machine  n1  4 gpus  4 h  8.00 USD  cluster c1
    attempt  a   2 gpus  4 h  from 0 h
    attempt  b   1 gpus  4 h  from 0 h
    machine  n2  4 gpus  4 h  8.00 USD  cluster c1
    rules
    [[rule]]
    name = "cluster"
    match = { machine = true }
    among = "cluster"
    by = "wall_seconds"
    =>
    a         4.00
    b         4.00
    __idle__  8.00
    ! MACHINE_WITHOUT_JOBS
    """


@story
def test_a_machine_of_unknown_size_takes_nothing_from_what_is_idle_elsewhere_in_its_cluster():
    """
    machine  n1  4 gpus  4 h  8.00 USD  cluster c1
    machine  n2  8 cpus  4 h  8.00 USD  cluster c1
    attempt  a   4 gpus  4 h
    rules
    [[rule]]
    name = "cluster"
    match = { machine = true }
    among = "cluster"
    =>
    a         8.00
    __idle__  8.00
    ! MACHINE_SIZE_UNKNOWN
    ! MACHINE_WITHOUT_JOBS
    """


@story
def test_a_cluster_without_gpus_is_weighed_by_cpus():
    """
    machine  n1  0 gpus  8 cpus  4 h  8.00 USD  cluster c1
    attempt  a   4 cpus  4 h  0 gpus  from 0 h
    attempt  b   2 cpus  4 h  0 gpus  from 0 h
    machine  n2  0 gpus  8 cpus  4 h  8.00 USD  cluster c1
    rules
    [[rule]]
    name = "cluster"
    match = { machine = true }
    among = "cluster"
    =>
    a          4.00
    b          2.00
    __idle__  10.00
    ! MACHINE_WITHOUT_JOBS
    """


def test_a_finding_states_how_much_memory_was_held(keeper: Bookkeeper):
    account = account_of(
        keeper,
        """
        machine  n1  4 gpus  64 gb  4 h  8.00 USD  cluster c1
        attempt  a   2 gpus  60 gb  4 h  from 0 h
        attempt  b   2 gpus  60 gb  4 h  from 0 h
        rules
        [[rule]]
        name = "cluster"
        match = { machine = true }
        among = "cluster"
        by = "memory"
        """,
    )
    (found,) = account.opened.engine.rows("SELECT evidence, at_stake FROM findings WHERE code = 'HELD_BEYOND_CAPACITY'")
    assert found[0] == '["machine n1 from 2026-10-01 00:00:00 held 120 of 64 GB of memory"]'
    assert found[1] == 8
