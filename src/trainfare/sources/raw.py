"""A delivered table as it came: CSV, JSON lines or Parquet, its columns by name, its rows by line.

Text is cast, typed Parquet columns are taken as they are. Every value that cannot be read is a fault
with its line, and all of them are shown together.
"""

import difflib
import glob
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

import duckdb

from trainfare.engine.duckdb import DuckDB, quoted
from trainfare.errors import DamagedError, Faults, TrainfareError, UnreachableError
from trainfare.places import Place
from trainfare.sources import rows
from trainfare.sources.head import Head, require_whole
from trainfare.sources.rows import LISTED_PER_CHECK, bare, identifier

TEXT_TYPES = ("VARCHAR", "JSON")
FLOATS = ("DOUBLE", "FLOAT")
WHOLE = re.compile(r"U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?")
FIXED_POINT = re.compile(r"DECIMAL\(\d+,\d+\)")
UNTYPED = '"NULL"'
NUMBERED = "file_row_number"
LINE = f"{NUMBERED} + 1"
TAKEN_NAME = (f"column {NUMBERED} has a name that the reader of Parquet needs for itself", "Give it another name.")
"""What it calls the position of a row, and what is wrong with a column of that name."""
NANOSECONDS_WITH_ZONE = "TIMESTAMPTZ_NS"
NANOSECONDS = ("TIMESTAMP_NS", NANOSECONDS_WITH_ZONE)
"""Times as pandas writes them. Neither engine can do much with these but count; what is finer than a microsecond is cut off."""
FIRST_YEAR, LAST_YEAR = 1970, 2199
"""Times outside these years are slips: zero dates, milliseconds taken for seconds."""
ABSURD_OFFSET = r"[T ][0-9:.]+ ?[+-]((1[5-9]|[2-9][0-9])(:?[0-9]{2})?|[0-9]{2}:?[6-9][0-9])$"
"""A time with an offset of 15 hours or more, or of 60 minutes or more within the hour. The engine would reckon with it."""


def as_numbered(numbers: Sequence[int]) -> Sequence[int]:
    """Rows of a file that has no lines are told by their number."""
    return numbers


@dataclass(frozen=True)
class Raw:
    """A relation with a `line` column beside the file's own, and how to read each of those."""

    engine: DuckDB
    relation: str
    path: Place
    columns: dict[str, tuple[str, str]]
    """Column name in small letters -> its name as written, its type."""
    header: str
    """Where the column names stand."""
    lines: Callable[[Sequence[int]], Sequence[int]] = as_numbered
    """The lines of the file that rows stand on."""

    def has(self, name: str) -> bool:
        return name.lower() in self.columns

    def first(self, *names: str) -> str | None:
        """The first of these columns that the file has."""
        return next((name for name in names if self.has(name)), None)

    def at(self, name: str) -> tuple[str, str]:
        """A column's name as SQL, and its type."""
        written, type_ = self.columns[name.lower()]
        return identifier(written), type_

    def text(self, name: str | None) -> str:
        if name is None or not self.has(name):
            return "CAST(NULL AS VARCHAR)"
        column, type_ = self.at(name)
        return column if type_ == "VARCHAR" else f"CAST({column} AS VARCHAR)"

    def number(self, name: str, type_: str) -> str:
        """SQL for a number; a DOUBLE is read as its shortest decimal, which is what was meant."""
        if not self.has(name):
            return f"CAST(NULL AS {type_})"
        column, held = self.at(name)
        if held in FLOATS:
            return f"TRY_CAST(CAST({column} AS VARCHAR) AS {type_})"
        return column if held == type_ else f"TRY_CAST({column} AS {type_})"

    def moment(self, name: str, zone: str = "UTC") -> str:
        """SQL for a time in UTC; text without an offset is local time in `zone`."""
        if not self.has(name):
            return "CAST(NULL AS TIMESTAMP)"
        column, held = self.at(name)
        if held == "TIMESTAMP WITH TIME ZONE":
            # A cast would go through the time zone library for every row; the instant is what we want.
            return f"make_timestamp(epoch_us({column}))"
        if held in NANOSECONDS:
            moment = f"make_timestamp(epoch_ns({column}) // 1000)"
            return moment if held == NANOSECONDS_WITH_ZONE else _local(moment, zone)
        if held.startswith("TIMESTAMP") or held == "DATE":
            return _local(f"CAST({column} AS TIMESTAMP)", zone)
        text = f"CAST({column} AS VARCHAR)"
        absolute = f"CAST(TRY_CAST({text} AS TIMESTAMPTZ) AS TIMESTAMP)"
        seconds = f"make_timestamp(CAST(TRY_CAST({text} AS DECIMAL(20,6)) * 1000000 AS BIGINT))"
        # Most times are written so, and reading them needs no time zone library.
        plain = f"regexp_full_match({text}, '[0-9-]{{10}}[T ][0-9:.]+Z')"
        whole = f"CASE WHEN {plain} THEN TRY_CAST({text} AS TIMESTAMP) "
        whole += f"WHEN regexp_full_match({text}, '[0-9]{{9,11}}(\\.[0-9]+)?') THEN {seconds} "
        if zone == "UTC":
            return whole + f"ELSE {absolute} END"
        local = _local(f"TRY_CAST({text} AS TIMESTAMP)", zone)
        return whole + f"WHEN {_has_offset(text)} THEN {absolute} ELSE {local} END"

    def is_text(self, name: str) -> bool:
        return self.has(name) and self.at(name)[1] == "VARCHAR"

    def is_short(self, name: str) -> bool:
        """Whether every number of this text column is written in plain digits, at most 12 of them behind the point."""
        column = self.at(name)[0]
        long = f"regexp_matches({column}, '[^0-9.-]|[.].{{13}}')"
        return not self.engine.rows(f"SELECT 1 FROM {self.relation} WHERE {long} LIMIT 1")

    def read_through(self, names: Iterable[str]) -> None:
        """Read every value of these columns once. What is damaged shows itself here, and not when half is loaded."""
        there = [self.at(name)[0] for name in dict.fromkeys(names) if self.has(name)]
        if there:
            # The last value is no question of statistics, as the least or the number of them would be.
            self.engine.rows(f"SELECT {', '.join(f'last({column})' for column in there)} FROM {self.relation}")

    def check(self, faults: Faults, bad: str, shown: str, do: str, of: Sequence[str] = ()) -> None:
        """Add a fault for each row where `bad` holds; `shown` is SQL for the text that says what is wrong.

        Where `bad` is dear and looks only at the columns `of`, it is asked of their distinct values first.
        """
        if of:
            # As a table: in one query the engine would ask every row before making them distinct.
            columns = ", ".join(self.at(name)[0] for name in of)
            self.engine.table("distinct_values", f"SELECT DISTINCT {columns} FROM {self.relation}")
            if not self.engine.rows(f"SELECT 1 FROM distinct_values WHERE {bad} LIMIT 1"):
                return
        select = f"SELECT line, {shown} FROM {self.relation} WHERE {bad}"
        found = self.engine.rows(f"{select} ORDER BY line LIMIT {LISTED_PER_CHECK}")
        places = self.lines([line for line, _ in found]) if found else ()
        for place, (_, what) in zip(places, found, strict=True):
            faults.add(f"{self.path}:{place}", what, do)
        if len(found) == LISTED_PER_CHECK:
            faults.unlisted += self.engine.row(f"SELECT count(*) FROM ({select})")[0] - LISTED_PER_CHECK

    def check_number(self, faults: Faults, name: str, type_: str, kind: str, below: int, do: str) -> None:
        """Every value of this column must be a number that fits `type_` and is smaller in size than `below`."""
        if not self._can_be(faults, name, kind, do, FIXED_POINT):
            return
        column, held = self.at(name)
        if _has_no_room(held, below):
            size, bad = f"abs(CAST({column} AS DOUBLE))", "false"
        elif FIXED_POINT.fullmatch(held) or WHOLE.fullmatch(held):
            size, bad = f"abs({column})", f"{column} >= {below} OR {column} <= -{below}"
        else:
            # DOUBLE is thirty times as fast, but takes exponents that DECIMAL does not, and rounds up to `below`. NaN is above all.
            size, exact = f"abs(TRY_CAST({column} AS DOUBLE))", self.number(name, type_)
            is_plain = "true" if held in FLOATS else f"NOT contains({column}, 'e') AND NOT contains({column}, 'E')"
            is_good = f"{column} IS NULL OR ({size} < {below} AND {is_plain})"
            bad = (
                f"CASE WHEN {is_good} THEN false ELSE NOT coalesce({exact} < {below} AND {exact} > -{below}, false) END"
            )
        if type_ == "INTEGER":
            bad = f"({bad}) OR TRY_CAST({column} AS DOUBLE) <> {self.number(name, type_)}"
        is_large = f"isfinite(CAST({size} AS DOUBLE)) AND {size} >= {below}"
        inexact = f"isfinite(CAST({size} AS DOUBLE)) AND {self.number(name, type_)} IS NULL"
        what = f"CASE WHEN {is_large} THEN ' is too large' WHEN {inexact} THEN ' cannot be read exactly' "
        what += f"ELSE {quoted(f' is not {kind}')} END"
        self.check(faults, bad, f"{self.shown(name)} || {what}", do)

    def check_not_below(self, faults: Faults, name: str, type_: str, least: int, do: str) -> None:
        """No value of this column may be less than `least`."""
        if self.has(name):
            what = quoted(f" is below {least or 'zero'}")
            self.check(faults, f"{self.number(name, type_)} < {least}", f"{self.shown(name)} || {what}", do)

    def check_moment(self, faults: Faults, name: str, do: str, zone: str = "UTC", any_year: bool = False) -> None:
        """Every value of this column must be a time and, unless `any_year`, one of our days."""
        if not self._can_be(faults, name, "a time with its day", do, re.compile("TIMESTAMP.*|DATE")):
            return
        column, held = self.at(name)
        is_typed = held.startswith(("TIMESTAMP", "DATE"))
        moment = column if is_typed and held not in NANOSECONDS else self.moment(name, zone)
        within = f"{moment} BETWEEN DATE '{FIRST_YEAR}-01-01' AND DATE '{LAST_YEAR}-12-31'"
        if any_year:
            within = f"isfinite({moment})"
        absurd = "false" if is_typed else f"regexp_matches(CAST({column} AS VARCHAR), {quoted(ABSURD_OFFSET)})"
        bad = f"{column} IS NOT NULL AND (NOT coalesce({within}, false) OR {absurd})"
        outside = quoted(f" is outside the years {FIRST_YEAR} to {LAST_YEAR}")
        what = f"CASE WHEN {absurd} THEN ' has an offset from UTC that no place has' WHEN isfinite({moment}) THEN {outside} "
        what += "ELSE ' is not a time' END"
        self.check(faults, bad, f"{self.shown(name)} || {what}", do, [] if is_typed else [name])
        if zone != "UTC":
            self._check_clock(faults, name, zone)

    def _check_clock(self, faults: Faults, name: str, zone: str) -> None:
        """No local time may lie in an hour that the clock of the zone left out. A day without a time is never refused."""
        column, held = self.at(name)
        if held in ("DATE", "TIMESTAMP WITH TIME ZONE", NANOSECONDS_WITH_ZONE):
            return
        local = f"TRY_CAST({column} AS TIMESTAMP)"
        if not held.startswith("TIMESTAMP"):
            text = f"CAST({column} AS VARCHAR)"
            local = f"CASE WHEN length({text}) > 10 AND NOT {_has_offset(text)} THEN TRY_CAST({text} AS TIMESTAMP) END"
        there_and_back = f"timezone({quoted(zone)}, timezone({quoted(zone)}, {local}))"
        what = quoted(f" does not exist in {zone}: the clock was put forward")
        do = "Check the zone, or write the time with its offset, as in 2026-10-01T00:00:00Z."
        self.check(faults, f"{there_and_back} <> {local}", f"{self.shown(name)} || {what}", do, [name])

    def check_present(self, faults: Faults, name: str, do: str) -> None:
        """Every row must have a value here."""
        column, held = self.at(name)
        bad = f"{column} IS NULL" + (f" OR {column} = ''" if held == "VARCHAR" else "")
        self.check(faults, bad, quoted(f"{self.columns[name.lower()][0]} is empty"), do)

    def check_name(self, faults: Faults, name: str, do: str) -> None:
        """Every row must have one value here, not a list of them."""
        column, held = self.at(name)
        if held.endswith(("]", ")")) and not FIXED_POINT.fullmatch(held):
            self._wrong_type(faults, name, "a name", do)
            return
        self.check_present(faults, name, do)
        if held == "VARCHAR":
            blank = f"starts_with({column}, ' ') AND trim({column}) = ''"
            nested = f"(starts_with({column}, '[') OR starts_with({column}, '{{')) AND json_valid({column})"
            self.check(faults, f"{blank} OR {nested}", f"{self.shown(name)} || ' is not a name'", do)

    def shown(self, name: str) -> str:
        """SQL for a column's name and value, short enough for a line."""
        plain = f"regexp_replace({self.text(name)}, '[[:cntrl:]]', ' ', 'g')"
        short = f"CASE WHEN length({plain}) > 50 THEN left({plain}, 50) || '...' ELSE {plain} END"
        return f"{quoted(self.columns[name.lower()][0])} || ' ''' || {short} || ''''"

    def _can_be(self, faults: Faults, name: str, kind: str, do: str, fitting: re.Pattern[str]) -> bool:
        """Whether the file has this column, with values that can be looked at; a type that cannot be is a fault."""
        if not self.has(name) or self.at(name)[1] == UNTYPED:
            return False
        held = self.at(name)[1]
        if held in TEXT_TYPES or held in FLOATS or WHOLE.fullmatch(held) or fitting.fullmatch(held):
            return True
        self._wrong_type(faults, name, kind, do)
        return False

    def _wrong_type(self, faults: Faults, name: str, kind: str, do: str) -> None:
        written, held = self.columns[name.lower()]
        faults.add(self.header, f"column {written} has type {held}, which is not {kind}", do)


def _has_no_room(held: str, below: int) -> bool:
    """Whether all numbers of this type are smaller than `below`, which could not be compared in it."""
    if not FIXED_POINT.fullmatch(held):
        return False
    digits, behind = map(int, re.findall(r"\d+", held))
    return digits - behind < len(str(below))


def _has_offset(text: str) -> str:
    """SQL for whether a time says how far it is from UTC, by an offset or a zone; the end of a day as in 2026-10-01 only looks like it."""
    return f"(regexp_matches({text}, '(Z|[+-][0-9]{{2}}(:?[0-9]{{2}})?| [A-Za-z][A-Za-z0-9_/+-]*) *$') AND length({text}) > 10)"


def _local(moment: str, zone: str) -> str:
    return moment if zone == "UTC" else f"CAST(timezone({quoted(zone)}, {moment}) AS TIMESTAMP)"


def open_raw(engine: DuckDB, head: Head, into: str, faults: Faults) -> Raw | None:
    """Make `into` hold the file's rows with their lines; None if they cannot be had, and faults say why."""
    with told(head, faults):
        require_whole(head)
        if head.is_parquet:
            # A view may not take the name of a table, and the file before this one may have been text.
            engine.view(f"{into}_parquet", parquet_rows(head.path, low_texts(engine, head.path)))
            return raw_of(engine, f"{into}_parquet", head.path)
        if head.is_json:
            return raw_of(engine, into, head.path) if rows.open_json(engine, head, into, faults) else None
        if rows.open_delimited(engine, head, into, faults):
            lines = rows.Lines(head, engine.row(f"SELECT count(*) FROM {identifier(into)}")[0])
            return replace(raw_of(engine, into, head.path), header=f"{head.path}:1", lines=lines.of)
    return None


@contextmanager
def told(head: Head, faults: Faults) -> Iterator[None]:
    """Whatever the engine cannot read in this file is a fault of the file."""
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
            what = "the Parquet file is damaged or cut off"
        faults.add(str(head.path), what, "Export or copy it again.")


def raw_of(engine: DuckDB, relation: str, path: Place) -> Raw:
    held = engine.columns(identifier(relation))
    columns = {name.lower(): (name, type_) for name, type_ in held.items() if name != "line"}
    return Raw(engine, identifier(relation), path, columns, str(path))


def parquet_rows(path: Place, with_empty: Iterable[str] = ()) -> str:
    """A SELECT of a Parquet file's rows; `line` counts from 1. A file we archived has its own.

    In the columns `with_empty` an empty text is null, as it is in a text file.
    """
    replaced = ", ".join(f"nullif({identifier(name)}, '') AS {identifier(name)}" for name in with_empty)
    return (
        f"SELECT {LINE} AS line, * EXCLUDE ({NUMBERED}) {f'REPLACE ({replaced}) ' if replaced else ''}"
        f"FROM {parquet_file(path)}"
    )


def parquet_file(path: Place) -> str:
    """A FROM item of a Parquet file, with the position of each row."""
    return f"read_parquet({quoted(glob.escape(str(path)))}, {NUMBERED} = true)"


def low_texts(engine: DuckDB, path: Place) -> list[str]:
    """The text columns of a Parquet file that may have an empty text, or one that begins with a blank.

    The file's statistics tell; most files have neither, and need not pay for asking every row.
    """
    low = "coalesce(stats_min_value, stats_min, '') < '!' AND stats_null_count IS DISTINCT FROM num_values"
    told = f"FROM parquet_metadata({quoted(glob.escape(str(path)))}) WHERE {low}"
    names = {name for (name,) in engine.rows(f"SELECT DISTINCT path_in_schema {told}")}
    held = engine.columns(f"({parquet_rows(path)})") if names else {}
    return [name for name, type_ in held.items() if type_ == "VARCHAR" and name in names]


def require_columns(raw: Raw, names: Iterable[str], known: Iterable[str], faults: Faults, do: str) -> bool:
    """All missing columns are one fault; a column nobody knows whose name is near a missing one is pointed at."""
    missing = [name for name in names if not raw.has(name)]
    if missing:
        familiar = {name.lower() for name in known}
        strange = {bare(low): written for low, (written, _) in raw.columns.items() if low not in familiar}
        near = {name: difflib.get_close_matches(bare(name), strange, 1, 0.8) for name in missing}
        meant = [f"Is '{strange[found[0]]}' meant to be {name}? Rename it." for name, found in near.items() if found]
        remedy = meant if len(meant) == len(missing) else [*meant, do]
        faults.add(raw.header, f"no column {', '.join(missing)}", " ".join(remedy))
    return not missing
