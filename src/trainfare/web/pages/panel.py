"""A panel: a table that answers one question, and a chart of it where a picture says it sooner."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from trainfare.report.records import plain
from trainfare.report.render import NONE, NOT_TOLD, exact, hours, money

Record = Mapping[str, Any]
NUMBERS = frozenset({"money", "rate", "hours", "count", "percent", "seconds", "change", "used", "bytes"})

PARTS = ("percent", "used")


@dataclass(frozen=True)
class Column:
    """`kind` says how a value is shown: text, key, money, rate, change, hours, seconds, count, bytes, percent, used (of
    a budget), time, day, state.
    """

    name: str
    title: str
    kind: str = "text"
    link: Callable[[Record], str | None] | None = None
    sort: str = ""
    """The address that sorts by it, where a table can be sorted."""
    sorted: str = ""
    """`ascending` or `descending`, if the table is sorted by it."""
    soft: bool = False
    """Whether its links are beside the point, and look like text."""
    estimated: str = ""
    """The name under which a record has what of this money is estimated, where anything can be."""

    @property
    def is_number(self) -> bool:
        return self.kind in NUMBERS

    def shown(self, record: Record) -> str:
        return shown(self.kind, record.get(self.name))

    def digits(self, record: Record) -> str | None:
        """All digits of money, for those who point at it."""
        value = record.get(self.name)
        return exact(value) if isinstance(value, Decimal) and self.kind in ("money", "rate", "change") else None

    def expected(self, record: Record) -> str:
        """What of the money no bill says yet, in words; nothing where all of it is billed."""
        part, whole = record.get(self.estimated), record.get(self.name)
        if not part or whole is None:
            return ""
        return "estimated" if part == whole else f"{exact(part)} of it estimated"

    def href(self, record: Record) -> str | None:
        return self.link(record) if self.link and record.get(self.name) is not None else None


@dataclass(frozen=True)
class Panel:
    name: str
    title: str
    columns: Sequence[Column]
    rows: Sequence[Record]
    width: int = 12
    about: str = ""
    chart: Mapping[str, Any] | None = None
    size: str = ""
    foot: Record | None = None
    note: str = ""
    empty: tuple[str, str] = ("Nothing here", "Nothing of this kind is in what is asked about.")
    keep: bool = False
    """Whether the table stays open under the chart."""
    tall: bool = False
    """Whether it stands beside two others."""
    more: tuple[str, str] | None = None
    """Where there is more of it: a text and its address."""

    @property
    def told(self) -> list[dict[str, Any]]:
        """The rows as programs read them: beside money what of it is estimated, where anything can be."""
        return [{name: value for column in self.columns for name, value in _told(column, row)} for row in self.rows]


@dataclass(frozen=True)
class Figure:
    """One number on top of a page."""

    what: str
    value: str
    unit: str = ""
    beside: str = ""
    digits: str | None = None
    link: str | None = None
    delta: str = ""
    way: str = ""


@dataclass(frozen=True)
class Check:
    """Something that holds, does not hold, or is not decided yet."""

    text: str
    holds: bool | None = True


@dataclass(frozen=True)
class Sheet:
    """A whole page: what it is called, its figures and its panels; `facts` and `checks` where it has any."""

    title: str
    panels: Sequence[Panel]
    figures: Sequence[Figure] = ()
    crumbs: Sequence[tuple[str, str]] = ()
    facts: Sequence[tuple[str, str, str | None]] = ()
    checks: Sequence[Check] = ()
    extra: Mapping[str, Any] = field(default_factory=dict)


def shown(kind: str, value: Any) -> str:
    """A value for eyes; what cannot be computed is a dash."""
    if value is None:
        return NOT_TOLD if kind == "key" else NONE
    if kind in ("money", "rate"):
        return money(value)
    if kind == "change":
        return f"{'+' if value > 0 else ''}{money(value)}"
    if kind == "hours":
        return f"{Decimal(value) / 3600:,.1f}"
    if kind == "seconds":
        return _length(int(value))
    if kind == "count":
        return f"{int(value):,}"
    if kind == "bytes":
        return _size(Decimal(value))
    if kind in PARTS:
        return f"{value:.1%}"
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d %H:%M}"
    return value.isoformat() if isinstance(value, date) else str(value)


def ratio(part: Decimal | None, whole: Decimal | None) -> Decimal | None:
    """One amount of another; of nothing there is none."""
    return None if part is None or not whole else part / whole


def _told(column: Column, row: Record) -> Iterator[tuple[str, Any]]:
    value = row.get(column.name)
    if column.kind in ("hours", "seconds") and value is not None:
        yield column.name, hours(value) if column.kind == "hours" else int(value)
    else:
        yield column.name, f"{value:.6f}" if column.kind in PARTS and value is not None else plain(value)
    if column.estimated:
        yield column.estimated, plain(row.get(column.estimated))


def _size(value: Decimal) -> str:
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if value < 1000:
            return f"{value:,.1f} {unit}" if unit != "B" else f"{value:,.0f} B"
        value /= 1000
    return f"{value:,.1f} PB"


def _length(seconds: int) -> str:
    days, rest = divmod(seconds, 86400)
    clock = f"{rest // 3600}:{rest % 3600 // 60:02d} h"
    return f"{days} d {clock}" if days else clock
