"""Power readings of machines: CSV, JSON lines or Parquet with `machine_id, time, kw`.

The energy between two readings of a machine is the mean of both times the time between them, unless they are more than a quarter
of an hour apart: then nothing was measured between them. What two files say of the same moment counts once, the larger of both.
"""

from trainfare.engine.duckdb import DuckDB
from trainfare.errors import Faults
from trainfare.ledger_tables import POWER
from trainfare.places import Place
from trainfare.sources import own
from trainfare.sources.head import Head
from trainfare.sources.raw import Raw

NAME = "power"
KIND = "power"
READS = "Trainfare power readings: CSV, JSON lines or Parquet with machine_id, time, kw"

NEEDED = ("machine_id", "time", "kw")


def recognise(head: Head) -> bool:
    found = own.named(head, ("machine_id", "time", "kw", "job_id"))
    return "job_id" not in found and "kw" in found and len(found) > 1


def read(engine: DuckDB, path: Place, into: str, zone: str, faults: Faults) -> None:
    """Make table `into` with the columns of `ledger_tables.POWER`; a bad row is a fault."""
    own.read(engine, path, into, zone, faults, POWER, NEEDED, _check)


def _check(raw: Raw, zone: str, faults: Faults) -> None:
    raw.check_name(faults, "machine_id", "Every reading is of one machine.")
    for name in ("time", "kw"):
        raw.check_present(faults, name, "Every row needs one.")
    raw.check_moment(faults, "time", "Write it as 2026-10-01T00:00:00Z.", zone)
    raw.check_number(faults, "kw", "DECIMAL(18,6)", "a number", 10**6, "Write kW, such as 6.71.")
    raw.check_not_below(faults, "kw", "DECIMAL(18,6)", 0, "Write kW, such as 6.71.")
