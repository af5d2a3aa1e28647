"""Reference rates of the European Central Bank, as it publishes them.

`eurofxref-hist.csv` has every day since 1999, `eurofxref.csv` one day. One column per currency: how many of it one euro is
worth. Every line ends in a comma, so the last column has no name. A currency that was not quoted on a day is N/A. The day is
2026-10-30 in the history, `30 October 2026` in the file of one day, which also has a space after each comma. There are no rates
of weekends and bank holidays.
"""

import re
from dataclasses import replace

from trainfare.engine.duckdb import DuckDB
from trainfare.errors import Faults
from trainfare.ledger_tables import RATES
from trainfare.places import Place
from trainfare.sources.head import Head, look
from trainfare.sources.raw import Raw, raw_of, told
from trainfare.sources.rows import Lines, header_names, identifier, located
from trainfare.tables import RATE

NAME = "ecb rates"
KIND = "rates"
READS = "currency rates of the European Central Bank: eurofxref-hist.csv or eurofxref.csv"
SOURCE = "European Central Bank"


def recognise(head: Head) -> bool:
    names = [] if head.is_parquet or head.is_json else [name.strip() for name in header_names(head)]
    return names[:1] == ["Date"] and len(_currencies(names)) > 5


def read(engine: DuckDB, path: Place, into: str, zone: str, faults: Faults) -> None:
    """Make table `into` with the columns of `ledger_tables.RATES`; a bad value is a fault."""
    head, before = look(path), len(faults.found)
    with told(head, faults):
        engine.table(
            "delivered",
            f"SELECT row_number() OVER () AS line, * FROM read_csv({located(head)}, header = true, all_varchar = true, delim = ',')",
        )
        lines = Lines(head, engine.row("SELECT count(*) FROM delivered")[0])
        raw = replace(raw_of(engine, "delivered", path), lines=lines.of)
        _check(raw, faults)
    if len(faults.found) > before:
        return
    named = ", ".join(
        f"struct_pack(name := '{name.strip()}', value := {_value(name)})" for name in _currencies(_names(raw))
    )
    engine.table(
        into,
        RATES.typed_select(
            "(SELECT line, day, 'EUR' AS from_currency, quoted.name AS to_currency, quoted.value AS rate, "
            f"'{SOURCE}' AS source FROM (SELECT line, {_day(raw)} AS day, unnest([{named}]) AS quoted FROM {raw.relation}) "
            "WHERE quoted.value IS NOT NULL)"
        ),
    )


def _check(raw: Raw, faults: Faults) -> None:
    do = "Download the file again."
    date = identifier(raw.columns["date"][0])
    raw.check(faults, f"{_day(raw)} IS NULL", f"'Date ''' || coalesce({date}, '') || ''' is not a day'", do)
    for name in _currencies(_names(raw)):
        written, value = f"trim({identifier(name)})", _value(name)
        bad = f"{written} IS NOT NULL AND {written} NOT IN ('', 'N/A') AND coalesce({value} <= 0, true)"
        raw.check(faults, bad, f"'{name.strip()} ''' || {written} || ''' is not a rate'", do)


def _names(raw: Raw) -> list[str]:
    return [written for written, _ in raw.columns.values()]


def _currencies(names: list[str]) -> list[str]:
    return [name for name in names if re.fullmatch(r" ?[A-Z]{3}", name)]


def _value(name: str) -> str:
    return f"TRY_CAST(trim({identifier(name)}) AS {RATE})"


def _day(raw: Raw) -> str:
    column = f"trim({identifier(raw.columns['date'][0])})"
    return f"coalesce(TRY_CAST({column} AS DATE), CAST(try_strptime({column}, '%d %B %Y') AS DATE))"
