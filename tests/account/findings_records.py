"""What a company delivers, as plain rows: the input of the reference model for `findings`.

Amounts are whole units of 10^-12 and times are seconds of October.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

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


Amounts = Iterable[tuple[str, int]]
"""Pairs of currency and units."""
