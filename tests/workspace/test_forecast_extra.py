"""`trainfare forecast` with the extra `forecast` and without it, over half a year of weeks that rise."""

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
    """One machine: a weekend costs a third of a weekday, and each day five more than the one before."""
    days = [month.start + timedelta(days=n) for n in range((month.end - month.start).days)]
    costs = [(1000 + 5 * (day - FIRST.start).days) * Decimal("0.3" if day.weekday() > 4 else "1") for day in days]
    return [Line(day, cost, machine="gpu-1") for day, cost in zip(days, costs, strict=True)]


@pytest.fixture(scope="module")
def half_a_year(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    made = Workspace(tmp_path_factory.mktemp("rising") / "workspace")
    month = FIRST
    while month <= LAST:
        made.write_bill(month, rising(month))
        made.write_jobs(month)
        month = month.next()
    made.write("machines.csv", company.machines())
    made.write("trainfare.toml", company.settings())
    made.build()
    return made


def run(code: str, workspace: Workspace, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", code, "forecast", "-w", str(workspace.folder), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_a_model_that_was_least_wrong_is_named_with_its_error_and_that_of_the_others(half_a_year: Workspace):
    ran = half_a_year.run("forecast")
    told = " ".join(ran.out.split())
    assert (ran.code, ran.err) == (0, "")
    assert "all 2026-11: by theta (a smoothed level, a part of the long trend, and weekdays (AutoTheta of" in told
    assert "; seasonal naive by " in told
    assert ", exponential smoothing by " in told
    came = company.total(rising(LAST.next()))
    following = json.loads(half_a_year.run("forecast", "--format", "json").out)["forecast"][1]
    assert abs(Decimal(following["forecast"]) / came - 1) < Decimal("0.01")


def test_without_the_extra_the_plain_methods_are_taken(half_a_year: Workspace):
    ran = run(HIDDEN, half_a_year)
    told = " ".join(ran.stdout.split())
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "all 2026-11: by drift (the last week goes on" in told
    assert "exponential smoothing" not in told


def test_the_library_is_imported_only_where_its_models_are_tried(half_a_year: Workspace, built: Workspace):
    """A company whose days all cost the same needs no model. Two processes say the same."""
    assert run(SEEN, built).stdout.splitlines()[-1] == "imported False"
    said = run(SEEN, half_a_year, "--format", "csv").stdout
    assert said == half_a_year.run("forecast", "--format", "csv").out + "imported True\n"
