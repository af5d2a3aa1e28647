"""Properties of amortization: a schedule adds up to the price, day by day as the plain split does, and ends at zero."""

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trainfare.engine.duckdb import DuckDB
from trainfare.errors import BadInputError
from trainfare.money import amount, split, units
from trainfare.normalize.amortization import schedules
from trainfare.normalize.amortization.schedules import AmortizationContext, Ledger
from trainfare.period import Month
from trainfare.sources.ledgers.tables import LEDGERS, TARGET_COLUMNS
from trainfare.tables import BASES

LATER = datetime(2190, 1, 1, tzinfo=UTC)
MONEY = st.integers(0, 10**18).map(amount)
DAYS = st.dates(date(2020, 1, 1), date(2027, 12, 31))
ENGINE = DuckDB()

property_test = settings(max_examples=25, derandomize=True, deadline=None, database=None)


def months(first: date, last: date) -> Iterator[Month]:
    month = Month.of(first)
    while month <= Month.of(last):
        yield month
        month = month.next()


def ledger(kind: str, number: int = 1, **values: object) -> Ledger:
    """A delivered ledger with one row."""
    (table,) = (table for table in LEDGERS if table.name == kind)
    columns = ", ".join(
        f"CAST({'NULL' if (value := values.get(column.name)) is None else repr(str(value))} AS {column.type}) AS {column.name}"
        for column in table.columns
    )
    return Ledger(kind, number, kind, Path(f"{kind}.csv"), f"SELECT {columns}", 1)


def amortized(ledgers: list[Ledger], first: date, last: date, as_of: datetime = LATER) -> list[dict]:
    schedules.amortize(
        ENGINE,
        ledgers,
        months(first, last),
        AmortizationContext(as_of, {name: name for name in TARGET_COLUMNS}),
        "amortized",
    )
    rows = ENGINE.records("SELECT * FROM amortized ORDER BY period_start, line")
    assert len({row["line"] for row in rows}) == len(rows)
    assert all(row[basis] == row["effective"] for row in rows for basis in BASES)
    return rows


def machine(price: Decimal, start: date, life: int, **values: object) -> dict:
    row = {"machine_id": "n1", "resource_id": "n1", "price": price, "salvage": 0, "currency": "USD"}
    return (
        row
        | {"in_service": start, "life_months": life, "method": "straight", "factor": 2, "pue": 1, "line": 3}
        | values
    )


def end_of(start: date, life: int) -> date:
    (day,) = ENGINE.row(f"SELECT CAST(DATE '{start}' + to_months({life}) AS DATE)")
    return day


@property_test
@given(price=MONEY, part=st.integers(0, 100), start=DAYS, life=st.integers(1, 60))
def test_a_straight_line_is_the_plain_split_over_its_days(price: Decimal, part: int, start: date, life: int):
    salvage = amount(units(price) * part // 100)
    rows = amortized([ledger("hardware", **machine(price, start, life, salvage=salvage))], start, end_of(start, life))
    days = (end_of(start, life) - start).days
    oracle = split(units(price - salvage), dict.fromkeys(range(days), 1))
    got = {(row["period_start"].date() - start).days: units(row["effective"]) for row in rows}
    assert got == {day: oracle.get(day, 0) for day in range(days)}
    assert sum((row["effective"] for row in rows), Decimal(0)) + salvage == price


@property_test
@given(price=MONEY, part=st.integers(0, 100), start=DAYS, life=st.integers(1, 60), factor=st.integers(10, 40))
def test_a_declining_balance_ends_at_its_salvage(price: Decimal, part: int, start: date, life: int, factor: int):
    salvage = amount(units(price) * part // 100)
    values = machine(price, start, life, salvage=salvage, method="declining", factor=Decimal(factor) / 10)
    rows = amortized([ledger("hardware", **values)], start, end_of(start, life))
    assert sum((row["effective"] for row in rows), Decimal(0)) + salvage == price
    assert all(row["effective"] >= 0 for row in rows)
    assert {row["period_start"].date() for row in rows} == {
        start + timedelta(days=n) for n in range((end_of(start, life) - start).days)
    }


@property_test
@given(price=MONEY, start=DAYS, days=st.integers(1, 800), every=st.sampled_from(["month", "year", "term"]))
def test_a_license_costs_its_price_for_each_whole_month_year_or_term(
    price: Decimal, start: date, days: int, every: str
):
    end = start + timedelta(days=days)
    values = {"license": "compiler", "per": "seat", "quantity": 3, "price": price, "every": every, "currency": "USD"}
    rows = amortized([ledger("licenses", **values, started=start, ended=end, line=2)], start, end)
    by_month = {Month.of(row["period_start"]): row["effective"] for row in rows}
    assert len(by_month) == len(rows)
    if every == "term":
        assert sum(by_month.values()) == 3 * price
    elif every == "month":
        whole = [month for month in months(start, end) if month.start.date() >= start and month.end.date() <= end]
        assert all(by_month[month] == 3 * price for month in whole)
    else:
        assert sum(by_month.values()) <= 3 * price * (days // 365 + 1)
    assert all(
        row["category"] == "license" for row in ENGINE.records("SELECT service_category AS category FROM amortized")
    )


@property_test
@given(value=st.integers(-(10**18), 10**18), start=DAYS, days=st.integers(1, 800), cut=st.integers(0, 800))
def test_an_invoice_is_amortized_completely_and_in_the_same_parts_up_to_any_day(
    value: int, start: date, days: int, cut: int
):
    """A machine's invoice is amortized by day. Up to an earlier day, it has the same rows as far as they go."""
    values = {"vendor": "ACME", "category": "support", "amount": amount(value), "currency": "USD", "machine_id": "n1"}
    invoice = ledger("invoices", **values, started=start, ended=start + timedelta(days=days), line=2)
    rows = amortized([invoice], start, start + timedelta(days=days))
    assert sum((row["effective"] for row in rows), Decimal(0)) == amount(value)
    until = datetime.combine(start + timedelta(days=cut), datetime.min.time(), UTC)
    assert amortized([invoice], start, start + timedelta(days=days), until) == rows[:cut]


@property_test
@given(
    kw=st.integers(0, 20_000),
    price=st.integers(0, 10**13).map(amount),
    pue=st.integers(10_000, 30_000),
    hour=st.integers(0, 743),
)
def test_rated_power_costs_kilowatts_times_hours_times_price(kw: int, price: Decimal, pue: int, hour: int):
    """In one hour of October; with times of day the price is that of the local hour."""
    values = machine(
        Decimal(0), date(2026, 10, 1), 1, rated_kw=Decimal(kw) / 1000, pue=Decimal(pue) / 10_000, tariff="t"
    )
    tariff = {"tariff": "t", "price_per_kwh": price, "currency": "USD", "days": "mon-sun", "zone": "Europe/Berlin"}
    ledgers = [ledger("hardware", **values), ledger("tariffs", 2, **tariff, from_hour=0, to_hour=24, line=1)]
    rows = [
        row for row in amortized(ledgers, date(2026, 10, 1), date(2026, 10, 31)) if row["service_category"] == "power"
    ]
    assert len(rows) == 744
    exact = Decimal(kw) / 1000 * Decimal(pue) / 10_000 * price
    assert rows[hour]["effective"] == exact.quantize(Decimal("1e-12"), "ROUND_HALF_UP")


def test_a_tariff_with_times_of_day_is_read_in_its_zone():
    """Night is 22 to 6 in Berlin; on October 25 the clock goes back and the night has an hour more."""
    values = machine(Decimal(0), date(2026, 10, 1), 1, rated_kw=1, tariff="t")
    common = {"tariff": "t", "currency": "USD", "zone": "Europe/Berlin", "days": "mon-sun"}
    ledgers = [
        ledger("hardware", **values),
        ledger("tariffs", 2, **common, price_per_kwh=3, from_hour=6, to_hour=22, line=1),
        ledger("tariffs", 3, **common, price_per_kwh=1, from_hour=22, to_hour=6, line=1),
    ]
    rows = [
        row for row in amortized(ledgers, date(2026, 10, 1), date(2026, 10, 31)) if row["service_category"] == "power"
    ]
    by_day: dict[date, list[str]] = {}
    for row in rows:
        by_day.setdefault(row["period_start"].date(), []).append("n" if row["effective"] == 1 else "D")
    assert "".join(by_day[date(2026, 10, 7)]) == "nnnn" + "D" * 16 + "nnnn"
    assert "".join(by_day[date(2026, 10, 28)]) == "nnnnn" + "D" * 16 + "nnn"
    assert sum(row["effective"] for row in rows) == 31 * (16 * 3 + 8)


def test_readings_are_used_where_they_exist_and_the_rating_elsewhere():
    """Two readings ten minutes apart at 12 and 18 kW are 2.5 kWh; the other fifty minutes are rated at 6 kW."""
    values = machine(Decimal(0), date(2026, 10, 1), 1, rated_kw=6, tariff="t", pue=2)
    tariff = {"tariff": "t", "price_per_kwh": 1, "currency": "USD", "days": "mon-sun", "zone": "UTC"}
    readings = [
        ledger("power", number, machine_id="N1", time=f"2026-10-01 00:{minute}:00", kw=kw, line=1)
        for number, minute, kw in ((3, "20", 12), (4, "30", 18), (5, "50", 99))
    ]
    ledgers = [ledger("hardware", **values), ledger("tariffs", 2, **tariff, from_hour=0, to_hour=24, line=1), *readings]
    rows = amortized(ledgers, date(2026, 10, 1), date(2026, 10, 1), datetime(2026, 10, 1, 1, tzinfo=UTC))
    assert [(row["description"], row["effective"]) for row in rows] == [
        ("5.000000 kWh rated x 2.0000 at t", Decimal(10)),
        ("2.500000 kWh measured x 2.0000 at t", Decimal(5)),
    ]
    assert [str(row["period_start"].time()) for row in rows] == ["00:00:00", "00:20:00"]


def test_an_hour_without_a_price_or_with_two_is_rejected():
    values = machine(Decimal(0), date(2026, 10, 1), 1, rated_kw=1, tariff="t")
    tariff = {"tariff": "t", "price_per_kwh": 1, "currency": "USD", "days": "mon-sun", "zone": "UTC", "from_hour": 0}
    day = (date(2026, 10, 1), date(2026, 10, 31))
    with pytest.raises(BadInputError, match=r"hardware.csv:4: tariff 't' has no price at 2026-10-01 22:00 UTC"):
        amortized([ledger("hardware", **values), ledger("tariffs", 2, **tariff, to_hour=22, line=1)], *day)
    twice = [ledger("tariffs", number, **tariff, to_hour=24, line=number) for number in (2, 3)]
    with pytest.raises(BadInputError, match=r"tariff 't': has two prices at 2026-10-01 00:00 UTC \(rows 2 and 3\)"):
        amortized([ledger("hardware", **values), *twice], *day)
