"""Labour: time entries by person or role, with what an hour costs. CSV, JSON lines or Parquet.

`day, hours, rate, currency` are needed, and `person` or `role`. An entry costs hours times rate, on its UTC day. It may name who
it is for: a job, a project, a team ...; an entry that names nobody goes to `__unallocated__`, with that reason.
"""

from trainfare.engine.duckdb import DuckDB
from trainfare.errors import Faults
from trainfare.ledger_tables import LABOUR
from trainfare.places import Place
from trainfare.sources import own
from trainfare.sources.head import Head
from trainfare.sources.ledgers.checks import check_currency, check_days, check_money, check_names
from trainfare.sources.raw import Raw

NAME = "labour"
KIND = "labour"
READS = "Trainfare time entries: CSV, JSON lines or Parquet with day, person, role, hours, rate, currency, project ..."

NEEDED = ("day", "hours", "rate", "currency")
MOST_HOURS = 10**6


def recognise(head: Head) -> bool:
    found = own.named(head, ("day", "person", "role", "hours", "rate"))
    return {"hours", "rate"} <= found or len(found) > 3


def read(engine: DuckDB, path: Place, into: str, zone: str, faults: Faults) -> None:
    """Make table `into` with the columns of `ledger_tables.LABOUR`; a bad row is a fault."""
    own.read(engine, path, into, "UTC", faults, LABOUR, NEEDED, _check)


def _check(raw: Raw, zone: str, faults: Faults) -> None:
    for name in ("day", "hours", "rate"):
        raw.check_present(faults, name, "Every entry needs one.")
    check_days(raw, faults, "day")
    do = "Write hours with a point, such as 7.5."
    raw.check_number(faults, "hours", "DECIMAL(18,6)", "a number", MOST_HOURS, do)
    check_money(raw, faults, "rate")
    check_currency(raw, faults)
    nobody = f"coalesce({raw.text('person')}, {raw.text('role')}) IS NULL"
    raw.check(faults, nobody, "'neither person nor role is given'", "Say who worked, or as what.")
    check_names(raw, faults)
