"""The building blocks of a page: stats on top, panels with a table and often a chart, and checks."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from trainfare.money import decimal_text
from trainfare.report.documents import hours
from trainfare.report.records import json_value
from trainfare.report.render import NO_VALUE, NONE, money
from trainfare.serve.pages import labels
from trainfare.serve.pages.figures import Figure, FigureLink, Link

Record = Mapping[str, Any]
NUMBERS = frozenset(
    {"money", "rate", "price", "hours", "count", "percent", "seconds", "change", "used", "bytes", "digits"}
)
PERCENTAGES = ("percent", "used")
EXACT = ("money", "rate", "price", "change")
"""Kinds whose exact value is in the tooltip."""


@dataclass(frozen=True)
class Column:
    """`kind` selects the format of a value: text, wide, key, id, money, rate, price (small amounts), change, hours,
    seconds, count, bytes, percent, used (of a budget), digits, time, day, state, payer, payer_kind or arithmetic.
    """

    name: str
    title: str
    kind: str = "text"
    link: Callable[[Record], Link | None] | None = None
    """The link of a value. A number leads to the page that shows the same number."""
    sort_link: str = ""
    """The URL that sorts by this column, if the table can be sorted."""
    sorted: str = ""
    """`ascending` or `descending` if the table is sorted by this column."""
    plain_link: bool = False
    """Whether links look like text because following them is secondary."""
    estimated: str = ""
    """The name of the record's field with the estimated part of this amount, if it can have one."""
    minor: bool = False
    """Whether small screens omit this column, so that the important ones need no scrolling."""

    @property
    def is_number(self) -> bool:
        return self.kind in NUMBERS

    def text(self, record: Record) -> str:
        value, bound = record.get(self.name), record.get("at_least")
        if self.name == "rate" and value is None and bound is not None:
            return f"≥ {format_value(self.kind, bound)}"  # no day is billed in full
        return format_value(self.kind, value)

    def exact(self, record: Record) -> str | None:
        """All digits of an amount, for its tooltip."""
        value = record.get(self.name)
        return decimal_text(value) if isinstance(value, Decimal) and self.kind in EXACT else None

    def estimate_note(self, record: Record) -> str:
        """How much of the amount is estimated; empty if all of it is billed."""
        estimated, amount = record.get(self.estimated), record.get(self.name)
        if not estimated or amount is None:
            return ""
        return "estimated" if estimated == amount else f"{decimal_text(estimated)} of it estimated"

    def target(self, record: Record) -> Link | None:
        return self.link(record) if self.link and (self.kind == "key" or record.get(self.name) is not None) else None


@dataclass(frozen=True)
class Panel:
    name: str
    title: str
    columns: Sequence[Column]
    rows: Sequence[Record]
    width: int = 12
    """Of the 12 columns of the page grid."""
    about: str = ""
    chart: Mapping[str, Any] | None = None
    size: str = ""
    foot: Record | None = None
    note: str = ""
    empty: tuple[str, str] = ("No data", "There are no rows for this period and these filters.")
    table_open: bool = False
    """Whether the table stays open below the chart."""
    tall: bool = False
    """Whether it is as high as the two panels beside it."""
    more: tuple[str, Link] | None = None
    """A link to more rows: its text and URL."""

    @property
    def records(self) -> list[dict[str, Any]]:
        """The rows for export: exact values, hours where the table shows hours, estimated parts as extra fields."""
        return [{name: value for column in self.columns for name, value in _exported(column, row)} for row in self.rows]


@dataclass(frozen=True)
class Stat:
    """One number at the top of a page. `exact` has all of its digits; `direction` is `up` or `down`."""

    label: str
    value: str
    unit: str = ""
    detail: str = ""
    exact: str | None = None
    link: FigureLink | None = None
    delta: str = ""
    direction: str = ""
    versus: str = ""
    """What the change is measured against."""
    answers: tuple[Figure, ...] = ()
    """The figures that it shows, for links that lead here."""


@dataclass(frozen=True)
class Check:
    """A statement that holds, does not hold, or (None) is still open."""

    text: str
    holds: bool | None = True


@dataclass(frozen=True)
class Page:
    title: str
    panels: Sequence[Panel]
    stats: Sequence[Stat] = ()
    breadcrumbs: Sequence[tuple[str, str]] = ()
    facts: Sequence[tuple[str, str, str | None]] = ()
    checks: Sequence[Check] = ()
    extra: Mapping[str, Any] = field(default_factory=dict)
    own_filters: tuple[str, ...] = ()
    """Parameters of this page alone that filter it, besides the filters of all pages."""
    ignored_filters: str = ""
    """Why the filters do not apply to this page; empty if they do."""


@dataclass(frozen=True)
class SeriesField:
    """Where a chart series takes its values from: a field of each row, and the field with its estimated part."""

    title: str
    color: str | None
    amount: str
    estimated: str


def billed_and_estimated(fields: Iterable[SeriesField], rows: Sequence[Record]) -> list[dict[str, Any]]:
    """Chart series over rows: the billed part solid, the estimated part (if there is any) hatched on top of it."""
    series: list[dict[str, Any]] = []
    for one in fields:
        estimated = [row.get(one.estimated) or Decimal(0) for row in rows]
        billed = [(row.get(one.amount) or Decimal(0)) - part for row, part in zip(rows, estimated, strict=True)]
        series.append({"name": one.title, "values": [decimal_text(value) for value in billed], "color": one.color})
        if any(estimated):
            values = [decimal_text(value) for value in estimated]
            series.append({"name": f"{one.title}, estimated", "values": values, "color": one.color, "hatched": True})
    return series


FORMATS: dict[str, Callable[[Any], str]] = {
    "money": money,
    "rate": money,
    "price": lambda value: f"{value:,.4f}",
    "change": lambda value: f"{'+' if value > 0 else ''}{money(value)}",
    "hours": lambda value: f"{Decimal(value) / 3600:,.1f}",
    "seconds": lambda value: _duration(int(value)),
    "count": lambda value: f"{int(value):,}",
    "digits": lambda value: f"{value.normalize():f}",
    "bytes": lambda value: _byte_size(Decimal(value)),
    "percent": lambda value: f"{100 * value:,.1f} %",
    "used": lambda value: f"{100 * value:,.1f} %",
    "payer": labels.payer,
    "payer_kind": labels.payer_kind,
    "state": lambda value: str(value).replace("_", " "),
}


def format_value(kind: str, value: Any) -> str:
    """A value for display; a dash if it is unknown."""
    if value is None:
        return NO_VALUE if kind == "key" else NONE
    if kind in FORMATS:
        return FORMATS[kind](value)
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d %H:%M}"
    return value.isoformat() if isinstance(value, date) else str(value)


def ratio(part: Decimal | None, total: Decimal | None) -> Decimal | None:
    """Part over total, or None if either is unknown or the total is zero."""
    return None if part is None or not total else part / total


def add_up(rows: Iterable[Record], *names: str) -> dict[str, Decimal]:
    """The sum of each named field over all rows; unknown values count as zero."""
    found = list(rows)
    return {name: sum((row[name] or Decimal(0) for row in found), Decimal(0)) for name in names}


def _exported(column: Column, row: Record) -> Iterator[tuple[str, Any]]:
    value = row.get(column.name)
    if column.kind == "hours":
        yield f"{column.name.removesuffix('_seconds')}_hours", hours(value)
    elif column.kind == "seconds":
        yield column.name, None if value is None else int(value)
    else:
        yield column.name, f"{value:.6f}" if column.kind in PERCENTAGES and value is not None else json_value(value)
    if column.estimated:
        yield column.estimated, json_value(row.get(column.estimated))


def _byte_size(value: Decimal) -> str:
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if value < 1000:
            return f"{value:,.1f} {unit}" if unit != "B" else f"{value:,.0f} B"
        value /= 1000
    return f"{value:,.1f} PB"


def _duration(seconds: int) -> str:
    days, rest = divmod(seconds, 86400)
    clock = f"{rest // 3600}:{rest % 3600 // 60:02d} h"
    return f"{days} d {clock}" if days else clock
