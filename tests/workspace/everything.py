"""The small company with everything: measurements, estimates, a bill in another currency, budgets, users."""

import subprocess
import sys
from pathlib import Path

from . import company
from .company import NOVEMBER, OCTOBER, Line
from .conftest import furnish
from .folder import Workspace

PASSWORD = "correct horse battery"
SETTINGS = """
[[source]]
path = "measurements/*.csv"

[[source]]
path = "rates.csv"

[convert]
to = "USD"
days = 31

[budget]
total = 160000
team = { nlp = 40000, speech = 45000 }

[serve]
sign_in = "local"
"""

LATE = """\
job_id,attempt,machine_id,started,ended,gpus,state,team,submitted
late-1,1,gpu-1,2026-11-13T06:00:00Z,2026-11-19T18:00:00Z,8,running,nlp,2026-11-13T04:30:00Z
late-2,1,gpu-2,2026-11-14T00:00:00Z,2026-11-16T12:00:00Z,4,preempted,vision,
late-2,2,gpu-3,2026-11-16T12:00:00Z,2026-11-20T00:00:00Z,8,running,vision,2026-11-16T12:00:00Z
"""


def make(folder: Path) -> Workspace:
    """October is billed completely, November through the 15th and estimated through the 20th; `fin` may sign in."""
    made = furnish(folder)
    made.write_bill(NOVEMBER, [line for line in company.lines(NOVEMBER) if line.day.day <= 15])
    abroad = [
        Line(line.day, line.cost, team=line.team, service="Storage") for line in company.lines(OCTOBER) if line.team
    ]
    made.write("bills/abroad.csv", company.bill(OCTOBER, abroad).replace("USD", "EUR"))
    made.write(
        "rates.csv",
        "day,from_currency,to_currency,rate,source\n2026-10-01,EUR,USD,1.1172,ECB\n2026-10-20,EUR,USD,1.1204,ECB\n",
    )
    made.write("jobs/late.csv", LATE)
    for month in (OCTOBER, NOVEMBER):
        made.write(f"measurements/{month}.csv", company.measurements(month))
    made.write("trainfare.toml", company.settings(estimate="true") + SETTINGS)
    command = [sys.executable, "-m", "trainfare"]
    subprocess.run(
        [*command, "build", "-w", str(folder), "--as-of", "2026-11-20T00:00Z"], check=True, capture_output=True
    )
    added = [*command, "user", "add", "fin", "--role", "finance", "-w", str(folder)]
    subprocess.run(added, input=f"{PASSWORD}\n", text=True, check=True, capture_output=True)
    return made
