"""Trainfare's own file of results: how good what a job trained is, as CSV, JSON lines or Parquet.

`job_id, metric, value, better` are all needed. `better` says whether a `higher` or a `lower` value is the better one, and
is the same in all rows of a metric. A job that has a metric in several rows is as good as the best of them.
"""

from trainfare.engine.duckdb import DuckDB
from trainfare.errors import Faults
from trainfare.places import Place
from trainfare.sources import own
from trainfare.sources.head import Head
from trainfare.sources.raw import Raw
from trainfare.tables import BETTER, QUALITY

NAME = "quality"
KIND = "quality"
READS = "Trainfare results: CSV, JSON lines or Parquet with job_id, metric, value, better"

NEEDED = ("job_id", "metric", "value", "better")
MOST = 10**18


def recognise(head: Head) -> bool:
    found = own.named(head, ("job_id", "metric", "value", "better", "measure", "machine_id"))
    return (
        "measure" not in found and "machine_id" not in found and len(found) >= 2 and bool({"metric", "better"} & found)
    )


def read(engine: DuckDB, path: Place, into: str, zone: str, faults: Faults) -> None:
    """Make table `into` with the columns of `tables.QUALITY`; a bad row is a fault."""
    instead = {"better": lambda raw, zone: f"lower({raw.text('better')})"}
    own.read(engine, path, into, zone, faults, QUALITY, NEEDED, _check, instead)


def _check(raw: Raw, zone: str, faults: Faults) -> None:
    for name in ("job_id", "metric"):
        raw.check_name(faults, name, "Every row is one metric of one job.")
    for name in ("value", "better"):
        raw.check_present(faults, name, "Every row needs one.")
    raw.check_number(faults, "value", "DECIMAL(38,12)", "a number", MOST, "Write the metric's value, such as 76.4.")
    own.check_one_of(raw, faults, "better", BETTER, "Write higher or lower.")
    metric, better = raw.text("metric"), f"lower({raw.text('better')})"
    first = f"(SELECT {metric} AS what, arg_min({better}, line) AS said FROM {raw.relation} GROUP BY ALL)"
    bad = f"EXISTS (SELECT 1 FROM {first} f WHERE f.what = {metric} AND f.said <> {better})"
    do = "Say the same in all rows of a metric."
    raw.check(faults, bad, f"{raw.shown('better')} || ': rows above say otherwise of ' || {metric}", do)
