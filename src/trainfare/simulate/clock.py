"""Time within a simulated month, in whole UTC seconds."""

from datetime import UTC, datetime
from functools import cache
from itertools import pairwise

from trainfare.period import Month

HOUR = 3600
DAY = 24 * HOUR
SATURDAY = 5
EPOCH_WEEKDAY = 3  # 1970-01-01 was a Thursday

Span = tuple[int, int]


def seconds(moment: datetime) -> int:
    return int(moment.timestamp())


def span_of(month: Month) -> Span:
    return seconds(month.start), seconds(month.end)


def day_of(moment: int) -> int:
    """Return the first second of the UTC day that contains `moment`."""
    return moment - moment % DAY


@cache
def stamp(moment: int) -> str:
    return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def weekend(month: Month, number: int) -> Span:
    """Return the month's `number`-th Saturday and the Sunday after it as one span."""
    start, _ = span_of(month)
    weekday = (start // DAY + EPOCH_WEEKDAY) % 7
    saturday = start + ((SATURDAY - weekday) % 7 + 7 * (number - 1)) * DAY
    return saturday, saturday + 2 * DAY


def overlap(first: Span, second: Span) -> Span:
    """Return the intersection; it is empty (end not after start) if the spans do not meet."""
    return max(first[0], second[0]), min(first[1], second[1])


def split_span(span: Span, step: int) -> list[Span]:
    """Split `span` at every multiple of `step`, such as full hours or midnights."""
    start, end = span
    cuts = [start, *range(start - start % step + step, end, step), end]
    return [(a, b) for a, b in pairwise(cuts) if b > a]
