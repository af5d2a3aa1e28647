"""The money of every failure mode, from the input rows alone, in plain Python: the reference model for `findings`.

Amounts are whole units of 10^-12 and times are seconds of October. Machine cost comes from the oracle; everything else
is computed here, one function per failure mode, with the definition as its docstring.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise

from . import oracle

DAY, HOUR, MONTH = 86400, 3600, 31 * 86400
MICRO = 10**6
NEVER = 10**12

Stakes = Mapping[tuple[str, str], int]
"""Units by failure mode and currency."""


@dataclass(frozen=True)
class Line:
    """A bill line; `file` is both the delivered file and its source."""

    file: str
    period: tuple[int, int]
    units: int
    currency: str
    account: str
    category: str = "compute"
    resource: str = ""
    list_units: int = 0
    pricing: str = "Standard"
    commitment: str = ""
    tags: tuple[tuple[str, str], ...] = ()
    service: str = "Service"

    @property
    def seconds(self) -> int:
        return self.period[1] - self.period[0]


@dataclass(frozen=True)
class Hold:
    """An attempt, which holds one machine for one span."""

    log: str
    job: str
    attempt: int
    machine: str
    span: tuple[int, int]
    gpu_micros: int
    state: str = "completed"
    owner: str = "ana"
    team: str = ""
    project: str = ""


@dataclass(frozen=True)
class Machine:
    name: str
    gpu_micros: int
    account: str
    pool: str
    region: str = ""
    existed: tuple[int | None, int | None] = (None, None)


@dataclass(frozen=True)
class Measured:
    job: str
    attempt: int
    span: tuple[int, int]
    measure: str
    value: int
    machine: str = ""
    regions: tuple[str, str] = ("", "")


@dataclass(frozen=True)
class Labor:
    """A time entry; hours in millionths."""

    day: int
    person: str
    role: str
    hour_micros: int
    rate_units: int
    currency: str
    project: str


@dataclass(frozen=True)
class License:
    """A license for a term of days, counted from the first of October; `last` is the day after its last."""

    name: str
    units: int
    currency: str
    first: int
    last: int
    team: str


@dataclass
class Records:
    """Everything that a company delivers; September has a book."""

    lines: list[Line] = field(default_factory=list)
    holds: list[Hold] = field(default_factory=list)
    machines: list[Machine] = field(default_factory=list)
    measured: list[Measured] = field(default_factory=list)
    labor: list[Labor] = field(default_factory=list)
    licenses: list[License] = field(default_factory=list)

    @property
    def log_end(self) -> int:
        return min(MONTH, max(hold.span[1] for hold in self.holds))


@dataclass(frozen=True)
class Paid:
    """What one payer pays for a machine on a day, on one bill."""

    machine: str
    payer: str
    day: int
    currency: str
    units: int


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


Amounts = Iterable[tuple[str, int]]
"""Pairs of currency and units."""


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


def spot_churn(records: Records, paid: Iterable[Paid]) -> Amounts:
    """F2: the lost end of attempts preempted on a machine while it is billed as spot, and the startups after them."""
    spot: dict[str, list[Line]] = defaultdict(list)
    for line in records.lines:
        if line.pricing == "Dynamic":
            spot[line.resource].append(line)

    def is_preempted(hold: Hold) -> bool:
        lines = spot[hold.machine]
        return (
            hold.state == "preempted"
            and bool(lines)
            and hold.span[0] < max(line.period[1] for line in lines)
            and hold.span[1] > min(line.period[0] for line in lines)
        )

    jobs: dict[str, list[Hold]] = defaultdict(list)
    for hold in sorted(records.holds, key=lambda hold: (hold.job, hold.attempt)):
        jobs[hold.job].append(hold)
    days: dict[tuple[str, int], list[Paid]] = defaultdict(list)
    for one in paid:
        days[one.payer, one.day].append(one)
    for attempts in jobs.values():
        for index, hold in enumerate(attempts):
            own, follows = is_preempted(hold), index > 0 and is_preempted(attempts[index - 1])
            if own or follows:
                yield from _churn_of(records, attempts, index, days, (own, follows))


def _churn_of(
    records: Records,
    attempts: Sequence[Hold],
    index: int,
    days: Mapping[tuple[str, int], list[Paid]],
    caused: tuple[bool, bool],
) -> Amounts:
    """Yield the part of one attempt's cost that its own preemption, and that of the attempt before it, caused."""
    hold = attempts[index]
    startup, end, overhead = _lost_spans(records, attempts, index)
    own, follows = caused
    for day in range(hold.span[0] // DAY, (hold.span[1] - 1) // DAY + 1):
        seconds = [_on(day, end), _on(day, startup), *(_on(day, span) for span in overhead)]
        # Each phase gets the integer part, the heaviest (ties: kept work, then in this order) what does not divide.
        phases = [_on(day, hold.span) - sum(seconds), *seconds[:2], *_start_and_saves(seconds[2:], index)]
        heaviest = phases.index(max(phases))
        for one in days.get((f"{hold.job}#{hold.attempt}", day), ()):
            units = [one.units * phase // sum(phases) for phase in phases]
            units[heaviest] += one.units - sum(units)
            yield one.currency, (units[1] if own else 0) + (units[2] if follows else 0)


def _start_and_saves(overhead: Sequence[int], index: int) -> tuple[int, int]:
    """The seconds of the first start, and of writing checkpoints."""
    return (0, sum(overhead)) if index or not overhead else (overhead[0], sum(overhead[1:]))


def _lost_spans(
    records: Records, attempts: Sequence[Hold], index: int
) -> tuple[tuple[int, int], tuple[int, int], list[tuple[int, int]]]:
    """Return the lost startup, the lost end, and the overhead of one attempt."""
    hold = attempts[index]
    job = {(one.attempt, one.measure, one.span) for one in records.measured if one.job == hold.job}
    is_last = index == len(attempts) - 1
    interrupted = hold.state in ("preempted", "failed") or (hold.state == "canceled" and not is_last)
    if not any(measure == "checkpoint" for _, measure, _ in job):
        return (0, 0), hold.span if interrupted else (0, 0), []
    trained = [span[0] for attempt, measure, span in job if (attempt, measure) == (hold.attempt, "step")]
    saved = sorted(span for attempt, measure, span in job if (attempt, measure) == (hold.attempt, "checkpoint"))
    started = min(trained, default=hold.span[0])
    startup = (hold.span[0], started)
    end = (max((span[1] for span in saved), default=started), hold.span[1]) if interrupted else (0, 0)
    saved = [(first, min(last, end[0]) if interrupted else last) for first, last in saved]
    return ((0, 0), end, [startup, *saved]) if index == 0 else (startup, end, saved)


def _on(day: int, span: tuple[int, int]) -> int:
    return max(0, min(span[1], (day + 1) * DAY) - max(span[0], day * DAY))


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


def _exported(records: Records) -> dict[tuple[str, str, int], dict[str, Counter[Line]]]:
    """Return the lines of each account, currency and day by file, without the file's name."""
    found: dict[tuple[str, str, int], dict[str, Counter[Line]]] = defaultdict(lambda: defaultdict(Counter))
    for line in records.lines:
        bare = Line(**{**line.__dict__, "file": ""})
        found[line.account, line.currency, line.period[0] // DAY][line.file][bare] += 1
    return found


def _copied_days(records: Records) -> dict[tuple[str, str, int], list[str]]:
    """Return the files, but the first, that have exactly the lines of another file for a day of an account."""
    copies = {}
    for key, files in _exported(records).items():
        names = sorted(files)
        again = [name for index, name in enumerate(names) if any(files[name] == files[n] for n in names[:index])]
        if again:
            copies[key] = again
    return copies


def repeated_exports(records: Records) -> Amounts:
    """F5: the lines of a day that another file has too."""
    copies = _copied_days(records)
    for line in records.lines:
        if line.file in copies.get((line.account, line.currency, line.period[0] // DAY), ()):
            yield line.currency, line.units


def machines_on_two_bills(records: Records) -> Amounts:
    """F5: what all but the most expensive bill charge for the time that several bills charge a machine for."""
    copies, machines = _copied_days(records), {machine.name for machine in records.machines}
    bills: dict[str, dict[str, list[Line]]] = defaultdict(lambda: defaultdict(list))
    for line in records.lines:
        is_copy = line.file in copies.get((line.account, line.currency, line.period[0] // DAY), ())
        if line.category == "compute" and line.resource in machines and not is_copy:
            bills[line.resource][line.file].append(line)
    for by_file in bills.values():
        shared = []
        for file, lines in by_file.items():
            others = [line.period for name in by_file if name != file for line in by_file[name]]
            units = sum(line.units * _covered(line.period, others) // line.seconds for line in lines)
            if units > 0:
                shared.append((units, lines[0].currency))
        for units, currency in sorted(shared)[:-1]:
            yield currency, units


def _covered(span: tuple[int, int], others: Iterable[tuple[int, int]]) -> int:
    """Return how many seconds of the span any of the others covers."""
    inside = [(max(start, span[0]), min(end, span[1])) for start, end in others if start < span[1] and end > span[0]]
    cuts = sorted({moment for one in inside for moment in one})
    return sum(b - a for a, b in pairwise(cuts) if any(start <= a and b <= end for start, end in inside))


def repeated_runs(records: Records, paid: Iterable[Paid]) -> Amounts:
    """F5: runs of two logs with one machine, time and amount, while more of the machine is held than it has."""
    size = {machine.name: machine.gpu_micros for machine in records.machines}
    like: dict[tuple[object, ...], dict[str, list[Hold]]] = defaultdict(lambda: defaultdict(list))
    for hold in records.holds:
        like[hold.machine, hold.span, hold.gpu_micros][hold.log].append(hold)
    copies = set()
    for logs in like.values():
        if len(logs) > 1:
            one = next(iter(logs.values()))[0]
            beside = [h for h in records.holds if h.machine == one.machine and _covered(one.span, [h.span])]
            moments = {max(one.span[0], h.span[0]) for h in beside}
            held = (sum(h.gpu_micros for h in beside if h.span[0] <= at < h.span[1]) for at in moments)
            if max(held) > size[one.machine]:
                ordered = [sorted(holds, key=lambda h: (h.job, h.attempt)) for holds in logs.values()]
                for number in range(max(map(len, ordered))):
                    same = sorted(
                        f"{holds[number].job}#{holds[number].attempt}" for holds in ordered if number < len(holds)
                    )
                    copies |= set(same[1:])
    return [(one.currency, one.units) for one in paid if one.payer in copies]


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


def bursts(records: Records, paid: Iterable[Paid]) -> Amounts:
    """F7: four machines or more of a pool, each within half an hour of another, mostly idle for two hours or more."""
    cost: Counter[tuple[str, str]] = Counter()
    idle: Counter[tuple[str, str]] = Counter()
    for one in paid:
        cost[one.machine, one.currency] += one.units
        idle[one.machine, one.currency] += one.units if one.payer == "__idle__" else 0
    billed = defaultdict(list)
    for line in records.lines:
        billed[line.resource].append(line.period)
    pools: dict[tuple[str, str], list[tuple[int, int]]] = defaultdict(list)
    for machine in records.machines:
        for name, currency in [key for key in cost if key[0] == machine.name]:
            start, end = machine.existed
            gone = min(max(period[1] for period in billed[name]), NEVER if end is None else end)
            if (
                start is not None
                and start > 0
                and gone - start >= 2 * HOUR
                and cost[name, currency] > 0
                and 4 * idle[name, currency] >= 3 * cost[name, currency]
            ):
                pools[machine.pool, currency].append((start, idle[name, currency]))
    for (_, currency), started in pools.items():
        burst: list[tuple[int, int]] = []
        for one in [*sorted(started), (NEVER, 0)]:
            if burst and one[0] - burst[-1][0] > HOUR // 2:
                if len(burst) >= 4:
                    yield currency, sum(units for _, units in burst)
                burst = []
            burst.append(one)


@dataclass(frozen=True)
class Late:
    """A machine after its bill: how long it was held or seen, and how much longer it is only listed."""

    machine: Machine
    currency: str
    units: int
    billed_seconds: int
    account_to: int
    seen: int
    listed: int

    def cost(self, seconds: int) -> int:
        return self.units * seconds // self.billed_seconds


def late_machines(records: Records) -> Iterable[Late]:
    """Yield the machines whose bill ends a day or more before the job log, and which may have run on.

    A machine without any bill is late after that of its account, at the rates of its pool.
    """
    log_end = records.log_end
    accounts: dict[str, int] = {}
    for line in records.lines:
        accounts[line.account] = max(accounts.get(line.account, 0), line.period[1])
    costs = {machine.name: _billed(machine, records.lines) for machine in records.machines}
    for machine in records.machines:
        if machine.account not in accounts:
            continue
        spans = [hold.span for hold in records.holds if hold.machine == machine.name]
        start, end = machine.existed
        spans += [] if end is None else [(-NEVER if start is None else start, end)]
        seen_to = max((span[1] for span in spans), default=0)
        account_to = accounts[machine.account]
        own = max((line.period[1] for line in records.lines if line.resource == machine.name), default=None)
        billed_to = account_to if own is None else own if seen_to >= own + DAY else max(own, account_to)
        if billed_to > log_end - DAY:
            continue
        runs_on = own is not None and own >= account_to - DAY
        since = billed_to if runs_on else min((s[0] for s in spans if s[1] > billed_to), default=NEVER)
        seen = max(0, min(seen_to, log_end) - max(billed_to, since))
        is_open = end is None and account_to <= log_end - DAY and (runs_on or (start is not None and not spans))
        listed = max(0, log_end - max(account_to, billed_to, start or 0, seen_to)) if is_open else 0
        like = [other.name for other in records.machines if other.pool == machine.pool]
        rates: dict[str, list[int]] = defaultdict(lambda: [0, 0])
        for name in [machine.name] if costs[machine.name] else like:
            for currency, (units, seconds) in costs[name].items():
                rates[currency] = [rates[currency][0] + units, rates[currency][1] + seconds]
        for currency, (units, seconds) in rates.items():
            yield Late(machine, currency, units, seconds, account_to, seen, listed)


def _billed(machine: Machine, lines: Iterable[Line]) -> dict[str, tuple[int, int]]:
    """Return a machine's cost and billed time by currency."""
    found = {}
    mine = [line for line in lines if line.resource == machine.name]
    start, end = machine.existed
    for currency in {line.currency for line in mine}:
        of_currency = [line for line in mine if line.currency == currency]
        first = max(min(line.period[0] for line in of_currency), -NEVER if start is None else start)
        last = min(max(line.period[1] for line in of_currency), NEVER if end is None else end)
        found[currency] = (sum(line.units for line in of_currency), last - first)
    return found


def held_after_the_bill(records: Records) -> Amounts:
    """F8: machines held or seen after their bill, and the daily services of accounts whose whole bill is late."""
    late = [one for one in late_machines(records) if one.seen]
    yield from ((one.currency, one.cost(one.seen)) for one in late)
    machines = {machine.name for machine in records.machines}
    for account, billed_to in {(one.machine.account, one.account_to) for one in late}:
        if billed_to > records.log_end - DAY:
            continue
        services: dict[tuple[str, str], list[Line]] = defaultdict(list)
        for line in records.lines:
            if line.account == account and line.resource not in machines:
                services[line.service, line.currency].append(line)
        for (_, currency), lines in services.items():
            first, last = min(line.period[0] for line in lines), max(line.period[1] for line in lines)
            if len(lines) >= 5 and last > billed_to - DAY:
                units = sum(line.units for line in lines)
                yield currency, units * (records.log_end - billed_to) // (billed_to - first)


def only_listed(records: Records) -> Amounts:
    """LISTED_NOT_BILLED: machines listed without an end, billed while their account is, and not held since."""
    return [(one.currency, one.cost(one.listed)) for one in late_machines(records) if one.listed and not one.seen]


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
