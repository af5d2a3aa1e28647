"""What can be made to go wrong on a game day: by name, size and time."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal

from trainfare.errors import TrainfareError
from trainfare.period import Month
from trainfare.simulate.clock import DAY, span_of


@dataclass(frozen=True)
class Kind:
    """One failure mode that can be switched on: what its size means, and how large and when it is if nobody says."""

    meaning: str
    size: str
    day: int


KINDS = {
    "F1": Kind("part of the tagged lines that lose their tags", "0.9", 8),
    "F2": Kind("times as often as usual spot machines are taken away", "60", 8),
    "F3": Kind("part of the jobs that read their data from another region", "0.6", 8),
    "F4": Kind("times the requests that jobs report", "8", 14),
    "F5": Kind("part of the rest of the month whose export is delivered again", "1", 16),
    "F6": Kind("times the right amortisation of the commitment", "3", 12),
    "F7": Kind("machines started without work, for each the pool may have", "2", 10),
    "F8": Kind("part of the lines that are held back, by account", "1", 22),
    "F9": Kind("part of the time entries that do not fit", "0.6", 10),
    "F10": Kind("times the cost of the licence that was there before", "1", 12),
}
_WRITTEN = re.compile(r"(?P<code>F\d+)(:(?P<size>\d+(\.\d+)?))?(@(?P<day>\d{1,2}))?", re.IGNORECASE)
_DO = "Write CODE, CODE:SIZE, CODE@DAY or CODE:SIZE@DAY, as in F7:2@10."


@dataclass(frozen=True)
class Fault:
    """A fault that is switched on. `size` is in the words of its kind; it begins with `day` of the month."""

    code: str
    size: Decimal
    day: int

    def starts(self, month: Month) -> int:
        return span_of(month)[0] + (self.day - 1) * DAY

    def times(self, whole: int) -> int:
        """`whole` times the size, rounded down."""
        return int(whole * self.size)


Faults = dict[str, Fault]


def parse(texts: Iterable[str], month: Month) -> Faults:
    """Read faults as a user writes them; each may be given once."""
    found: Faults = {}
    for text in texts:
        read = _WRITTEN.fullmatch(text.strip())
        if not read:
            raise TrainfareError("--fault", f"'{text}' is not a fault", _DO)
        code = read["code"].upper()
        if code not in KINDS:
            raise TrainfareError("--fault", f"there is no fault '{code}'", f"There are {', '.join(KINDS)}.")
        if code in found:
            raise TrainfareError("--fault", f"{code} is given twice", "Give each fault once.")
        kind = KINDS[code]
        day = int(read["day"] or kind.day)
        start, end = span_of(month)
        if not 1 <= day <= (end - start) // DAY:
            raise TrainfareError("--fault", f"{month} has no day {day}", _DO)
        found[code] = Fault(code, Decimal(read["size"] or kind.size), day)
    return found
