"""The time a question is about, in the words that cost tools and Grafana use.

Shares are kept by UTC day, so a window is whole days: one that starts or ends within a day is widened to the day.
"""

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

from trainfare.errors import TrainfareError
from trainfare.period import Month
from trainfare.report import moment

GRAMMAR = (
    "today, yesterday, week, lastweek, month, lastmonth, a span up to now such as 12h, 7d or 4w, a year, month or day such as "
    "2026, 2026-10 or 2026-10-31, or a start and an end with a comma between: days, RFC 3339 times, Unix seconds, now-7d or now-1M/M"
)
A_DAY = timedelta(days=1)
LONGEST_DAYS = 3660
_FIRST, _LAST = datetime(1970, 1, 1, tzinfo=UTC), datetime(9000, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Window:
    """Whole UTC days, from the first up to, not including, the last."""

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
        """How many days."""
        return (self.last - self.first).days

    @property
    def is_months(self) -> bool:
        return self.first.day == 1 and self.last.day == 1

    @property
    def days(self) -> tuple[date, date] | None:
        """What to cut books to. Whole months are their books, with whatever these book for other days."""
        return None if self.is_months else (self.first, self.last)

    @property
    def _months(self) -> int:
        return (self.last.year - self.first.year) * 12 + self.last.month - self.first.month

    def __str__(self) -> str:
        if self.is_months and self._months == 1:
            return f"{self.first:%B %Y}"
        return f"{self.first:%-d %b %Y} to {self.last - A_DAY:%-d %b %Y}"

    def has(self, month: Month) -> bool:
        """Whether any of the month is in it."""
        return month.start < self.end and self.start < month.end

    def before(self) -> "Window":
        """The time of the same length just before; for whole months, as many whole months."""
        if self.is_months:
            return Window(moment.months_on(self.first, -self._months), self.first)
        return Window(self.first - timedelta(days=self.length), self.first)

    def steps(self, step: str) -> list["Window"]:
        """The window cut into pieces of a step: 1d, 7d, 1w, 1M (calendar months) ..., or `all` of it."""
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
        return list(self._cut(length * (7 if unit == "w" else 1), unit == "M"))

    def _cut(self, length: int, in_months: bool) -> list["Window"]:
        pieces, at = [], self.first
        while at < self.last:
            end = moment.months_on(at, length) if in_months else at + timedelta(days=length)
            pieces.append(Window(at, min(end, self.last)))
            at = end
        return pieces


def of_month(month: Month) -> Window:
    return Window(month.start.date(), month.end.date())


def parse(text: str, now: datetime) -> Window:
    """Read a window; anything that is none is refused, with the words that are."""
    asked = text.strip()
    try:
        found = _named(asked, now) or _pair(asked, now)
    except (ValueError, OverflowError, OSError):
        found = None
    if found is None:
        raise TrainfareError("window", f"'{_shown(asked)}' is not a window", f"Use {GRAMMAR}.")
    return _whole_days(*found, "window", asked)


def between(start: str, end: str, now: datetime) -> Window:
    """The window from one time to another."""
    return _whole_days(_end("from", start, now), _end("to", end, now), "to", end)


def _end(where: str, text: str, now: datetime) -> datetime:
    try:
        return moment.parse(text.strip(), now, up=where == "to")
    except (ValueError, OverflowError, OSError):
        do = "Write a day (2026-10-01), a month (2026-10), or a time such as now-7d or now-1M/M."
        raise TrainfareError(where, f"'{_shown(text)}' is not a time", do) from None


def _whole_days(start: datetime, end: datetime, where: str, asked: str) -> Window:
    if end <= start:
        raise TrainfareError(where, f"'{_shown(asked)}' ends before it starts", "Name the start first, then the end.")
    if start < _FIRST or end > _LAST or (end - start).days > LONGEST_DAYS:
        raise TrainfareError(where, f"'{_shown(asked)}' is too long or too far away", "Ask for ten years at most.")
    last = end.date() if end.time() == datetime.min.time() else end.date() + A_DAY
    return Window(start.date(), last)


def _shown(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "..."


Times = tuple[datetime, datetime]


def _named(text: str, now: datetime) -> Times | None:
    """A window in one word."""
    today = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    tomorrow = today + A_DAY
    # Weeks begin on Sunday, as they do for the tools this grammar comes from.
    week = today - timedelta(days=(today.weekday() + 1) % 7)
    month = today.replace(day=1)
    words: dict[str, Times] = {
        "today": (today, tomorrow),
        "yesterday": (today - A_DAY, today),
        "week": (week, tomorrow),
        "lastweek": (week - 7 * A_DAY, week),
        "month": (month, tomorrow),
        "lastmonth": ((month - A_DAY).replace(day=1), month),
    }
    if text in words:
        return words[text]
    if found := re.fullmatch(r"(\d{1,6})([mhdw])", text):
        seconds = int(found[1]) * moment.SECONDS[found[2]]
        if found[2] in "dw":
            return tomorrow - timedelta(seconds=seconds), tomorrow
        return now - timedelta(seconds=seconds), now
    if re.fullmatch(r"\d{4}", text):
        return datetime(int(text), 1, 1, tzinfo=UTC), datetime(int(text) + 1, 1, 1, tzinfo=UTC)
    if re.fullmatch(r"\d{4}-\d{2}", text):
        asked = Month.parse(text)
        return asked.start, asked.end
    if re.fullmatch(r"\d{4}-\d{2}-\d{2}", text):
        day = datetime.fromisoformat(text).replace(tzinfo=UTC)
        return day, day + A_DAY
    return None


def _pair(text: str, now: datetime) -> Times | None:
    """A start and an end."""
    ends = [part.strip() for part in text.split(",")]
    if len(ends) != 2:
        return None
    return moment.parse(ends[0], now, up=False), moment.parse(ends[1], now, up=True)
