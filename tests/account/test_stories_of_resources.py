"""Stories of machines that are split by several resources at once, and of spend without idle cost."""

from .story import story


@story
def test_a_machine_is_split_by_several_resources_at_once():
    """
    machine  n1  8 gpus  64 cpus  488 gb  1 h  178.40 USD
    attempt  a   4 gpus   8 cpus  100 gb  1 h  from 0 h
    attempt  b   1 gpus  32 cpus   64 gb  1 h  from 0 h
    rules
    [[rule]]
    name = "split cost"
    match = { machine = true }
    among = "machine"
    by = "weighted"
    weights = { gpu = 9, cpu = 0.9, memory_gb = 0.1 }
    =>
    a         53.20
    b         44.20
    __idle__  81.00
    """


@story
def test_a_placement_without_amounts_holds_all_weighted_resources():
    """
    machine  n1  8 gpus  64 cpus  488 gb  4 h  8.00 USD
    attempt  a   2 h
    rules
    [[rule]]
    name = "split cost"
    match = { machine = true }
    among = "machine"
    by = "weighted"
    weights = { gpu = 9, cpu = 0.9 }
    =>
    a         4.00
    __idle__  4.00
    ! HELD_AMOUNT_UNKNOWN
    """


@story
def test_a_machine_without_gpus_is_weighted_by_what_it_has():
    """
    machine  n1  8 cpus  16 gb  4 h  8.00 USD
    attempt  a   4 cpus   0 gb  4 h
    rules
    [[rule]]
    name = "split cost"
    match = { machine = true }
    among = "machine"
    by = "weighted"
    weights = { gpu = 9, cpu = 2, memory_gb = 1 }
    =>
    a         2.00
    __idle__  6.00
    ! HELD_AMOUNT_UNKNOWN
    """


@story
def test_weighted_holders_of_a_machine_of_unknown_size_pay_for_all_of_it():
    """
    machine  n1  8 gpus  4 h  8.00 USD
    attempt  a   2 gpus  6 cpus  4 h  from 0 h
    attempt  b   2 gpus  2 cpus  4 h  from 0 h
    rules
    [[rule]]
    name = "split cost"
    match = { machine = true }
    among = "machine"
    by = "weighted"
    weights = { gpu = 1, cpu = 1 }
    =>
    a  5.333333333334
    b  2.666666666666
    ! MACHINE_SIZE_UNKNOWN
    """


@story
def test_more_than_all_weighted_resources_is_shared_by_the_holders_and_reported():
    """
    machine  n1  4 gpus  8 cpus  4 h  8.00 USD
    attempt  a   4 gpus  8 cpus  4 h  from 0 h
    attempt  b   4 gpus  8 cpus  4 h  from 0 h
    rules
    [[rule]]
    name = "split cost"
    match = { machine = true }
    among = "machine"
    by = "weighted"
    weights = { gpu = 9, cpu = 0.9 }
    =>
    a  4.00
    b  4.00
    ! HELD_BEYOND_CAPACITY
    """


@story
def test_spend_can_be_split_without_charging_idle_cost():
    """
    machine  n1  4 gpus  10 h  100.00 USD
    attempt  a   4 gpus  2 h
    attempt  b   4 gpus  6 h
    charge   support  8.00 USD
    rules
    [[rule]]
    name = "overhead"
    match = { category = "support" }
    among = "all"
    by = "spend"
    idle = "spread"
    =>
    a         22.00
    b         66.00
    __idle__  20.00
    """


@story
def test_spend_includes_idle_cost_by_default():
    """
    machine  n1  4 gpus  10 h  100.00 USD
    attempt  a   4 gpus  2 h
    attempt  b   4 gpus  6 h
    charge   support  10.00 USD
    rules
    [[rule]]
    name = "overhead"
    match = { category = "support" }
    among = "all"
    by = "spend"
    =>
    a         22.00
    b         66.00
    __idle__  22.00
    """


@story
def test_overhead_without_any_spend_but_idle_is_unallocated():
    """
    machine  n1  4 gpus  10 h  100.00 USD
    charge   support  10.00 USD
    rules
    [[rule]]
    name = "overhead"
    match = { category = "support" }
    among = "all"
    by = "spend"
    idle = "spread"
    =>
    __idle__         100.00
    __unallocated__   10.00  nothing was spent that it could be split by
    ! MACHINE_WITHOUT_JOBS
    """
