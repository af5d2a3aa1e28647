"""Every `by`, `among` and `idle` of a rule, told as stories: see story.py for how to read and add one."""

import pytest

from trainfare.config import AMONG, BY, IDLE, TO

from .books import Bookkeeper
from .story import check, story

BY_ON_A_MACHINE = {
    "gpu_seconds": "a 4.00, b 0.50, __idle__ 3.50",
    "cpu_seconds": "a 1.00, b 2.00, __idle__ 5.00",
    "memory": "a 4.00, b 1.00, __idle__ 3.00",
    "dominant": "a 4.00, b 2.00, __idle__ 2.00",
    "wall_seconds": "a 6.00, b 2.00",
    "evenly": "a 4.00, b 4.00",
    "bytes_sent": "a 4.00, b 0.50, __idle__ 3.50, ! USE_NOT_MEASURED",
    "requests": "a 4.00, b 0.50, __idle__ 3.50, ! USE_NOT_MEASURED",
}
MACHINE = """
machine  n1  8 gpus  8 cpus  8 gb  4 h  8.00 USD
attempt  a   4 gpus  1 cpus  4 gb  4 h  from 0 h
attempt  b   1 gpus  4 cpus  2 gb  2 h  from 2 h
rules
[[rule]]
name = "hours"
match = { machine = true }
among = "machine"
by = "BY"
"""


def after(told: str) -> str:
    """`a 1.00, b 2.00` as the lines that follow `=>`."""
    return "=>\n" + "\n".join(part if part[0] == "!" else part.replace(" ", "  ", 1) for part in told.split(", "))


def plain(text: str) -> str:
    return "\n".join(line.strip() for line in text.splitlines())


@pytest.mark.parametrize("by", BY_ON_A_MACHINE)
def test_a_machine_is_shared_by_what_its_rule_says(keeper: Bookkeeper, by: str):
    check(keeper, MACHINE.replace("BY", by) + after(BY_ON_A_MACHINE[by]))


@story
def test_traffic_is_shared_by_the_bytes_that_left_the_region():
    """
    machine  n1  4 gpus  4 h  8.00 USD  region eu
    attempt  a   2 gpus  4 h  from 0 h
    attempt  b   2 gpus  4 h  from 0 h
    machine  n2  4 gpus  4 h  8.00 USD  region us
    attempt  d   4 gpus  4 h
    measured a   bytes_sent 300  4 h  on n1  from_region EU  to_region us
    measured b   bytes_sent 100  4 h  on n1  to_region us
    measured b   bytes_sent 999  4 h  on n1  from_region eu  to_region eu
    measured d   bytes_sent 999  4 h
    charge   network  4.00 USD  4 h  region eu
    rules
    [[rule]]
    name = "traffic"
    match = { category = "network" }
    among = "region"
    by = "bytes_sent"
    =>
    a  7.00
    b  5.00
    d  8.00
    """


@story
def test_a_pot_of_which_nothing_was_measured_is_shared_by_what_was_held():
    """
    machine  n1  4 gpus  4 h  8.00 USD
    attempt  a   1 gpus  4 h  from 0 h
    attempt  b   3 gpus  4 h  from 0 h
    measured a   storage_requests 30  1 h
    measured b   storage_requests 10  1 h
    charge   storage  4.00 USD  1 h  from 0 h
    charge   storage  4.00 USD  1 h  from 1 h
    rules
    [[rule]]
    name = "requests"
    match = { category = "storage" }
    among = "all"
    by = "requests"
    =>
    a   6.00
    b  10.00
    ! USE_NOT_MEASURED
    """


@story
def test_of_a_machine_shared_by_what_was_measured_nothing_is_idle():
    """
    machine  n1  8 gpus  4 h  8.00 USD
    attempt  a   1 gpus  1 h
    measured a   bytes_sent 5  1 h
    rules
    [[rule]]
    name = "traffic"
    match = { machine = true }
    among = "machine"
    by = "bytes_sent"
    =>
    a  8.00
    """


SCOPES = """
machine  n1  4 gpus  4 h  8.00 USD  cluster c1  region us  account A-1
attempt  a   4 gpus  4 h  team nlp  framework torch
machine  n2  4 gpus  4 h  8.00 USD  cluster c1  region eu  account A-1
attempt  b   2 gpus  4 h  team vision  framework jax
machine  n3  4 gpus  4 h  8.00 USD  cluster c2  region eu  account A-2
attempt  d   2 gpus  4 h  team nlp  framework torch
charge   network  4.00 USD  4 h  WHERE
"""


@story
def test_a_cluster_is_shared_by_its_machines_and_keeps_its_idle():
    """
    machine  n1  4 gpus  4 h  8.00 USD  cluster c1
    attempt  a   4 gpus  4 h
    machine  n2  4 gpus  4 h  8.00 USD  cluster c1
    attempt  b   2 gpus  4 h
    machine  n3  4 gpus  4 h  8.00 USD  cluster c2
    attempt  d   4 gpus  4 h
    charge   network  4.00 USD  4 h  tag cluster=c1
    rules
    [[rule]]
    name = "traffic"
    match = { category = "network" }
    among = "cluster"
    =>
    a         10.00
    b          5.00
    d          8.00
    __idle__   5.00
    """


SHARED = {
    "account": ("account A-1", "a 10.666666666667, b 5.333333333333, d 4.00, __idle__ 8.00"),
    "region": ("region eu", "a 8.00, b 6.00, d 6.00, __idle__ 8.00"),
    "tag:team": ("tag team=nlp", "a 10.666666666667, b 4.00, d 5.333333333333, __idle__ 8.00"),
    "tag:framework": ("tag framework=jax", "a 8.00, b 8.00, d 4.00, __idle__ 8.00"),
    "job": ("tag job_id=d", "a 8.00, b 4.00, d 8.00, __idle__ 8.00"),
    "all": ("", "a 10.00, b 5.00, d 5.00, __idle__ 8.00"),
}


@pytest.mark.parametrize("among", SHARED)
def test_a_charge_is_shared_among_whom_its_rule_says(keeper: Bookkeeper, among: str):
    where, told = SHARED[among]
    rule = f'rules\n[[rule]]\nname = "traffic"\nmatch = {{ category = "network" }}\namong = "{among}"\n'
    check(keeper, SCOPES.replace("WHERE", where) + rule + after(told))


BY_OVER_ALL = {
    "gpu_seconds": "a 10.00, b 10.00",
    "cpu_seconds": "a 9.00, b 11.00",
    "memory": "a 11.00, b 9.00",
    "dominant": "a 9.333333333333, b 10.666666666667",
    "wall_seconds": "a 9.333333333333, b 10.666666666667",
    "evenly": "a 10.00, b 10.00",
    "spend": "a 10.00, b 10.00",
}


@pytest.mark.parametrize("by", BY_OVER_ALL)
def test_a_charge_over_all_is_shared_by_what_its_rule_says(keeper: Bookkeeper, by: str):
    text = f"""
    machine  n1  4 gpus  8 cpus  8 gb  2 h  8.00 USD
    attempt  a   4 gpus  2 cpus  6 gb  2 h
    machine  n2  2 gpus  8 cpus  8 gb  4 h  8.00 USD
    attempt  b   2 gpus  3 cpus  1 gb  4 h
    charge   network  4.00 USD  4 h
    rules
    [[rule]]
    name = "traffic"
    match = {{ category = "network" }}
    among = "all"
    by = "{by}"
    """
    check(keeper, plain(text) + after(BY_OVER_ALL[by]))


BY_SPEND = {
    "machine": ("on n1", "a 11.30, b 4.00, d 3.00, __idle__ 3.00"),
    "cluster": ("tag cluster=c1", "a 10.20, b 5.10, d 3.00, __idle__ 3.00"),
    "account": ("account A-2", "a 8.00, b 4.00, d 4.65, __idle__ 4.65"),
    "region": ("region eu", "a 8.00, b 5.32, d 3.99, __idle__ 3.99"),
    "tag:team": ("tag team=nlp", "a 10.40, b 4.00, d 3.90, __idle__ 3.00"),
    "job": ("tag job_id=d", "a 8.00, b 4.00, d 6.30, __idle__ 3.00"),
    "all": ("", "a 9.466666666667, b 4.733333333333, d 3.55, __idle__ 3.55"),
}


@pytest.mark.parametrize("among", BY_SPEND)
def test_a_charge_follows_what_was_spent_where_its_rule_says(keeper: Bookkeeper, among: str):
    where, told = BY_SPEND[among]
    text = f"""
    machine  n1  4 gpus  4 h  8.00 USD  cluster c1  region us  account A-1
    attempt  a   4 gpus  4 h  team nlp
    machine  n2  4 gpus  4 h  4.00 USD  cluster c1  region eu  account A-1
    attempt  b   4 gpus  4 h  team vision
    machine  n3  4 gpus  4 h  6.00 USD  cluster c2  region eu  account A-2
    attempt  d   2 gpus  4 h  team nlp
    charge   network  3.30 USD  4 h  {where}
    rules
    [[rule]]
    name = "traffic"
    match = {{ category = "network" }}
    among = "{among}"
    by = "spend"
    """
    check(keeper, plain(text) + after(told))


def test_every_word_a_rule_may_use_has_a_story():
    assert {*BY_ON_A_MACHINE, "spend"} == set(BY)
    assert {*BY_SPEND, "tag:team"} >= set(AMONG)
    assert {*SHARED, "machine", "cluster"} >= set(AMONG)
    assert set(IDLE) == {"keep", "spread", "owner"}
    assert set(TO) == {"__idle__", "__unallocated__", "__outside__"}


@story
def test_spread_idle_is_paid_by_the_holders():
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
def test_spread_idle_of_a_machine_nobody_held_stays_idle():
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
def test_idle_of_an_owned_machine_is_paid_by_its_team():
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
def test_a_cluster_can_spread_its_idle():
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
def test_a_cluster_nobody_held_is_idle_whatever_the_span_of_the_charge(keeper: Bookkeeper, length: str):
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
def test_who_tells_no_amount_holds_all_of_the_machine_in_wider_scopes_too():
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
def test_where_nobody_held_gpus_in_a_charges_time_cpus_count():
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
def test_who_holds_what_nobody_knows_the_size_of_holds_all_of_it():
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
def test_a_blank_tag_says_nothing():
    """
    machine  n1  4 gpus  4 h  8.00 USD
    attempt  a   4 gpus  4 h  team nlp
    charge   storage  3.00 USD  4 h  tag project=  tag team=nlp
    =>
    a  11.00
    """


@story
def test_parts_of_different_things_may_add_up_to_more_than_one_machine():
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
def test_without_the_scope_it_asks_for_a_rule_leaves_its_charge_unallocated():
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
