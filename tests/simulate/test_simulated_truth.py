"""The true shares follow the built-in rules: small months whose result can be computed by hand."""

import pytest

from trainfare.money import units
from trainfare.period import Month
from trainfare.simulate.charges import Charge
from trainfare.simulate.clock import DAY, HOUR, span_of
from trainfare.simulate.company import Workload
from trainfare.simulate.fleet import POOLS, SERVERS, Machine
from trainfare.simulate.overheads import CREDIT, TAX
from trainfare.simulate.people import Job
from trainfare.simulate.price_list import DATABASE, MANAGED, NAT, OBJECTS, Offer
from trainfare.simulate.schedule import Attempt
from trainfare.simulate.truth import true_shares

MONTH = Month(2026, 10)
START, END = span_of(MONTH)
N1 = Machine("n1", "arn:n1", SERVERS, (START - DAY, END + DAY))
COMPUTE = Offer("vm", "Compute", "Virtual Machines", "Machines", "", "", "Hours", 0, 0)


def job(name, team="nlp"):
    return Job(name, "ana", team, "atlas", "atlas-1", "CC-1", "v1", "normal", "jax")


def attempt(name, start_hour, end_hour, gpus, number=1, team="nlp"):
    span = (START + int(start_hour * HOUR), START + int(end_hour * HOUR))
    return Attempt(job(name, team), number, *span, "completed", (N1,), int(gpus * 10**6))


def charge(money, offer=COMPUTE, hours=(0, 4), **fields):
    period = (START + hours[0] * HOUR, START + hours[1] * HOUR)
    return Charge("cloud", offer, "account", "region", period, (units(money),) * 4, **fields)


def effective(attempts, *charges):
    owed = true_shares(Workload(MONTH, 1.0, (N1,), tuple(attempts)), charges)
    return {payer: amounts[0] for payer, amounts in owed.items() if amounts[0]}


def test_idle_time_of_a_machine_is_a_payer():
    a, b = attempt("a", 0, 2, 8), attempt("b", 2, 3, 8)
    assert effective([a, b], charge("8.00", resource_id="arn:n1")) == {
        ("a#1", "machines"): units("4"),
        ("b#1", "machines"): units("2"),
        ("__idle__", "machines"): units("2"),
    }


def test_a_machine_pays_only_for_the_time_it_existed():
    late = Machine("n2", "arn:n2", POOLS[0], (START + 2 * HOUR, START + 4 * HOUR))
    held = Attempt(job("a"), 1, START + 3 * HOUR, START + 4 * HOUR, "completed", (late,), 8 * 10**6)
    owed = true_shares(Workload(MONTH, 1.0, (late,), (held,)), [charge("6", resource_id="arn:n2")])
    assert {payer: amounts[0] for (payer, _), amounts in owed.items()} == {"a#1": units("3"), "__idle__": units("3")}


def test_a_refund_goes_to_the_payer_of_the_charge():
    line = charge("10", resource_id="arn:n1")
    refund = charge("-10", resource_id="arn:n1", charge_class="Correction")
    assert effective([attempt("a", 0, 1, 3)], line, refund) == {}


def test_the_remainder_goes_to_the_largest_weight_and_on_a_tie_to_an_attempt():
    shared = effective([attempt("a", 0, 2, 8)], charge("0.000000000001", resource_id="arn:n1"))
    assert shared == {("a#1", "machines"): 1}


def test_a_line_that_names_a_job_goes_to_its_attempts():
    attempts_of_jobs = [attempt("a", 0, 1, 8), attempt("a", 30, 33, 8, number=2), attempt("b", 1, 4, 8)]
    named = {"offer": MANAGED, "tags": (("job_id", "a"),)}
    assert effective(attempts_of_jobs, charge("5", **named)) == {("a#1", "named job"): units("5")}
    assert effective(attempts_of_jobs, charge("8", hours=(5, 24), **named)) == {
        ("a#1", "named job"): units("2"),
        ("a#2", "named job"): units("6"),
    }


def test_a_tagged_line_goes_to_the_jobs_of_that_label_or_to_the_label_itself():
    attempts_of_jobs = [attempt("a", 0, 1, 4), attempt("b", 0, 3, 4), attempt("c", 0, 4, 8, team="speech")]
    tagged = {"offer": OBJECTS, "tags": (("team", "nlp"),)}
    assert effective(attempts_of_jobs, charge("4", **tagged)) == {
        ("a#1", "tagged"): units("1"),
        ("b#1", "tagged"): units("3"),
    }
    assert effective(attempts_of_jobs, charge("4", hours=(24, 48), **tagged)) == {("team:nlp", "tagged"): units("4")}


def test_the_project_tag_is_matched_before_the_team_tag():
    line = charge("4", offer=OBJECTS, tags=(("team", "nlp"), ("project", "gone")))
    assert effective([attempt("a", 0, 1, 4)], line) == {("project:gone", "tagged"): units("4")}


@pytest.mark.parametrize(
    ("fields", "payer"),
    [
        ({"commitment_status": "Unused", "commitment_id": "sp"}, ("__idle__", "unused capacity")),
        ({"reservation_status": "Unused", "reservation_id": "cr"}, ("__idle__", "unused capacity")),
        ({"charge_category": "Purchase", "commitment_id": "sp"}, ("__unallocated__", "purchases")),
        ({"offer": DATABASE}, ("__outside__", "not training")),
        ({"resource_id": "arn:web-server"}, ("__outside__", "not training")),
        ({"offer": NAT}, ("__unallocated__", "everything else")),
    ],
)
def test_some_lines_have_one_payer(fields, payer):
    assert effective([attempt("a", 0, 4, 8)], charge("3", **fields)) == {payer: units("3")}


def test_overheads_follow_the_spend_of_every_payer():
    lines = [
        charge("60", resource_id="arn:n1"),
        charge("30", offer=DATABASE),
        charge("10", offer=NAT),
        charge("10", offer=TAX, charge_category="Tax"),
        charge("-5", offer=CREDIT, charge_category="Credit", resource_id=""),
    ]
    shared = effective([attempt("a", 0, 2, 8)], *lines)
    assert {payer: money for (payer, rule), money in shared.items() if rule == "overheads"} == {
        "a#1": units("1.5"),
        "__idle__": units("1.5"),
        "__outside__": units("1.5"),
        "__unallocated__": units("0.5"),
    }


def test_overheads_stay_within_their_bill():
    lines = [
        charge("60", offer=NAT),
        charge("40", offer=DATABASE)._replace(source="owned"),
        charge("10", offer=TAX, charge_category="Tax"),
    ]
    assert effective([], *lines)["__unallocated__", "overheads"] == units("10")
