"""Currencies: every line is converted at the rate of its day and rounded once; after that everything is exact."""

from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainfare.cli import main
from trainfare.errors import TrainfareError
from trainfare.query.change import change, period_costs
from trainfare.query.cost import Question
from trainfare.report import render
from trainfare.tables import BASES

from .books import COSTS, DAY, HOUR, START, Account, Bookkeeper, charge, hours_of, placement
from .test_ledgers import Files, account, owed
from .test_properties import examples

RATES = "day,from_currency,to_currency,rate,source"
CHANGING = f"{RATES}\n2026-10-01,EUR,USD,1.10,t\n2026-10-02,EUR,USD,1.21,t\n"
ECB = "Date,USD,JPY,GBP,CHF,SEK,NOK,\n2026-10-02,1.1172,175.68,0.83380,0.9194,N/A,10.3120,\n2026-10-01,1.1,176,0.8,0.9,11,10,\n"
INTO_DOLLARS = '[convert]\nto = "USD"\n'
UNIT = Decimal("0.000000000001")


def nearest(value: Fraction) -> Decimal:
    """To 10^-12, half away from zero."""
    units = value * 10**12
    size = (2 * abs(units).numerator + abs(units).denominator) // (2 * abs(units).denominator)
    return Decimal(size if units >= 0 else -size) * UNIT


def converted(keeper: Bookkeeper, charges: list, rates: str, settings: str = INTO_DOLLARS, **more: str) -> Account:
    placements = [placement("a", "n1", (0, 2 * HOUR), gpus=4), placement("b", "n1", (2 * HOUR, 3 * HOUR), gpus=4)]
    return account(keeper, Files(charges, placements, {"rates": rates, **more}, settings))


def test_a_bill_in_euros_is_allocated_in_dollars(keeper: Bookkeeper):
    """8 euros at 1.10 are 8.80 dollars: half for two hours, a quarter for one, a quarter idle. A line in dollars is
    unchanged.
    """
    made = converted(
        keeper,
        [
            hours_of("n1", (0, 4 * HOUR), "8", BillingCurrency="EUR"),
            hours_of("n1", (0, 4 * HOUR), "4", BillingCurrency="USD"),
        ],
        f"{RATES}\n2026-10-01,EUR,USD,1.10,treasury\n",
    )
    assert made.owed() == {"a": Decimal("6.4"), "b": Decimal("3.2"), "__idle__": Decimal("3.2")}
    assert made.currencies == ["USD"]
    assert {share["converted_from"] for share in made.shares} == {None, "EUR"}
    report = made.report()
    (one,) = report.conversions
    assert (one.converted_from, one.rate, one.rate_day, one.rate_source) == (
        "EUR",
        Decimal("1.1"),
        date(2026, 10, 1),
        "treasury",
    )
    assert (one.original, one.converted, one.lines) == (Decimal(8), Decimal("8.8"), 1)
    assert "converted from EUR: 8.00 EUR = 8.80 USD, at 1.1 of 2026-10-01, treasury" in render.reconciliation_text(
        report
    )


def test_the_effect_of_exchange_rates_is_a_separate_step(keeper: Bookkeeper):
    """The same machine, the same hours, 8 euros a day: 8.80 dollars at 1.10, then 9.68 at 1.21."""
    charges = [hours_of("n1", (day, day + 4 * HOUR), "8", BillingCurrency="EUR") for day in (0, DAY)]
    placements = [placement(name, "n1", (day, day + 4 * HOUR), gpus=4) for name, day in (("a", 0), ("b", DAY))]
    machines = "machine_id,resource_id,gpus\nn1,n1,4\n"
    files = Files(charges, placements, {"rates": CHANGING, "machines": machines}, INTO_DOLLARS)
    opened = account(keeper, files).opened
    days = [(date(2026, 10, day), date(2026, 10, day + 1)) for day in (1, 2)]
    result = change(*(period_costs(opened, Question([], days=period)) for period in days))
    assert (result.before, result.after) == (Decimal("8.8"), Decimal("9.68"))
    assert [(step["step"], step["change"]) for step in result.steps] == [("currency", Decimal("0.88"))]


def test_without_a_target_currency_nothing_is_converted(keeper: Bookkeeper):
    charges = [hours_of("n1", (0, 4 * HOUR), "8", BillingCurrency=currency) for currency in ("EUR", "USD")]
    made = converted(keeper, charges, f"{RATES}\n2026-10-01,EUR,USD,1.10,treasury\n", settings="")
    assert made.currencies == ["EUR", "USD"]
    assert {share["converted_from"] for share in made.shares} == {None}
    assert made.report(currency="EUR").conversions == []


def test_a_weekend_uses_the_rate_of_friday(keeper: Bookkeeper):
    """October 3 and 4, 2026 are a weekend, and the table ends on Friday; the line of Thursday has its own rate."""
    charges = [charge((day * DAY, day * DAY + HOUR), "1", BillingCurrency="EUR") for day in (0, 2, 3)]
    made = converted(keeper, charges, f"{RATES}\n2026-10-01,EUR,USD,1.10,t\n2026-10-02,EUR,USD,1.20,t\n")
    assert [(one.rate, one.rate_day.day, one.lines) for one in made.report().conversions] == [
        (Decimal("1.1"), 1, 1),
        (Decimal("1.2"), 2, 2),
    ]
    assert made.report().total == Decimal("3.5")


def test_the_banks_own_file_is_read_as_it_is(keeper: Bookkeeper):
    """Its rates convert euros directly and pounds through euros; kronor are N/A on the second, so the first counts."""
    charges = [charge((DAY, DAY + HOUR), "100", BillingCurrency=name) for name in ("EUR", "GBP", "SEK")]
    made = converted(keeper, charges, ECB)
    pounds, kronor = (nearest_rate(Fraction("1.1172"), Fraction("0.8338")), nearest_rate(Fraction("1.1"), Fraction(11)))
    assert {one.converted_from: (one.rate, one.rate_day.day) for one in made.report().conversions} == {
        "EUR": (Decimal("1.1172"), 2),
        "GBP": (pounds, 2),
        "SEK": (kronor, 1),
    }
    assert {one.rate_source for one in made.report().conversions} == {
        "European Central Bank",
        "European Central Bank (through EUR)",
    }


def nearest_rate(above: Fraction, below: Fraction) -> Decimal:
    scaled = above / below * 10**14
    return Decimal((2 * scaled.numerator + scaled.denominator) // (2 * scaled.denominator)).scaleb(-14)


def test_the_extra_writes_the_banks_rates_as_a_table(keeper: Bookkeeper, tmp_path: Path):
    """The rates in the package are those that the bank publishes: on 2026-10-01 its file has one rate per currency."""
    with pytest.raises(SystemExit) as left:
        main(["rates", str(tmp_path / "ecb.csv"), "--since", "2026-09-28", "--currency", "USD", "--currency", "JPY"])
    assert not left.value.code
    text = (tmp_path / "ecb.csv").read_text(encoding="utf-8")
    (dollars,) = (Decimal(line.split(",")[3]) for line in text.splitlines() if line.startswith("2026-10-01,EUR,USD,"))
    made = converted(keeper, [charge((0, HOUR), "100", BillingCurrency="EUR")], text)
    assert made.report().total == 100 * dollars
    with pytest.raises(SystemExit) as left:
        main(["rates", str(tmp_path / "none.csv"), "--currency", "XYZ"])
    assert left.value.code == 2


def test_the_inverse_of_a_rate_is_used(keeper: Bookkeeper):
    made = converted(keeper, [charge((0, HOUR), "3", BillingCurrency="EUR")], f"{RATES}\n2026-10-01,USD,EUR,0.9,t\n")
    (one,) = made.report().conversions
    assert one.rate == nearest_rate(Fraction(1), Fraction("0.9"))
    assert one.rate_source == "t (inverse of USD to EUR)"


def test_a_ledger_is_converted_like_a_bill(keeper: Bookkeeper):
    labor = "day,person,hours,rate,currency,job_id\n2026-10-02,ann,2,50,EUR,a\n"
    charges = [hours_of("n1", (0, 4 * HOUR), "8")]
    made = converted(keeper, charges, f"{RATES}\n2026-10-01,EUR,USD,1.5,t\n", labor=labor)
    assert made.owed() == {"a": Decimal(4 + 150), "b": Decimal(2), "__idle__": Decimal(2)}


def test_missing_rates_are_all_reported_at_once(keeper: Bookkeeper):
    charges = [charge((day * DAY, day * DAY + HOUR), "1", BillingCurrency="EUR") for day in (0, 10, 11, 20)]
    charges += [charge((0, HOUR), "1", BillingCurrency="GBP")]
    with pytest.raises(TrainfareError) as raised:
        converted(keeper, charges, f"{RATES}\n2026-10-01,EUR,USD,1.10,t\n")
    assert [line for line in str(raised.value).splitlines() if line.startswith("book")] == [
        "book 2026-10: no exchange rate from EUR to USD for 2026-10-11 to 2026-10-12 or the 7 days before",
        "book 2026-10: no exchange rate from EUR to USD for 2026-10-21 or the 7 days before",
        "book 2026-10: no exchange rate from GBP to USD for 2026-10-01 or the 7 days before",
    ]


def test_two_rates_for_one_day_are_rejected(keeper: Bookkeeper):
    with pytest.raises(TrainfareError, match=r"from EUR to USD on 2026-10-01 is given as 1.1 and 1.2"):
        converted(keeper, [charge((0, HOUR), "1")], f"{RATES}\n2026-10-01,EUR,USD,1.10,t\n2026-10-01,EUR,USD,1.2,t\n")


amounts = st.decimals(-(10**9), 10**9, places=12, allow_nan=False)
rates_given = st.decimals(Decimal("0.00000000000001"), 10**6, places=14, allow_nan=False).filter(lambda rate: rate > 0)


@given(
    st.lists(st.tuples(amounts, st.integers(0, 29)), min_size=1, max_size=8),
    st.lists(rates_given, min_size=31, max_size=31),
)
@examples(25)
def test_every_line_is_its_amount_times_the_rate_of_its_day(keeper: Bookkeeper, lines, rates):
    """Recomputed with fractions, without our code: lines, shares and the table of conversions agree exactly."""
    charges = [charge((day * DAY, day * DAY + HOUR), f"{amount:f}", BillingCurrency="EUR") for amount, day in lines]
    days = [f"2026-10-{day + 1:02},EUR,USD,{rate:f},t" for day, rate in enumerate(rates)]
    made = converted(keeper, charges, "\n".join([RATES, *days]) + "\n")
    expected = sum((nearest(Fraction(amount) * Fraction(rates[day])) for amount, day in lines), Decimal(0))
    for basis in BASES:
        assert sum(made.owed(basis).values(), Decimal(0)) == expected
    report = made.report()
    assert (report.total, report.difference) == (expected, 0)
    assert sum(one.converted for one in report.conversions) == expected
    assert sum(one.original for one in report.conversions) == sum(amount for amount, _ in lines)


@given(st.lists(st.tuples(amounts, rates_given), min_size=1, max_size=4))
@examples(15)
def test_a_credit_cancels_its_charge_after_conversion(keeper: Bookkeeper, lines):
    charges = [
        charge((day * DAY, day * DAY + HOUR), f"{sign * amount:f}", BillingCurrency="EUR")
        for day, (amount, _) in enumerate(lines)
        for sign in (1, -1)
    ]
    rates = [f"{START.date().replace(day=day + 1)},EUR,USD,{rate:f},t" for day, (_, rate) in enumerate(lines)]
    made = converted(keeper, charges, "\n".join([RATES, *rates]) + "\n")
    assert set(made.owed().values()) <= {Decimal(0)}


@given(st.lists(amounts, min_size=1, max_size=4))
@examples(10)
def test_converting_into_its_own_currency_changes_nothing(keeper: Bookkeeper, given_amounts):
    charges = [hours_of("n1", (0, 4 * HOUR), f"{amount:f}") for amount in given_amounts]
    plain = converted(keeper, charges, f"{RATES}\n2026-10-01,EUR,USD,2,t\n", settings="")
    same = converted(keeper, charges, f"{RATES}\n2026-10-01,EUR,USD,2,t\n")
    assert sorted(map(str, plain.shares)) == sorted(map(str, same.shares))
    assert sum(Decimal(str(row[COSTS["effective"]])) for row in charges) == sum(same.owed().values())


def test_prices_for_estimates_are_converted_at_the_rate_of_the_estimated_day(keeper: Bookkeeper):
    """A machine that is not billed yet, at 30 euros an hour: one hour on the second day at 2 dollars a euro, one on
    the third at 3.
    """
    ledgers = {
        "machines": "machine_id,gpu_model,gpus,existed_from,existed_to\nb1,b200,8,2026-10-02,2026-10-03T01:00:00Z\n",
        "prices": "kind,term,price,currency,valid_from,source\nb200,contract,30,EUR,2026-01-01,contract 7\n",
        "rates": f"{RATES}\n2026-10-02,EUR,USD,2,t\n2026-10-03,EUR,USD,3,t\n",
    }
    held = [placement("a", "n1", (0, DAY), gpus=1)]
    held += [placement("b", "b1", (day * DAY, day * DAY + HOUR), gpus=8, attempt=day) for day in (1, 2)]
    charges = [hours_of("n1", (hour * HOUR, (hour + 1) * HOUR), "1") for hour in range(24)]
    files = Files(charges, held, ledgers, f"estimate = true\n{INTO_DOLLARS}")
    made = account(keeper, files, START + timedelta(days=4))
    assert {share["source"] for share in made.shares if share["payer"].startswith("b#")} == {"estimated"}
    assert owed(made, source="estimated", job_id="b") == {"b": Decimal(60), "b#2": Decimal(90)}
