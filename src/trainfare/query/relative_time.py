"""One end of a time range, in Grafana's syntax: `now-7d`, `now-1M/M`, `2026-10-01`, `2026-10`."""

import re
from datetime import UTC, date, datetime, timedelta

from trainfare.period import Month

UNITS = "smhdwMQy"
SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}
_MONTHS = {"M": 1, "Q": 3, "y": 12}
_RELATIVE = re.compile(rf"now(?P<steps>(?:[+-]\d{{1,6}}[{UNITS}])*)(?:/(?P<round>[{UNITS}]))?")
_STEP = re.compile(rf"([+-]\d+)([{UNITS}])")


def parse(text: str, now: datetime, round_up: bool) -> datetime:
    """Return the time that a text names; raise ValueError for any other text.

    With `round_up` it is the end of a range: `/M` and a month mean their end.
    """
    if found := _RELATIVE.fullmatch(text):
        at = now
        for count, unit in _STEP.findall(found["steps"]):
            at = _moved(at, int(count), unit)
        return _rounded(at, found["round"], round_up) if found["round"] else at
    if re.fullmatch(r"\d{4}-\d{2}", text):
        month = Month.parse(text)
        return month.end if round_up else month.start
    if re.fullmatch(r"\d{9,14}", text):
        return datetime.fromtimestamp(int(text) / (1000 if len(text) > 11 else 1), UTC)
    if not re.match(r"\d{4}-\d{2}-\d{2}", text):
        raise ValueError(text)
    at = datetime.fromisoformat(text)
    return at.astimezone(UTC) if at.tzinfo else at.replace(tzinfo=UTC)


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
