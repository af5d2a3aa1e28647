"""Stories of idle cost under rules, and of what rules do at their edges: see story.py for how to read and add one."""

import pytest

from .books import Bookkeeper
from .story import check, story


@story
def test_spread_idle_cost_is_paid_by_the_holders():
    """
    machine  n1  4 gpus  4 h  8.00 USD
    attempt  a   3 gpus  1 h
    attempt  b   1 gpu   1 h
    rules
    [[rule]]
    name = "hours"
    match = { machine = true }
    among = "machine"
    idle = "spread"
    =>
    a  6.00
    b  2.00
    """


@story
def test_spread_idle_cost_of_a_machine_without_holders_stays_idle():
    """
    machine  n1  4 gpus  4 h  8.00 USD
    rules
    [[rule]]
    name = "hours"
    match = { machine = true }
    among = "machine"
    idle = "spread"
    =>
    __idle__  8.00
    ! MACHINE_WITHOUT_JOBS
    """


@story
def test_idle_cost_of_an_owned_machine_is_paid_by_its_team():
    """
    machine  n1  4 gpus  4 h  8.00 USD  team nlp
    attempt  a   4 gpus  1 h  team vision
    machine  n2  4 gpus  4 h  8.00 USD  pool spare
    attempt  a   4 gpus  1 h  team vision
    rules
    [[rule]]
    name = "hours"
    match = { machine = true }
    among = "machine"
    idle = "owner"
    =>
    a         4.00
    team:nlp  6.00  not held by any job
    __idle__  6.00  not held by any job
    """


@story
def test_a_cluster_can_spread_its_idle_cost():
    """
    machine  n1  4 gpus  4 h  8.00 USD  cluster c1
    attempt  a   4 gpus  1 h
    attempt  b   2 gpus  2 h
    rules
    [[rule]]
    name = "cluster"
    match = { machine = true }
    among = "cluster"
    idle = "spread"
    =>
    a  4.00
    b  4.00
    """


@pytest.mark.parametrize("length", ["4 h", "2 days", "1 month"])
def test_a_cluster_without_holders_is_idle_whatever_the_charge_period(keeper: Bookkeeper, length: str):
    check(
        keeper,
        f"machine  n1  4 gpus  {length}  8.00 USD  cluster c1\n"
        'rules\n[[rule]]\nname = "c"\nmatch = { machine = true }\namong = "cluster"\n'
        "=>\n__idle__  8.00  not held by any job\n! MACHINE_WITHOUT_JOBS",
    )


@story
def test_an_attempt_on_all_machines_of_a_cluster_leaves_no_wall_time_idle():
    """
    machine  n1  4 gpus  4 h  8.00 USD  cluster c1
    attempt  a   4 gpus  4 h
    machine  n2  4 gpus  4 h  8.00 USD  cluster c1
    attempt  a   4 gpus  4 h
    rules
    [[rule]]
    name = "cluster"
    match = { machine = true }
    among = "cluster"
    by = "wall_seconds"
    =>
    a  16.00
    """


@story
def test_rows_of_one_attempt_that_overlap_count_once_by_time():
    """
    machine  n1  8 gpus  4 h  8.00 USD
    attempt  a   2 gpus  4 h  from 0 h
    attempt  a   1 gpus  4 h  from 0 h
    attempt  b   1 gpus  4 h  from 0 h
    rules
    [[rule]]
    name = "hours"
    match = { machine = true }
    among = "machine"
    by = "wall_seconds"
    =>
    a  4.00
    b  4.00
    ! OVERLAPPING_ROWS
    """


@story
def test_a_placement_without_an_amount_holds_the_entire_machine_in_wider_scopes_too():
    """
    machine  n1  4 gpus  8 cpus  4 h  8.00 USD
    attempt  a   4 gpus  4 h
    machine  n2  4 gpus  8 cpus  4 h  8.00 USD
    attempt  b   4 h
    charge   network  2.00 USD  4 h
    rules
    [[rule]]
    name = "traffic"
    match = { category = "network" }
    among = "all"
    by = "dominant"
    =>
    a  9.00
    b  9.00
    ! HELD_AMOUNT_UNKNOWN
    """


@story
def test_cpus_count_when_no_job_held_gpus_in_a_charges_time():
    """
    machine  n1  8 gpus  64 cpus  8 h  8.00 USD
    attempt  a   0 gpus  16 cpus  4 h  from 0 h  team nlp
    attempt  b   0 gpus  48 cpus  4 h  from 0 h  team nlp
    attempt  c   8 gpus   8 cpus  4 h  from 4 h  team nlp
    charge   storage  4.00 USD  4 h  from 0 h  tag team=nlp
    charge   storage  2.00 USD  4 h  from 4 h  tag team=nlp
    =>
    a         1.00
    b         3.00
    c         6.00
    __idle__  4.00
    """


@story
def test_the_holder_of_a_resource_of_unknown_size_holds_all_of_it():
    """
    machine  n1  96 cpus  4 h  8.00 USD
    attempt  a   4 gpus  24 cpus  4 h
    rules
    [[rule]]
    name = "hours"
    match = { machine = true }
    among = "machine"
    by = "dominant"
    =>
    a  8.00
    ! MACHINE_SIZE_UNKNOWN
    """


@story
def test_a_blank_tag_counts_as_none():
    """
    machine  n1  4 gpus  4 h  8.00 USD
    attempt  a   4 gpus  4 h  team nlp
    charge   storage  3.00 USD  4 h  tag project=  tag team=nlp
    =>
    a  11.00
    """


@story
def test_dominant_parts_may_add_up_to_more_than_one_machine():
    """
    machine  n1  8 gpus  8 cpus  4 h  8.00 USD
    attempt  a   4 gpus  1 cpus  4 h  from 0 h
    attempt  b   1 gpus  6 cpus  2 h  from 2 h
    rules
    [[rule]]
    name = "hours"
    match = { machine = true }
    among = "machine"
    by = "dominant"
    =>
    a         3.60
    b         2.40
    __idle__  2.00
    """


@story
def test_a_rule_comes_before_the_built_in_one_for_the_same_charges():
    """
    machine  n1  4 gpus  8 cpus  4 h  8.00 USD
    attempt  a   4 gpus  2 cpus  4 h
    rules
    [[rule]]
    name = "machines by cores"
    match = { machine = true }
    among = "machine"
    by = "cpu_seconds"
    =>
    a         2.00
    __idle__  6.00
    """


@story
def test_a_charge_without_the_scope_of_its_rule_is_unallocated():
    """
    machine  n1  4 gpus  4 h  8.00 USD
    attempt  a   4 gpus  4 h
    charge   network  2.00 USD
    rules
    [[rule]]
    name = "traffic"
    match = { category = "network" }
    among = "cluster"
    =>
    a                8.00
    __unallocated__  2.00  its cluster is not known
    """
