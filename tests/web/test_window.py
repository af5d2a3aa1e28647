"""Time ranges in Grafana's syntax."""

from datetime import UTC, date, datetime

import pytest

from trainfare.errors import TrainfareError
from trainfare.query.window import Window, between, parse

NOW = datetime(2026, 11, 16, 14, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("start", "end", "first", "after"),
    [
        ("now-7d", "now", "2026-11-09", "2026-11-17"),
        ("now/M", "now/M", "2026-11-01", "2026-12-01"),
        ("now-1M/M", "now-1M/M", "2026-10-01", "2026-11-01"),
        ("now-1d/d", "now-1d/d", "2026-11-15", "2026-11-16"),
        ("now/w", "now/w", "2026-11-16", "2026-11-23"),
        ("now-1Q/Q", "now-1Q/Q", "2026-07-01", "2026-10-01"),
        ("now-1y/y", "now-1y/y", "2025-01-01", "2026-01-01"),
        ("now-1M-2d", "now", "2026-10-14", "2026-11-17"),
        ("2026-10", "2026-10", "2026-10-01", "2026-11-01"),
        ("2026-10-05", "2026-10-12", "2026-10-05", "2026-10-12"),
        ("2026-10-05T13:00:00Z", "2026-10-05T14:00:00+00:00", "2026-10-05", "2026-10-06"),
        ("2026-10-05T01:00:00+02:00", "2026-10-06", "2026-10-04", "2026-10-06"),
        ("1790812800000", "1790899200000", "2026-10-01", "2026-10-02"),
    ],
)
def test_a_time_range_is_whole_days(start: str, end: str, first: str, after: str):
    expected = Window(date.fromisoformat(first), date.fromisoformat(after))
    assert between(start, end, NOW) == expected
    assert parse(f"{start},{end}", NOW) == expected


@pytest.mark.parametrize(
    ("start", "end"),
    [("soon", "now"), ("now-7x", "now"), ("2026-13", "now"), ("now", "now-7d"), ("now-9999999y", "now")],
)
def test_an_invalid_time_is_an_error(start: str, end: str):
    with pytest.raises(TrainfareError):
        between(start, end, NOW)
    with pytest.raises(TrainfareError):
        parse(f"{start},{end}", NOW)


def test_the_previous_period_has_the_same_length():
    assert between("2026-10", "2026-10", NOW).previous() == between("2026-09", "2026-09", NOW)
    assert between("now-3M/M", "now-1M/M", NOW).previous() == Window(date(2026, 5, 1), date(2026, 8, 1))
    assert Window(date(2026, 10, 5), date(2026, 10, 12)).previous() == Window(date(2026, 9, 28), date(2026, 10, 5))
