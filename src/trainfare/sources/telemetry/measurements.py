"""Our file of measurements: what was measured about attempts. CSV, JSON lines or Parquet.

`job_id, attempt, started, measure, value` are required. `ended` empty means a moment; `machine_id` empty means the
attempt as a whole. Times without an offset are local time in the source's zone. Identical rows count once.

| measure | value |
| --- | --- |
| `gpu_busy_seconds` | seconds in which GPUs were busy, summed over the GPUs, within the span |
| `bytes_sent` | bytes, from `from_region` to `to_region`; if both are the same, the bytes did not leave the region |
| `storage_requests` | requests to storage |
| `storage_bytes` | bytes read from and written to storage |
| `checkpoint` | the step that was saved; the span is the time that saving took |
| `step` | the step that was reached at the end of the span; the first span of an attempt starts when training starts |
"""

from trainfare.sources.fields import EVERY_ROW, Choice, Name, Number, OrderedTimes, Time
from trainfare.sources.head import Head
from trainfare.sources.kinds import Kind
from trainfare.sources.rows import columns_among
from trainfare.sources.table_file import TableFile
from trainfare.tables import MEASURES, USAGE

NAME = "measurements"
KIND = Kind.USAGE
VERSION = "2"
DESCRIPTION = (
    "Trainfare measurements: CSV, JSON lines or Parquet with job_id, attempt, machine_id, started, ended, "
    "measure, value"
)
MOST_ATTEMPTS, MOST_MEASURED = 10**9, 10**18
"""A day of the fastest network has fewer bytes, and sums fit 64 bits."""
_WRITE_TIME = "Write it as 2026-10-01T00:00:00Z."


def recognize(head: Head) -> bool:
    found = columns_among(head, ("job_id", "machine_id", "measure", "value", "metric"))
    return {"job_id", "measure"} <= found or {"measure", "value"} <= found or found == {"job_id", "machine_id", "value"}


FILE = TableFile(
    USAGE,
    fields=(
        Name("job_id", "Every measurement is for one job."),
        Number(
            "attempt",
            "INTEGER",
            MOST_ATTEMPTS,
            "Count attempts from 1.",
            noun="a whole number",
            least=1,
            required=EVERY_ROW,
        ),
        Choice("measure", MEASURES, required=EVERY_ROW),
        Time("started", _WRITE_TIME, required=EVERY_ROW),
        Time("ended", _WRITE_TIME),
        Number(
            "value",
            "DECIMAL(26,6)",
            MOST_MEASURED,
            "Write the measured value as a number, such as 1200.",
            least=0,
            do_least="A measured value cannot be negative.",
            required=EVERY_ROW,
        ),
    ),
    checks=(OrderedTimes("started", "ended", "Check the clock and the time zone."),),
    computed={"ended": lambda raw, zone: f"coalesce({raw.timestamp('ended', zone)}, {raw.timestamp('started', zone)})"},
)
archive, rows = FILE.archive, FILE.rows
