"""The money of every failure mode, from the input rows alone, in plain Python: the reference model for `findings`.

Machine cost comes from the oracle; everything else is computed here and in the modules beside it, one function per
failure mode, with the definition as its docstring.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from fractions import Fraction

from . import oracle
from .findings_copies import machines_on_two_bills, repeated_exports, repeated_runs
from .findings_machines import bursts, held_after_the_bill, only_listed
from .findings_records import DAY, MICRO, MONTH, Amounts, Labor, License, Line, Paid, Records, Stakes
from .findings_spot import spot_churn

__all__ = ("only_listed", "stakes")


def stakes(records: Records) -> Stakes:
    """Return what is at stake in every failure mode."""
    paid = machine_costs(records)
    found: Counter[tuple[str, str]] = Counter()
    for code, amounts in (
        ("F1", unallocated(records)),
        ("F1-OWNERS", without_owner(records, paid)),
        ("F2", spot_churn(records, paid)),
        ("F3", egress(records)),
        ("F4", unreported_io(records)),
        ("F5", repeated_exports(records)),
        ("F5", machines_on_two_bills(records)),
        ("F5", repeated_runs(records, paid)),
        ("F6", commitment_steps(records)),
        ("F7", bursts(records, paid)),
        ("F8", held_after_the_bill(records)),
        ("F9", implausible_labor(records)),
        ("F10", new_licenses(records)),
    ):
        for currency, units in amounts:
            found[code, currency] += units
    return {key: units for key, units in found.items() if units}


def machine_costs(records: Records) -> list[Paid]:
    """Split every machine line among its holders and idle, each bill by itself."""
    by_bill: dict[tuple[str, str, str], list[Line]] = defaultdict(list)
    names = {machine.name: machine for machine in records.machines}
    for line in records.lines:
        if line.resource in names and line.category == "compute":
            by_bill[line.file, line.currency, line.resource].append(line)
    found = []
    for (_, currency, name), lines in by_bill.items():
        machine = names[name]
        existed = (
            -oracle.EVER if machine.existed[0] is None else machine.existed[0],
            oracle.EVER if machine.existed[1] is None else machine.existed[1],
        )
        charges = [oracle.Charge(name, line.period, line.category, (line.units,)) for line in lines]
        holds = [
            oracle.Placement(h.job, h.attempt, h.machine, *h.span, h.gpu_micros)
            for h in records.holds
            if h.machine == name
        ]
        owed = oracle.allocate([oracle.Machine(name, machine.gpu_micros, existed)], holds, charges)
        found += [Paid(name, payer, day, currency, units) for (_, payer, day), (units,) in owed.items() if units]
    return found


def unallocated(records: Records) -> Amounts:
    """F1: lines without a machine, a job of the log or a mapped tag."""
    machines = {machine.name for machine in records.machines}
    jobs = {hold.job for hold in records.holds}
    for line in records.lines:
        tags = dict(line.tags)
        has_payer = line.resource in machines or "team" in tags or tags.get("job_id") in jobs
        if not has_payer:
            yield line.currency, line.units


def without_owner(records: Records, paid: Iterable[Paid]) -> Amounts:
    """F1-OWNERS: what attempts without an owner pay. In these records they pay for machines only."""
    orphans = {f"{hold.job}#{hold.attempt}" for hold in records.holds if not hold.owner}
    return [(one.currency, one.units) for one in paid if one.payer in orphans]


def egress(records: Records) -> Amounts:
    """F3: the network cost of a job's day, by its bytes between regions; those within one region cost nothing."""
    region = {machine.name: machine.region.lower() for machine in records.machines}
    home = {hold.job: region[hold.machine] for hold in records.holds}
    for line in records.lines:
        job = dict(line.tags).get("job_id", "")
        if line.category != "network" or job not in home:
            continue
        daily: dict[int, Counter[tuple[str, str]]] = defaultdict(Counter)
        for one in records.measured:
            if one.job == job and one.measure == "bytes_sent":
                pair = (one.regions[0].lower() or home[job], one.regions[1].lower())
                if not (pair[0] and pair[0] == pair[1]):
                    daily[one.span[0] // DAY][pair] += one.value
        weights = daily.get(line.period[0] // DAY) or sum(daily.values(), Counter())
        for (source, target), units in _split(line.units, weights).items():
            if source and target and source != target:
                yield line.currency, units


def _split(units: int, weights: Mapping[tuple[str, str], int]) -> dict[tuple[str, str], int]:
    """Return the integer parts; the heaviest gets what does not divide."""
    total = sum(weights.values())
    parts = {key: units * weight // total for key, weight in weights.items() if weight}
    if parts:
        heaviest = min(parts, key=lambda key: (-weights[key], key))
        parts[heaviest] += units - sum(parts.values())
    return parts


def unreported_io(records: Records) -> Amounts:
    """F4: storage days that cost 3 times the lower quartile per request, and 1.5 times in total."""
    account = {machine.name: machine.account for machine in records.machines}
    requests: dict[tuple[str, int], Fraction] = defaultdict(Fraction)
    for one in records.measured:
        if one.measure != "storage_requests":
            continue
        held = {account[h.machine] for h in records.holds if (h.job, h.attempt) == (one.job, one.attempt)}
        for where in [account[one.machine]] if one.machine else held:
            seconds = one.span[1] - one.span[0]
            for day in range(one.span[0] // DAY, (one.span[1] - 1) // DAY + 1):
                upto = [min(max(at - one.span[0], 0), seconds) for at in (day * DAY, day * DAY + DAY)]
                before, after = (one.value * MICRO * part // seconds for part in upto)
                requests[where, day] += Fraction(after - before, MICRO)
    costs: Counter[tuple[str, str, str, int]] = Counter()
    for line in records.lines:
        if line.category == "storage" and not line.resource:
            costs[line.account, line.service, line.currency, line.period[0] // DAY] += line.units
    services: dict[tuple[str, str, str], list[tuple[int, int]]] = defaultdict(list)
    for (where, service, currency, day), units in costs.items():
        if requests[where, day] >= 1:
            services[where, service, currency].append((units // MICRO, int(requests[where, day])))
    for (_, _, currency), found in services.items():
        if len(found) >= 7:
            rank = -(-len(found) // 4) - 1
            usual = sorted(micros * MICRO // count for micros, count in found)[rank]
            usual_cost = sorted(micros for micros, _ in found)[rank]
            for micros, count in found:
                if micros * MICRO // count > 3 * usual and 2 * micros > 3 * usual_cost:
                    yield currency, (micros - usual * count // MICRO) * MICRO


def commitment_steps(records: Records) -> Amounts:
    """F6: how far each day is from the effective part of list price on the median day; the lower of two."""
    groups: dict[tuple[str, str, str], dict[int, list[int]]] = defaultdict(lambda: defaultdict(lambda: [0, 0]))
    for line in records.lines:
        if line.commitment:
            day = groups[line.commitment, line.resource, line.currency][line.period[0] // DAY]
            day[0] += line.units
            day[1] += line.list_units
    for (_, _, currency), days in groups.items():
        micros = [(units // MICRO, list_units // MICRO, day) for day, (units, list_units) in days.items()]
        ordered = sorted(micros, key=lambda one: (Fraction(one[0], one[1]), one[2]))
        effective, listed, _ = ordered[(len(ordered) + 1) // 2 - 1]
        for cost, at_list, _ in micros:
            difference = abs(cost - at_list * effective // listed)
            if difference > (1 + Fraction(effective, listed)) * (1 + Fraction(at_list, listed)) + 1:
                yield currency, difference * MICRO


def implausible_labor(records: Records) -> Amounts:
    """F9: entries of projects without jobs, and the last hours that a person entered beyond twelve a day."""
    projects = {hold.project for hold in records.holds if hold.span[1] > 0 and hold.span[0] < MONTH}
    days: dict[tuple[str, int], list[Labor]] = defaultdict(list)
    for number, entry in enumerate(records.labor):
        if entry.project and entry.project not in projects:
            yield entry.currency, entry.hour_micros * entry.rate_units // MICRO
        else:
            days[entry.person.lower() or f"#{number}", entry.day].append(entry)
    for entries in days.values():
        excess = sum(entry.hour_micros for entry in entries) - 12 * MICRO
        for entry in reversed(entries):
            taken = max(0, min(excess, entry.hour_micros))
            excess -= taken
            yield entry.currency, entry.rate_units * taken // MICRO


def new_licenses(records: Records) -> Amounts:
    """F10: October's cost of licenses that cost nothing in September."""
    october, september = ((0, 31), (-30, 0))
    known = {one.name.lower() for one in records.licenses if _license_cost(one, september)}
    for one in records.licenses:
        if one.name.lower() not in known:
            yield one.currency, _license_cost(one, october)


def _license_cost(one: License, month: tuple[int, int]) -> int:
    """Return a license's cost in a month: spread evenly over its days, the first of which gets what does not divide."""
    days = max(0, min(one.last, month[1]) - max(one.first, month[0]))
    length = one.last - one.first
    return one.units // length * days + (one.units % length if month[0] <= one.first < month[1] else 0)
