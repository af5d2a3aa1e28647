"""Power readings of machines: CSV, JSON lines or Parquet with `machine_id, time, kw`.

The energy between two readings of a machine is their mean times the time between them. Readings more than a quarter
of an hour apart measure nothing in between. If two files have a reading for the same moment, the larger one counts,
once.
"""

from trainfare.sources.fields import EVERY_ROW, Name, Number, Time
from trainfare.sources.head import Head
from trainfare.sources.kinds import Kind
from trainfare.sources.ledgers.tables import POWER
from trainfare.sources.rows import columns_among
from trainfare.sources.table_file import TableFile

NAME = "power"
KIND = Kind.POWER
VERSION = "1"
DESCRIPTION = "Trainfare power readings: CSV, JSON lines or Parquet with machine_id, time, kw"


def recognize(head: Head) -> bool:
    found = columns_among(head, ("machine_id", "time", "kw", "job_id"))
    return "job_id" not in found and "kw" in found and len(found) > 1


FILE = TableFile(
    POWER,
    fields=(
        Name("machine_id", "Every reading names one machine."),
        Time("time", "Write it as 2026-10-01T00:00:00Z.", required=EVERY_ROW),
        Number("kw", "DECIMAL(18,6)", 10**6, "Write kW, such as 6.71.", least=0, required=EVERY_ROW),
    ),
)
archive, rows = FILE.archive, FILE.rows
