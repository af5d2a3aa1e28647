"""One end of a time range, in Grafana's syntax: `now-7d`, `now-1M/M`, `2026-10-01`, `2026-10`."""

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Literal

from trainfare.period import Month

UNITS = "smhdwMQy"
SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}
_MONTHS = {"M": 1, "Q": 3, "y": 12}
_RELATIVE = re.compile(rf"now(?P<steps>(?:[+-]\d{{1,6}}[{UNITS}])*)(?:/(?P<round>[{UNITS}]))?")
_STEP = re.compile(rf"([+-]\d+)([{UNITS}])")


@dataclass(frozen=True)
class Moment:
    """A time, and what its text names: a month, a day by its date, a day relative to today, or an instant."""

    at: datetime
    names: Literal["month", "date", "relative day", "instant"]


def parse(text: str, now: datetime, round_up: bool) -> Moment:
    """Return the time that a text names; raise ValueError for any other text.

    With `round_up` it is the end of a range: `/M` and a month mean their end. A date is its first instant. Without
    hours, `now-7d` names a day.
    """
    if found := _RELATIVE.fullmatch(text):
        return _relative(found, now, round_up)
    if re.fullmatch(r"\d{4}-\d{2}", text):
        month = Month.parse(text)
        return Moment(month.end if round_up else month.start, "month")
    if re.fullmatch(r"\d{9,14}", text):
        return Moment(datetime.fromtimestamp(int(text) / (1000 if len(text) > 11 else 1), UTC), "instant")
    if not re.match(r"\d{4}-\d{2}-\d{2}", text):
        raise ValueError(text)
    at = datetime.fromisoformat(text)
    in_utc = at.astimezone(UTC) if at.tzinfo else at.replace(tzinfo=UTC)
    return Moment(in_utc, "date" if len(text) == 10 else "instant")


def _relative(found: re.Match[str], now: datetime, round_up: bool) -> Moment:
    at, steps, rounds_to = now, _STEP.findall(found["steps"]), found["round"]
    for count, unit in steps:
        at = _moved(at, int(count), unit)
    if rounds_to:
        rounded = _rounded(at, rounds_to, round_up)
        return Moment(rounded, "month" if rounds_to in _MONTHS else "instant")
    if any(unit in "smh" for _, unit in steps):
        return Moment(at, "instant")
    return Moment(_rounded(at, "d", round_up), "relative day")


def add_months(first: date, months: int) -> date:
    """Return the first day of the month that is this many months later."""
    number = first.year * 12 + first.month - 1 + months
    return date(number // 12, number % 12 + 1, 1)


def _moved(at: datetime, count: int, unit: str) -> datetime:
    if unit in SECONDS:
        return at + timedelta(seconds=count * SECONDS[unit])
    day = add_months(at.date(), count * _MONTHS[unit])
    last = add_months(day, 1) - timedelta(days=1)
    return at.replace(year=day.year, month=day.month, day=min(at.day, last.day))


def _rounded(at: datetime, unit: str, round_up: bool) -> datetime:
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
    return _moved(floors[unit], 1, unit) if round_up else floors[unit]
