"""DuckDB, embedded: the default engine.

Every function whose spelling differs between engines is a macro here, named for its meaning:

- `integer_part(units, weight, total)`: the integer part of units * weight / total, exact for any units and a total
  below 2^63. Small numbers stay in BIGINT, where division is an order of magnitude faster.
- `small_integer_part(units, weight, total)`: the same for BIGINT units and a total below 3,000,000,000, in BIGINT only.
- `tiny_integer_part(units, weight, total)`: the same where units times weight is below 2^63.
- `in_units(money)`: DECIMAL(38,12) as whole 10^-12 units. Casting a wide decimal to an integer is slow in DuckDB, so a
  guess through DOUBLE is used where multiplying back proves it right.
- `in_small_units(money)`: the same as a BIGINT, for money below 9,000,000. Below 1,000 the two roundings through DOUBLE
  are together off by less than a quarter of a unit, so the nearest integer is the right one.
- `as_money(units)`: the inverse of `in_units`.
- `small_sum(units)`: the sum of BIGINT units over all rows, where it is known to fit BIGINT too.
- `epoch_second(time)`: whole seconds since 1970.
- `end_second(start, end)`: the second up to which a time span reaches, widened outward to whole seconds; an empty span
  ends in the second in which it starts.
- `unique_number()`: a number for each row that no other row has, in no order.
- `per_hour(money, micros)`: money per hour, to 10^-6, rounded half away from zero; micros are millionths of a second
  (of wall time, or of GPU time). Null without time.
- `weight_rank(weight, number)`: one number that is larger for more weight and, of equal weights, for a smaller payer
  number (below 2^47). Its maximum is the heaviest payer, which gets the remainder of a split; `rank_weight` and
  `rank_number` return the two again.
- `small_weight_rank(weight, number)`, `small_rank_weight` and `small_rank_number`: the same as a BIGINT, for a weight
  below 3,000,000,000 and a number below 2^31.
- `billing_month(start, end)`: the month that contains the middle of a time span, so that a zone's shift does not move
  it.
- `period_key(start, end)`: the start and length of a time span in one number; `period_day` returns the day it starts
  on, and `day_key(start)` is the key of an empty span at the beginning of the day.
- `json_value(text, key)`: the value under a key of a JSON object, as text.
- `json_object_of(key, value)`: the values of all rows under their keys as a JSON object, in the order of the keys.
- `first_values(value, position, shown)`: the values of all rows at positions up to `shown`, as a JSON list.
"""

import os
import re
import secrets
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import duckdb

from trainfare.engine import running
from trainfare.engine.sql import parquet, quoted, step_text
from trainfare.errors import DamagedError, TrainfareError
from trainfare.files import digests
from trainfare.files.locations import SCHEME, Location, file_system, fsync, object_store_error

__all__ = ("DuckDB", "parquet", "quoted", "step_text")

_MACROS = """
CREATE MACRO in_units(money) AS CASE
  WHEN TRY_CAST(CAST(money AS DOUBLE) * 1e12 AS BIGINT) * 0.000000000001::DECIMAL(12,12) = money
  THEN CAST(TRY_CAST(CAST(money AS DOUBLE) * 1e12 AS BIGINT) AS HUGEINT)
  ELSE CAST(replace(CAST(money AS VARCHAR), '.', '') AS HUGEINT) END;
CREATE MACRO in_small_units(money) AS CASE
  WHEN money > -1000 AND money < 1000 THEN CAST(CAST(money AS DOUBLE) * 1e12 AS BIGINT)
  ELSE CAST(in_units(money) AS BIGINT) END;
CREATE MACRO small_sum(units) AS CAST(sum_no_overflow(units) AS BIGINT);
CREATE MACRO as_money(units) AS CAST(units * 0.000000000001::DECIMAL(12,12) AS DECIMAL(38,12));
CREATE MACRO integer_part_of_size(size, weight, total) AS CASE
  WHEN weight = total THEN size
  WHEN size < 9000000000000000000 AND total < 3000000000
  THEN CAST(CAST(size AS BIGINT) // CAST(total AS BIGINT) * CAST(weight AS BIGINT)
    + CAST(size AS BIGINT) % CAST(total AS BIGINT) * CAST(weight AS BIGINT) // CAST(total AS BIGINT) AS HUGEINT)
  ELSE size // CAST(total AS HUGEINT) * CAST(weight AS HUGEINT)
    + size % CAST(total AS HUGEINT) * CAST(weight AS HUGEINT) // CAST(total AS HUGEINT) END;
CREATE MACRO integer_part(units, weight, total) AS CASE
  WHEN units < 0 THEN -integer_part_of_size(-units, weight, total)
  ELSE integer_part_of_size(units, weight, total) END;
CREATE MACRO small_integer_part(units, weight, total) AS units // total * weight + units % total * weight // total;
CREATE MACRO tiny_integer_part(units, weight, total) AS units * weight // total;
CREATE MACRO epoch_second(moment) AS CAST(epoch_us(moment) // 1000000 AS BIGINT);
CREATE MACRO end_second(starts, ends) AS CASE
  WHEN ends > starts THEN CAST((epoch_us(ends) + 999999) // 1000000 AS BIGINT) ELSE epoch_second(starts) END;
CREATE MACRO unique_number() AS row_number() OVER ();
CREATE MACRO per_hour(money, micros) AS CASE
  WHEN micros <= 0 THEN NULL
  WHEN money > -1000 AND money < 1000 AND micros < 1000000000000000000 THEN CAST(CAST(CAST(sign(money) AS BIGINT) * (
    (CAST(CAST(abs(money) AS DOUBLE) * 1e12 AS BIGINT) * 7200 + CAST(micros AS BIGINT)) // (2 * CAST(micros AS BIGINT)))
    AS DECIMAL(19,0)) * 0.000001 AS DECIMAL(38,6))
  ELSE CAST(CAST(sign(money) * ((in_units(abs(money)) * 7200 + micros) // (2 * micros)) AS DECIMAL(38,0)) * 0.000001
    AS DECIMAL(38,6)) END;
CREATE MACRO weight_rank(weight, number) AS CAST(weight AS HUGEINT) * 140737488355328 + (140737488355327 - number);
CREATE MACRO rank_weight(rank) AS CAST(rank >> 47 AS BIGINT);
CREATE MACRO rank_number(rank) AS 140737488355327 - CAST(rank & 140737488355327 AS BIGINT);
CREATE MACRO small_weight_rank(weight, number) AS weight * 2147483648 + (2147483647 - number);
CREATE MACRO small_rank_weight(rank) AS rank >> 31;
CREATE MACRO small_rank_number(rank) AS 2147483647 - (rank & 2147483647);
CREATE MACRO billing_month(starts, ends) AS
  CAST(date_trunc('month', make_timestamp((epoch_us(starts) + epoch_us(ends)) // 2)) AS DATE);
CREATE MACRO period_key(starts, ends) AS
  epoch_second(starts) * 536870912 + (end_second(starts, ends) - epoch_second(starts));
CREATE MACRO day_key(starts) AS epoch_second(starts) // 86400 * 86400 * 536870912;
CREATE MACRO period_day(period) AS period // 536870912 // 86400;
CREATE MACRO json_value(text, key) AS json_extract_string(text, '$."' || replace(key, '"', '\\"') || '"');
CREATE MACRO json_object_of(key, value) AS
  CAST(to_json(map_from_entries(list({'k': key, 'v': value} ORDER BY key))) AS VARCHAR);
CREATE MACRO first_values(value, position, shown) AS
  CAST(to_json(list(value ORDER BY position) FILTER (position <= shown)) AS VARCHAR);
"""

_KEEP_MEMORY = """
SET block_allocator_memory = '2GB';
SET allocator_flush_threshold = '8GB';
SET allocator_bulk_deallocation_flush_threshold = '8GB';
"""
"""A build makes one large table after another. Memory returned to the system in between would be cleared again, which
took an eighth of the time of a large month.
"""


class DuckDB:
    """One embedded database. Its tables are temporary and disappear when it is closed."""

    name = "duckdb"
    _spill: Path | None = None
    _spool: tempfile.TemporaryDirectory[str] | None = None

    def __init__(self, spill: Path | None = None, memory_limit: str | None = None) -> None:
        self.connection = duckdb.connect()
        self._spill, self._spool = spill, None
        # Otherwise a query of some seconds would draw a progress bar on stdout, into the data.
        self.connection.execute("SET TimeZone = 'UTC'; SET enable_progress_bar = false")
        if spill:
            self.connection.execute(f"SET temp_directory = {quoted(spill)}")
            self.connection.execute(_KEEP_MEMORY)
        self._limit_memory(memory_limit or os.environ.get("TRAINFARE_MEMORY_LIMIT"))
        self.connection.execute(_MACROS)
        running.ENGINES.add(self)

    def _limit_memory(self, limit: str | None) -> None:
        try:
            if limit:
                self.connection.execute(f"SET memory_limit = {quoted(limit)}")
        except duckdb.Error:
            do = "Write a size such as 4GB, or unset the variable."
            raise TrainfareError("TRAINFARE_MEMORY_LIMIT", f"'{limit}' is not a size", do) from None

    def new_connection(self) -> "DuckDB":
        """Return a second connection to the same database, for another thread, with temporary tables of its own."""
        other = object.__new__(DuckDB)
        other.connection = self.connection.cursor()
        other._spill, other._spool = self._spill, None
        other.connection.execute("SET TimeZone = 'UTC'")
        running.ENGINES.add(other)
        return other

    @property
    def reader(self) -> "DuckDB":
        return self

    def close(self) -> None:
        running.ENGINES.discard(self)
        self.connection.close()
        if self._spool is not None:
            self._spool.cleanup()

    def stop(self) -> None:
        """Interrupt the running statement; otherwise its threads would finish first."""
        self.connection.interrupt()

    def run(self, sql: str) -> None:
        with self._translate_errors(sql):
            self.connection.execute(sql)

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        with self._translate_errors(sql):
            return self.connection.execute(sql).fetchall()

    @contextmanager
    def _translate_errors(self, sql: str) -> Iterator[None]:
        """Run a statement: connect to the object store if it names one, and explain errors of the environment."""
        if SCHEME in sql:
            self._connect_object_store()
        try:
            yield
        except duckdb.Error as error:
            found = _translated(error, sql, self._damaged_file)
            # Of a damaged file the error may be about anything, a type or an overflow, but not about a table's name.
            may_be_damage = found is error and not isinstance(error, duckdb.CatalogException)
            if may_be_damage and (changed := digests.changed_since(self._named_files(sql))):
                raise DamagedError(changed) from error
            raise found from error
        except UnicodeDecodeError as error:  # the engine's own message, about a file whose column names are damaged
            raise DamagedError(self._damaged_file(sql)) from error

    def _damaged_file(self, sql: str) -> str:
        """Return the first local Parquet file in the statement or a view that cannot be read completely.

        The engine does not always name the file whose bytes it cannot read.
        """
        named = self._named_files(sql)
        return digests.changed_since(named) or next((path for path in named if _cannot_be_read(path)), "")

    def _named_files(self, sql: str) -> list[str]:
        """Return the Parquet files that the statement or a view names."""
        views = self.connection.execute("SELECT sql FROM duckdb_views() WHERE NOT internal").fetchall()
        named = re.findall(r"'([^']+[.]parquet)'", " ".join([sql, *(view for (view,) in views)]))
        return list(dict.fromkeys(named))

    def _connect_object_store(self) -> None:
        """Register the object store, unless its library is missing: a statement may also contain an address as text."""
        with _CONNECTING, suppress(TrainfareError):
            if not self.connection.filesystem_is_registered(SCHEME.removesuffix("://")):
                self.connection.register_filesystem(file_system())

    def row(self, sql: str) -> tuple[Any, ...]:
        return self.rows(sql)[0]

    def records(self, sql: str) -> list[dict[str, Any]]:
        """Return rows as dictionaries by column name."""
        rows = self.rows(sql)
        names = [column[0] for column in self.connection.description or ()]
        return [dict(zip(names, row, strict=True)) for row in rows]

    def columns(self, relation: str) -> dict[str, str]:
        """Return the column names and types of a table, view or FROM item, in order."""
        return {row[0]: row[1] for row in self.rows(f"DESCRIBE SELECT * FROM {relation}")}

    def table(self, name: str, select: str) -> None:
        """Make a temporary table from `select`, replacing one of that name."""
        self.run(f'CREATE OR REPLACE TEMP TABLE "{name}" AS {select}')

    def view(self, name: str, select: str) -> None:
        self.run(f'CREATE OR REPLACE TEMP VIEW "{name}" AS {select}')

    def ingest(self, name: str, *selects: str) -> None:
        self.view(name, " UNION ALL ".join(selects))

    def spool(self, name: str, select: str) -> str:
        """Write the rows of `select` to a file that is kept until the engine is closed; return a SELECT of it.

        For rows that are read several times and take longer to compute than to read.
        """
        if self._spool is None:
            self._spool = tempfile.TemporaryDirectory(prefix="trainfare-", dir=self._spill)
        # A name of its own each time: what was returned before may still be read, and engines remember files by name.
        path = Path(self._spool.name) / f"{name}-{secrets.token_hex(4)}.parquet"
        self.write_parquet(select, path, in_order=True)
        return f"SELECT * FROM {parquet(path)}"

    def add(self, name: str, select: str) -> None:
        """Append the rows of `select`, column by column, to an existing table."""
        self.run(f'INSERT INTO "{name}" {select}')

    def move(self, name: str, into: str) -> None:
        """Move the rows of one table into another. If that is empty and has the same columns, rename the first."""
        has_same_columns = self.columns(f'"{name}"') == self.columns(f'"{into}"')
        if has_same_columns and not self.rows(f'SELECT 1 FROM "{into}" LIMIT 1'):
            self.drop(into)
            self.run(f'ALTER TABLE "{name}" RENAME TO "{into}"')
            return
        self.add(into, f'SELECT * FROM "{name}"')
        self.drop(name)

    def drop(self, *names: str) -> None:
        """Drop tables and views, if they exist."""
        for name in names:
            try:
                self.run(f'DROP TABLE IF EXISTS "{name}"')
            except duckdb.CatalogException:  # it is a view; looking that up first takes ten times as long
                self.run(f'DROP VIEW "{name}"')

    def step(self, package: str, name: str, into: str, fragments: Mapping[str, str] | None = None) -> None:
        """Run `name`.sql of `package` and store its result as table `into`."""
        self.table(into, step_text(package, name, fragments))

    def values(self, name: str, columns: str, rows: Iterable[Sequence[Any]]) -> None:
        """Make a small temporary table from Python values."""
        self.run(f'CREATE OR REPLACE TEMP TABLE "{name}" ({columns})')
        listed = [list(row) for row in rows]
        if listed:
            marks = ", ".join("?" for _ in listed[0])
            parameters = [value for row in listed for value in row]
            inserted = ", ".join(f"({marks})" for _ in listed)
            self.connection.execute(f'INSERT INTO "{name}" VALUES {inserted}', parameters)

    def write_parquet(
        self, select: str, path: Location, in_order: bool = False, metadata: Mapping[str, str] | None = None
    ) -> None:
        """Write the rows of `select` to a new Parquet file that is on disk when this returns.

        Rows without an order of their own are written by all threads; `in_order` preserves the order of their table.
        `metadata` is stored in the file next to its columns.
        """
        pairs = ", ".join(f"{name}: {quoted(value)}" for name, value in (metadata or {}).items())
        options = f"FORMAT parquet, COMPRESSION snappy{f', KV_METADATA {{{pairs}}}' if pairs else ''}"
        path.parent.mkdir(parents=True, exist_ok=True)
        self.run(f"SET preserve_insertion_order = {str(in_order).lower()}")
        try:
            self.run(f"COPY ({select}) TO {quoted(path)} ({options})")
        finally:
            self.run("SET preserve_insertion_order = true")
        fsync(path)


_CONNECTING = threading.Lock()
_FULL = ("No space left on device", "Disk quota exceeded")
_UNUSABLE = ("Permission denied", "Read-only file system", "Not a directory", "Is a directory", "File too large")
_DAMAGED = (
    "No magic bytes found",
    "too small to be a Parquet file",
    "Footer length error",
    "TProtocolException",
    "don't know what type",
    "invalid TType",
    "decompression failure",
    "Could not read enough bytes",
    "metadata is corrupt",
    "likely corrupted",
    "requires length to be set",
    "requires a length and scale",
    "Invalid DECIMAL precision",
)
"""What the engine reports for Parquet whose footer, pages or values are damaged."""
_MISSING = ("No files found that match", "No such file or directory")


def _translated(error: duckdb.Error, sql: str, damaged_file: Callable[[str], str]) -> Exception:
    """Return an error of the environment with its explanation; any other error is ours and stays as it is."""
    text = str(error)
    if known := _object_store_error(text, sql):
        return known
    found = re.search(r"""(?:file|pattern) \\?["']([^"'\\]+)""", text, re.IGNORECASE)
    where = found[1] if found else ""
    if any(sign in text for sign in _FULL):
        do = "Free some space and run the command again. Published books are intact."
        return TrainfareError(where, "the disk is full", do)
    if "max_temp_directory_size" in text:
        do = "Free some space there, or set TMPDIR to another folder."
        return TrainfareError("TMPDIR", "the disk is too full for data that does not fit into memory", do)
    if isinstance(error, duckdb.OutOfMemoryException):
        do = "Raise TRAINFARE_MEMORY_LIMIT, or use a machine with more memory."
        return TrainfareError("", "the build ran out of memory", do)
    for reason in _UNUSABLE:
        if reason in text:
            return TrainfareError(where, reason.lower(), "Use a folder and files that this user may read and write.")
    if any(sign in text for sign in _DAMAGED):
        return DamagedError(where or damaged_file(sql))
    if any(sign in text for sign in _MISSING):
        do = "Restore it from a backup, or run trainfare build, which rebuilds it if its month is open."
        return TrainfareError(where, "there is no such file", do)
    return error


def _cannot_be_read(path: str) -> bool:
    """Return whether this local file exists and the engine cannot read all of it."""
    if not Path(path).is_file():
        return False
    try:
        with duckdb.connect() as connection:
            connection.execute(f"SELECT last(COLUMNS(*)) FROM read_parquet({quoted(path)})")
    except (duckdb.Error, UnicodeDecodeError):
        return True
    return False


def _object_store_error(text: str, sql: str) -> TrainfareError | None:
    """Return an error of the object store, which the engine passes on as Python's text: the class, then the reason."""
    raised = re.search(r"^(?:\w+\.)*(\w+): (.*)$", text.partition("Traceback")[2].partition("\n")[2], re.MULTILINE)
    named = re.search(rf"'({SCHEME}[^']*)'", sql)
    return object_store_error(named[1], [raised[1], OSError.__name__], raised[2]) if raised and named else None
