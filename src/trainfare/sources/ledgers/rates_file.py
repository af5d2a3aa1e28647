"""Currency rates: what one of a currency is worth in another, day by day. CSV, JSON lines or Parquet.

`day, from_currency, to_currency, rate` are needed; `source` says where the rate was read, and stands beside every figure that
was converted by it. A rate has at most 14 digits after the point and is below 100,000,000.
"""

from trainfare.engine.duckdb import DuckDB
from trainfare.errors import Faults
from trainfare.ledger_tables import RATES
from trainfare.places import Place
from trainfare.sources import own
from trainfare.sources.head import Head
from trainfare.sources.ledgers.checks import check_currency, check_days, word_of_file
from trainfare.sources.raw import Raw
from trainfare.tables import RATE

NAME = "rates"
KIND = "rates"
READS = "Trainfare currency rates: CSV, JSON lines or Parquet with day, from_currency, to_currency, rate, source"

NEEDED = ("day", "from_currency", "to_currency", "rate")
MOST = 10**8
"""An amount below 10^15 times a rate below this fits 38 digits with all of its places."""


def recognise(head: Head) -> bool:
    return len(own.named(head, ("from_currency", "to_currency", "rate"))) > 1


def read(engine: DuckDB, path: Place, into: str, zone: str, faults: Faults) -> None:
    """Make table `into` with the columns of `ledger_tables.RATES`; a bad row is a fault."""
    own.read(engine, path, into, "UTC", faults, RATES, NEEDED, _check, {"source": word_of_file("source", path)})


def _check(raw: Raw, zone: str, faults: Faults) -> None:
    raw.check_present(faults, "day", "Every rate is of a day.")
    check_days(raw, faults, "day")
    for name in ("from_currency", "to_currency"):
        check_currency(raw, faults, name, "A rate is between two currencies.")
    do = "Write how many of to_currency one of from_currency is worth, such as 1.0873."
    raw.check_present(faults, "rate", do)
    raw.check_number(faults, "rate", RATE, "a rate", MOST, do)
    rate = raw.number("rate", RATE)
    raw.check(faults, f"{rate} <= 0", f"{raw.shown('rate')} || ' is not above zero'", do)
    exact = f"TRY_CAST({raw.text('rate')} AS DECIMAL(38,26))"
    places = "Round it to 14 digits after the point yourself, so that the rate shown is the one used."
    raw.check(
        faults, f"{exact} <> {rate}", f"{raw.shown('rate')} || ' has more than 14 digits after the point'", places
    )
    same = f"{raw.text('from_currency')} = {raw.text('to_currency')} AND {rate} <> 1"
    shown = f"'one ' || {raw.text('from_currency')} || ' is worth ' || {raw.text('rate')} || ' of itself'"
    raw.check(faults, same, shown, "Take the row out, or name another currency.")
