"""The time range of a question, in the syntax of cost tools and Grafana.

Shares are stored by UTC day, so a window is whole days: one that starts or ends within a day is widened to the day.
"""

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

from trainfare.errors import TrainfareError
from trainfare.period import Month
from trainfare.query import relative_time

MAX_STEPS = 400
GRAMMAR = (
    "today, yesterday, week, lastweek, month, lastmonth, a duration up to now such as 12h, 7d or 4w, a year, month or "
    "day such as 2026, 2026-10 or 2026-10-31, or a start and an end separated by a comma: days, RFC 3339 times, "
    "Unix seconds, now-7d or now-1M/M"
)
ONE_DAY = timedelta(days=1)
MAX_DAYS = 3660
_FIRST, _LAST = datetime(1970, 1, 1, tzinfo=UTC), datetime(9000, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Window:
    """Whole UTC days, from `first` up to but not including `last`."""

    first: date
    last: date

    @property
    def start(self) -> datetime:
        return datetime(self.first.year, self.first.month, self.first.day, tzinfo=UTC)

    @property
    def end(self) -> datetime:
        return datetime(self.last.year, self.last.month, self.last.day, tzinfo=UTC)

    @property
    def length(self) -> int:
        """Return the number of days."""
        return (self.last - self.first).days

    @property
    def is_months(self) -> bool:
        return self.first.day == 1 and self.last.day == 1

    @property
    def days(self) -> tuple[date, date] | None:
        """Return the days to restrict books to.

        Whole months are their books, including what these book for other days.
        """
        return None if self.is_months else (self.first, self.last)

    @property
    def _months(self) -> int:
        return (self.last.year - self.first.year) * 12 + self.last.month - self.first.month

    def __str__(self) -> str:
        if self.is_months and self._months == 1:
            return f"{self.first:%B %Y}"
        return f"{self.first:%-d %b %Y} to {self.last - ONE_DAY:%-d %b %Y}"

    def overlaps(self, month: Month) -> bool:
        """Return whether any part of the month lies in the window."""
        return month.start < self.end and self.start < month.end

    def previous(self) -> "Window":
        """Return the window of the same length just before; for whole months, the same number of months."""
        if self.is_months:
            return Window(relative_time.add_months(self.first, -self._months), self.first)
        return Window(self.first - timedelta(days=self.length), self.first)

    def steps(self, step: str) -> list["Window"]:
        """Divide the window into steps: 1d, 7d, 1w, 1M (calendar months) ..., or `all` of it."""
        if step in ("", "all"):
            return [self]
        found = re.fullmatch(
            r"(\d{1,4})([hdwM])", {"day": "1d", "daily": "1d", "week": "1w", "month": "1M"}.get(step, step)
        )
        length = int(found[1]) if found else 0
        if found and found[2] == "h" and length % 24 == 0:
            length, unit = length // 24, "d"
        else:
            unit = found[2] if found else ""
        if not found or length < 1 or unit == "h":
            raise TrainfareError("step", f"'{step}' is not a step", "Use days, weeks or months, such as 1d, 7d or 1M.")
        return list(self._divide(length * (7 if unit == "w" else 1), unit == "M"))

    def _divide(self, length: int, in_months: bool) -> list["Window"]:
        windows: list[Window] = []
        at = self.first
        while at < self.last:
            end = relative_time.add_months(at, length) if in_months else at + timedelta(days=length)
            if len(windows) == MAX_STEPS:
                do = f"Use at most {MAX_STEPS}: longer steps, such as 7d or 1M, or a shorter window."
                raise TrainfareError("step", f"more than {MAX_STEPS} steps", do)
            windows.append(Window(at, min(end, self.last)))
            at = end
        return windows


def month_window(month: Month) -> Window:
    return Window(month.start.date(), month.end.date())


def parse(text: str, now: datetime) -> Window:
    """Parse a window; any other text is an error that lists what is accepted."""
    text = text.strip()
    try:
        found = _named(text, now) or _pair(text, now)
    except (ValueError, OverflowError, OSError):
        found = None
    if found is None:
        raise TrainfareError("window", f"'{_shortened(text)}' is not a window", f"Use {GRAMMAR}.")
    return _whole_days(*found, "window", text)


def between(start: str, end: str, now: datetime) -> Window:
    """Return the window from one time to another."""
    return _whole_days(_end("from", start, now), _end("to", end, now), "to", end)


def _end(where: str, text: str, now: datetime) -> datetime:
    try:
        return relative_time.parse(text.strip(), now, round_up=where == "to")
    except (ValueError, OverflowError, OSError):
        do = "Write a day (2026-10-01), a month (2026-10), or a time such as now-7d or now-1M/M."
        raise TrainfareError(where, f"'{_shortened(text)}' is not a time", do) from None


def _whole_days(start: datetime, end: datetime, where: str, text: str) -> Window:
    if end <= start:
        raise TrainfareError(
            where, f"'{_shortened(text)}' ends before it starts", "Give the start first, then the end."
        )
    if start < _FIRST or end > _LAST or (end - start).days > MAX_DAYS:
        raise TrainfareError(where, f"'{_shortened(text)}' is too long or too far away", "Request ten years at most.")
    last = end.date() if end.time() == datetime.min.time() else end.date() + ONE_DAY
    return Window(start.date(), last)


def _shortened(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "..."


Times = tuple[datetime, datetime]


def _named(text: str, now: datetime) -> Times | None:
    """Parse a window without a comma."""
    today = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    tomorrow = today + ONE_DAY
    # Weeks begin on Sunday, as in the tools that this syntax comes from.
    week = today - timedelta(days=(today.weekday() + 1) % 7)
    month = today.replace(day=1)
    names: dict[str, Times] = {
        "today": (today, tomorrow),
        "yesterday": (today - ONE_DAY, today),
        "week": (week, tomorrow),
        "lastweek": (week - 7 * ONE_DAY, week),
        "month": (month, tomorrow),
        "lastmonth": ((month - ONE_DAY).replace(day=1), month),
    }
    if text in names:
        return names[text]
    if found := re.fullmatch(r"(\d{1,6})([mhdw])", text):
        seconds = int(found[1]) * relative_time.SECONDS[found[2]]
        if found[2] in "dw":
            return tomorrow - timedelta(seconds=seconds), tomorrow
        return now - timedelta(seconds=seconds), now
    if re.fullmatch(r"\d{4}", text):
        return datetime(int(text), 1, 1, tzinfo=UTC), datetime(int(text) + 1, 1, 1, tzinfo=UTC)
    if re.fullmatch(r"\d{4}-\d{2}", text):
        named = Month.parse(text)
        return named.start, named.end
    if re.fullmatch(r"\d{4}-\d{2}-\d{2}", text):
        day = datetime.fromisoformat(text).replace(tzinfo=UTC)
        return day, day + ONE_DAY
    return None


def _pair(text: str, now: datetime) -> Times | None:
    """Parse a start and an end separated by a comma."""
    ends = [part.strip() for part in text.split(",")]
    if len(ends) != 2:
        return None
    return relative_time.parse(ends[0], now, round_up=False), relative_time.parse(ends[1], now, round_up=True)
