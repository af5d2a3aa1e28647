"""Generated months for properties: fleets that the oracle covers, and months with every kind of charge and rule."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from hypothesis import strategies as st

from trainfare.money import amount
from trainfare.tables import BASES, MEASURES, STATES

from .books import DAY, HOUR, MONTH, Case, Row, charge, hours_of, measured, placement, stamp
from .oracle import MICRO, Charge, Machine, Placement, Use
from .story import CHARGES

JOBS = ("a", "b", "B", "a-1", "é")
NAMES = tuple(f"m{number}" for number in range(10))

moments = st.one_of(st.integers(0, 60).map(lambda hour: hour * HOUR), st.integers(0, 3 * DAY))
spans = st.tuples(moments, moments).filter(lambda span: span[0] != span[1]).map(lambda span: (min(span), max(span)))
periods = st.one_of(
    spans,
    st.integers(0, 60).map(lambda hour: (hour * HOUR, hour * HOUR + HOUR)),
    st.integers(0, 2).map(lambda day: (day * DAY, day * DAY + DAY)),
    st.just((0, MONTH)),
)
sizes = st.one_of(st.integers(1, 17).map(lambda gpus: gpus * MICRO), st.integers(1, 9 * MICRO))
whole_units = st.one_of(st.integers(-30, 30), st.integers(-(10**12), 10**14), st.integers(10**20, 10**24))


@dataclass(frozen=True)
class Fleet:
    """Machines, holds and charges in the form of the oracle."""

    machines: tuple[Machine, ...]
    placements: tuple[Placement, ...]
    charges: tuple[Charge, ...]

    def case(self, also: Sequence[Row] = ()) -> Case:
        """Return the same as files."""
        listed = [machine_row(machine) for machine in self.machines if machine != Machine(machine.name)]
        return Case([*map(charge_row, self.charges), *also], list(map(placement_row, self.placements)), listed)


def gpus(micros: int | None) -> str:
    return "" if micros is None else f"{Decimal(micros).scaleb(-6):f}"


def machine_row(machine: Machine) -> Row:
    named = {"machine_id": machine.name, "gpus": gpus(machine.gpu_micros)}
    if machine.existed != Machine("").existed:
        named |= {"existed_from": stamp(machine.existed[0]), "existed_to": stamp(machine.existed[1])}
    return named


def placement_row(held: Placement) -> Row:
    span = held.started, held.ended
    state = "suspended" if held.ended is None else "completed"
    return placement(held.job, held.machine, span, attempt=held.attempt, gpus=gpus(held.gpu_micros), state=state)


def charge_row(one: Charge) -> Row:
    costs = {basis: f"{amount(whole):f}" for basis, whole in zip(BASES, one.amounts, strict=True)}
    return hours_of(one.machine, one.period, costs, ChargeCategory="Credit" if one.category == "credit" else "Usage")


@st.composite
def fleets(draw: st.DrawFn) -> Fleet:
    """Machines, some of unknown size or short-lived, held in part, in full, beyond capacity or not at all."""
    names = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=len(NAMES), unique=True))
    placements = st.builds(
        lambda job, attempt, machine, span, runs, held: Placement(
            job, attempt, machine, span[0], None if runs else span[1], held
        ),
        st.sampled_from(JOBS),
        st.integers(1, 2),
        st.sampled_from(names),
        spans,
        st.sampled_from([False] * 7 + [True]),
        st.one_of(st.none(), st.just(0), sizes, st.just(MICRO)),
    )
    charges = st.builds(
        Charge,
        st.sampled_from(names),
        periods,
        st.sampled_from(["compute", "compute", "credit"]),
        st.tuples(*[whole_units] * len(BASES)),
    )
    held = draw(st.lists(placements, max_size=40))
    named = {placement.machine for placement in held}
    existed = st.one_of(st.just(Machine("").existed), spans)
    # A name that neither a file nor a job has is not a machine.
    machines = [Machine(name, draw(st.none() | sizes if name in named else sizes), draw(existed)) for name in names]
    return Fleet(tuple(machines), tuple(held), tuple(draw(st.lists(charges, min_size=1, max_size=25))))


@st.composite
def measured_fleets(draw: st.DrawFn) -> tuple[Fleet, tuple[Use, ...]]:
    """Permanent machines of known size, and bytes that attempts on them sent, some within zero seconds."""
    fleet = draw(fleets().filter(lambda fleet: bool(fleet.placements)))
    machines = tuple(Machine(machine.name, machine.gpu_micros or MICRO) for machine in fleet.machines)
    uses = st.builds(
        lambda held, machine, span, used: Use(held.job, held.attempt, machine.name, *span, used),
        st.sampled_from(fleet.placements),
        st.sampled_from(machines),
        st.one_of(spans, moments.map(lambda moment: (moment, moment))),
        st.one_of(st.integers(0, 20), st.integers(0, 10**15)),
    )
    return Fleet(machines, fleet.placements, fleet.charges), tuple(draw(st.lists(uses, max_size=25)))


def use_row(use: Use) -> Row:
    span = use.started, use.ended
    return measured(use.job, span, "bytes_sent", use.used, attempt=use.attempt, machine_id=use.machine)


BY_BYTES = """
[[rule]]
name = "traffic"
match = { machine = true }
among = "machine"
by = "bytes_sent"
"""

RULES = (
    "",
    "default_rules = false",
    'rule = [{ name = "x", match = { machine = true }, among = "cluster", by = "cpu_seconds" }]',
    'rule = [{ name = "x", match = { machine = true }, among = "machine", by = "dominant", idle = "owner" }]',
    'rule = [{ name = "x", match = { category = "storage" }, among = "all", by = "wall_seconds" }]',
    'rule = [{ name = "x", match = { category = "storage" }, among = "region", by = "evenly" }]',
    'rule = [{ name = "x", match = { category = "network" }, among = "account", by = "memory" }]',
    'rule = [{ name = "x", match = { category = "network" }, among = "tag:team", by = "spend" }]',
    'rule = [{ name = "x", match = { category = "*" }, parts = { "team:nlp" = 3, "team:x" = 3, "__idle__" = 1 } }]',
    'rule = [{ name = "x", match = { machine = true }, among = "machine", by = "evenly", idle = "spread" }]',
    'rule = [{ name = "x", match = { machine = true }, among = "cluster", by = "bytes_sent" }]',
    'rule = [{ name = "x", match = { category = "storage" }, among = "all", by = "requests" }]',
)
TEAMS = ("nlp", "vision", "")


@st.composite
def months(draw: st.DrawFn) -> Case:
    """Every kind of charge, tagged or not, in one or two currencies, under one of several rules."""
    machines = [
        {"machine_id": name, "gpus": draw(st.sampled_from(["", "4", "7", "0"])), "cpus": "8", "memory_gb": "64"}
        | {"cluster": draw(st.sampled_from(["c1", "c2", ""])), "team": draw(st.sampled_from(TEAMS)), "region": "eu"}
        for name in NAMES[:2]
    ]
    held = st.builds(
        lambda job, attempt, name, span, amount, labels: placement(
            job, name, span, attempt=attempt, gpus=amount, cpus=amount, framework="jax", **labels
        ),
        st.sampled_from(JOBS),
        st.integers(1, 3),
        st.sampled_from(NAMES[:3]),
        spans,
        st.sampled_from(["", "1", "2.5", "4"]),
        st.builds(
            lambda team, state: {"team": team, "project": team and f"{team}-1", "state": state},
            st.sampled_from(TEAMS),
            st.sampled_from(STATES),
        ),
    )
    return Case(
        draw(st.lists(_any_charge, min_size=1, max_size=25)),
        draw(st.lists(held, max_size=12)),
        machines,
        draw(st.sampled_from(RULES)),
        draw(st.lists(_any_use, max_size=30)),
    )


@st.composite
def _charges(draw: st.DrawFn) -> Row:
    kind = draw(st.sampled_from([*CHARGES, "hours", "hours", "hours", "tax", "storage"]))
    tags = draw(st.sampled_from([{}, {}, {"team": "nlp"}, {"team": "none"}, {"job_id": "a"}, {"cluster": "C1"}]))
    costs = {basis: f"{amount(draw(whole_units)):f}" for basis in BASES}
    columns = dict(CHARGES[kind])
    if kind in ("hours", "refund", "credit", "network"):
        columns["ResourceId"] = draw(st.sampled_from(NAMES[:4]))
    placed = {
        "Tags": json.dumps(tags) if tags else "",
        "RegionId": draw(st.sampled_from(["eu", "us", ""])),
        "SubAccountId": draw(st.sampled_from(["A-1", "A-2", ""])),
        "BillingCurrency": draw(st.sampled_from(["USD", "USD", "USD", "EUR"])),
    }
    return charge(draw(periods), costs, **(columns | placed))


_any_charge = _charges()
_any_use = st.builds(
    lambda job, attempt, name, span, measure, value: measured(
        job, span, measure, value, attempt=attempt, machine_id=name, from_region="eu"
    ),
    st.sampled_from(JOBS),
    st.integers(1, 3),
    st.sampled_from(("", *NAMES[:3])),
    spans,
    st.sampled_from(MEASURES),
    st.integers(0, 10**6),
)
