"""A panel: a table that answers one question, and a chart of it where a picture says it sooner."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from trainfare.report.records import plain
from trainfare.report.render import NONE, NOT_TOLD, exact, hours, money

Record = Mapping[str, Any]
NUMBERS = frozenset({"money", "rate", "hours", "count", "percent", "seconds", "change", "used", "bytes", "digits"})

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
    minor: bool = False
    """Whether a phone leaves it out, so that what matters needs no scrolling."""

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
        """The rows as programs read them: hours under the name of hours, and beside money what of it is estimated."""
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


def apart(parts: Iterable[tuple[str, str | None, str, str]], rows: Sequence[Record]) -> list[dict[str, Any]]:
    """Series of a chart over rows, each a name, a tone, the name of the money in a row and that of what of it is estimated: what bills say
    stands solid, and what is estimated hatched on top of it, where there is any.
    """
    found: list[dict[str, Any]] = []
    for name, tone, money_, estimated in parts:
        expected = [row.get(estimated) or Decimal(0) for row in rows]
        billed = [(row.get(money_) or Decimal(0)) - part for row, part in zip(rows, expected, strict=True)]
        found.append({"name": name, "values": [exact(one) for one in billed], "tone": tone})
        if any(expected):
            told = [exact(one) for one in expected]
            found.append({"name": f"{name}, estimated", "values": told, "tone": tone, "hatched": True})
    return found


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
    if kind == "digits":
        return f"{value.normalize():f}"
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
    if column.kind == "hours":
        yield f"{column.name.removesuffix('_seconds')}_hours", hours(value)
    elif column.kind == "seconds":
        yield column.name, None if value is None else int(value)
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
