"""Time ranges in Grafana's syntax: inclusive for people, half-open for programs, never a part of a day."""

import random
from datetime import UTC, date, datetime, timedelta

import pytest

from trainfare.errors import TrainfareError
from trainfare.query.window import Window, between, parse

NOW = datetime(2026, 11, 16, 14, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("start", "end", "first", "after", "of_books"),
    [
        ("now-7d", "now", "2026-11-09", "2026-11-17", False),
        ("now-7d", "now-1d", "2026-11-09", "2026-11-16", False),
        ("now/M", "now/M", "2026-11-01", "2026-12-01", True),
        ("now-1M/M", "now-1M/M", "2026-10-01", "2026-11-01", True),
        ("now-1d/d", "now-1d/d", "2026-11-15", "2026-11-16", False),
        ("now/w", "now/w", "2026-11-16", "2026-11-23", False),
        ("now-1Q/Q", "now-1Q/Q", "2026-07-01", "2026-10-01", True),
        ("now-1y/y", "now-1y/y", "2025-01-01", "2026-01-01", True),
        ("now-1M-2d", "now", "2026-10-14", "2026-11-17", False),
        ("2026-10", "2026-10", "2026-10-01", "2026-11-01", True),
        ("2026-10", "now", "2026-10-01", "2026-11-17", False),
        ("2026-10-05T00:00:00Z", "2026-10-07T02:00:00+02:00", "2026-10-05", "2026-10-07", False),
        ("1790812800000", "1790899200000", "2026-10-01", "2026-10-02", False),
    ],
)
def test_people_and_programs_mean_the_same_days_except_by_a_date(
    start: str, end: str, first: str, after: str, of_books: bool
):
    expected = Window(date.fromisoformat(first), date.fromisoformat(after), of_books)
    assert between(start, end, NOW) == expected
    assert parse(f"{start},{end}", NOW) == expected


def test_the_last_day_is_included_for_people_and_excluded_for_programs():
    october = Window(date(2026, 10, 1), date(2026, 11, 1))
    assert between("2026-10-01", "2026-10-31", NOW) == parse("2026-10-01,2026-11-01", NOW) == october
    chance = random.Random(7)
    for _ in range(200):
        first = date(2026, 1, 1) + timedelta(days=chance.randrange(900))
        last = first + timedelta(days=chance.randrange(200))
        days = {first + timedelta(days=n) for n in range((last - first).days + 1)}
        inclusive = between(str(first), str(last), NOW)
        assert {inclusive.first + timedelta(days=n) for n in range(inclusive.length)} == days
        assert parse(f"{first},{last + timedelta(days=1)}", NOW) == inclusive
        assert between(*inclusive.ends, NOW) == inclusive, "what the picker shows is what it means"


def test_dates_select_days_and_named_months_select_books():
    assert between("2026-10-01", "2026-10-31", NOW).days == (date(2026, 10, 1), date(2026, 11, 1))
    for text in ("2026-10", "lastmonth", "2026-10,2026-10"):
        assert parse(text, NOW).days is None
    assert between("2026-10", "2026-10", NOW).ends == ("2026-10", "2026-10")


@pytest.mark.parametrize("text", ["12h", "90m", "now-12h,now", "2026-10-05T06:00Z,2026-10-06", "1790812801,1790899200"])
def test_a_part_of_a_day_is_refused_and_never_answered_as_a_day(text: str):
    with pytest.raises(TrainfareError, match="within a day, and cost is kept by UTC day"):
        parse(text, NOW)


@pytest.mark.parametrize(
    ("start", "end"), [("2026-10-05T13:00Z", "2026-10-06"), ("2026-10-05", "2026-10-06T00:00:01Z")]
)
def test_a_part_of_a_day_is_refused_for_people_too(start: str, end: str):
    with pytest.raises(TrainfareError, match="within a day"):
        between(start, end, NOW)


@pytest.mark.parametrize(
    ("start", "end"),
    [("soon", "now"), ("now-7x", "now"), ("2026-13", "now"), ("now", "now-7d"), ("now-9999999y", "now")],
)
def test_an_invalid_time_is_an_error(start: str, end: str):
    with pytest.raises(TrainfareError):
        between(start, end, NOW)
    with pytest.raises(TrainfareError):
        parse(f"{start},{end}", NOW)


def test_an_empty_window_says_that_its_end_is_excluded():
    with pytest.raises(TrainfareError, match="its end is excluded"):
        parse("2026-10-05,2026-10-05", NOW)
    assert between("2026-10-05", "2026-10-05", NOW).length == 1


def test_a_period_of_one_day_is_named_once():
    assert str(between("2026-10-17", "2026-10-17", NOW)) == "17 Oct 2026"
    assert str(between("2026-10-01", "2026-10-31", NOW)) == "1 Oct 2026 to 31 Oct 2026"
    assert str(between("2026-10", "2026-10", NOW)) == "October 2026"


def test_the_previous_period_has_the_same_length_and_selects_alike():
    assert between("2026-10", "2026-10", NOW).previous() == between("2026-09", "2026-09", NOW)
    assert between("now-3M/M", "now-1M/M", NOW).previous() == Window(date(2026, 5, 1), date(2026, 8, 1), True)
    assert Window(date(2026, 10, 5), date(2026, 10, 12)).previous() == Window(date(2026, 9, 28), date(2026, 10, 5))


def test_the_steps_of_months_are_days_that_do_not_overlap():
    steps = parse("2026-09,2026-10", NOW).steps("1M")
    assert [step.days for step in steps] == [
        (date(2026, 9, 1), date(2026, 10, 1)),
        (date(2026, 10, 1), date(2026, 11, 1)),
    ]
    (only,) = parse("2026-10", NOW).steps("1M")
    assert only.days is None
