"""A closed month keeps its exchange rates: booked amounts are reversed to the last digit, at the booked rates."""

import csv
from decimal import Decimal

from . import company
from .company import DECEMBER, NOVEMBER, OCTOBER
from .folder import Workspace
from .test_adjustments import ADJUSTING_OCTOBER, restate

INTO_EUROS = '\n[convert]\nto = "EUR"\n\n[[source]]\nname = "rates"\npath = "rates.csv"\n'


def convert(workspace: Workspace, october: str, november: str) -> None:
    """Convert everything to euros, with one rate per month."""
    days = [f"2026-10-{day:02},USD,EUR,{october},treasury" for day in range(1, 32)]
    days += [f"2026-11-{day:02},USD,EUR,{november},treasury" for day in range(1, 31)]
    workspace.write("rates.csv", "\n".join(["day,from_currency,to_currency,rate,source", *days, ""]))
    workspace.write("trainfare.toml", company.settings() + INTO_EUROS)


def test_a_new_rate_makes_a_new_version_of_the_months_that_used_it(built: Workspace) -> None:
    convert(built, "2", "2")
    built.build()
    convert(built, "2", "4")
    assert built.build()[0] == "2026-10  unchanged: version 2"
    assert built.books() == [("2026-10", 1), ("2026-10", 2), ("2026-11", 1), ("2026-11", 2), ("2026-11", 3)]
    assert built.total(OCTOBER) == 2 * company.total(company.lines(OCTOBER))
    assert built.total(NOVEMBER) == 4 * company.total(company.lines(NOVEMBER))
    built.require_sound()


def test_a_closed_month_keeps_its_rates(built: Workspace) -> None:
    """October was closed at 2. With 3 in the table, 50 dollars more are still 100 euros more."""
    convert(built, "2", "4")
    built.build()
    built.close(OCTOBER)
    convert(built, "3", "4")
    assert built.build()[0] == "2026-11  unchanged: version 2"
    restate(built, OCTOBER, "50")
    built.build()
    assert built.total(NOVEMBER, source=ADJUSTING_OCTOBER) == 100
    built.close(NOVEMBER)
    restate(built, OCTOBER, "70")
    convert(built, "7", "7")
    built.build()
    assert built.total(DECEMBER, source=ADJUSTING_OCTOBER) == 40
    built.require_sound()


def test_a_month_closed_before_anything_was_converted_is_adjusted_in_its_own_currency(built: Workspace) -> None:
    built.close(OCTOBER)
    convert(built, "2", "4")
    restate(built, OCTOBER, "50")
    built.build()
    ran = built.run("reconcile", "--month", NOVEMBER, "--format", "json")
    assert ran.code == 0
    with built.open() as store:
        totals = store.catalog.latest(NOVEMBER).totals
    assert {(one.source, one.currency, one.charges) for one in totals if one.basis == "effective"} == {
        ("cloud", "EUR", 4 * company.total(company.lines(NOVEMBER))),
        (ADJUSTING_OCTOBER, "USD", Decimal(50)),
    }


def test_lines_and_exports_show_the_rates(built: Workspace) -> None:
    convert(built, "2", "4")
    built.build()
    ran = built.run("explain", "alone-2026-11", "--lines", "--month", NOVEMBER, "--format", "csv")
    header, *lines = (line.split(",") for line in ran.out.splitlines())
    rates = {tuple(line[header.index(name)] for name in ("converted_from", "rate", "rate_source")) for line in lines}
    assert rates == {("USD", "4.00", "treasury")}
    for line in lines:
        original, amount = (Decimal(line[header.index(name)]) for name in ("original", "line_amount"))
        assert 4 * original == amount
    shares, focus = (_exported(built, *flags) for flags in ((), ("--focus",)))
    assert {(row["converted_from"], Decimal(row["rate_lowest"]), row["rate_source"]) for row in shares} == {
        ("USD", Decimal(4), "treasury")
    }
    assert {(row["BillingCurrency"], row["x_ConvertedFrom"], Decimal(row["x_ConversionRate"])) for row in focus} == {
        ("EUR", "USD", Decimal(4))
    }
    for rows, name in ((shares, "effective"), (focus, "EffectiveCost")):
        assert sum(Decimal(row[name]) for row in rows) == built.total(NOVEMBER)


def _exported(workspace: Workspace, *flags: str) -> list[dict[str, str]]:
    path = workspace.folder / "out.csv"
    assert workspace.run("export", path, *flags, "--month", NOVEMBER).code == 0
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))
