"""The records of a game day as a company gets them: bills, job logs, machines, measurements, results and prices."""

import shutil
from pathlib import Path

from trainfare.simulate.cluster.truth import Truth

HEAD = "# A game day's workspace: everything else is as built in.\n"
ESTIMATE = "# The bills have not come to the end of the month.\nestimate = true\n"
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
path = "labour.csv"

[[source]]
path = "licences.csv"
"""
TWICE_DELIVERED = 25
"""Rows of the job log that come again: a log rotated while it was copied."""


def write(truth: Truth, folder: Path, is_late: bool) -> None:
    """Write every file. The same delivery lies there twice under two names, as it does when a copy is made by hand."""
    _bills(truth, folder)
    shutil.copyfile(folder / "bill-us.parquet", folder / "bill-us-copy.parquet")
    _jobs(truth, folder)
    for name, file in {
        "machine_rows": "machines.csv",
        "measured": "measurements.parquet",
        "quality_rows": "quality.csv",
        "price_rows": "prices.csv",
        "labour_rows": "labour.csv",
        "licence_rows": "licences.csv",
    }.items():
        _copy(truth, truth.text(name), folder / file)
    settings = HEAD + (ESTIMATE if is_late else "") + SOURCES
    (folder / "trainfare.toml").write_text(settings, encoding="utf-8")


def _copy(truth: Truth, select: str, path: Path, how: str = "") -> None:
    form = how or ("FORMAT parquet" if path.suffix == ".parquet" else "FORMAT csv, HEADER")
    truth.run(f"COPY ({select}) TO '{str(path).replace(chr(39), chr(39) * 2)}' ({form})")


def _bills(truth: Truth, folder: Path) -> None:
    """One provider, two exports: Parquet and CSV. Lines that come again are in a file of their own, in another order."""
    given = {f"{name}_text": f"text_of({truth.given[name]})" for name in ("start", "end")}
    once, again = (f"(SELECT * FROM written WHERE {which})" for which in ("NOT is_copy", "is_copy"))
    _copy(truth, truth.text("focus_lines", bill="us", **{"from": once}, **given), folder / "bill-us.parquet")
    _copy(truth, truth.text("focus_lines", bill="eu", **{"from": once}, **given), folder / "bill-eu.csv")
    if truth.units("SELECT count(*) FROM written WHERE is_copy"):
        copies = truth.text("focus_lines", bill="eu", **{"from": again}, **given)
        _copy(truth, f"SELECT * FROM ({copies}) ORDER BY ResourceId, ChargePeriodStart", folder / "bill-eu-again.csv")


def _jobs(truth: Truth, folder: Path) -> None:
    """Slurm's log of the one cluster and a plain one of the other; runs that are logged twice have a log of their own."""
    _copy(truth, truth.text("sacct_rows"), folder / "sacct.txt", "FORMAT csv, HEADER, DELIMITER '|', QUOTE ''")
    rows = truth.text("job_rows", called="a.job_id", which="j.bill = 'eu'")
    again = f"SELECT * FROM ({rows}) LIMIT {TWICE_DELIVERED}"
    _copy(truth, f"SELECT * FROM ({rows}) UNION ALL SELECT * FROM ({again})", folder / "jobs.csv")
    if truth.units("SELECT count(*) FROM runs_twice"):
        twice = truth.text("job_rows", called="'ray-' || a.job_id", which="a.number IN (SELECT number FROM runs_twice)")
        _copy(truth, twice, folder / "jobs-ray.csv")
