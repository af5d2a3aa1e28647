"""A delivered table as it arrived: CSV, JSON lines or Parquet, with columns by name and rows by line.

Text is cast; typed Parquet columns are used as they are. Every value that cannot be read is a problem with its line,
and all of them are reported together.
"""

import difflib
import glob
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

import duckdb

from trainfare.engine.duckdb import DuckDB, quoted
from trainfare.errors import DamagedError, Problems, TrainfareError, UnreachableError
from trainfare.files.locations import Location
from trainfare.sources import rows
from trainfare.sources.head import Head, Unit, require_intact
from trainfare.sources.rows import LISTED_PER_CHECK, identifier, simplified

TEXT_TYPES = ("VARCHAR", "JSON")
FLOATS = ("DOUBLE", "FLOAT")
INTEGERS = re.compile(r"U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?")
DECIMALS = re.compile(r"DECIMAL\(\d+,\d+\)")
UNTYPED = '"NULL"'
ROW_NUMBER = "file_row_number"
"""The column in which the engine numbers the rows of a Parquet file."""
LINE = f"{ROW_NUMBER} + 1"
RESERVED_NAME = (f"the column name {ROW_NUMBER} is reserved for the Parquet reader", "Rename the column.")
NANOSECONDS_WITH_ZONE = "TIMESTAMPTZ_NS"
NANOSECONDS = ("TIMESTAMP_NS", NANOSECONDS_WITH_ZONE)
"""Times as pandas writes them. Neither engine calculates with these; anything finer than a microsecond is cut off."""
FIRST_YEAR, LAST_YEAR = 1970, 2199
"""Times outside these years are mistakes: zero dates, milliseconds read as seconds."""
IMPOSSIBLE_OFFSET = r"[T ][0-9:.]+ ?[+-]((1[5-9]|[2-9][0-9])(:?[0-9]{2})?|[0-9]{2}:?[6-9][0-9])$"
"""An offset of 15 hours or more, or of 60 minutes or more within the hour. The engine would accept it."""


def as_numbered(numbers: Sequence[int]) -> Sequence[int]:
    """Return row numbers unchanged, for files without lines."""
    return numbers


@dataclass(frozen=True)
class RawTable:
    """A relation with the columns of a file and a `line` column, and the SQL to read each of them."""

    engine: DuckDB
    relation: str
    path: Location
    columns: dict[str, tuple[str, str]]
    """Column name in lower case -> its name as written, its type."""
    header: str
    """The location of the column names, for messages."""
    line_numbers: Callable[[Sequence[int]], Sequence[int]] = as_numbered
    """Returns the lines of the file on which rows begin."""

    def has(self, name: str) -> bool:
        return name.lower() in self.columns

    def column(self, name: str) -> tuple[str, str]:
        """Return a column's name as SQL, and its type."""
        written, type_ = self.columns[name.lower()]
        return identifier(written), type_

    def text(self, name: str) -> str:
        """Return SQL for a column as text; null if the file does not have it."""
        if not self.has(name):
            return "CAST(NULL AS VARCHAR)"
        column, type_ = self.column(name)
        return column if type_ == "VARCHAR" else f"CAST({column} AS VARCHAR)"

    def number(self, name: str, type_: str) -> str:
        """Return SQL for a number. A DOUBLE is read as its shortest decimal, which is what its author wrote."""
        if not self.has(name):
            return f"CAST(NULL AS {type_})"
        column, actual = self.column(name)
        if actual in FLOATS:
            text = f"TRY_CAST(CAST({column} AS VARCHAR) AS {type_})"
            if actual != "DOUBLE" or not keeps_short_decimals(type_):
                return text
            return f"CASE WHEN {is_short_decimal(column)} THEN CAST({_short(column)} AS {type_}) ELSE {text} END"
        return column if actual == type_ else f"TRY_CAST({column} AS {type_})"

    def timestamp(self, name: str, zone: str = "UTC") -> str:
        """Return SQL for a time in UTC; text without an offset is local time in `zone`."""
        if not self.has(name):
            return "CAST(NULL AS TIMESTAMP)"
        column, actual = self.column(name)
        if actual == "TIMESTAMP WITH TIME ZONE":
            # A cast would call the time zone library for every row; only the instant is needed.
            return f"make_timestamp(epoch_us({column}))"
        if actual in NANOSECONDS:
            instant = f"make_timestamp(epoch_ns({column}) // 1000)"
            return instant if actual == NANOSECONDS_WITH_ZONE else _local(instant, zone)
        if actual.startswith("TIMESTAMP") or actual == "DATE":
            return _local(f"CAST({column} AS TIMESTAMP)", zone)
        text = f"CAST({column} AS VARCHAR)"
        absolute = f"CAST(TRY_CAST({text} AS TIMESTAMPTZ) AS TIMESTAMP)"
        seconds = f"make_timestamp(CAST(TRY_CAST({text} AS DECIMAL(20,6)) * 1000000 AS BIGINT))"
        # The most common form, which can be read without the time zone library.
        plain = f"regexp_full_match({text}, '[0-9-]{{10}}[T ][0-9:.]+Z')"
        cases = f"CASE WHEN {plain} THEN TRY_CAST({text} AS TIMESTAMP) "
        cases += f"WHEN regexp_full_match({text}, '[0-9]{{9,11}}(\\.[0-9]+)?') THEN {seconds} "
        if zone == "UTC":
            return cases + f"ELSE {absolute} END"
        local = _local(f"TRY_CAST({text} AS TIMESTAMP)", zone)
        return cases + f"WHEN {_has_offset(text)} THEN {absolute} ELSE {local} END"

    def is_text(self, name: str) -> bool:
        return self.has(name) and self.column(name)[1] == "VARCHAR"

    def is_plain_decimal(self, name: str) -> bool:
        """Return whether every number in this text column is written in digits, with at most 12 decimals."""
        column = self.column(name)[0]
        other = f"regexp_matches({column}, '[^0-9.-]|[.].{{13}}')"
        return not self.engine.rows(f"SELECT 1 FROM {self.relation} WHERE {other} LIMIT 1")

    def read_all(self, names: Iterable[str]) -> None:
        """Read every value of these columns once, so that damage is found before anything is loaded."""
        present = [self.column(name)[0] for name in dict.fromkeys(names) if self.has(name)]
        if present:
            # `last` cannot be answered from statistics, unlike `min` or `count`.
            self.engine.rows(f"SELECT {', '.join(f'last({column})' for column in present)} FROM {self.relation}")

    def check(self, problems: Problems, bad: str, message: str, do: str, distinct: Sequence[str] = ()) -> None:
        """Add a problem for each row where `bad` holds; `message` is SQL for the text of it.

        If `bad` is expensive and depends only on the columns `distinct`, their distinct values are tested first.
        """
        if distinct:
            # As a table: in one query the engine would test every row before removing duplicates.
            columns = ", ".join(self.column(name)[0] for name in distinct)
            self.engine.table("distinct_values", f"SELECT DISTINCT {columns} FROM {self.relation}")
            if not self.engine.rows(f"SELECT 1 FROM distinct_values WHERE {bad} LIMIT 1"):
                return
        select = f"SELECT line, {message} FROM {self.relation} WHERE {bad}"
        found = self.engine.rows(f"{select} ORDER BY line LIMIT {LISTED_PER_CHECK}")
        lines = self.line_numbers([line for line, _ in found]) if found else ()
        for line, (_, what) in zip(lines, found, strict=True):
            problems.add(f"{self.path}:{line}", what, do)
        if len(found) == LISTED_PER_CHECK:
            problems.unlisted += self.engine.row(f"SELECT count(*) FROM ({select})")[0] - LISTED_PER_CHECK

    def check_number(self, problems: Problems, name: str, type_: str, noun: str, limit: int, do: str) -> None:
        """Every value of this column must be a number that fits `type_` and is smaller than `limit` in size."""
        if not self._can_be(problems, name, noun, do, DECIMALS):
            return
        column, actual = self.column(name)
        if _always_below(actual, limit):
            size, bad = f"abs(CAST({column} AS DOUBLE))", "false"
        elif DECIMALS.fullmatch(actual) or INTEGERS.fullmatch(actual):
            size, bad = f"abs({column})", f"{column} >= {limit} OR {column} <= -{limit}"
        else:
            # DOUBLE is thirty times as fast, but accepts exponents that DECIMAL does not, and rounds up to `limit`.
            # NaN is larger than everything.
            size, exact = f"abs(TRY_CAST({column} AS DOUBLE))", self.number(name, type_)
            is_plain = "true" if actual in FLOATS else f"NOT contains({column}, 'e') AND NOT contains({column}, 'E')"
            is_good = f"{column} IS NULL OR ({size} < {limit} AND {is_plain})"
            is_exact = f"coalesce({exact} < {limit} AND {exact} > -{limit}, false)"
            bad = f"CASE WHEN {is_good} THEN false ELSE NOT {is_exact} END"
        if type_ == "INTEGER":
            bad = f"({bad}) OR TRY_CAST({column} AS DOUBLE) <> {self.number(name, type_)}"
        is_large = f"isfinite(CAST({size} AS DOUBLE)) AND {size} >= {limit}"
        inexact = f"isfinite(CAST({size} AS DOUBLE)) AND {self.number(name, type_)} IS NULL"
        what = f"CASE WHEN {is_large} THEN ' is too large' WHEN {inexact} THEN ' cannot be represented exactly' "
        what += f"ELSE {quoted(f' is not {noun}')} END"
        self.check(problems, bad, f"{self.described(name)} || {what}", do)

    def check_at_least(self, problems: Problems, name: str, type_: str, least: int, do: str) -> None:
        """No value of this column may be less than `least`."""
        if self.has(name):
            what = quoted(f" is below {least}" if least else " is negative")
            self.check(problems, f"{self.number(name, type_)} < {least}", f"{self.described(name)} || {what}", do)

    def check_time(self, problems: Problems, name: str, do: str, zone: str = "UTC", any_year: bool = False) -> None:
        """Every value of this column must be a time, and unless `any_year`, one in a plausible year."""
        if not self._can_be(problems, name, "a date and time", do, re.compile("TIMESTAMP.*|DATE")):
            return
        column, actual = self.column(name)
        is_typed = actual.startswith(("TIMESTAMP", "DATE"))
        instant = column if is_typed and actual not in NANOSECONDS else self.timestamp(name, zone)
        plausible = f"{instant} BETWEEN DATE '{FIRST_YEAR}-01-01' AND DATE '{LAST_YEAR}-12-31'"
        if any_year:
            plausible = f"isfinite({instant})"
        text = f"CAST({column} AS VARCHAR)"
        impossible = "false" if is_typed else f"regexp_matches({text}, {quoted(IMPOSSIBLE_OFFSET)})"
        bad = f"{column} IS NOT NULL AND (NOT coalesce({plausible}, false) OR {impossible})"
        outside = quoted(f" is outside the years {FIRST_YEAR} to {LAST_YEAR}")
        what = f"CASE WHEN {impossible} THEN ' has an impossible UTC offset' WHEN isfinite({instant}) THEN {outside} "
        what += "ELSE ' is not a time' END"
        self.check(problems, bad, f"{self.described(name)} || {what}", do, [] if is_typed else [name])
        if zone != "UTC":
            self._check_skipped_hour(problems, name, zone)

    def _check_skipped_hour(self, problems: Problems, name: str, zone: str) -> None:
        """No local time may lie in an hour that the zone's clock skipped. A date without a time is always accepted."""
        column, actual = self.column(name)
        if actual in ("DATE", "TIMESTAMP WITH TIME ZONE", NANOSECONDS_WITH_ZONE):
            return
        local = f"TRY_CAST({column} AS TIMESTAMP)"
        if not actual.startswith("TIMESTAMP"):
            text = f"CAST({column} AS VARCHAR)"
            local = f"CASE WHEN length({text}) > 10 AND NOT {_has_offset(text)} THEN TRY_CAST({text} AS TIMESTAMP) END"
        round_trip = f"timezone({quoted(zone)}, timezone({quoted(zone)}, {local}))"
        what = quoted(f" does not exist in {zone}: the clock was set forward")
        do = "Check the zone, or write the time with its offset, as in 2026-10-01T00:00:00Z."
        self.check(problems, f"{round_trip} <> {local}", f"{self.described(name)} || {what}", do, [name])

    def check_present(self, problems: Problems, name: str, do: str) -> None:
        """Every row must have a value here."""
        column, actual = self.column(name)
        bad = f"{column} IS NULL" + (f" OR {column} = ''" if actual == "VARCHAR" else "")
        self.check(problems, bad, quoted(f"{self.columns[name.lower()][0]} is empty"), do)

    def check_name(self, problems: Problems, name: str, do: str) -> None:
        """Every row must have exactly one value here, not a list of them."""
        column, actual = self.column(name)
        if actual.endswith(("]", ")")) and not DECIMALS.fullmatch(actual):
            self._add_wrong_type(problems, name, "a name", do)
            return
        self.check_present(problems, name, do)
        if actual == "VARCHAR":
            blank = f"starts_with({column}, ' ') AND trim({column}) = ''"
            nested = f"(starts_with({column}, '[') OR starts_with({column}, '{{')) AND json_valid({column})"
            self.check(problems, f"{blank} OR {nested}", f"{self.described(name)} || ' is not a name'", do)

    def described(self, name: str) -> str:
        """Return SQL for a column's name and value, short enough for one line."""
        plain = f"regexp_replace({self.text(name)}, '[[:cntrl:]]', ' ', 'g')"
        short = f"CASE WHEN length({plain}) > 50 THEN left({plain}, 50) || '...' ELSE {plain} END"
        return f"{quoted(self.columns[name.lower()][0])} || ' ''' || {short} || ''''"

    def _can_be(self, problems: Problems, name: str, noun: str, do: str, types: re.Pattern[str]) -> bool:
        """Return whether the file has this column with values that can be tested; an unsuitable type is a problem."""
        if not self.has(name) or self.column(name)[1] == UNTYPED:
            return False
        actual = self.column(name)[1]
        if actual in TEXT_TYPES or actual in FLOATS or INTEGERS.fullmatch(actual) or types.fullmatch(actual):
            return True
        self._add_wrong_type(problems, name, noun, do)
        return False

    def _add_wrong_type(self, problems: Problems, name: str, noun: str, do: str) -> None:
        written, actual = self.columns[name.lower()]
        problems.add(self.header, f"column {written} has type {actual}, which is not {noun}", do)


def is_short_decimal(column: str) -> str:
    """Return SQL for whether a DOUBLE is a decimal below 1,000 with at most 12 decimals, which is quick to convert.

    These have at most 15 digits. Different decimals of 15 digits are different DOUBLEs, so one that gives this DOUBLE
    is its shortest decimal.
    """
    return f"({column} > -1000 AND {column} < 1000 AND CAST({_short(column)} AS DOUBLE) = {column})"


def _short(column: str) -> str:
    return f"TRY_CAST({column} AS DECIMAL(18,12))"


def keeps_short_decimals(type_: str) -> bool:
    """Return whether a type represents every decimal below 1,000 with 12 decimals."""
    if not DECIMALS.fullmatch(type_):
        return False
    digits, decimals = map(int, re.findall(r"\d+", type_))
    return decimals >= 12 and digits - decimals >= 3


def _always_below(type_: str, limit: int) -> bool:
    """Return whether all numbers of this type are smaller than `limit`, which the type could not represent."""
    if not DECIMALS.fullmatch(type_):
        return False
    digits, decimals = map(int, re.findall(r"\d+", type_))
    return digits - decimals < len(str(limit))


def _has_offset(text: str) -> str:
    """Return SQL for whether a time has an offset or zone; the end of a date such as 2026-10-01 is none."""
    offset = "(Z|[+-][0-9]{2}(:?[0-9]{2})?| [A-Za-z][A-Za-z0-9_/+-]*) *$"
    return f"(regexp_matches({text}, '{offset}') AND length({text}) > 10)"


def _local(timestamp: str, zone: str) -> str:
    return timestamp if zone == "UTC" else f"CAST(timezone({quoted(zone)}, {timestamp}) AS TIMESTAMP)"


def open_table(engine: DuckDB, head: Head, into: str, problems: Problems) -> RawTable | None:
    """Load the file's rows with their lines into `into`; None if they cannot be read, and problems say why."""
    with translate_errors(head, problems):
        require_intact(head)
        if head.is_parquet:
            # A view cannot replace a table of the same name, and the previous file may have been text.
            engine.view(f"{into}_parquet", parquet_rows(head.path, columns_with_blanks(engine, head.path)))
            head.tally.record(Unit.PARQUET_ROWS, engine.row(f"SELECT count(*) FROM {into}_parquet")[0])
            return describe_table(engine, f"{into}_parquet", head.path)
        if head.is_json:
            return describe_table(engine, into, head.path) if rows.open_json(engine, head, into, problems) else None
        if rows.open_delimited(engine, head, into, problems):
            lines = rows.Lines(head, head.tally.rows)
            table = describe_table(engine, into, head.path)
            return replace(table, header=f"{head.path}:1", line_numbers=lines.of)
    return None


@contextmanager
def translate_errors(head: Head, problems: Problems) -> Iterator[None]:
    """Report whatever the engine cannot read in this file as a problem of the file."""
    try:
        yield
    except UnreachableError:
        raise
    except (TrainfareError, duckdb.Error) as error:
        is_nameless = isinstance(error, DamagedError) and not error.where
        if isinstance(error, TrainfareError) and error.where != str(head.path) and not is_nameless:
            raise
        what = " ".join(str(error).split("\n")[0].split(": ", 1)[-1].split())
        if head.is_parquet:
            what = "the Parquet file is damaged or truncated"
        problems.add(str(head.path), what, "Export or copy it again.")


def describe_table(engine: DuckDB, relation: str, path: Location) -> RawTable:
    """Return the raw table of a relation that holds a file's rows."""
    types = engine.columns(identifier(relation))
    columns = {name.lower(): (name, type_) for name, type_ in types.items() if name != "line"}
    return RawTable(engine, identifier(relation), path, columns, str(path))


def parquet_rows(path: Location, blank_columns: Iterable[str] = ()) -> str:
    """Return a SELECT of a Parquet file's rows; `line` counts from 1.

    In the columns `blank_columns` an empty text is null, as it is in a text file.
    """
    replaced = ", ".join(f"nullif({identifier(name)}, '') AS {identifier(name)}" for name in blank_columns)
    return (
        f"SELECT {LINE} AS line, * EXCLUDE ({ROW_NUMBER}) {f'REPLACE ({replaced}) ' if replaced else ''}"
        f"FROM {parquet_file(path)}"
    )


def parquet_file(path: Location) -> str:
    """Return a FROM item of a Parquet file, with the position of each row."""
    return f"read_parquet({quoted(glob.escape(str(path)))}, {ROW_NUMBER} = true)"


def columns_with_blanks(engine: DuckDB, path: Location) -> list[str]:
    """Return the text columns of a Parquet file that may contain an empty text, or one that starts with a blank.

    The file's statistics show it; most files have none, and need no test of every row.
    """
    low = "coalesce(stats_min_value, stats_min, '') < '!' AND stats_null_count IS DISTINCT FROM num_values"
    metadata = f"FROM parquet_metadata({quoted(glob.escape(str(path)))}) WHERE {low}"
    names = {name for (name,) in engine.rows(f"SELECT DISTINCT path_in_schema {metadata}")}
    types = engine.columns(f"({parquet_rows(path)})") if names else {}
    return [name for name, type_ in types.items() if type_ == "VARCHAR" and name in names]


def require_columns(raw: RawTable, names: Iterable[str], known: Iterable[str], problems: Problems, do: str) -> bool:
    """Report all missing columns as one problem, pointing at unknown columns with a similar name."""
    missing = [name for name in names if not raw.has(name)]
    if missing:
        expected = {name.lower() for name in known}
        unknown = {simplified(low): written for low, (written, _) in raw.columns.items() if low not in expected}
        near = {name: difflib.get_close_matches(simplified(name), unknown, 1, 0.8) for name in missing}
        renames = [f"Is '{unknown[found[0]]}' meant to be {name}? Rename it." for name, found in near.items() if found]
        remedy = renames if len(renames) == len(missing) else [*renames, do]
        problems.add(raw.header, rows.missing_columns(missing), " ".join(remedy))
    return not missing
