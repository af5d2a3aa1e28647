"""The same simulated month in the formats of Google, Azure and Oracle gives the shares of FOCUS, digit for digit.

The FOCUS bill is coarsened to what the format can represent. Shares are compared by payer, machine, rule, category and
day, over all books: Google's months begin seven hours later.
"""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
from coarsening import Row, machines, read, scale_sets, to_azure, to_google, to_oracle, write

from trainfare.books.from_files import Selection, build_from_files
from trainfare.engine.duckdb import DuckDB
from trainfare.period import Month
from trainfare.query.open_books import open_books
from trainfare.settings.config import parse
from trainfare.simulate import azure, files, google, oracle
from trainfare.simulate.files import SimulatedMonth
from trainfare.simulate.restatement import Restatement, restate
from trainfare.tables import BASES

MONTH = Month(2026, 10)


class Account(NamedTuple):
    """What a bill gives: shares on every basis, the effective cost of lines without another, and why."""

    shares: list[tuple[object, ...]]
    unknown: list[tuple[object, ...]]
    reasons: list[tuple[object, ...]]


def account(simulated: SimulatedMonth, bill: Path, listed: Path, folder: Path) -> Account:
    """Build all months from one bill of the cloud, which may be several files."""
    folder.mkdir()
    paths = (bill, simulated.bills[1], simulated.jobs, listed, simulated.measurements)
    settings = "".join(f"[[source]]\npath = '{path}'\nname = '{n}'\n" for n, path in enumerate(paths))
    engine = DuckDB()
    books = build_from_files(parse(settings, folder / "trainfare.toml"), folder, engine, Selection(only_cost=True))
    costs = [f"sum(CASE WHEN {basis} IS NULL THEN effective END)" for basis in BASES]
    unknown = engine.rows(
        f"SELECT charge_category, {', '.join(costs)} FROM charges WHERE source = '0' GROUP BY ALL ORDER BY ALL"
    )
    open_books(engine, books)
    reasons = engine.rows("SELECT code, count(*) FROM findings WHERE code = 'COST_MISSING' GROUP BY ALL")
    sums = ", ".join(f"sum({basis})" for basis in BASES)
    keys = "payer, reason, job_id, attempt, machine_id, rule, category, source, currency, day"
    shares = engine.rows(f"SELECT {keys}, {sums} FROM shares GROUP BY ALL ORDER BY ALL")
    engine.close()
    return Account([row for row in shares if any(row[-len(BASES) :])], unknown, reasons)


def as_google(simulated: SimulatedMonth, restated: Restatement | None, folder: Path) -> Path:
    if restated is None:
        return google.write(folder / "export.jsonl", MONTH, simulated.charges)
    later = [*(difference for _, difference in restated.corrections), *restated.late]
    return google.write(folder / "export.jsonl", MONTH, restated.first, later)


def as_azure(simulated: SimulatedMonth, restated: Restatement | None, folder: Path) -> Path:
    actual, _ = azure.write(folder, MONTH, restated.first if restated else simulated.charges)
    if restated:
        azure.write(folder, MONTH, simulated.charges)
    return actual.parent / "*-cost.csv"


def as_oracle(simulated: SimulatedMonth, restated: Restatement | None, folder: Path) -> Path:
    if restated is None:
        reports = oracle.write(folder, MONTH, simulated.charges)
    else:
        reports = oracle.write(folder, MONTH, restated.first, restated.late, restated.corrections)
    return reports[0].parent / "*.csv.gz"


class Format(NamedTuple):
    deliver: Callable[[SimulatedMonth, Restatement | None, Path], Path]
    coarsen: Callable[[list[Row]], list[Row]]
    rename: Callable[[list[Row]], Callable[[str, str, str], str]]
    """Given the FOCUS bill, returns what ids machines have."""


def azure_names(rows: list[Row]) -> Callable[[str, str, str], str]:
    sets = scale_sets(rows)
    return lambda named, owner, region: azure.resource_id(named, owner, region, sets.get(named, ""))


FORMATS = {
    "google": Format(as_google, to_google, lambda rows: google.machine_name),
    "azure": Format(as_azure, to_azure, azure_names),
    "oracle": Format(as_oracle, to_oracle, lambda rows: lambda named, owner, region: oracle.ocid(named, region)),
}


@pytest.fixture(scope="module")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> SimulatedMonth:
    return files.write(tmp_path_factory.mktemp("month"), 7, MONTH, scale=0.1)


@pytest.mark.parametrize("name", FORMATS)
def test_a_native_bill_gives_the_shares_of_focus(simulated: SimulatedMonth, tmp_path: Path, name: str) -> None:
    """Also if the month was stated wrongly at first. What a format has no figure for is null, with a reason."""
    format_ = FORMATS[name]
    rows = read(simulated.bills[0])
    listed = machines(simulated, tmp_path / "machines.csv", format_.rename(rows))
    focus = write(tmp_path / "focus.csv", format_.coarsen(rows))
    wanted = account(simulated, focus, listed, tmp_path / "from-focus")
    for restated in (None, restate(simulated.charges)):
        folder = tmp_path / ("restated" if restated else "plain")
        folder.mkdir()
        bill = format_.deliver(simulated, restated, folder)
        found = account(simulated, bill, listed, folder / "books")
        assert found.shares == wanted.shares
        assert found.unknown == wanted.unknown
        assert bool(found.reasons) == bool(wanted.reasons) == any(any(row[1:]) for row in found.unknown)
    assert len(wanted.shares) > 1000
