"""F7, F8 and what is only listed, from the input rows alone: machines that nobody uses or that no bill has."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from .findings_records import DAY, HOUR, NEVER, Amounts, Line, Machine, Paid, Records


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
