"""The time a page is about, in the words Grafana uses: `now-7d`, `now-1M/M`, `2026-10-01`, `2026-10`."""

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

from trainfare.errors import TrainfareError
from trainfare.period import Month

UNITS = "smhdwMQy"
_RELATIVE = re.compile(rf"now(?P<steps>(?:[+-]\d+[{UNITS}])*)(?:/(?P<round>[{UNITS}]))?")
_STEP = re.compile(rf"([+-]\d+)([{UNITS}])")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}
_MONTHS = {"M": 1, "Q": 3, "y": 12}
RANGES = (
    ("now-7d", "now", "Last 7 days"),
    ("now-30d", "now", "Last 30 days"),
    ("now-90d", "now", "Last 90 days"),
    ("now/M", "now/M", "This month"),
    ("now-1M/M", "now-1M/M", "Last month"),
    ("now-3M/M", "now-1M/M", "Last 3 months"),
    ("now-12M/M", "now-1M/M", "Last 12 months"),
    ("now/y", "now/y", "This year"),
)
"""What the picker offers: from, to, and its name."""


@dataclass(frozen=True)
class Window:
    """Whole UTC days, half-open. A window of whole months is those months' books, with whatever they book for other days."""

    start: date
    end: date

    @property
    def is_months(self) -> bool:
        return self.start.day == 1 and self.end.day == 1

    @property
    def days(self) -> tuple[date, date] | None:
        """What to cut the books to; nothing for whole months."""
        return None if self.is_months else (self.start, self.end)

    def covers(self, month: Month) -> bool:
        return month.start.date() < self.end and month.end.date() > self.start

    def before(self) -> "Window":
        """The period before this one: as many months, or as many days."""
        if self.is_months:
            return Window(_months_on(self.start, -_months_between(self.start, self.end)), self.start)
        return Window(self.start - (self.end - self.start), self.start)

    def __str__(self) -> str:
        last = self.end - timedelta(days=1)
        if self.is_months and _months_between(self.start, self.end) == 1:
            return f"{self.start:%B %Y}"
        return f"{self.start:%-d %b %Y} to {last:%-d %b %Y}"


def of_month(month: Month) -> Window:
    return Window(month.start.date(), month.end.date())


def parse(start: str, end: str, now: datetime) -> Window:
    """The days between two times; a time within a day takes the whole day in, as money is kept by day."""
    first, last = moment("from", start, now, up=False), moment("to", end, now, up=True)
    if last <= first:
        raise TrainfareError("to", f"'{end}' is not after '{start}'", "Choose an end after the start.")
    whole = last.replace(hour=0, minute=0, second=0, microsecond=0)
    return Window(first.date(), (whole if whole == last else whole + timedelta(days=1)).date())


def moment(where: str, text: str, now: datetime, up: bool) -> datetime:
    """One end of a time range. `/M` goes to the start of the month, at the end of a range to its end."""
    text = text.strip()
    if found := _RELATIVE.fullmatch(text):
        at = now
        try:
            for count, unit in _STEP.findall(found["steps"]):
                at = _moved(at, int(count), unit)
            return _rounded(at, found["round"], up) if found["round"] else at
        except (ValueError, OverflowError):
            raise _unknown(where, text) from None
    try:
        if re.fullmatch(r"\d{4}-\d{2}", text):
            month = Month.parse(text)
            return month.end if up else month.start
        if re.fullmatch(r"\d{12,14}", text):
            return datetime.fromtimestamp(int(text) / 1000, UTC)
        at = datetime.fromisoformat(text)
    except (ValueError, OverflowError, OSError):
        raise _unknown(where, text) from None
    return at.astimezone(UTC) if at.tzinfo else at.replace(tzinfo=UTC)


def _unknown(where: str, text: str) -> TrainfareError:
    do = "Write a day (2026-10-01), a month (2026-10), or a time such as now-7d or now-1M/M."
    return TrainfareError(where, f"'{text}' is not a time", do)


def _moved(at: datetime, count: int, unit: str) -> datetime:
    if unit in _SECONDS:
        return at + timedelta(seconds=count * _SECONDS[unit])
    day = _months_on(at.date().replace(day=1), count * _MONTHS[unit])
    last = _months_on(day, 1) - timedelta(days=1)
    return at.replace(year=day.year, month=day.month, day=min(at.day, last.day))


def _rounded(at: datetime, unit: str, up: bool) -> datetime:
    day = at.replace(hour=0, minute=0, second=0, microsecond=0)
    floors = {
        "s": at.replace(microsecond=0),
        "m": at.replace(second=0, microsecond=0),
        "h": at.replace(minute=0, second=0, microsecond=0),
        "d": day,
        "w": day - timedelta(days=day.weekday()),
        "M": day.replace(day=1),
        "Q": day.replace(month=(day.month - 1) // 3 * 3 + 1, day=1),
        "y": day.replace(month=1, day=1),
    }
    return _moved(floors[unit], 1, unit) if up else floors[unit]


def _months_on(first: date, months: int) -> date:
    number = first.year * 12 + first.month - 1 + months
    return date(number // 12, number % 12 + 1, 1)


def _months_between(start: date, end: date) -> int:
    return (end.year - start.year) * 12 + end.month - start.month
