"""`trainfare forecast` with and without the extra `forecast`, over half a year of rising weeks."""

import json
import subprocess
import sys
from datetime import timedelta
from decimal import Decimal

import pytest

from trainfare.period import Month

from . import company
from .company import Line
from .folder import Workspace

FIRST, LAST = Month(2026, 5), Month(2026, 10)
HIDDEN = "import sys; sys.modules['statsforecast'] = None; from trainfare.cli import main; main()"
SEEN = (
    "import atexit, sys\n"
    "atexit.register(lambda: print('imported', 'statsforecast' in sys.modules))\n"
    "from trainfare.cli import main; main()"
)


def rising(month: Month) -> list[Line]:
    """One machine: a weekend day costs 30 % of a weekday, and each day five more than the one before."""
    days = [month.start + timedelta(days=n) for n in range((month.end - month.start).days)]
    costs = [(1000 + 5 * (day - FIRST.start).days) * Decimal("0.3" if day.weekday() > 4 else "1") for day in days]
    return [Line(day, cost, machine="gpu-1") for day, cost in zip(days, costs, strict=True)]


@pytest.fixture(scope="module")
def half_a_year(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    workspace = Workspace(tmp_path_factory.mktemp("rising") / "workspace")
    month = FIRST
    while month <= LAST:
        workspace.write_bill(month, rising(month))
        workspace.write_jobs(month)
        month = month.next()
    workspace.write("machines.csv", company.machines())
    workspace.write("trainfare.toml", company.settings())
    workspace.build()
    return workspace


def run(code: str, workspace: Workspace, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", code, "forecast", "-w", str(workspace.folder), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_most_accurate_model_is_named_with_its_error_and_those_of_the_others(half_a_year: Workspace):
    ran = half_a_year.run("forecast")
    output = " ".join(ran.out.split())
    assert (ran.code, ran.err) == (0, "")
    assert "all 2026-11: theta (a smoothed level, part of the long-term trend, and weekdays (AutoTheta of" in output
    assert "; other methods: seasonal naive " in output
    assert ", exponential smoothing " in output
    actual = company.total(rising(LAST.next()))
    following = json.loads(half_a_year.run("forecast", "--format", "json").out)["forecast"][1]
    assert abs(Decimal(following["forecast"]) / actual - 1) < Decimal("0.01")


def test_without_the_extra_the_built_in_methods_are_used(half_a_year: Workspace):
    ran = run(HIDDEN, half_a_year)
    output = " ".join(ran.stdout.split())
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "all 2026-11: drift (the last week continues" in output
    assert "exponential smoothing" not in output


def test_the_library_is_imported_only_if_its_models_are_tried(half_a_year: Workspace, built: Workspace):
    """A company whose days all cost the same needs no model. Two processes give the same result."""
    assert run(SEEN, built).stdout.splitlines()[-1] == "imported False"
    output = run(SEEN, half_a_year, "--format", "csv").stdout
    assert output == half_a_year.run("forecast", "--format", "csv").out + "imported True\n"
