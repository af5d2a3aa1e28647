"""Random histories of a cluster, as its scheduler reports them, and what every second of them costs whom."""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from account.books import BILL, HOUR, START, charge, hours_of, stamp, with_settings, write_rows
from hypothesis import strategies as st

from trainfare.money import amount as amount_of
from trainfare.money import units
from trainfare.store.recordings.values import Observed, Op

BASE = int(START.timestamp())
BILLED = 24 * HOUR
"""The bill covers the first day."""
END = 33 * HOUR
"""The last second of every history."""
FOREVER = 10**12
SPOT, LISTED = "p5.48xlarge", "g5.48xlarge"
SETTINGS = 'estimate = true\n\n[[collector]]\nname = "lab"\nsystem = "slurm"\nsince = "2026-10-01"\n'
IDLE = "__idle__"
NAMES = ("n0", "n1", "n2", "u0", "x", "y", "zz")
"""Listed and billed; of unknown size; spot; on the bill only; on a price list only; without any price; unknown."""


@dataclass(frozen=True)
class Machine:
    """A machine as it really was: its GPUs, and when a machine file lists it as existing."""

    gpus: int | None
    listed: tuple[int, int] | None = (-FOREVER, FOREVER)


@dataclass(frozen=True)
class Run:
    """One record of the scheduler: a job held the same number of GPUs of one or two machines."""

    job: int
    attempt: int
    machines: tuple[str, ...]
    gpus: int
    starts: int
    ends: int | None
    state: str = "COMPLETED"

    def fields(self, is_over: bool) -> dict[str, str]:
        ends, state = (_time(self.ends), self.state) if is_over else ("Unknown", "RUNNING")
        total = self.gpus * len(self.machines)
        found = {"JobIDRaw": str(self.job), "JobID": str(self.job), "Cluster": "lab", "User": "ann", "Account": "nlp"}
        found |= {"WCKey": "", "QOS": "normal", "Partition": "all", "State": state, "Submit": _time(self.starts)}
        found |= {"Start": _time(self.starts), "End": ends, "NodeList": ",".join(self.machines), "JobName": "t"}
        return found | {"AllocTRES": f"cpu={total},gres/gpu={total},node={len(self.machines)}", "Comment": ""}

    def observed(self, is_over: bool) -> Observed:
        op = Op.ENDED if is_over else Op.SEEN
        return Observed("lab", "run", f"{self.job}@{_time(self.starts)}", op, self.fields(is_over))


@dataclass(frozen=True)
class World:
    """Machines, what they cost, what ran on them, and in which order the collector heard of it."""

    machines: dict[str, Machine]
    hourly: dict[tuple[str, str], list[int]]
    """By machine and category: units for each hour of the billed day."""
    prices: list[tuple[str, str, int, int]]
    """Kind, term, first second and units per hour."""
    runs: list[Run]
    batches: list[list[Observed]] = field(repr=False)

    def write(self, folder: Path) -> Path:
        rows = []
        for (machine, category), amounts in self.hourly.items():
            for hour, amount in enumerate(amounts):
                period, cost = (hour * HOUR, (hour + 1) * HOUR), f"{amount_of(amount):f}"
                spot = {"PricingCategory": "Dynamic", "SkuPriceDetails": f'{{"InstanceType": "{SPOT}"}}'}
                if category == "compute":
                    rows.append(hours_of(machine, period, cost, **(spot if machine == "n2" else {})))
                else:
                    named = {"ServiceCategory": "Storage", "ServiceName": "Disks", "ResourceId": machine}
                    rows.append(charge(period, cost, **named))
        write_rows(folder / "bill.csv", BILL, rows)
        columns = ("machine_id", "gpus", "gpu_model", "existed_from", "existed_to")
        models = {"x": LISTED, "y": "nobody sells this"}
        listed = [
            {
                "machine_id": name,
                "gpus": "" if one.gpus is None else one.gpus,
                "gpu_model": models.get(name, ""),
                "existed_from": "" if one.listed[0] == -FOREVER else stamp(one.listed[0]),
                "existed_to": "" if one.listed[1] == FOREVER else stamp(one.listed[1]),
            }
            for name, one in self.machines.items()
            if one.listed
        ]
        write_rows(folder / "machines.csv", columns, listed)
        columns = ("kind", "region", "term", "price", "currency", "valid_from", "valid_to", "source")
        priced = [
            {"kind": k, "term": t, "price": f"{amount_of(u):f}", "currency": "USD", "valid_from": stamp(s)}
            for k, t, s, u in self.prices
        ]
        write_rows(folder / "prices.csv", columns, priced)
        return with_settings(folder, ["bill.csv", "machines.csv", "prices.csv"], SETTINGS)

    # The model

    def price(self, machine: str, category: str, hour: int) -> Fraction | None:
        """Units per second in an hour after the bill."""
        if category == "compute" and machine in ("n2", "x"):
            kind, terms = (SPOT, ("spot",)) if machine == "n2" else (LISTED, ("contract", "on_demand"))
            for term in terms:
                valid = [(s, -u) for k, t, s, u in self.prices if (k, t) == (kind, term) and s <= hour * HOUR]
                if valid:
                    return Fraction(-max(valid)[1], HOUR)
        amounts = self.hourly.get((machine, category))
        return Fraction(sum(amounts), BILLED) if amounts else None

    def holds(self, machine: str, starts: int, ends: int) -> list[tuple[tuple[str, int], int, int, int]]:
        found = []
        for run in self.runs:
            first, last = max(run.starts, starts), min(FOREVER if run.ends is None else run.ends, ends)
            if machine in run.machines and last > first:
                existed = self.machines[machine].listed or (-FOREVER, FOREVER)
                first, last = max(first, existed[0]), min(last, existed[1])
                if last > first:
                    found.append(((str(run.job), run.attempt), run.gpus, first, last))
        return found

    def present(self, machine: str, starts: int, ends: int) -> list[tuple[int, int]]:
        """When it existed, as disjoint spans."""
        listed = self.machines[machine].listed
        if listed:
            spans = [(max(listed[0], starts), min(listed[1], ends))]
        else:
            spans = sorted((first, last) for _, _, first, last in self.holds(machine, starts, ends))
        found: list[tuple[int, int]] = []
        for first, last in spans:
            if found and first <= found[-1][1]:
                found[-1] = (found[-1][0], max(last, found[-1][1]))
            elif last > first:
                found.append((first, last))
        return found

    def spend(self, starts: int, ends: int) -> dict[tuple[str, str, str], Fraction]:
        """What each payer owes for each machine and category in a window."""
        found: dict[tuple[str, str, str], Fraction] = {}
        for machine in self.machines:
            for first, last in _hours(starts, ends):
                for category in ("compute", "storage"):
                    rate = self.price(machine, category, first // HOUR)
                    if rate is None or last <= BILLED:
                        continue
                    split = self._hour if last - first == HOUR else self._seconds
                    for payer, owed in split(machine, rate, max(first, BILLED), last).items():
                        key = (payer, machine, category)
                        found[key] = found.get(key, Fraction(0)) + owed
        return {key: owed for key, owed in found.items() if owed}

    def _seconds(self, machine: str, rate: Fraction, starts: int, ends: int) -> dict[str, Fraction]:
        """By the second: a holder pays for its part of the machine, or of what is held if that is more."""
        found = {IDLE: Fraction(0)}
        for first, last in self.present(machine, starts, ends):
            found[IDLE] += rate * (last - first)
        for seconds, held in self._constant(machine, starts, ends):
            total = max(sum(gpus for _, gpus in held), self.machines[machine].gpus or 0)
            for payer, gpus in held:
                owed = rate * seconds * gpus / total
                found[_name(payer)] = found.get(_name(payer), Fraction(0)) + owed
                found[IDLE] -= owed
        return found

    def _constant(
        self, machine: str, starts: int, ends: int
    ) -> Iterator[tuple[int, list[tuple[tuple[str, int], int]]]]:
        holds = self.holds(machine, starts, ends)
        cuts = sorted({moment for _, _, first, last in holds for moment in (first, last)})
        for first, last in itertools.pairwise(cuts):
            held = [(payer, gpus) for payer, gpus, begins, over in holds if begins <= first and over >= last]
            if held:
                yield last - first, held

    def _hour(self, machine: str, rate: Fraction, starts: int, ends: int) -> dict[str, Fraction]:
        """As a book does: whole units, by amounts times seconds; the heaviest gets what does not divide."""
        present = self.present(machine, starts, ends)
        if not present:
            return {}
        total = int(rate * sum(last - first for first, last in present))
        first, last = present[0][0], present[-1][1]
        size = self.machines[machine].gpus
        weights: dict[tuple[str, int], int] = {}
        constant = list(self._constant(machine, first, last))
        is_crowded = any(size is None or sum(gpus for _, gpus in held) > size for _, held in constant)
        for seconds, held in constant:
            amount = max(sum(gpus for _, gpus in held), size or 0)
            running = 0
            for payer, gpus in sorted(held):
                parts = 720_720_000 * (running + gpus) // amount - 720_720_000 * running // amount
                running += gpus
                weights[payer] = weights.get(payer, 0) + (parts if is_crowded else gpus) * seconds
        if not weights:
            return {IDLE: Fraction(total)}
        whole = (720_720_000 if is_crowded else size or 0) * (last - first)
        whole = max(whole, sum(weights.values()))
        parts = {payer: total * weight // whole for payer, weight in weights.items()}
        idle = whole - sum(weights.values())
        heaviest = min(weights, key=lambda payer: (-weights[payer], payer))
        owed = {_name(payer): Fraction(part) for payer, part in parts.items()}
        if idle > weights[heaviest]:
            return owed | {IDLE: Fraction(total - sum(parts.values()))}
        rest = total * idle // whole
        rest_of_heaviest = total - rest - sum(part for payer, part in parts.items() if payer != heaviest)
        return owed | {_name(heaviest): Fraction(rest_of_heaviest), IDLE: Fraction(rest)}

    def unmatched(self, starts: int, ends: int) -> set[str]:
        """The names by which jobs held machines in a window at times for which no source knows any."""
        found = set()
        for run in self.runs:
            last = FOREVER if run.ends is None else run.ends
            for name in run.machines if max(run.starts, starts) < min(last, ends) else ():
                listed = self.machines[name].listed
                if name == "zz" or (listed and (last <= listed[0] or run.starts >= listed[1])):
                    found.add(name)
        return found

    def without_price(self, starts: int, ends: int) -> set[str]:
        """The machines that existed in a window at a time for which nobody has a price."""
        return {
            machine
            for machine in self.machines
            if machine != "zz"
            for first, last in _hours(starts, ends)
            if last > BILLED
            and self.present(machine, max(first, BILLED), last)
            and self.price(machine, "compute", first // HOUR) is None
        }


def _hours(starts: int, ends: int) -> list[tuple[int, int]]:
    cuts = [starts, *range((starts // HOUR + 1) * HOUR, ends, HOUR), ends]
    return list(itertools.pairwise(cuts))


def _name(payer: tuple[str, int]) -> str:
    return f"{payer[0]}#{payer[1]}"


def _time(second: int | None) -> str:
    return stamp(second).removesuffix("Z")


money = st.integers(1, 10**14)
seconds = st.integers(20 * HOUR, END - 1)


@st.composite
def jobs(draw: st.DrawFn, number: int) -> list[Run]:
    """The records of one job: a single run, one preempted and started again, or one resized."""
    machines = tuple(sorted(draw(st.sets(st.sampled_from(NAMES), min_size=1, max_size=2))))
    starts = draw(seconds)
    length = draw(st.sampled_from([1, 599, HOUR, 2 * HOUR + 1, 5 * HOUR]))
    run = Run(number, 1, machines, draw(st.sampled_from([1, 2, 3, 8])), starts, starts + length)
    how = draw(st.sampled_from(["once", "once", "running", "preempted", "resized"]))
    if how == "once" or run.ends is None or run.ends >= END - 2:
        return [run if run.ends and run.ends < END else replace(run, ends=None)]
    if how == "running":
        return [replace(run, ends=None)]
    if how == "preempted":
        later = min(run.ends + draw(st.sampled_from([1, 700])), END - 1)
        again = replace(run, attempt=2, starts=later, ends=None, machines=machines[:1])
        return [replace(run, state="PREEMPTED"), again]
    smaller = replace(run, starts=run.ends, ends=None, machines=machines[:1])
    return [replace(run, state="RESIZING"), smaller]


@st.composite
def worlds(draw: st.DrawFn) -> World:
    existed = sorted((draw(st.integers(20 * HOUR, 28 * HOUR)), draw(st.integers(28 * HOUR, END + HOUR))))
    machines = {
        "n0": Machine(4),
        "n1": Machine(None),
        "n2": Machine(8, (existed[0], existed[1])),
        "u0": Machine(None, None),
        "x": Machine(8),
        "y": Machine(8),
    }
    day = st.lists(money, min_size=24, max_size=24)
    hourly = {(name, "compute"): draw(day) for name in ("n0", "n1", "n2", "u0")}
    hourly["n0", "storage"] = draw(day)
    moments = st.lists(st.integers(22 * HOUR, END), max_size=4, unique=True)
    prices = [(SPOT, "spot", moment, draw(money)) for moment in draw(moments)]
    prices += [(LISTED, draw(st.sampled_from(["on_demand", "contract"])), m, draw(money)) for m in draw(moments)]
    runs = [run for number in range(1, draw(st.integers(2, 9))) for run in draw(jobs(number))]
    heard = [run.observed(is_over) for run in runs for is_over in (False, True) if run.ends or not is_over]
    heard += draw(st.lists(st.sampled_from(heard), max_size=5))
    heard = draw(st.permutations(heard))
    cut = sorted(draw(st.lists(st.integers(0, len(heard)), min_size=2, max_size=2)))
    batches = [heard[: cut[0]], heard[cut[0] : cut[1]], heard[cut[1] :]]
    return World(machines | {"zz": Machine(None, None)}, hourly, prices, runs, batches)


def shown_as(payer: Any) -> str:
    """A payer of the live account, without the cluster of its job."""
    return IDLE if len(payer) == 1 else f"{payer[1].rpartition('/')[2]}#{payer[2]}"


def exact(amount: object) -> int:
    """An amount of a book in units."""
    return units(str(amount))
