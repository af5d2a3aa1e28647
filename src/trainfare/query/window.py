"""The time range of a question, in the syntax of cost tools and Grafana.

Days are inclusive for people (the command line, the pages) and half-open for programs (the API). Named months select
their books, as billed; days select what lies in them, whichever book has it. Shares are stored by UTC day, so a range
that starts or ends within a day is an error.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

from trainfare.errors import TrainfareError
from trainfare.period import Month
from trainfare.query import relative_time
from trainfare.query.relative_time import Moment

MAX_STEPS = 400
GRAMMAR = (
    "today, yesterday, week, lastweek, month, lastmonth, a number of days up to today such as 7d or 4w, a year, month or "
    "day such as 2026, 2026-10 or 2026-10-31, or a start and an end separated by a comma: days, RFC 3339 times, "
    "Unix seconds, now-7d or now-1M/M. A date or time that ends it is excluded; a month and a relative day are included"
)
ONE_DAY = timedelta(days=1)
MAX_DAYS = 3660
_FIRST, _LAST = datetime(1970, 1, 1, tzinfo=UTC), datetime(9000, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Window:
    """Whole UTC days, from `first` up to but not including `last`.

    With `of_books`, months were named: the window selects their books, including what these book for other days.
    """

    first: date
    last: date
    of_books: bool = False

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
    def days(self) -> tuple[date, date] | None:
        """Return the days to restrict books to; None if entire books are selected."""
        return None if self.of_books else (self.first, self.last)

    @property
    def last_day(self) -> date:
        """Return the last day that is included."""
        return self.last - ONE_DAY

    @property
    def ends(self) -> tuple[str, str]:
        """Return `from` and `to` as a person writes them: months that select books, or the first and the last day."""
        return (
            (f"{self.first:%Y-%m}", f"{self.last_day:%Y-%m}")
            if self.of_books
            else (f"{self.first}", f"{self.last_day}")
        )

    @property
    def _months(self) -> int:
        return (self.last.year - self.first.year) * 12 + self.last.month - self.first.month

    def __str__(self) -> str:
        if self.of_books and self._months == 1:
            return f"{self.first:%B %Y}"
        if self.length == 1:
            return f"{self.first:%-d %b %Y}"
        return f"{self.first:%-d %b %Y} to {self.last_day:%-d %b %Y}"

    def overlaps(self, month: Month) -> bool:
        """Return whether any part of the month lies in the window."""
        return month.start < self.end and self.start < month.end

    def has_any(self, days: Iterable[date]) -> bool:
        """Return whether any of these days lies in the window."""
        return any(self.first <= day < self.last for day in days)

    def previous(self) -> "Window":
        """Return the window of the same length just before; for whole months, the same number of months."""
        if self.of_books:
            return Window(relative_time.add_months(self.first, -self._months), self.first, of_books=True)
        return Window(self.first - timedelta(days=self.length), self.first)

    def steps(self, step: str) -> list["Window"]:
        """Divide the window into steps: 1d, 7d, 1w, 1M (calendar months) ..., or `all` of it.

        Steps are days, also those of a window of books, unless the window is a single step.
        """
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
        found_steps = self._divide(length * (7 if unit == "w" else 1), unit == "M")
        return found_steps if len(found_steps) > 1 else [self]

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
    return Window(month.start.date(), month.end.date(), of_books=True)


def parse(text: str, now: datetime) -> Window:
    """Parse the window of a program; any other text is an error that lists what is accepted."""
    text = text.strip()
    try:
        found = _named(text, now) or _pair(text, now)
    except (ValueError, OverflowError, OSError):
        found = None
    if found is None:
        raise TrainfareError("window", f"'{_shortened(text)}' is not a window", f"Use {GRAMMAR}.")
    return _window(*found, "window", text)


def between(start: str, end: str, now: datetime, names: tuple[str, str] = ("from", "to")) -> Window:
    """Return the window from one time to another as people mean it: the last day is included.

    `names` are what an error calls the two ends.
    """
    first, last = _end(names[0], start, now, round_up=False), _end(names[1], end, now, round_up=True)
    if last.names == "date":
        last = Moment(last.at + ONE_DAY, "date")
    for name, text, moment in ((names[0], start, first), (names[1], end, last)):
        _require_whole_day(name, text, moment.at)
    return _window(first, last, names[1], end)


def times_between(start: str, end: str, now: datetime, names: tuple[str, str]) -> tuple[datetime, datetime]:
    """Return the times from one to another, for what has hours: a last day is included, an hour is where it ends."""
    first, last = _end(names[0], start, now, round_up=False), _end(names[1], end, now, round_up=True)
    until = last.at + ONE_DAY if last.names == "date" else last.at
    if until <= first.at:
        do = "Give the start first, then the end."
        raise TrainfareError(names[1], f"'{_shortened(end)}' ends before it starts", do)
    return first.at, until


def _end(where: str, text: str, now: datetime, round_up: bool) -> Moment:
    try:
        return relative_time.parse(text.strip(), now, round_up)
    except (ValueError, OverflowError, OSError):
        do = "Write a day (2026-10-01), a month (2026-10), or a time such as now-7d or now-1M/M."
        raise TrainfareError(where, f"'{_shortened(text)}' is not a time", do) from None


def _require_whole_day(where: str, text: str, at: datetime) -> None:
    if at.time() != datetime.min.time():
        what = f"'{_shortened(text)}' is {at:%H:%M:%S} UTC, within a day, and cost is kept by UTC day"
        do = (
            f"Use whole days, such as {at:%Y-%m-%d}, or relative days, such as 1d or now-7d. The cost of a job by the "
            "hour: trainfare explain JOB --from TIME --to TIME"
        )
        raise TrainfareError(where, what, do)


def _window(start: Moment, end: Moment, where: str, text: str) -> Window:
    if end.at == start.at:
        raise TrainfareError(
            where, f"'{_shortened(text)}' is empty: its end is excluded", "Give the day after the last."
        )
    if end.at < start.at:
        do = "Give the start first, then the end."
        raise TrainfareError(where, f"'{_shortened(text)}' ends before it starts", do)
    if start.at < _FIRST or end.at > _LAST or (end.at - start.at).days > MAX_DAYS:
        raise TrainfareError(where, f"'{_shortened(text)}' is too long or too far away", "Request ten years at most.")
    for moment in (start, end):
        _require_whole_day(where, text, moment.at)
    return Window(start.at.date(), end.at.date(), of_books=start.names == end.names == "month")


def _shortened(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "..."


Ends = tuple[Moment, Moment]


def _named(text: str, now: datetime) -> Ends | None:
    """Parse a window without a comma."""
    today = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    tomorrow = today + ONE_DAY
    # Weeks begin on Sunday, as in the tools that this syntax comes from.
    week = today - timedelta(days=(today.weekday() + 1) % 7)
    month = today.replace(day=1)
    names: dict[str, tuple[datetime, datetime]] = {
        "today": (today, tomorrow),
        "yesterday": (today - ONE_DAY, today),
        "week": (week, tomorrow),
        "lastweek": (week - 7 * ONE_DAY, week),
        "month": (month, tomorrow),
    }
    if text in names:
        return _days(*names[text])
    if text == "lastmonth":
        return _months((month - ONE_DAY).replace(day=1), month)
    if found := re.fullmatch(r"(\d{1,6})([mhdw])", text):
        seconds = int(found[1]) * relative_time.SECONDS[found[2]]
        until = tomorrow if found[2] in "dw" else now
        return _days(until - timedelta(seconds=seconds), until)
    if re.fullmatch(r"\d{4}", text):
        return _months(datetime(int(text), 1, 1, tzinfo=UTC), datetime(int(text) + 1, 1, 1, tzinfo=UTC))
    if re.fullmatch(r"\d{4}-\d{2}", text):
        named = Month.parse(text)
        return _months(named.start, named.end)
    if re.fullmatch(r"\d{4}-\d{2}-\d{2}", text):
        day = datetime.fromisoformat(text).replace(tzinfo=UTC)
        return _days(day, day + ONE_DAY)
    return None


def _days(start: datetime, end: datetime) -> Ends:
    return Moment(start, "date"), Moment(end, "date")


def _months(start: datetime, end: datetime) -> Ends:
    return Moment(start, "month"), Moment(end, "month")


def _pair(text: str, now: datetime) -> Ends | None:
    """Parse a start and an end separated by a comma."""
    ends = [part.strip() for part in text.split(",")]
    if len(ends) != 2:
        return None
    return relative_time.parse(ends[0], now, round_up=False), relative_time.parse(ends[1], now, round_up=True)
