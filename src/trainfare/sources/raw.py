"""A delivered table as it came: CSV, JSON lines or Parquet, its columns by name, its rows by line.

Text is cast, typed Parquet columns are taken as they are. Every value that cannot be read is a fault
with its line, and all of them are shown together.
"""

import csv
import io
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import duckdb

from trainfare.engine.duckdb import DuckDB, quoted
from trainfare.errors import Faults
from trainfare.sources.head import Head

LISTED_PER_CHECK = 25


@dataclass(frozen=True)
class Raw:
    """A relation with a `line` column beside the file's own, and how to read each of those."""

    engine: DuckDB
    relation: str
    path: Path
    columns: dict[str, tuple[str, str]]
    """Column name in small letters -> its name as written, its type."""
    header_lines: int

    def has(self, name: str) -> bool:
        return name.lower() in self.columns

    def first(self, *names: str) -> str | None:
        """The first of these columns that the file has."""
        return next((name for name in names if self.has(name)), None)

    def _at(self, name: str) -> tuple[str, str]:
        written, type_ = self.columns[name.lower()]
        return '"' + written.replace('"', '""') + '"', type_

    def text(self, name: str | None) -> str:
        if name is None or not self.has(name):
            return "CAST(NULL AS VARCHAR)"
        column, type_ = self._at(name)
        return column if type_ == "VARCHAR" else f"CAST({column} AS VARCHAR)"

    def number(self, name: str, type_: str) -> str:
        """SQL for a number; a DOUBLE is read as its shortest decimal, which is what was meant."""
        if not self.has(name):
            return f"CAST(NULL AS {type_})"
        column, held = self._at(name)
        if held in ("DOUBLE", "FLOAT"):
            return f"TRY_CAST(CAST({column} AS VARCHAR) AS {type_})"
        return column if held == type_ else f"TRY_CAST({column} AS {type_})"

    def moment(self, name: str, zone: str = "UTC") -> str:
        """SQL for a time in UTC; text without an offset is local time in `zone`."""
        if not self.has(name):
            return "CAST(NULL AS TIMESTAMP)"
        column, held = self._at(name)
        if held.startswith("TIMESTAMP WITH TIME ZONE"):
            return f"CAST({column} AS TIMESTAMP)"
        if held.startswith("TIMESTAMP") or held == "DATE":
            return _local(f"CAST({column} AS TIMESTAMP)", zone)
        text = f"CAST({column} AS VARCHAR)"
        absolute = f"CAST(TRY_CAST({text} AS TIMESTAMPTZ) AS TIMESTAMP)"
        seconds = f"make_timestamp(CAST(TRY_CAST({text} AS DECIMAL(18,6)) * 1000000 AS BIGINT))"
        whole = f"CASE WHEN regexp_full_match({text}, '[0-9]{{9,11}}(\\.[0-9]+)?') THEN {seconds} "
        if zone == "UTC":
            return whole + f"ELSE {absolute} END"
        zoned = f"regexp_matches({text}, '(Z|[+-][0-9]{{2}}(:?[0-9]{{2}})?)$') AND length({text}) > 10"
        return whole + f"WHEN {zoned} THEN {absolute} ELSE {_local(f'TRY_CAST({text} AS TIMESTAMP)', zone)} END"

    def check(self, faults: Faults, bad: str, shown: str, do: str) -> None:
        """Add a fault for each row where `bad` holds; `shown` is SQL for the text that says what is wrong."""
        select = f"SELECT line, {shown} FROM {self.relation} WHERE {bad}"
        found = self.engine.rows(f"{select} ORDER BY line LIMIT {LISTED_PER_CHECK}")
        for line, what in found:
            faults.add(f"{self.path}:{line + self.header_lines}", what, do)
        if len(found) == LISTED_PER_CHECK:
            faults.unlisted += self.engine.row(f"SELECT count(*) FROM ({select})")[0] - LISTED_PER_CHECK

    def check_readable(self, faults: Faults, name: str, read: str, kind: str, do: str) -> None:
        """Every value of a text column must be readable as what it should be."""
        if self.has(name) and self._at(name)[1] in ("VARCHAR", "JSON"):
            column, _ = self._at(name)
            shown = f"{quoted(self.columns[name.lower()][0] + ' ')} || '''' || {column} || ''' is not {kind}'"
            self.check(faults, f"{column} IS NOT NULL AND ({read}) IS NULL", shown, do)

    def check_present(self, faults: Faults, name: str, do: str) -> None:
        column, _ = self._at(name)
        self.check(faults, f"{column} IS NULL", quoted(f"{self.columns[name.lower()][0]} is empty"), do)


def _local(moment: str, zone: str) -> str:
    return moment if zone == "UTC" else f"CAST(timezone({quoted(zone)}, {moment}) AS TIMESTAMP)"


def header_names(head: Head) -> list[str]:
    """The column names of a delimited text file, as written."""
    return next(csv.reader(io.StringIO(head.first_line), delimiter=delimiter(head)), [])


def delimiter(head: Head) -> str:
    """What stands between the columns: the mark the header has most of."""
    return max((",", ";", "\t"), key=lambda mark: (head.first_line.count(mark), mark == ","))


def open_raw(engine: DuckDB, head: Head, into: str, faults: Faults) -> Raw | None:
    """Make `into` hold the file's rows with their lines; None if they cannot be had, and faults say why."""
    try:
        if head.is_parquet:
            engine.view(into, parquet_rows(head.path))
        elif head.is_json:
            engine.table(into, f"SELECT row_number() OVER () AS line, * FROM {_json(head)}")
        elif not _open_delimited(engine, head, into, faults):
            return None
    except duckdb.Error as error:
        what = " ".join(str(error).split("\n")[0].split(": ", 1)[-1].split())
        faults.add(str(head.path), f"cannot be read: {what}", "Export it again, or mend the place it names.")
        return None
    return raw_of(engine, into, head.path, 0 if head.is_parquet or head.is_json else 1)


def raw_of(engine: DuckDB, relation: str, path: Path, header_lines: int) -> Raw:
    columns = {
        name.lower(): (name, type_) for name, type_ in engine.columns(f'"{relation}"').items() if name != "line"
    }
    return Raw(engine, f'"{relation}"', path, columns, header_lines)


def parquet_rows(path: Path) -> str:
    """A SELECT of a Parquet file's rows; `line` counts from 1. A file we archived has its own."""
    return (
        f"SELECT file_row_number + 1 AS line, * EXCLUDE (file_row_number) "
        f"FROM read_parquet({quoted(path)}, file_row_number = true)"
    )


def _json(head: Head) -> str:
    shape = "array" if head.text.lstrip().startswith("[") else "newline_delimited"
    packed = ", compression = 'gzip'" if head.is_gzip else ""
    return f"read_json({quoted(head.path)}, format = '{shape}', records = true, sample_size = -1, convert_strings_to_integers = false{packed})"


def _open_delimited(engine: DuckDB, head: Head, into: str, faults: Faults) -> bool:
    names = header_names(head)
    twice = [name for name, times in Counter(name.strip().lower() for name in names).items() if times > 1]
    if twice or any(not name.strip() for name in names):
        what = f"column {', '.join(twice)} stands there twice" if twice else "a column has no name"
        faults.add(f"{head.path}:1", what, "Give every column its own name.")
        return False
    columns = ", ".join(f"{quoted(name.strip())}: 'VARCHAR'" for name in names)
    packed = "'gzip'" if head.is_gzip else "'none'"
    engine.run("SET preserve_insertion_order = true")
    engine.table(
        into,
        f"SELECT row_number() OVER () AS line, * FROM read_csv({quoted(head.path)}, columns = {{{columns}}}, "
        f"header = true, auto_detect = false, delim = {quoted(delimiter(head))}, quote = '\"', escape = '\"', "
        f"nullstr = ['', 'NULL', 'null'], store_rejects = true, compression = {packed})",
    )
    rejected = engine.rows(
        "SELECT line, error_message FROM reject_errors QUALIFY row_number() OVER (PARTITION BY line) = 1 "
        f"ORDER BY line LIMIT {LISTED_PER_CHECK}"
    )
    for line, message in rejected:
        faults.add(f"{head.path}:{line}", _plain(message), "Mend the line, or export the file again.")
    engine.run("DELETE FROM reject_errors")
    return not rejected


def _plain(message: str) -> str:
    """The reader's own words for a broken line, in ours."""
    first = message.split("\n")[0]
    if first.startswith("Expected Number of Columns"):
        wanted, found = (part.split(":")[1].strip() for part in first.removesuffix(".").split(" Found"))
        return f"{found} columns where the header has {wanted}"
    return first[0].lower() + first[1:].rstrip(".")


def require_columns(raw: Raw, names: Iterable[str], faults: Faults, do: str) -> bool:
    """All missing columns are one fault."""
    missing = [name for name in names if not raw.has(name)]
    if missing:
        faults.add(f"{raw.path}:1", f"no column {', '.join(missing)}", do)
    return not missing
