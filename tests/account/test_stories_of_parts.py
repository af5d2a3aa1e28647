"""Stories of remainders and of rules with fixed payers: see story.py for how to read and add one."""

from .story import story


@story
def test_ten_over_three_gives_the_remainder_to_the_smallest_id():
    """
    machine  n1  3 gpus  1 h  10.00 USD
    attempt  c   1 gpu   1 h  from 0 h
    attempt  a   1 gpu   1 h  from 0 h
    attempt  b   1 gpu   1 h  from 0 h
    =>
    a  3.333333333334
    b  3.333333333333
    c  3.333333333333
    """


@story
def test_ten_over_seven_gives_the_remainder_to_the_smallest_id():
    """
    machine  n1  7 gpus  1 h  10.00 USD
    attempt  g   1 gpu   1 h  from 0 h
    attempt  f   1 gpu   1 h  from 0 h
    attempt  e   1 gpu   1 h  from 0 h
    attempt  d   1 gpu   1 h  from 0 h
    attempt  c   1 gpu   1 h  from 0 h
    attempt  b   1 gpu   1 h  from 0 h
    attempt  a   1 gpu   1 h  from 0 h
    =>
    a  1.428571428574
    b  1.428571428571
    c  1.428571428571
    d  1.428571428571
    e  1.428571428571
    f  1.428571428571
    g  1.428571428571
    """


@story
def test_what_does_not_divide_goes_to_the_heaviest_not_the_first():
    """
    machine  n1  3 gpus  1 h  10.00 USD
    attempt  a   1 gpu   1 h  from 0 h
    attempt  b   2 gpus  1 h  from 0 h
    =>
    a  3.333333333333
    b  6.666666666667
    """


@story
def test_a_rule_can_allocate_all_charges_to_one_payer():
    """
    machine  n1  4 gpus  4 h  8.00 USD
    attempt  a   4 gpus  4 h
    charge   storage   1.00 USD
    charge   network   2.00 USD
    charge   platform  4.00 USD
    rules
    rule = [
      { name = "cold",  match = { category = "storage" },  to = "__idle__",        reason = "cold data" },
      { name = "pipes", match = { service = "*transfer*" }, to = "__outside__" },
      { name = "studio", match = { category = ["platform", "labor"] }, to = "__unallocated__" },
    ]
    =>
    a                8.00
    __idle__         1.00  cold data
    __outside__      2.00  pipes
    __unallocated__  4.00  studio
    """


@story
def test_fixed_parts_are_split_to_the_last_unit():
    """
    machine  n1  4 gpus  4 h  8.00 USD
    attempt  a   4 gpus  4 h
    charge   storage  10.00 USD
    charge   network  10.00 USD
    charge   platform  1.00 USD
    rules
    rule = [
      { name = "s", match = { category = "storage" }, parts = { "team:nlp" = 60, "team:vision" = 40 } },
      { name = "n", match = { category = "network" }, parts = { "team:c" = 1, "team:a" = 1, "team:b" = 1 } },
      { name = "p", match = { category = "platform" }, parts = { "team:a" = 1, "__outside__" = 2 } },
    ]
    =>
    a            8.00
    team:nlp     6.00
    team:vision  4.00
    team:a       3.666666666667
    team:b       3.333333333333
    team:c       3.333333333333
    __outside__  0.666666666667
    """


@story
def test_the_first_matching_rule_takes_the_charge():
    """
    machine  n1  4 gpus  4 h  8.00 USD
    attempt  a   4 gpus  4 h
    charge   storage  1.00 USD  tag env=prod
    charge   storage  2.00 USD
    rules
    rule = [
      { name = "one", match = { category = "storage", tag = { env = "pr*" } }, to = "__outside__" },
      { name = "two", match = { category = "storage" }, to = "__idle__" },
      { name = "three", match = { category = "storage" }, to = "__unallocated__" },
    ]
    =>
    a            8.00
    __outside__  1.00
    __idle__     2.00
    """


@story
def test_without_any_rule_everything_is_unallocated():
    """
    machine  n1  4 gpus  4 h  8.00 USD
    charge   storage  1.00 USD  tag team=nlp
    rules
    default_rules = false
    =>
    __unallocated__  8.00  compute with no matching machine, job or mapped tag
    __unallocated__  1.00  storage with no matching machine, job or mapped tag
    """
