"""`trainfare forecast` on the small company, whose days all cost the same: the forecast is exact to the cent."""

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

from . import company
from .company import NOVEMBER, OCTOBER
from .conftest import furnish
from .folder import Workspace

DAY = company.total(company.lines(OCTOBER)) / 31
BUDGET = '\n[budget]\ncurrency = "USD"\ntotal = "150000.50"\nteam = { nlp = 40000, nobody = 10 }\n'


def forecast(workspace: Workspace, *arguments: str) -> list[dict[str, Any]]:
    ran = workspace.run("forecast", "--format", "json", *arguments)
    assert ran.code == 0, ran.err
    rows: list[dict[str, Any]] = json.loads(ran.out)["forecast"]
    return rows


def cents(amount: Decimal) -> str:
    return f"{amount:.2f}"


def half_of_november(folder: Path, days: int = 15) -> Workspace:
    """October, and November through a day."""
    workspace = furnish(folder)
    workspace.write_bill(NOVEMBER, [line for line in company.lines(NOVEMBER) if line.day.day <= days])
    workspace.build()
    return workspace


def test_a_completely_billed_month_has_no_forecast_but_the_next_month_has(built: Workspace):
    current, following = forecast(built)
    assert (current["month"], current["state"], current["forecast"]) == ("2026-11", "complete", None)
    assert current["reason"] == "the month is fully billed"
    assert Decimal(current["so_far"]) == built.total(NOVEMBER)
    assert (following["month"], following["state"], following["so_far"]) == ("2026-12", "forecast", None)
    assert following["forecast"] == following["low"] == following["high"] == cents(31 * DAY)
    assert (following["error"], following["backtests"]) == ("0.00", 61 - 14 - 31 + 1)
    assert following["covered"] is None, "too few intervals could be backtested"


def test_the_forecast_rest_of_a_month_is_added_to_the_billed_part(tmp_path: Path):
    workspace = half_of_november(tmp_path / "half")
    current, following = forecast(workspace)
    assert (current["month"], current["state"]) == ("2026-11", "forecast")
    assert Decimal(current["so_far"]) == 15 * DAY
    assert current["forecast"] == cents(30 * DAY)
    assert (following["state"], following["forecast"]) == ("unknown", None)
    assert following["reason"] == "46 days are known; 73 are needed to backtest a forecast that far ahead"


def test_budgets_are_compared_with_their_scope(tmp_path: Path):
    workspace = half_of_november(tmp_path / "budget")
    settings = workspace.folder / "trainfare.toml"
    settings.write_text(settings.read_text(encoding="utf-8") + BUDGET, encoding="utf-8")
    rows = {(row["scope"], row["month"]): row for row in forecast(workspace, "--by", "team")}
    assert {of for of, _ in rows} == {"all", "team:nlp", "team:nobody", "team:speech", "team:vision"}
    everything, nlp = rows["all", "2026-11"], rows["team:nlp", "2026-11"]
    assert everything["budget"] == "150000.50"
    assert Decimal(everything["used"]) == (15 * DAY / Decimal("150000.50")).quantize(Decimal("0.0001"))
    assert Decimal(everything["expected"]) == (30 * DAY / Decimal("150000.50")).quantize(Decimal("0.0001"))
    teams = json.loads(workspace.run("report", "--by", "team", "--format", "json").out)["rows"]
    assert (nlp["budget"], nlp["so_far"]) == ("40000.00", next(row["cost"] for row in teams if row["team"] == "nlp"))
    assert rows["team:speech", "2026-11"]["budget"] is None
    assert rows["team:nobody", "2026-11"]["so_far"] == "0.00"
    assert rows["team:nobody", "2026-11"]["forecast"] is None
    assert forecast(workspace, "--scope", "infra")[0]["budget"] is None, "a budget is for everything"


def test_a_budget_in_another_currency_is_left_out_with_a_message(built: Workspace):
    settings = built.folder / "trainfare.toml"
    settings.write_text(settings.read_text(encoding="utf-8") + BUDGET.replace("USD", "EUR"), encoding="utf-8")
    ran = built.run("forecast")
    assert (ran.code, ran.err) == (0, "The budget is in EUR, the forecast in USD: the budget is left out.\n")
    assert "budget" not in ran.out


def test_the_table_says_how_a_forecast_was_made(built: Workspace):
    output = " ".join(built.run("forecast").out.split())
    assert f"{31 * DAY:,.2f}" in output
    assert "all 2026-12: seasonal naive (each day costs what the same weekday cost in the last week)" in output
    assert "all 2026-11: the month is fully billed" in output


def test_a_budget_of_a_name_that_no_cost_has_is_named_with_the_closest_one(tmp_path: Path):
    workspace = half_of_november(tmp_path / "misspelled")
    settings = (workspace.folder / "trainfare.toml").read_text(encoding="utf-8")
    misspelled = '\n[budget]\ncurrency = "USD"\nteam = { nlp = 40000, vison = 7, zzz = 10 }\n'
    workspace.write("trainfare.toml", settings + misspelled)
    assert workspace.run("forecast").err.splitlines() == [
        "[budget] team: no cost of the books is for 'vison'. Did you mean 'vision'?",
        "[budget] team: no cost of the books is for 'zzz'. Check its spelling.",
    ]
