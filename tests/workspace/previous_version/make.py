"""Build the workspace of the previous version that the migration tests start from, and record what it reported.

Run it with the command of that version, from any folder:

    python tests/workspace/previous_version/make.py OLD_TRAINFARE_COMMAND

It writes `workspace.tar.gz` (settings, files, catalog and lake) and `reported.json` next to this script. Both are kept
as they are: the previous version cannot be installed any more when they are read.
"""

import csv
import io
import json
import os
import subprocess
import sys
import tarfile
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

HERE = Path(__file__).parent
PASSWORD = "correct horse battery"
AS_OF = "2026-11-20T00:00Z"
JOB = "41"
SETTINGS = """\
[[source]]
name = "cloud"
path = "bills/*.csv"

[[source]]
name = "slurm"
path = "sacct/*.txt"

[[source]]
path = "files/*.csv"

[convert]
to = "USD"
days = 31

[[rule]]
name = "people of the platform"
match = { origin = "labour", service = "admin" }
to = "__outside__"

[serve]
sign_in = "local"
"""
HEADER = "JobID|JobIDRaw|Cluster|User|Account|Partition|JobName|Comment|State|Start|End|ElapsedRaw|AllocTRES|NodeList"
RUNS = (
    ("41", "ana", "nlp", "NODE_FAIL", "10-05T10", "10-05T12", 2, "gpu[01-02]"),
    ("41", "ana", "nlp", "COMPLETED", "10-05T13", "10-06T20", 2, "gpu[01-02]"),
    ("42", "ben", "vision", "CANCELLED by 0", "10-07T00", "10-07T09", 1, "gpu01"),
    ("43", "ben", "vision", "COMPLETED", "10-30T00", "11-02T06", 1, "gpu02"),
    ("44", "cleo", "speech", "CANCELLED", "11-05T00", "11-06T12", 1, "own-1"),
    ("45", "cleo", "speech", "RUNNING", "11-17T00", "Unknown", 1, "gpu01"),
)
FILES = {
    "files/machines.csv": "machine_id,resource_id,gpus,pool\ngpu01,i-0aa1,8,a100\ngpu02,i-0bb2,8,a100\n",
    "files/rates.csv": "day,from_currency,to_currency,rate,source\n"
    "2026-10-01,EUR,USD,1.1172,ECB\n2026-10-20,EUR,USD,1.1204,ECB\n2026-11-02,EUR,USD,1.1093,ECB\n",
    "files/people.csv": "day,person,role,hours,rate,currency,project,job_id\n2026-10-06,ann,engineer,7.5,95.00,USD,,41\n"
    "2026-10-07,,admin,4,60.00,USD,,\n2026-11-04,ann,admin,14,95.00,USD,,\n2026-11-04,ann,engineer,14,95.00,USD,,\n",
    "files/software.csv": "licence,per,quantity,price,every,currency,started,ended,team\n"
    "compiler,seat,10,49.99,month,USD,2026-01-01,2027-01-01,nlp\nsolver,core,1,1000,month,USD,2026-01-01,2027-01-01,\n"
    "debugger,seat,1,310,month,EUR,2026-01-01,2027-01-01,\n",
    "files/owned.csv": "machine_id,price,salvage,currency,in_service,life_months,method,rated_kw,pue,tariff,space\n"
    "own-1,300000,20000,USD,2025-01-15,48,straight,10.2,1.3,flat,120\n"
    "own-2,280000,0,USD,2026-06-01,36,declining,,,,\n",
    "files/tariffs.csv": "tariff,price_per_kwh,currency,days,from_hour,to_hour\nflat,0.31,USD,,,\n",
    "files/invoices.csv": "invoice,vendor,description,category,amount,currency,started,ended\n"
    "R-1,ACME,yearly support,support,12000,USD,2026-07-01,2027-07-01\n",
    "files/measured.csv": "job_id,attempt,machine_id,started,ended,measure,value,from_region,to_region\n"
    "41,2,gpu01,2026-10-05T13:00:00Z,2026-10-05T20:00:00Z,gpu_busy_seconds,150000,,\n"
    "41,2,gpu01,2026-10-05T13:00:00Z,2026-10-05T20:00:00Z,bytes_sent,3000000000,eu-central-1,us-east-1\n"
    "41,1,,2026-10-05T10:50:00Z,2026-10-05T10:52:00Z,checkpoint,1000,,\n"
    "41,2,,2026-10-05T13:50:00Z,2026-10-05T13:52:00Z,checkpoint,2000,,\n",
    "files/results.csv": "job_id,metric,value,better\n41,accuracy,76.4,higher\n",
}
BILL = (
    *("BillingPeriodStart", "BillingPeriodEnd", "ChargePeriodStart", "ChargePeriodEnd", "BilledCost", "EffectiveCost"),
    *("ListCost", "BillingCurrency", "ServiceCategory", "ServiceName", "ResourceId", "ChargeCategory", "Tags"),
)
QUERIES = {
    "report": ("report", "--month", "2026-10", "--by", "team", "--format", "json"),
    "report by rule": ("report", "--month", "2026-10", "--by", "rule", "--format", "json"),
    "report by category": ("report", "--month", "2026-10", "--by", "category", "--format", "json"),
    "next report": ("report", "--month", "2026-11", "--by", "team", "--format", "json"),
    "metrics": ("metrics", "--month", "2026-10", "--format", "json"),
    "explain": ("explain", JOB, "--month", "2026-10", "--lines", "--all", "--format", "json"),
    "explain with ledgers": ("explain", "44", "--month", "2026-11", "--lines", "--all", "--format", "json"),
    "reconcile": ("reconcile", "--month", "2026-10", "--format", "json"),
    "diff": ("diff", "1", "2", "--month", "2026-10", "--format", "json"),
    "findings": ("check", "--month", "2026-10", "--format", "json"),
    "adjusted": ("reconcile", "--month", "2026-11", "--format", "json"),
    "users": ("user", "list", "--format", "json"),
    "tokens": ("token", "list", "--format", "json"),
}


def bill(month: str, days: int, currency: str, price: str) -> str:
    """Two machines by the day, storage of a team, a network charge and a support fee."""
    first = datetime.fromisoformat(f"{month}-01").replace(tzinfo=UTC)
    period = (_time(first), _time((first + timedelta(days=31)).replace(day=1)))
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(BILL)
    for day in (first + timedelta(days=n) for n in range(days)):
        at = (*period, _time(day), _time(day + timedelta(days=1)))
        if currency == "USD":
            for machine in ("i-0aa1", "i-0bb2"):
                cost = (price, price, f"{price}9", currency)
                writer.writerow((*at, *cost, "Compute", "Virtual machines", machine, "Usage", ""))
        tag = json.dumps({"team": "nlp"})
        writer.writerow((*at, "7.31", "7.310000000007", "8", currency, "Storage", "Object storage", "", "Usage", tag))
    at = (*period, period[0], _time(first + timedelta(days=1)))
    writer.writerow((*at, "31.07", "31.07", "31.07", currency, "Networking", "Data transfer", "", "Usage", ""))
    writer.writerow((*at, "99.99", "99.99", "99.99", currency, "Other", "Support", "", "Usage", ""))
    return out.getvalue()


def log() -> str:
    rows = [HEADER]
    for job, user, team, state, start, end, nodes, machines in RUNS:
        tres = f"billing={nodes * 96},cpu={nodes * 96},gres/gpu={nodes * 8},mem={nodes * 1000}G,node={nodes}"
        started, ended = f"2026-{start}:00:00", end if end == "Unknown" else f"2026-{end}:00:00"
        until = datetime.fromisoformat("2026-11-19T00:00:00" if end == "Unknown" else ended)
        seconds = int((until - datetime.fromisoformat(started)).total_seconds())
        fields = (job, job, "train", user, team, "gpu", "pretrain", "project=atlas;experiment=e7", state)
        rows.append("|".join((*fields, started, ended, str(seconds), tres, machines)))
    return "\n".join([*rows, ""])


def _time(moment: datetime) -> str:
    return f"{moment:%Y-%m-%dT%H:%M:%SZ}"


def main(command: str) -> None:
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made) / "workspace"
        write(folder, {"trainfare.toml": SETTINGS, "sacct/log.txt": log(), **FILES})
        write(folder, {"bills/october.csv": bill("2026-10", 31, "USD", "1170.912345678901")})
        write(folder, {"bills/abroad.csv": bill("2026-10", 31, "EUR", "0")})

        def run(*arguments: str, given: str = "") -> str:
            ran = subprocess.run(
                [command, *arguments], cwd=folder, input=given, capture_output=True, text=True, check=False
            )
            if ran.returncode not in (0, 1, 3):
                raise SystemExit(f"{arguments}: {ran.stderr}")
            return ran.stdout

        run("build", "--as-of", AS_OF)
        write(folder, {"bills/october.csv": bill("2026-10", 31, "USD", "1171.912345678901")})
        run("build", "--as-of", AS_OF)
        run("user", "add", "fin", "--role", "finance", given=f"{PASSWORD}\n")
        run("user", "add", "ana", "--role", "team", "--sees", "team:nlp", given=f"{PASSWORD}\n")
        token = run("token", "create", "ci", "--role", "team", "--sees", "team:nlp", "--expires", "never").strip()
        run("check", "--month", "2026-10")
        run("check", "--accept", "F9", "--reason", "overtime before a release", "--until", "2099-12-31")
        run("close", "2026-10", "--note", "matches the invoice")
        write(folder, {"bills/october.csv": bill("2026-10", 31, "USD", "1172.912345678901")})
        write(folder, {"bills/november.csv": bill("2026-11", 18, "USD", "1171.912345678901")})
        run("build", "--as-of", AS_OF)
        reported = {name: run(*arguments) for name, arguments in QUERIES.items()}
        (HERE / "reported.json").write_text(json.dumps({**reported, "token": token}, indent=1) + "\n")
        pack(folder, HERE / "workspace.tar.gz")


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")


def pack(folder: Path, into: Path) -> None:
    """Pack the workspace without the digests that a service adds, and without times and owners."""

    def plain(entry: tarfile.TarInfo) -> tarfile.TarInfo:
        entry.uid = entry.gid = entry.mtime = 0
        entry.uname = entry.gname = ""
        return entry

    with tarfile.open(into, "w:gz", compresslevel=9) as archive:
        for path in sorted(folder.rglob("*")):
            archive.add(path, str(path.relative_to(folder)), recursive=False, filter=plain)
    print(f"{into}: {os.path.getsize(into):,} bytes")


if __name__ == "__main__":
    main(sys.argv[1])
