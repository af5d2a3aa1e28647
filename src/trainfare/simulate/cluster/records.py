"""Write the records of a game day as a company receives them: bills, job logs, machines, measurements and ledgers."""

import shutil
from pathlib import Path

from trainfare.simulate.cluster.truth import Truth

HEAD = "# A game day's workspace. Everything else uses the defaults.\n"
ESTIMATE = "# The bills do not cover the whole month yet.\nestimate = true\n"
SOURCES = """\

[[source]]
name = "cloud-us"
path = "bill-us*.parquet"

[[source]]
name = "cloud-eu"
path = "bill-eu*.csv"

[[source]]
path = "sacct*.txt"

[[source]]
path = "jobs*.csv"

[[source]]
path = "machines.csv"

[[source]]
path = "measurements.parquet"

[[source]]
path = "quality.csv"

[[source]]
path = "prices.csv"

[[source]]
path = "labor.csv"

[[source]]
path = "licenses.csv"
"""
RESOLD = "reseller-eu.csv"
"""The bill of a reseller, who takes over from the provider on some day."""
REPEATED_ROWS = 25
"""Rows of the job log that occur twice: the log was rotated while it was copied."""


def write(truth: Truth, folder: Path, is_partial: bool) -> None:
    """Write every file. One delivery exists under two names, as after a manual copy."""
    _write_bills(truth, folder)
    shutil.copyfile(folder / "bill-us.parquet", folder / "bill-us-copy.parquet")
    _write_job_logs(truth, folder)
    for name, file in {
        "machine_rows": "machines.csv",
        "measurement_rows": "measurements.parquet",
        "quality_rows": "quality.csv",
        "price_rows": "prices.csv",
        "labor_rows": "labor.csv",
        "license_rows": "licenses.csv",
    }.items():
        _copy(truth, truth.query(name), folder / file)
    settings = HEAD + (ESTIMATE if is_partial else "") + SOURCES
    if (folder / RESOLD).exists():
        settings += f'\n[[source]]\npath = "{RESOLD}"\n'
    (folder / "trainfare.toml").write_text(settings, encoding="utf-8")


def _copy(truth: Truth, select: str, path: Path, copy_options: str = "") -> None:
    options = copy_options or ("FORMAT parquet" if path.suffix == ".parquet" else "FORMAT csv, HEADER")
    truth.run(f"COPY ({select}) TO '{str(path).replace(chr(39), chr(39) * 2)}' ({options})")


def _write_bills(truth: Truth, folder: Path) -> None:
    """Write two exports of one provider, as Parquet and CSV. Duplicated lines get their own file, in another order."""
    periods = {f"{name}_text": f"utc_text({truth.parameters[name]})" for name in ("start", "end")}
    once, repeated = (f"(SELECT * FROM delivered_lines WHERE {condition})" for condition in ("NOT is_copy", "is_copy"))
    _copy(truth, truth.query("focus_rows", bill="us", lines=once, **periods), folder / "bill-us.parquet")
    resold = f"starts >= {truth.resold_from or truth.cluster.end}"
    direct, reseller = (f"(SELECT * FROM {once} WHERE {condition})" for condition in (f"NOT {resold}", resold))
    _copy(truth, truth.query("focus_rows", bill="eu", lines=direct, **periods), folder / "bill-eu.csv")
    if truth.resold_from:
        _copy(truth, truth.query("focus_rows", bill="eu", lines=reseller, **periods), folder / RESOLD)
    if truth.integer("SELECT count(*) FROM delivered_lines WHERE is_copy"):
        copies = truth.query("focus_rows", bill="eu", lines=repeated, **periods)
        _copy(truth, f"SELECT * FROM ({copies}) ORDER BY ResourceId, ChargePeriodStart", folder / "bill-eu-again.csv")


def _write_job_logs(truth: Truth, folder: Path) -> None:
    """Write a Slurm log for one cluster and a plain one for the other; runs logged twice get a log of their own."""
    _copy(truth, truth.query("sacct_rows"), folder / "sacct.txt", "FORMAT csv, HEADER, DELIMITER '|', QUOTE ''")
    rows = truth.query("job_rows", job_id="a.job_id", condition="j.bill = 'eu'")
    repeated = f"SELECT * FROM ({rows}) LIMIT {REPEATED_ROWS}"
    _copy(truth, f"SELECT * FROM ({rows}) UNION ALL SELECT * FROM ({repeated})", folder / "jobs.csv")
    if truth.logged_again_from:
        late = f"j.bill = 'eu' AND a.started >= {truth.logged_again_from}"
        _copy(truth, truth.query("job_rows", job_id="a.job_id", condition=late), folder / "jobs-late.csv")
    if truth.integer("SELECT count(*) FROM duplicate_runs"):
        duplicates = truth.query(
            "job_rows", job_id="'ray-' || a.job_id", condition="a.number IN (SELECT number FROM duplicate_runs)"
        )
        _copy(truth, duplicates, folder / "jobs-ray.csv")
