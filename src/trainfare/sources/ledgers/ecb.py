"""Reference rates of the European Central Bank, as published.

`eurofxref-hist.csv` has every day since 1999, `eurofxref.csv` one day. There is one column per currency: its value
of one euro. Every line ends in a comma, so the last column has no name. A currency that was not quoted on a day is
N/A. The day is 2026-10-30 in the history, and `30 October 2026` in the file of one day, which also has a space after
each comma. There are no rates for weekends and bank holidays.
"""

import re
from dataclasses import replace

from trainfare.engine.duckdb import DuckDB, parquet
from trainfare.errors import Problems
from trainfare.files.locations import Location
from trainfare.sources.head import Head, Unit
from trainfare.sources.kinds import Kind
from trainfare.sources.ledgers.tables import RATES
from trainfare.sources.protocol import ArchivedFile, ReadOptions
from trainfare.sources.raw import RawTable, describe_table, translate_errors
from trainfare.sources.rows import Lines, header_names, identifier, quoted_path
from trainfare.sources.table_file import write_archive
from trainfare.tables import RATE, Table

NAME = "ecb rates"
KIND = Kind.RATES
VERSION = "1"
DESCRIPTION = "currency rates of the European Central Bank: eurofxref-hist.csv or eurofxref.csv"
PUBLISHER = "European Central Bank"


def recognize(head: Head) -> bool:
    names = [] if head.is_parquet or head.is_json else [name.strip() for name in header_names(head)]
    return names[:1] == ["Date"] and len(_currencies(names)) > 5


def archive(engine: DuckDB, head: Head, target: Location, options: ReadOptions, problems: Problems) -> int:
    before = len(problems.found)
    with translate_errors(head, problems):
        engine.table(
            "delivered",
            f"SELECT row_number() OVER () AS line, * FROM read_csv({quoted_path(head)}, header = true, "
            "all_varchar = true, delim = ',')",
        )
        head.tally.record(Unit.RECORDS, engine.row("SELECT count(*) FROM delivered")[0])
        lines = Lines(head, head.tally.rows)
        raw = replace(describe_table(engine, "delivered", head.path), line_numbers=lines.of)
        _check(raw, problems)
    if len(problems.found) > before:
        return 0
    return write_archive(engine, head, _select(raw), target, problems)


def rows(engine: DuckDB, file: ArchivedFile, options: ReadOptions, table: Table) -> str | None:
    return f"SELECT * FROM {parquet(file.location)}" if table is RATES else None


def _select(raw: RawTable) -> str:
    """Return a SELECT with one row per day and currency."""
    quotes = ", ".join(
        f"struct_pack(name := '{name.strip()}', value := {_value(name)})" for name in _currencies(_names(raw))
    )
    days = f"SELECT line, {_day(raw)} AS day, unnest([{quotes}]) AS quoted FROM {raw.relation}"
    return RATES.typed_select(
        "(SELECT line, day, 'EUR' AS from_currency, quoted.name AS to_currency, quoted.value AS rate, "
        f"'{PUBLISHER}' AS source FROM ({days}) WHERE quoted.value IS NOT NULL)"
    )


def _check(raw: RawTable, problems: Problems) -> None:
    do = "Download the file again."
    date = identifier(raw.columns["date"][0])
    raw.check(problems, f"{_day(raw)} IS NULL", f"'Date ''' || coalesce({date}, '') || ''' is not a day'", do)
    for name in _currencies(_names(raw)):
        written, value = f"trim({identifier(name)})", _value(name)
        bad = f"{written} IS NOT NULL AND {written} NOT IN ('', 'N/A') AND coalesce({value} <= 0, true)"
        raw.check(problems, bad, f"'{name.strip()} ''' || {written} || ''' is not a rate'", do)


def _names(raw: RawTable) -> list[str]:
    return [written for written, _ in raw.columns.values()]


def _currencies(names: list[str]) -> list[str]:
    return [name for name in names if re.fullmatch(r" ?[A-Z]{3}", name)]


def _value(name: str) -> str:
    return f"TRY_CAST(trim({identifier(name)}) AS {RATE})"


def _day(raw: RawTable) -> str:
    column = f"trim({identifier(raw.columns['date'][0])})"
    return f"coalesce(TRY_CAST({column} AS DATE), CAST(try_strptime({column}, '%d %B %Y') AS DATE))"
