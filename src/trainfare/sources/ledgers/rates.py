"""Currency rates: what one unit of a currency is worth in another, day by day. CSV, JSON lines or Parquet.

`day, from_currency, to_currency, rate` are required; `source` says where the rate was found, and appears next to
every figure that was converted with it. A rate has at most 14 decimals and is below 100,000,000.
"""

from trainfare.engine.duckdb import quoted
from trainfare.errors import Problems
from trainfare.sources.fields import Number
from trainfare.sources.head import Head
from trainfare.sources.kinds import Kind
from trainfare.sources.ledgers.fields import Currency, day
from trainfare.sources.ledgers.tables import RATES
from trainfare.sources.raw import RawTable
from trainfare.sources.rows import columns_among
from trainfare.sources.table_file import TableFile
from trainfare.tables import RATE

NAME = "rates"
KIND = Kind.RATES
VERSION = "1"
DESCRIPTION = "Trainfare currency rates: CSV, JSON lines or Parquet with day, from_currency, to_currency, rate, source"

MOST = 10**8
"""An amount below 10^15 times a rate below this fits 38 digits with all of its decimals."""
_WRITE_RATE = "Write the value of one from_currency in to_currency, such as 1.0873."
_TWO_CURRENCIES = "A rate has two currencies."


def recognize(head: Head) -> bool:
    return len(columns_among(head, ("from_currency", "to_currency", "rate"))) > 1


def _check_rate(raw: RawTable, zone: str, problems: Problems) -> None:
    """A rate is above zero, exact, and 1 between a currency and itself."""
    rate, described = raw.number("rate", RATE), raw.described("rate")
    raw.check(problems, f"{rate} <= 0", f"{described} || ' is not above zero'", _WRITE_RATE)
    exact = f"TRY_CAST({raw.text('rate')} AS DECIMAL(38,26))"
    do = "Round it to 14 decimals, so that the rate shown is the rate used."
    raw.check(problems, f"{exact} <> {rate}", f"{described} || ' has more than 14 decimals'", do)
    same = f"{raw.text('from_currency')} = {raw.text('to_currency')} AND {rate} <> 1"
    message = f"'one ' || {raw.text('from_currency')} || ' cannot be worth ' || {raw.text('rate')} || ' of itself'"
    raw.check(problems, same, message, "Remove the row, or name another currency.")


def _source(raw: RawTable, zone: str) -> str:
    """Return the source of a rate, or the file's name if it is empty."""
    return f"coalesce(nullif(trim({raw.text('source')}), ''), {quoted(raw.path.name)})"


FILE = TableFile(
    RATES,
    fields=(
        day("day", required="Every rate is for one day."),
        Currency("from_currency", _TWO_CURRENCIES),
        Currency("to_currency", _TWO_CURRENCIES),
        Number("rate", RATE, MOST, _WRITE_RATE, noun="a rate", required=_WRITE_RATE),
    ),
    checks=(_check_rate,),
    computed={"source": _source},
    is_utc=True,
)
archive, rows = FILE.archive, FILE.rows
