"""Stories of charges other than machine hours: see story.py for how to read and add one."""

from .story import story


@story
def test_a_credit_on_a_machine_undoes_its_charge_to_the_last_digit():
    """
    machine  n1  3 gpus  1 h  10.00 USD
    attempt  a   1 gpu   1 h  from 0 h
    attempt  b   1 gpu   1 h  from 0 h
    charge   credit  -10.00 USD  on n1  1 h
    =>
    a         0.00
    b         0.00
    __idle__  0.00
    """


@story
def test_a_refund_goes_to_those_who_held_the_refunded_hour():
    """
    machine  n1  4 gpus  4 h  8.00 USD
    attempt  a   4 gpus  1 h
    attempt  b   4 gpus  3 h
    charge   refund  -1.50 USD  on n1  from 1 h  1 h
    =>
    a  2.00
    b  4.50
    """


@story
def test_a_refund_larger_than_the_bill_is_shared_all_the_same():
    """
    machine  n1  3 gpus  1 h  5.00 USD
    attempt  a   1 gpu   1 h  from 0 h
    attempt  b   1 gpu   1 h  from 0 h
    charge   refund  -15.00 USD  on n1  1 h
    =>
    a         -3.333333333334
    b         -3.333333333333
    __idle__  -3.333333333333
    ! NEGATIVE_TOTAL
    """


@story
def test_tax_follows_allocated_cost():
    """
    machine  n1  4 gpus  4 h  8.00 USD
    attempt  a   4 gpus  3 h
    charge   database  2.00 USD  4 h
    charge   tax       1.00 USD
    =>
    a            6.60
    __idle__     2.20
    __outside__  2.20
    """


@story
def test_support_follows_allocated_cost():
    """
    machine  n1  4 gpus  4 h  8.00 USD
    attempt  a   4 gpus  3 h
    charge   support  0.80 USD
    =>
    a         6.60
    __idle__  2.20
    """


@story
def test_a_credit_on_the_account_follows_allocated_cost():
    """
    machine  n1  4 gpus  4 h  8.00 USD
    attempt  a   4 gpus  3 h
    charge   credit      -0.80 USD
    charge   adjustment  -0.40 USD
    =>
    a         5.10
    __idle__  1.70
    """


@story
def test_tax_stays_within_its_billing_account():
    """
    machine  n1  4 gpus  4 h  8.00 USD  payer B-1
    attempt  a   4 gpus  4 h
    machine  n2  4 gpus  4 h  8.00 USD  payer B-2
    attempt  b   4 gpus  4 h
    charge   tax  1.00 USD  payer B-2
    =>
    a  8.00
    b  9.00
    """


@story
def test_tax_on_a_machine_is_shared_like_any_other_tax():
    """
    machine  n1  4 gpus  4 h  6.00 USD
    attempt  a   4 gpus  4 h
    machine  n2  4 gpus  4 h  2.00 USD
    attempt  b   4 gpus  4 h
    charge   tax  0.80 USD  on n1
    =>
    a  6.60
    b  2.20
    """


@story
def test_tax_without_any_spend_is_unallocated():
    """
    charge  tax  1.00 USD
    =>
    __unallocated__  1.00  nothing was spent that it could be split by
    """


@story
def test_tax_follows_spend_in_a_currency_with_large_amounts():
    """
    machine  n1  4 gpus  4 h  10000000000000.00 IDR
    attempt  a   4 gpus  3 h
    charge   tax  1000000.00 IDR
    =>
    a         7500000750000.00 IDR
    __idle__  2500000250000.00 IDR
    """


@story
def test_a_payer_with_negative_cost_pays_no_tax():
    """
    machine  n1  4 gpus  4 h  8.00 USD
    attempt  a   4 gpus  4 h
    charge   storage  -2.00 USD  tag team=nlp
    charge   tax       1.00 USD
    =>
    a         9.00
    team:nlp  -2.00  tagged, and no job with that tag ran then
    """


@story
def test_tagged_storage_goes_to_the_jobs_of_the_tag():
    """
    machine  n1  4 gpus  4 h  8.00 USD
    attempt  a   4 gpus  2 h  team nlp
    attempt  b   4 gpus  1 h  team nlp
    attempt  c   4 gpus  1 h  team vision
    charge   storage  3.00 USD  tag team=nlp
    =>
    a  6.00
    b  3.00
    c  2.00
    """


@story
def test_tagged_storage_is_split_by_what_was_held_in_its_own_time():
    """
    machine  n1  4 gpus  4 h  8.00 USD
    attempt  a   4 gpus  2 h  team nlp
    attempt  b   4 gpus  2 h  team nlp
    charge   storage  3.00 USD  tag team=nlp  from 1 h  3 h
    =>
    a  5.00
    b  6.00
    """


@story
def test_tags_are_compared_without_case():
    """
    machine  n1  4 gpus  4 h  8.00 USD
    attempt  a   4 gpus  4 h  team nlp
    charge   storage  3.00 USD  tag team=NLP
    =>
    a  11.00
    """


@story
def test_the_project_comes_before_the_team():
    """
    machine  n1  4 gpus  4 h  8.00 USD
    attempt  a   4 gpus  2 h  team nlp  project bert
    attempt  b   4 gpus  2 h  team nlp  project gpt
    charge   storage  3.00 USD  tag team=nlp  tag project=gpt
    =>
    a  4.00
    b  7.00
    """


@story
def test_a_tag_whose_jobs_did_not_run_then_is_the_payer():
    """
    machine  n1  4 gpus  4 h  8.00 USD
    attempt  a   4 gpus  4 h  team nlp
    charge   storage  3.00 USD  tag team=nlp     from 48 h  1 h
    charge   storage  1.00 USD  tag project=gpt
    =>
    a            8.00
    team:nlp     3.00  tagged, and no job with that tag ran then
    project:gpt  1.00  tagged, and no job with that tag ran then
    """


@story
def test_a_charge_that_names_a_job_goes_to_it():
    """
    machine  n1   4 gpus  4 h  8.00 USD
    attempt  a    4 gpus  1 h  team nlp
    attempt  a#2  4 gpus  2 h  team nlp
    attempt  b    4 gpus  1 h  team nlp
    charge   storage  3.00 USD  tag job_id=a  tag team=nlp
    =>
    a    3.00
    a#2  6.00
    b    2.00
    """


@story
def test_a_named_job_that_held_nothing_then_pays_by_what_it_held_in_the_month():
    """
    machine  n1   4 gpus  4 h  8.00 USD
    attempt  a    4 gpus  1 h
    attempt  a#2  4 gpus  3 h
    charge   storage  4.00 USD  tag job_id=a  from 48 h  1 h
    =>
    a    3.00
    a#2  9.00
    """


@story
def test_a_named_job_pays_a_charge_of_no_length():
    """
    machine  n1  4 gpus  4 h  8.00 USD
    attempt  a   4 gpus  4 h
    charge   storage  3.00 USD  tag job_id=a  from 1 h  0 h
    =>
    a  11.00
    """


@story
def test_a_named_job_that_is_not_in_the_log_leaves_its_charge_unallocated():
    """
    machine  n1  4 gpus  4 h  8.00 USD
    attempt  a   4 gpus  4 h
    charge   storage  3.00 USD  tag job_id=zzz
    =>
    a                8.00
    __unallocated__  3.00  names a job that is not in the job log
    ! JOB_NOT_IN_LOG
    """


@story
def test_an_unused_commitment_is_idle():
    """
    machine  n1  4 gpus  4 h  8.00 USD
    attempt  a   4 gpus  3 h
    charge   unused    5.00 USD  1 h
    charge   reserved  1.00 USD  1 h
    =>
    a         6.00
    __idle__  2.00  not held by any job
    __idle__  5.00  unused commitment
    __idle__  1.00  unused reservation
    """


@story
def test_a_commitment_is_paid_through_the_usage_it_covers():
    """
    machine  n1  4 gpus  4 h  8.00 USD  billed 0.00
    attempt  a   4 gpus  3 h
    charge   purchase  100.00 USD  effective 0.00
    =>
    a         6.00
    __idle__  2.00
    => billed
    __unallocated__  100.00  commitment purchase: its cost is amortized over the usage it covers
    """


@story
def test_every_basis_is_shared_by_the_same_weights():
    """
    machine  n1  4 gpus  4 h  8.00 USD  billed 1.00  list 16.00  contracted 12.00
    attempt  a   4 gpus  3 h
    =>
    a         6.00
    __idle__  2.00
    => billed
    a         0.75
    __idle__  0.25
    => list
    a         12.00
    __idle__  4.00
    => contracted
    a         9.00
    __idle__  3.00
    """


@story
def test_services_not_used_for_training_are_outside():
    """
    machine  n1  4 gpus  4 h  8.00 USD
    attempt  a   4 gpus  4 h
    charge   database  3.00 USD
    charge   server    2.00 USD
    =>
    a            8.00
    __outside__  3.00  a service not used for training
    __outside__  2.00  a machine that no job used and that has no known GPU
    """


@story
def test_compute_without_a_resource_is_unallocated():
    """
    machine  n1  4 gpus  4 h  8.00 USD
    attempt  a   4 gpus  4 h
    charge   hours  5.00 USD
    =>
    a                8.00
    __unallocated__  5.00  compute with no matching machine, job or mapped tag
    """


@story
def test_charges_that_no_rule_matches_are_unallocated_with_a_reason():
    """
    machine  n1  4 gpus  4 h  8.00 USD
    attempt  a   4 gpus  4 h
    charge   storage  3.00 USD
    charge   network  2.00 USD  tag env=prod
    =>
    a                8.00
    __unallocated__  3.00  storage with no matching machine, job or mapped tag
    __unallocated__  2.00  network with no matching machine, job or mapped tag
    """


@story
def test_two_currencies_are_never_added():
    """
    machine  n1  4 gpus  4 h  8.00 USD
    attempt  a   4 gpus  3 h
    machine  n2  4 gpus  4 h  4.00 EUR
    attempt  a   4 gpus  2 h
    charge   tax  1.00 USD
    charge   tax  1.00 EUR
    =>
    a         6.75
    a         2.50 EUR
    __idle__  2.25
    __idle__  2.50 EUR
    ! TWO_CURRENCIES
    """


@story
def test_a_month_with_only_other_services():
    """
    charge  database  3.00 USD
    charge  storage   1.00 USD
    charge  tax       0.40 USD
    =>
    __outside__      3.30
    __unallocated__  1.10
    """


@story
def test_a_charge_without_a_period_is_reported():
    """
    machine  n1  4 gpus  4 h  8.00 USD
    attempt  a   4 gpus  4 h
    charge   hours  1.00 USD  on n1  from 1 h  0 h
    =>
    a         8.00
    __idle__  1.00  not held by any job
    ! CHARGE_WITHOUT_TIME
    """
