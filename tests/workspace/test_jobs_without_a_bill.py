"""Jobs of a month without charges are in no book: the build and the report of files say so."""

import contextlib
import io
from pathlib import Path

from trainfare.cli import main

from .company import DECEMBER, NOVEMBER, OCTOBER
from .folder import Workspace

NOTICE = "but no source has charges for this month: no book has them. Add its bill."


def test_a_build_names_the_months_whose_jobs_are_in_no_book(built: Workspace) -> None:
    assert not [line for line in built.build() if NOTICE in line]
    rows = built.write_jobs(DECEMBER).read_text(encoding="utf-8").splitlines()[1:]
    jobs = {row.split(",")[0] for row in rows if f",{DECEMBER}-" in row}
    assert len(jobs) > 5
    assert [line for line in built.build() if NOTICE in line] == [f"2026-12  {len(jobs)} jobs ran, {NOTICE}"]


def test_a_closed_month_whose_bill_is_gone_still_has_a_book(built: Workspace) -> None:
    built.close(OCTOBER)
    built.close(NOVEMBER)
    (built.folder / "bills" / f"{NOVEMBER}.csv").unlink()
    assert not [line for line in built.build() if NOTICE in line]


def test_a_report_of_files_names_them_too_and_a_job_that_ends_with_the_month_is_in_it(tmp_path: Path) -> None:
    bill = (
        "BillingCurrency,ChargePeriodStart,ChargePeriodEnd,BillingPeriodStart,BillingPeriodEnd,EffectiveCost,BilledCost,"
        "ChargeCategory,ServiceCategory,ResourceId\n"
        "USD,2026-10-01T00:00:00Z,2026-10-02T00:00:00Z,2026-10-01T00:00:00Z,2026-11-01T00:00:00Z,1,1,Usage,Compute,n1\n"
    )
    jobs = (
        "job_id,attempt,machine_id,started,ended,state\n"
        "a,1,n1,2026-10-31T00:00:00Z,2026-11-01T00:00:00Z,completed\n"
        "b,1,n1,2026-12-31T00:00:00Z,2027-01-01T01:00:00Z,completed\n"
    )
    (tmp_path / "bill.csv").write_text(bill, encoding="utf-8")
    (tmp_path / "jobs.csv").write_text(jobs, encoding="utf-8")
    messages = io.StringIO()
    with (
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.redirect_stderr(messages),
        contextlib.suppress(SystemExit),
    ):
        main(["report", str(tmp_path / "bill.csv"), "--jobs", str(tmp_path / "jobs.csv")])
    found = [line for line in messages.getvalue().splitlines() if NOTICE in line]
    assert found == [f"2026-12  1 job ran, {NOTICE}", f"2027-01  1 job ran, {NOTICE}"]
