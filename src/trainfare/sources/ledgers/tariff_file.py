"""Power tariffs: what a kilowatt-hour costs, by time of day. CSV, JSON lines or Parquet.

`tariff, price_per_kwh, currency` are needed. A tariff with times of day has one row per price: `days` such as `mon-fri` or
`sat sun`, `from_hour` and `to_hour` in local time of the source's zone. 22 to 6 goes through midnight, and the hours after it belong to
the day they are on. A new price has `valid_from`, and the row before it `valid_to`. No hour may have two prices; an hour without one is
refused when power is to be paid in it.
"""

from trainfare.engine.duckdb import DuckDB, quoted
from trainfare.errors import Faults
from trainfare.ledger_tables import TARIFFS
from trainfare.places import Place
from trainfare.sources import own
from trainfare.sources.head import Head
from trainfare.sources.ledgers.checks import check_currency, check_money
from trainfare.sources.raw import Raw

NAME = "tariffs"
KIND = "tariffs"
READS = "Trainfare power tariffs: CSV, JSON lines or Parquet with tariff, price_per_kwh, currency, days, from_hour, to_hour ..."

NEEDED = ("tariff", "price_per_kwh", "currency")
DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_DAY = "(" + "|".join(DAYS) + ")"
_WRITTEN = f"{_DAY}(-{_DAY})?( {_DAY}(-{_DAY})?)*"


def recognise(head: Head) -> bool:
    return bool({"price_per_kwh"} & own.named(head, ("price_per_kwh",)))


def read(engine: DuckDB, path: Place, into: str, zone: str, faults: Faults) -> None:
    """Make table `into` with the columns of `ledger_tables.TARIFFS`; a bad row is a fault."""
    instead = {
        "days": lambda raw, zone: f"coalesce(lower({raw.text('days')}), 'mon-sun')",
        "from_hour": lambda raw, zone: f"coalesce({raw.number('from_hour', 'INTEGER')}, 0)",
        "to_hour": lambda raw, zone: f"coalesce({raw.number('to_hour', 'INTEGER')}, 24)",
        "zone": lambda raw, zone: quoted(zone),
    }
    own.read(engine, path, into, zone, faults, TARIFFS, NEEDED, _check, instead)


def _check(raw: Raw, zone: str, faults: Faults) -> None:
    raw.check_name(faults, "tariff", "Every tariff needs a name.")
    raw.check_present(faults, "price_per_kwh", "Every row needs one.")
    check_money(raw, faults, "price_per_kwh")
    check_currency(raw, faults)
    if raw.has("days"):
        bad = f"NOT regexp_full_match(lower({raw.text('days')}), {quoted(_WRITTEN)})"
        raw.check(
            faults, bad, f"{raw.shown('days')} || ' are not days'", "Write mon-fri, or sat sun; empty is every day."
        )
    for name, first, last in (("from_hour", 0, 23), ("to_hour", 1, 24)):
        do = f"Write a whole hour from {first} to {last}, or leave it empty."
        raw.check_number(faults, name, "INTEGER", "an hour", last + 1, do)
        raw.check_not_below(faults, name, "INTEGER", first, do)
    for name in ("valid_from", "valid_to"):
        raw.check_moment(faults, name, "Write it as 2026-10-01, or leave it empty.", zone)
    own.check_span(raw, faults, ("valid_from", "valid_to"), zone, "Check valid_from and valid_to.")
