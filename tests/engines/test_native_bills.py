"""Native bills on both engines: the same charges, checks and findings, digit for digit."""

from pathlib import Path

import pytest
from sources.cur_model import rows
from sources.test_aws import as_csv, as_parquet
from sources.test_mappings import INVOICE, MAPPING

from trainfare.books.from_files import Selection, build_from_files
from trainfare.period import Month
from trainfare.settings.config import parse
from trainfare.simulate import azure, files, google, oracle
from trainfare.simulate.restatement import restate

from .twin import Twin

pytestmark = pytest.mark.services
MONTH = Month(2026, 10)
JOBS = "job_id,attempt,machine_id,started,ended,gpus\na,1,i-0,2026-10-01T00:00:00Z,2026-10-28T00:00:00Z,8\n"


def test_reports_and_mapped_bills_are_the_same_on_both_engines(twin: Twin, tmp_path: Path) -> None:
    as_csv(rows(1, 60), tmp_path / "cur.csv")
    as_parquet(
        [row | {"bill/PayerAccountId": "9", "lineItem/UsageAccountId": "8"} for row in rows(2, 60)],
        tmp_path / "two.parquet",
        maps=True,
    )
    (tmp_path / "invoice.csv").write_text(INVOICE, encoding="utf-8")
    (tmp_path / "invoice.toml").write_text(MAPPING, encoding="utf-8")
    (tmp_path / "jobs.csv").write_text(JOBS, encoding="utf-8")
    settings = "".join(f"[[source]]\npath = '{name}'\n" for name in ("cur.csv", "two.parquet", "jobs.csv"))
    settings += "[[source]]\npath = 'invoice.csv'\nmapping = 'invoice.toml'\n"
    config = parse(settings, tmp_path / "trainfare.toml")
    build_from_files(config, tmp_path / "books", twin, Selection(only_cost=True))
    assert twin.row("SELECT count(*) FROM charges")[0] > 100
    assert twin.row("SELECT count(*) FROM bill_checks")[0] > 8
    codes = {code for (code,) in twin.rows("SELECT DISTINCT code FROM findings")}
    assert {"BILL_DOES_NOT_ADD_UP", "LINE_TYPE_UNKNOWN", "BILL_NOT_FINAL"} <= codes
    sums = "sum(effective), sum(billed), sum(list), sum(contracted), sum(finer)"
    twin.rows(f"SELECT source, charge_category, commitment_status, {sums} FROM charges GROUP BY ALL")


def test_exports_of_every_cloud_are_the_same_on_both_engines(twin: Twin, tmp_path: Path) -> None:
    """A simulated month with commitments, credits, spot machines and corrections, on the bills of three clouds."""
    simulated = files.write(tmp_path / "month", 3, MONTH, scale=0.02)
    restated = restate(simulated.charges)
    for name in ("google", "azure", "oracle"):
        (tmp_path / name).mkdir()
    google.write(tmp_path / "google" / "bill.jsonl", MONTH, simulated.charges)
    azure.write(tmp_path / "azure", MONTH, simulated.charges)
    oracle.write(tmp_path / "oracle", MONTH, restated.first, restated.late, restated.corrections)
    paths = ("google/*", "azure/*", "oracle/*", simulated.jobs, simulated.machines)
    config = parse("".join(f"[[source]]\npath = '{path}'\n" for path in paths), tmp_path / "trainfare.toml")
    build_from_files(config, tmp_path / "books", twin, Selection(MONTH, only_cost=True))
    sums = "sum(effective), sum(billed), sum(list), sum(contracted), sum(finer)"
    by_kind = twin.rows(f"SELECT source, charge_category, commitment_status, {sums} FROM charges GROUP BY ALL")
    assert len({source for source, *_ in by_kind}) == 3
    assert twin.row("SELECT count(*) FROM charges")[0] > 3000
