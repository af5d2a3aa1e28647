"""Trainfare's own file of measurements: what was measured about attempts, as CSV, JSON lines or Parquet.

`job_id, attempt, started, measure, value` are needed. `ended` empty means a moment; `machine_id` empty means that the
attempt is meant as a whole. Times without an offset are local time in the source's zone. The same row counts once.

| measure | value |
| --- | --- |
| `gpu_busy_seconds` | seconds in which GPUs worked, added up over the GPUs, within the span |
| `bytes_sent` | bytes, from `from_region` to `to_region`; where both are the same, the bytes did not leave the region |
| `storage_requests` | requests to storage |
| `storage_bytes` | bytes read from and written to storage |
| `checkpoint` | the step that was saved; the span is the time that saving took |
| `step` | the step that was reached at the end of the span; the first span of an attempt starts when training starts |
"""

from trainfare.engine.duckdb import DuckDB
from trainfare.errors import Faults
from trainfare.places import Place
from trainfare.sources import own
from trainfare.sources.head import Head
from trainfare.sources.raw import Raw
from trainfare.tables import MEASURES, USAGE

NAME = "measurements"
KIND = "usage"
READS = "Trainfare measurements: CSV, JSON lines or Parquet with job_id, attempt, machine_id, started, ended, measure, value"

NEEDED = ("job_id", "attempt", "started", "measure", "value")
MOST_ATTEMPTS, MOST_MEASURED = 10**9, 10**18
"""A day of the fastest network there is has fewer bytes, and sums stay within 64 bits."""


def recognise(head: Head) -> bool:
    found = own.named(head, ("job_id", "machine_id", "measure", "value", "metric"))
    return {"job_id", "measure"} <= found or {"measure", "value"} <= found or found == {"job_id", "machine_id", "value"}


def read(engine: DuckDB, path: Place, into: str, zone: str, faults: Faults) -> None:
    """Make view `into` with the columns of `tables.USAGE`; a bad row is a fault."""
    instead = {
        "measure": lambda raw, zone: f"lower({raw.text('measure')})",
        "ended": lambda raw, zone: f"coalesce({raw.moment('ended', zone)}, {raw.moment('started', zone)})",
    }
    own.read(engine, path, into, zone, faults, USAGE, NEEDED, _check, instead)


def _check(raw: Raw, zone: str, faults: Faults) -> None:
    raw.check_name(faults, "job_id", "Every measurement is of one job.")
    for name in ("attempt", "started", "measure", "value"):
        raw.check_present(faults, name, "Every row needs one.")
    raw.check_number(faults, "attempt", "INTEGER", "a whole number", MOST_ATTEMPTS, "Count attempts from 1.")
    raw.check_not_below(faults, "attempt", "INTEGER", 1, "Count attempts from 1.")
    own.check_one_of(raw, faults, "measure", MEASURES, f"Known are {', '.join(MEASURES)}.")
    for name in ("started", "ended"):
        raw.check_moment(faults, name, "Write it as 2026-10-01T00:00:00Z.", zone)
    do = "Write what was measured as a number, such as 1200."
    raw.check_number(faults, "value", "DECIMAL(26,6)", "a number", MOST_MEASURED, do)
    raw.check_not_below(faults, "value", "DECIMAL(26,6)", 0, "Nothing measures less than nothing.")
    own.check_span(raw, faults, ("started", "ended"), zone, "Check the clock or the zone it was written in.")
