"""Labor: time entries by person or role, with an hourly rate. CSV, JSON lines or Parquet.

`day, hours, rate, currency` are required, and `person` or `role`. An entry costs hours times rate, on its UTC day.
It may name who it is for: a job, a project, a team ...; an entry without a target goes to `__unallocated__`, with
that reason.
"""

from trainfare.errors import Problems
from trainfare.sources.fields import Number
from trainfare.sources.head import Head
from trainfare.sources.kinds import Kind
from trainfare.sources.ledgers.fields import TARGETS, Currency, day, money
from trainfare.sources.ledgers.tables import LABOR
from trainfare.sources.raw import RawTable
from trainfare.sources.rows import columns_among
from trainfare.sources.table_file import TableFile

NAME = "labor"
KIND = Kind.LABOR
VERSION = "1"
DESCRIPTION = (
    "Trainfare time entries: CSV, JSON lines or Parquet with day, person, role, hours, rate, currency, project ..."
)

MOST_HOURS = 10**6
_EVERY_ENTRY = "Every entry needs one."


def recognize(head: Head) -> bool:
    found = columns_among(head, ("day", "person", "role", "hours", "rate"))
    return {"hours", "rate"} <= found or len(found) > 3


def _check_person_or_role(raw: RawTable, zone: str, problems: Problems) -> None:
    missing = f"coalesce({raw.text('person')}, {raw.text('role')}) IS NULL"
    raw.check(problems, missing, "'both person and role are empty'", "Name the person or the role.")


FILE = TableFile(
    LABOR,
    fields=(
        day("day", required=_EVERY_ENTRY),
        Number(
            "hours",
            "DECIMAL(18,6)",
            MOST_HOURS,
            "Write hours with a decimal point, such as 7.5.",
            required=_EVERY_ENTRY,
        ),
        money("rate", required=_EVERY_ENTRY),
        Currency(),
        *TARGETS,
    ),
    checks=(_check_person_or_role,),
    is_utc=True,
)
archive, rows = FILE.archive, FILE.rows
