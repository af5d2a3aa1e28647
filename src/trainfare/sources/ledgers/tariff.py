"""Power tariffs: what a kilowatt-hour costs, by time of day. CSV, JSON lines or Parquet.

`tariff, price_per_kwh, currency` are required. A tariff that varies by time has one row per price: `days` such as
`mon-fri` or `sat sun`, `from_hour` and `to_hour` in local time of the source's zone. 22 to 6 spans midnight, and the
hours after midnight belong to the day they are on. A new price has `valid_from`, and the previous row `valid_to`. No
hour may have two prices; an hour without a price is an error if power must be paid in it.
"""

from trainfare.engine.duckdb import quoted
from trainfare.errors import Problems
from trainfare.sources.fields import EVERY_ROW, Name, Number, OrderedTimes, Time
from trainfare.sources.head import Head
from trainfare.sources.kinds import Kind
from trainfare.sources.ledgers.fields import Currency, money
from trainfare.sources.ledgers.tables import TARIFFS
from trainfare.sources.raw import RawTable
from trainfare.sources.rows import columns_among
from trainfare.sources.table_file import TableFile

NAME = "tariffs"
KIND = Kind.TARIFFS
VERSION = "1"
DESCRIPTION = (
    "Trainfare power tariffs: CSV, JSON lines or Parquet with tariff, price_per_kwh, currency, days, from_hour, "
    "to_hour ..."
)

DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_DAY = "(" + "|".join(DAYS) + ")"
_DAYS_PATTERN = f"{_DAY}(-{_DAY})?( {_DAY}(-{_DAY})?)*"
_WRITE_TIME = "Write it as 2026-10-01, or leave it empty."


def recognize(head: Head) -> bool:
    return bool(columns_among(head, ("price_per_kwh",)))


def _hour(name: str, first: int, last: int, default: str) -> Number:
    do = f"Write a whole hour from {first} to {last}, or leave it empty."
    return Number(name, "INTEGER", last + 1, do, noun="an hour", least=first, default=default)


def _check_days(raw: RawTable, zone: str, problems: Problems) -> None:
    if raw.has("days"):
        bad = f"NOT regexp_full_match(lower({raw.text('days')}), {quoted(_DAYS_PATTERN)})"
        do = "Write mon-fri, or sat sun; empty means every day."
        raw.check(problems, bad, f"{raw.described('days')} || ' is not a list of days'", do)


FILE = TableFile(
    TARIFFS,
    fields=(
        Name("tariff", "Every tariff needs a name."),
        money("price_per_kwh", required=EVERY_ROW),
        Currency(),
        _hour("from_hour", 0, 23, default="0"),
        _hour("to_hour", 1, 24, default="24"),
        Time("valid_from", _WRITE_TIME),
        Time("valid_to", _WRITE_TIME),
    ),
    checks=(_check_days, OrderedTimes("valid_from", "valid_to", "Check valid_from and valid_to.")),
    computed={
        "days": lambda raw, zone: f"coalesce(lower({raw.text('days')}), 'mon-sun')",
        "zone": lambda raw, zone: quoted(zone),
    },
)
archive, rows = FILE.archive, FILE.rows
