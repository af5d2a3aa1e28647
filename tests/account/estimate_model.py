"""Estimates and their errors in plain Python, from the rows of the bill: the reference model for the SQL.

Covers machines that are priced by their own last rate, or by that of their kind. Money is in whole units; time is in
seconds of the month. Everything is computed hour by hour and charge by charge.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

HOUR = 3600
DAY = 24 * HOUR
MONTH = 31 * DAY
TIME = ("compute", "platform")


class Line(NamedTuple):
    """A charge for usage on the bill."""

    machine: str
    account: str
    service: str
    category: str
    start: int
    end: int
    units: int


class Service(NamedTuple):
    machine: str
    account: str
    service: str
    category: str


class Estimate(NamedTuple):
    """What one hour of one service of a machine is expected to cost."""

    machine: str
    hour: int
    category: str
    service: str
    start: int
    end: int
    seconds: int
    units: int
    already_billed: frozenset[str]


@dataclass(frozen=True)
class Machine:
    """A machine, the times at which it existed or was held, and, where the machine file states them, more."""

    name: str
    spans: tuple[tuple[int, int], ...]
    kind: str | None = None
    account: str | None = None


@dataclass(frozen=True)
class Bill:
    lines: Sequence[Line]

    def services(self) -> set[Service]:
        return {Service(*line[:4]) for line in self.lines}

    def of(self, service: Service) -> list[Line]:
        return [line for line in self.lines if Service(*line[:4]) == service]

    def metered_end(self, service: Service) -> int | None:
        return max((line.end for line in self.of(service) if line.end - line.start <= DAY), default=None)

    def last_end(self, service: Service) -> int:
        return max(line.end for line in self.of(service))

    def through(self, service: Service) -> int:
        """The second through which a service of a machine is billed."""
        others = [s for s in self.services() if (s.account, s.service) == (service.account, service.service)]
        if max((self.metered_end(other) or 0 for other in others), default=0) >= MONTH:
            return MONTH
        end = self.metered_end(service)
        return min(max(self.last_end(service) if end is None else end, 0), MONTH)

    def time_services(self, machine: str | None = None) -> list[Service]:
        return [s for s in self.services() if s.category in TIME and machine in (None, s.machine)]

    def time_through(self, machine: Machine) -> int:
        own = [self.through(service) for service in self.time_services(machine.name)]
        of_account = [self.through(s) for s in self.time_services() if machine.account in (None, s.account)]
        return max(own or of_account, default=0)

    def time_seconds(self, machine: str, window_end: int) -> int:
        """The seconds of a machine that were charged in the day up to this second."""
        spans = {(line.start, line.end) for s in self.time_services(machine) for line in self.of(s)}
        return sum(end - start for start, end in spans if window_end - DAY <= start and end <= window_end)

    def rates(self, machine: str) -> dict[Service, tuple[int, int, int]]:
        """By service: units, the machine seconds they paid for, and the second from which they are estimated."""
        ends = [self.metered_end(service) for service in self.time_services(machine)]
        time_end = max((end for end in ends if end is not None), default=None)
        found = {}
        for service in self.services():
            end = self.metered_end(service)
            if service.machine != machine or end is None or time_end is None:
                continue
            window = min(end, time_end)
            lines = [line for line in self.of(service) if line.start >= window - DAY and line.end <= window]
            paid = self.time_seconds(machine, window)
            charged = sum(b - a for a, b in {(line.start, line.end) for line in lines})
            is_steady = charged >= paid and (end > 0 or time_end <= 0)
            if not lines or not paid or not (is_steady or window > time_end - DAY):
                continue
            begin = self.through(service)
            if not is_steady:
                begin = max(begin, *(self.through(s) for s in self.time_services(machine)))
            found[service] = sum(line.units for line in lines), paid, begin
        return found

    def kind_rates(self, machine: Machine, kinds: dict[str, str]) -> dict[tuple[str, str], tuple[int, int]]:
        """By category and service: units and seconds of the machines of a kind, in its account if it has any there."""
        ends = {
            s.machine: self.metered_end(s)
            for s in self.time_services()
            if kinds.get(s.machine) == machine.kind and machine.kind and self.metered_end(s) is not None
        }
        accounts = {s.machine: s.account for s in self.time_services()}
        same = {name: end for name, end in ends.items() if accounts[name] == machine.account} or ends
        last = max(same.values(), default=0)
        names = [name for name, end in same.items() if end > last - DAY]
        sums: dict[tuple[str, str], int] = defaultdict(int)
        for name in names:
            for service, (units, _, _) in self.rates(name).items():
                sums[service.category, service.service] += units
        seconds = sum(self.time_seconds(name, same[name]) for name in names)
        return {key: (units, seconds) for key, units in sums.items()}


def estimates(bill: Bill, machines: Iterable[Machine], kinds: dict[str, str], now: int) -> list[Estimate]:
    """Return the estimates of all machines up to the second `now`. `kinds` has the kinds of machines on the bill."""
    found = []
    for machine in machines:
        own = [(s.category, s.service, *rate) for s, rate in bill.rates(machine.name).items()]
        through = bill.time_through(machine)
        rates = own or [(*key, *rate, through) for key, rate in bill.kind_rates(machine, kinds).items()]
        for category, service, units, paid, begin in rates:
            for hour in range(MONTH // HOUR):
                seconds = [s for s in _held(machine, hour) if begin <= s < now]
                if seconds:
                    billed = frozenset(
                        s.service
                        for s in bill.services()
                        if s.machine == machine.name and bill.last_end(s) >= (hour + 1) * HOUR
                    )
                    cost = units * len(seconds) // paid
                    span = min(seconds), max(seconds) + 1
                    found.append(Estimate(machine.name, hour, category, service, *span, len(seconds), cost, billed))
    return found


def _held(machine: Machine, hour: int) -> list[int]:
    """The seconds of an hour in which a machine existed."""
    first, last = hour * HOUR, (hour + 1) * HOUR
    cut = [(max(start, first), min(end, last)) for start, end in machine.spans]
    return sorted({second for start, end in cut for second in range(start, end)})


def past(builds: Sequence[list[Estimate]]) -> list[Estimate]:
    """Return the last estimate of each hour, of those that the newest build does not estimate any more."""
    kept: dict[tuple[object, ...], Estimate] = {}
    for made in builds:
        kept |= {(one.machine, one.hour, one.category, one.service): one for one in made}
    newest = {(one.machine, one.hour, one.category, one.service) for one in builds[-1]}
    return [one for key, one in kept.items() if key not in newest]


Errors = dict[tuple[str, str, int], tuple[int, int]]
"""Estimated and billed units by machine, category and day."""


def errors(bill: Bill, earlier: Iterable[Estimate], machines: Iterable[Machine]) -> Errors:
    """Compare what was estimated with what the bill says now about the same machine hours."""
    known = {machine.name: machine for machine in machines}
    rows = [(one, _is_covered(bill, one, known[one.machine])) for one in earlier]
    hours = {(one.machine, one.hour): one.already_billed for one, is_covered in rows if is_covered}
    sums: dict[tuple[str, str, int], list[int]] = defaultdict(lambda: [0, 0])
    for one, is_covered in rows:
        if is_covered:
            sums[one.machine, one.category, one.hour // 24][0] += one.units
    pots: dict[tuple[object, ...], int] = defaultdict(int)
    for line in bill.lines:
        pots[line[:6]] += line.units
    for (machine, _, service, category, start, end), units in pots.items():
        seconds: dict[int, int] = defaultdict(int)
        for hour in range(start // HOUR, (end - 1) // HOUR + 1):
            if (machine, hour) not in hours:
                continue
            stated = [
                is_covered
                for one, is_covered in rows
                if (one.machine, one.hour, one.service) == (machine, hour, service)
            ]
            is_new = service not in hours[machine, hour] or (stated and end - start <= DAY)
            if is_new and all(stated):
                seconds[hour // 24] += min(end, (hour + 1) * HOUR) - max(start, hour * HOUR)
        for day, part in seconds.items():
            sums[machine, category, day][1] += units * part // (end - start)
    return {key: (estimated, billed) for key, (estimated, billed) in sums.items() if estimated or billed}


def _is_covered(bill: Bill, one: Estimate, machine: Machine) -> bool:
    services = [s for s in bill.services() if (s.machine, s.service) == (one.machine, one.service)]
    through = min(map(bill.through, services)) if services else bill.time_through(machine)
    return through >= one.end
