"""How long a user waits: for help, and for the first answer from two files."""

import resource
import subprocess
import sys
import time
from pathlib import Path

import pytest

from trainfare.engine.duckdb import DuckDB

COMMAND = Path(sys.executable).with_name("trainfare")
HELP_SECONDS = 0.2
REPORT_SECONDS = 10
"""On a quiet machine it is under three; a test may share its machine."""

HEAVY = (
    *("alembic", "duckdb", "jinja2", "litestar", "msgspec", "numpy", "psycopg", "rich", "sqlalchemy", "sqlite3"),
    *("statsforecast", "uvicorn"),
)


def seconds(*arguments: object) -> tuple[float, str]:
    """How long a command takes: by the clock or, where others keep the machine busy, by the work it does."""
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    ran = subprocess.run([COMMAND, *map(str, arguments)], capture_output=True, text=True, check=True)
    waited, after = time.monotonic() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    worked = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return min(waited, worked), ran.stdout


def test_help_is_there_at_once() -> None:
    best = min(seconds("--help")[0] for _ in range(5))
    print(f"trainfare --help: {best:.3f} s")
    assert best < HELP_SECONDS


@pytest.mark.parametrize("arguments", [["--help"], ["--version"]])
def test_help_imports_nothing_heavy(arguments: list[str]) -> None:
    code = (
        "import atexit, sys\n"
        f"atexit.register(lambda: print('imported', *sorted(set(sys.modules) & set({HEAVY!r}))))\n"
        "from trainfare.cli import main\n"
        f"main({arguments!r})\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.splitlines()[-1] == "imported"


def utc(moment: str) -> str:
    return f"strftime({moment}, '%Y-%m-%dT%H:%M:%SZ')"


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A bill of 100,440 lines (135 machines by the hour) and a log of 10,000 jobs."""
    folder = tmp_path_factory.mktemp("large")
    bill, jobs = folder / "bill.csv", folder / "jobs.csv"
    engine = DuckDB()
    hour = "TIMESTAMP '2026-10-01' + INTERVAL (h) HOUR"
    engine.run(
        f"COPY (SELECT 'USD' AS BillingCurrency, {utc(hour)} AS ChargePeriodStart, "
        f"{utc(f'{hour} + INTERVAL 1 HOUR')} AS ChargePeriodEnd, "
        "'2026-10-01T00:00:00Z' AS BillingPeriodStart, '2026-11-01T00:00:00Z' AS BillingPeriodEnd, "
        "'55.04' AS EffectiveCost, '55.04' AS BilledCost, "
        "'Usage' AS ChargeCategory, 'Compute' AS ServiceCategory, 'Virtual machines' AS ServiceName, "
        """'i-' || m AS ResourceId, '{"InstanceType": "p5.48xlarge"}' AS SkuPriceDetails """
        f"FROM range(744) hours(h), range(135) machines(m)) TO '{bill}' (HEADER)"
    )
    start = "TIMESTAMP '2026-10-01' + INTERVAL (j // 135 * 9) HOUR + INTERVAL (j % 60) MINUTE"
    engine.run(
        f"COPY (SELECT 'job-' || j AS job_id, 1 AS attempt, 'i-' || j % 135 AS machine_id, {utc(start)} AS started, "
        f"{utc(f'{start} + INTERVAL (60 + j % 400) MINUTE')} AS ended, 1 + j % 8 AS gpus, 'completed' AS state, "
        f"'team-' || j % 7 AS team FROM range(10000) jobs(j)) TO '{jobs}' (HEADER)"
    )
    engine.close()
    return bill, jobs


def test_the_first_answer_comes_soon(large: tuple[Path, Path]) -> None:
    bill, jobs = large
    elapsed, output = seconds("report", bill, "--jobs", jobs)
    print(f"trainfare report, 100,440 bill lines and 10,000 jobs: {elapsed:.1f} s")
    assert "ties to the bill: 5,528,217.60 USD, difference 0.00" in output
    assert elapsed < REPORT_SECONDS


def test_a_long_query_draws_nothing_among_the_data() -> None:
    engine = DuckDB()
    assert engine.row("SELECT current_setting('enable_progress_bar')") == (False,)
    engine.close()
