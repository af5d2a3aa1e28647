"""A company whose labels, jobs, machines and descriptions are written to do harm, or just unusual."""

import csv
import io
from pathlib import Path

from workspace.folder import Workspace

MONTH = "2026-10"
HOSTILE = (
    "esc\x1b]0;owned\x07\x1b[31m",
    "c1\x9b31m",
    "\u202egpj.exe",
    '=HYPERLINK("http://evil.example","open")',
    "+1+1",
    "-1+1",
    "@SUM(1)",
    "pipe|[x](javascript:alert(1))",
    "<script>alert(1)</script>",
    "[bold]rich[/nothing]",
    "日本語チーム",
    "emoji 🙂 👩\u200d💻",
    "a" * 400,
    "two\nlines",
    "../../etc/passwd",
    "a/b",
    "a-b",
    "Case",
    "case",
    "DEL\x7f",
)
"""The values of every label, one per job."""
BILL_COLUMNS = (
    *("BillingCurrency", "ChargePeriodStart", "ChargePeriodEnd", "BillingPeriodStart", "BillingPeriodEnd"),
    *("EffectiveCost", "BilledCost", "ListCost", "ContractedCost", "ChargeCategory", "ServiceCategory", "ServiceName"),
    *("ResourceId", "SubAccountId", "ChargeDescription"),
)


def furnish(folder: Path) -> Workspace:
    """A month in which each hostile name is a job, its team, project, owner, its machine and the text of a charge."""
    made = Workspace(folder)
    day = ("2026-10-01T00:00:00Z", "2026-10-02T00:00:00Z")
    period = (*day, "2026-10-01T00:00:00Z", "2026-11-01T00:00:00Z")
    bill, jobs = [], []
    for number, name in enumerate(HOSTILE):
        machine = f"m{number} {name}"
        bill.append(("USD", *period, *["24.00"] * 4, "Usage", "Compute", name, machine, name, name))
        jobs.append((f"{name} {number}", 1, machine, *day, 8, "completed", name, name, name, name))
    bill.append(("USD", *period, *["7.00"] * 4, "Usage", "Other", HOSTILE[0], "", HOSTILE[0], HOSTILE[0]))
    columns = ("job_id", "attempt", "machine_id", "started", "ended", "gpus", "state")
    made.write("bill.csv", _csv(BILL_COLUMNS, bill))
    made.write("jobs.csv", _csv((*columns, "team", "project", "owner", "cost_center"), jobs))
    made.write("machines.csv", _csv(("machine_id", "gpus"), [(row[2], 8) for row in jobs]))
    sources = "".join(f'[[source]]\npath = "{name}.csv"\n' for name in ("bill", "jobs", "machines"))
    made.write("trainfare.toml", sources)
    made.build()
    return made


def _csv(columns: tuple[str, ...], rows: list[tuple[object, ...]]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    return out.getvalue()
