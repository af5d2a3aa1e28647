"""Stories of every `by`, `among` and `idle` of a rule: see story.py for how to read and add one."""

import pytest

from trainfare.settings.rules import AMONG, BY, IDLE, TO

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


def after(expected: str) -> str:
    """`a 1.00, b 2.00` as the lines that follow `=>`."""
    return "=>\n" + "\n".join(part if part[0] == "!" else part.replace(" ", "  ", 1) for part in expected.split(", "))


def plain(text: str) -> str:
    return "\n".join(line.strip() for line in text.splitlines())


@pytest.mark.parametrize("by", BY_ON_A_MACHINE)
def test_a_machine_is_split_by_the_measure_of_its_rule(keeper: Bookkeeper, by: str):
    check(keeper, MACHINE.replace("BY", by) + after(BY_ON_A_MACHINE[by]))


@story
def test_traffic_is_split_by_the_bytes_that_left_the_region():
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
def test_a_pot_without_measurements_is_split_by_what_was_held():
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
def test_a_machine_split_by_measurements_has_no_idle_cost():
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
def test_a_cluster_is_split_by_its_machines_and_keeps_its_idle_cost():
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


SPLIT = {
    "account": ("account A-1", "a 10.666666666667, b 5.333333333333, d 4.00, __idle__ 8.00"),
    "region": ("region eu", "a 8.00, b 6.00, d 6.00, __idle__ 8.00"),
    "tag:team": ("tag team=nlp", "a 10.666666666667, b 4.00, d 5.333333333333, __idle__ 8.00"),
    "tag:framework": ("tag framework=jax", "a 8.00, b 8.00, d 4.00, __idle__ 8.00"),
    "job": ("tag job_id=d", "a 8.00, b 4.00, d 8.00, __idle__ 8.00"),
    "all": ("", "a 10.00, b 5.00, d 5.00, __idle__ 8.00"),
}


@pytest.mark.parametrize("among", SPLIT)
def test_a_charge_is_split_within_the_scope_of_its_rule(keeper: Bookkeeper, among: str):
    where, expected = SPLIT[among]
    rule = f'rules\n[[rule]]\nname = "traffic"\nmatch = {{ category = "network" }}\namong = "{among}"\n'
    check(keeper, SCOPES.replace("WHERE", where) + rule + after(expected))


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
def test_a_charge_across_all_is_split_by_the_measure_of_its_rule(keeper: Bookkeeper, by: str):
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
def test_a_charge_follows_spend_within_the_scope_of_its_rule(keeper: Bookkeeper, among: str):
    where, expected = BY_SPEND[among]
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
    check(keeper, plain(text) + after(expected))


def test_every_value_of_a_rule_has_a_story():
    assert {*BY_ON_A_MACHINE, "spend", "weighted"} == set(BY)  # weighted: test_stories_of_resources.py
    assert {*BY_SPEND, "tag:team"} >= set(AMONG)
    assert {*SPLIT, "machine", "cluster"} >= set(AMONG)
    assert set(IDLE) == {"keep", "spread", "owner"}
    assert set(TO) == {"__idle__", "__unallocated__", "__outside__"}
