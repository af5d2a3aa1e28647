"""Faults that can be injected into a game day, with size and start, and near misses of them."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal

from trainfare.errors import TrainfareError
from trainfare.period import Month
from trainfare.simulate.clock import DAY, span_of


@dataclass(frozen=True)
class FaultKind:
    """A failure mode that can be injected: the meaning of its size, and its default size and day."""

    meaning: str
    size: str
    day: int


FAULT_KINDS = {
    "F1": FaultKind("fraction of the tagged lines that lose their tags", "0.9", 8),
    "F2": FaultKind("factor on how often spot machines are preempted", "60", 8),
    "F3": FaultKind("fraction of jobs that read their data from another region", "0.6", 8),
    "F4": FaultKind("factor on the storage requests that jobs report", "8", 14),
    "F5": FaultKind("fraction of the remaining month that is exported twice", "1", 16),
    "F6": FaultKind("factor on the correct amortization of the commitment", "3", 20),
    "F7": FaultKind("machines started without work, per machine of the pool", "2", 10),
    "F8": FaultKind("fraction of the lines that are held back, by account", "1", 22),
    "F9": FaultKind("fraction of the time entries that are implausible", "0.6", 10),
    "F10": FaultKind("factor on the cost of the existing license", "1", 12),
}
NEAR_MISS_KINDS = {
    "N1": FaultKind("fraction of the tagged lines that lose their tags: less than the threshold", "0.3", 8),
    "N2": FaultKind("fraction of attempts that the scheduler preempts on machines that are not spot", "0.9", 8),
    "N3": FaultKind("fraction of jobs that send as much data within their region", "0.6", 8),
    "N4": FaultKind("factor on the storage requests that jobs make, and report", "8", 14),
    "N5": FaultKind(
        "one export, then another one for the days after (odd seeds), or two logs with the same runs", "1", 16
    ),
    "N6": FaultKind("factor on the amortization of the commitment, on one day", "0.9", 1),
    "N7": FaultKind("machines started without work", "3", 10),
    "N8": FaultKind("machines of an account that was given up, which the machine file still lists", "2", 5),
    "N9": FaultKind("fraction of the time entries that name a role and no person", "1", 1),
    "N10": FaultKind("factor on the cost of the existing license when it is renewed", "1", 12),
}
"""What looks like a failure mode and is none, with the number of the one it resembles: no finding may result."""
_SYNTAX = re.compile(r"(?P<code>[FN]\d+)(:(?P<size>\d+(\.\d+)?))?(@(?P<day>\d{1,2}))?", re.IGNORECASE)
_USAGE = "Write CODE, CODE:SIZE, CODE@DAY or CODE:SIZE@DAY, as in F7:2@10."


@dataclass(frozen=True)
class Fault:
    """An injected fault. Its kind defines what `size` means; it begins on `day` of the month."""

    code: str
    size: Decimal
    day: int

    def starts(self, month: Month) -> int:
        return span_of(month)[0] + (self.day - 1) * DAY

    def times(self, number: int) -> int:
        """Return `number` times the size, rounded down."""
        return int(number * self.size)


Faults = dict[str, Fault]


def parse_faults(texts: Iterable[str], month: Month) -> Faults:
    """Parse faults and near misses as a user writes them; each code may be given once."""
    found: Faults = {}
    kinds = FAULT_KINDS | NEAR_MISS_KINDS
    for text in texts:
        match = _SYNTAX.fullmatch(text.strip())
        if not match:
            raise TrainfareError("--fault", f"'{text}' is not a fault", _USAGE)
        code = match["code"].upper()
        if code not in kinds:
            raise TrainfareError("--fault", f"unknown fault '{code}'", f"Known faults: {', '.join(kinds)}.")
        if code in found:
            raise TrainfareError("--fault", f"{code} is given twice", "Give each fault once.")
        kind = kinds[code]
        day = int(match["day"] or kind.day)
        start, end = span_of(month)
        if not 1 <= day <= (end - start) // DAY:
            raise TrainfareError("--fault", f"{month} has no day {day}", _USAGE)
        found[code] = Fault(code, Decimal(match["size"] or kind.size), day)
    return found
