"""What was measured for an attempt without naming a machine follows all machines that it held."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from .books import Bookkeeper
from .generated import BY_BYTES, Fleet, measured_fleets, use_row
from .oracle import EVER, Placement, Use, allocate
from .story import story
from .test_properties import allocated, examples, nonzero


@story
def test_requests_without_a_machine_count_on_every_machine_of_the_job():
    """
    machine  n1  8 gpus  region eu  4 h  0.00 USD
    machine  n2  8 gpus  region us  4 h  0.00 USD
    attempt  a   8 gpus  4 h  on n1
    attempt  a   8 gpus  4 h  on n2
    attempt  b   1 gpus  4 h  on n2  from 0 h
    measured a   storage_requests 300  4 h
    measured b   storage_requests 50   4 h  on n2
    charge   storage  6.00 USD  region eu  4 h
    charge   storage  8.00 USD  region us  4 h
    rules
    [[rule]]
    name = "requests"
    match = { category = "storage" }
    among = "region"
    by = "requests"
    =>
    a  12.00
    b   2.00
    ! HELD_BEYOND_CAPACITY
    """


@story
def test_only_machines_held_at_the_time_of_the_measurement_count():
    """
    machine  n1  8 gpus  2 h  4.00 USD
    machine  n2  8 gpus  2 h  4.00 USD  from 2 h
    attempt  a   8 gpus  2 h  on n1  from 0 h
    attempt  a   8 gpus  2 h  on n2  from 2 h
    attempt  b   8 gpus  2 h  on n1  from 0 h
    measured a   storage_requests 300  1 h  from 2 h
    measured b   storage_requests 10   1 h
    rules
    [[rule]]
    name = "requests"
    match = { machine = true }
    among = "machine"
    by = "requests"
    =>
    a  4.00
    b  4.00
    ! HELD_BEYOND_CAPACITY
    """


def follow(placements: Iterable[Placement], uses: Iterable[Use]) -> list[Use]:
    """Give uses without a machine to the machines that the attempt held meanwhile, by seconds, in whole units."""
    known, sums = list(placements), defaultdict(int)
    distinct = list(dict.fromkeys(uses))
    for use in distinct:
        if not use.machine:
            sums[use.job, use.attempt, use.started, max(use.ended, use.started + 1)] += use.used
    found = [use for use in distinct if use.machine]
    for (job, attempt, start, end), used in sums.items():
        mine = [(p.machine, p.started, p.ended or EVER) for p in known if (p.job, p.attempt) == (job, attempt)]
        held = sorted({(m, max(a, start), min(b, end)) for m, a, b in mine if a < end and b > start})
        held = held or sorted({(m, start, end) for m, _, _ in mine})
        total, upto = sum(b - a for _, a, b in held), 0
        for machine, first, last in held:
            before, upto = upto, upto + last - first
            found.append(Use(job, attempt, machine, first, last, used * upto // total - used * before // total))
    return found


@examples(8)
@given(generated=measured_fleets(), unnamed=st.sets(st.integers(0, 24)))
def test_bytes_without_a_machine_follow_what_the_attempt_held(keeper: Bookkeeper, generated, unnamed: set[int]):
    fleet, uses = generated
    ended = tuple(held for held in fleet.placements if held.ended is not None and held.ended > held.started)
    fleet = Fleet(fleet.machines, ended, fleet.charges)
    jobs = {(held.job, held.attempt) for held in ended}
    given = [use._replace(machine="") if n in unnamed else use for n, use in enumerate(uses)]
    given = [use for use in given if (use.job, use.attempt) in jobs]
    account = keeper.book(replace(fleet.case(), settings=BY_BYTES, measured=[use_row(use) for use in given]))
    expected = allocate(fleet.machines, fleet.placements, fleet.charges, follow(ended, given))
    assert nonzero(allocated(account)) == nonzero(expected)
