"""DuckDB, embedded: the default engine.

Every function whose spelling differs between engines is a macro here, named for what it means:

- `whole_part(units, weight, total)`: the whole part of units * weight / total, exact for any units and a
  total below 2^63. Small numbers stay in BIGINT, where dividing is an order of magnitude faster.
- `small_whole_part(units, weight, total)`: the same for BIGINT units and a total below 3,000,000,000, where nothing needs
  to be wide.
- `tiny_whole_part(units, weight, total)`: the same where units times weight is below 2^63.
- `in_units(money)`: DECIMAL(38,12) as whole 10^-12 units. Casting a wide decimal to an integer is slow in
  DuckDB, so a guess through DOUBLE is taken where multiplying back proves it right.
- `in_small_units(money)`: the same as a BIGINT, for money below 9,000,000. Below 1,000 the two roundings through DOUBLE are
  together off by less than a quarter of a unit, so the nearest integer is the right one.
- `as_money(units)`: the way back.
- `small_sum(units)`: over all rows, the sum of BIGINT units that is known to be one, too.
- `epoch_second(time)`: whole seconds since 1970.
- `any_number()`: a number for each row that no other row has, in no order.
- `per_hour(money, micros)`: money per hour, to 10^-6, rounded half away from zero; micros are millionths of a second
  (of wall time, or of GPU time). No time, no rate.
- `heaviness(weight, number)`: one number that is larger for more weight and, of equal weights, for a smaller number of
  who has it (below 2^47); `weight_of` and `number_of` take both out again.
- `small_heaviness(weight, number)`, `small_weight_of` and `small_number_of`: the same as a BIGINT, for a weight below
  3,000,000,000 and a number below 2^31.
- `billing_month(start, end)`: the month that has the middle of a span, so that a zone's shift does not move it.
- `period_key(start, end)`: a span's start and length in one number; `period_day` takes the day it starts on out again, and
  `day_key(start)` is that of an empty span at the beginning of the day.
- `json_value(words, key)`: what a JSON object has under that key, as text.
- `object_of(key, words)`: over all rows, the words under their keys as a JSON object, in the order of the keys.
- `first_of(words, place, shown)`: over all rows, the words of the first places up to `shown`, as a JSON list.
"""

import os
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import duckdb

from trainfare.engine import running
from trainfare.engine.sql import parquet, quoted, step_text
from trainfare.errors import DamagedError, TrainfareError
from trainfare.places import SCHEME, Place, fault, file_system, fsync

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
CREATE MACRO whole_part_of_size(size, weight, total) AS CASE
  WHEN weight = total THEN size
  WHEN size < 9000000000000000000 AND total < 3000000000
  THEN CAST(CAST(size AS BIGINT) // CAST(total AS BIGINT) * CAST(weight AS BIGINT)
    + CAST(size AS BIGINT) % CAST(total AS BIGINT) * CAST(weight AS BIGINT) // CAST(total AS BIGINT) AS HUGEINT)
  ELSE size // CAST(total AS HUGEINT) * CAST(weight AS HUGEINT)
    + size % CAST(total AS HUGEINT) * CAST(weight AS HUGEINT) // CAST(total AS HUGEINT) END;
CREATE MACRO whole_part(units, weight, total) AS CASE
  WHEN units < 0 THEN -whole_part_of_size(-units, weight, total)
  ELSE whole_part_of_size(units, weight, total) END;
CREATE MACRO small_whole_part(units, weight, total) AS units // total * weight + units % total * weight // total;
CREATE MACRO tiny_whole_part(units, weight, total) AS units * weight // total;
CREATE MACRO epoch_second(moment) AS CAST(epoch_us(moment) // 1000000 AS BIGINT);
CREATE MACRO any_number() AS row_number() OVER ();
CREATE MACRO per_hour(money, micros) AS CASE WHEN micros > 0 THEN CAST(CAST(
  sign(money) * ((in_units(abs(money)) * 7200 + micros) // (2 * micros)) AS DECIMAL(38,0)) * 0.000001 AS DECIMAL(38,6)) END;
CREATE MACRO heaviness(weight, number) AS CAST(weight AS HUGEINT) * 140737488355328 + (140737488355327 - number);
CREATE MACRO weight_of(heaviness) AS CAST(heaviness >> 47 AS BIGINT);
CREATE MACRO number_of(heaviness) AS 140737488355327 - CAST(heaviness & 140737488355327 AS BIGINT);
CREATE MACRO small_heaviness(weight, number) AS weight * 2147483648 + (2147483647 - number);
CREATE MACRO small_weight_of(heaviness) AS heaviness >> 31;
CREATE MACRO small_number_of(heaviness) AS 2147483647 - (heaviness & 2147483647);
CREATE MACRO billing_month(starts, ends) AS
  CAST(date_trunc('month', make_timestamp((epoch_us(starts) + epoch_us(ends)) // 2)) AS DATE);
CREATE MACRO period_key(starts, ends) AS
  epoch_second(starts) * 536870912 + (epoch_second(ends) - epoch_second(starts));
CREATE MACRO day_key(starts) AS epoch_second(starts) // 86400 * 86400 * 536870912;
CREATE MACRO period_day(period) AS period // 536870912 // 86400;
CREATE MACRO json_value(words, key) AS json_extract_string(words, '$."' || replace(key, '"', '\\"') || '"');
CREATE MACRO object_of(key, words) AS CAST(to_json(map_from_entries(list({'k': key, 'v': words} ORDER BY key))) AS VARCHAR);
CREATE MACRO first_of(words, place, shown) AS
  CAST(to_json(list(words ORDER BY place) FILTER (place <= shown)) AS VARCHAR);
"""

_KEEP_MEMORY = """
SET block_allocator_memory = '2GB';
SET allocator_flush_threshold = '8GB';
SET allocator_bulk_deallocation_flush_threshold = '8GB';
"""
"""A build makes one large table after the other: memory that goes back to the system in between has to be cleared by it again, which took
an eighth of the time of a large month."""


class DuckDB:
    """One embedded database. Tables made here are temporary and go when it is closed."""

    name = "duckdb"

    def __init__(self, spill: Path | None = None, memory_limit: str | None = None) -> None:
        self.connection = duckdb.connect()
        # A query of some seconds would else draw a bar on stdout, among the data.
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
            do = "Write a size such as 4GB, or leave it out."
            raise TrainfareError("TRAINFARE_MEMORY_LIMIT", f"'{limit}' is not a size", do) from None

    def another(self) -> "DuckDB":
        """A second connection to the same database, for another thread: what is temporary is its own."""
        twin = object.__new__(DuckDB)
        twin.connection = self.connection.cursor()
        twin.connection.execute("SET TimeZone = 'UTC'")
        running.ENGINES.add(twin)
        return twin

    @property
    def reader(self) -> "DuckDB":
        return self

    def close(self) -> None:
        running.ENGINES.discard(self)
        self.connection.close()

    def stop(self) -> None:
        """Give up the statement that is running. Without this its threads would come to the end of what they are at first."""
        self.connection.interrupt()

    def run(self, sql: str) -> None:
        with self._told(sql):
            self.connection.execute(sql)

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        with self._told(sql):
            return self.connection.execute(sql).fetchall()

    @contextmanager
    def _told(self, sql: str) -> Iterator[None]:
        """Run a statement; an object store joins in with the first that names one, and faults of the surroundings are told."""
        if SCHEME in sql:
            self._join_object_store()
        try:
            yield
        except duckdb.Error as error:
            raise _told(error, sql, self._damaged) from error
        except UnicodeDecodeError as error:  # the engine's own words, about a file whose names are spoilt
            raise DamagedError(self._damaged(sql)) from error

    def _damaged(self, sql: str) -> str:
        """The first Parquet file here, in the statement or in a view, that cannot be read through: the engine does not always say whose
        bytes it cannot make sense of.
        """
        views = self.connection.execute("SELECT sql FROM duckdb_views() WHERE NOT internal").fetchall()
        named = re.findall(r"'([^']+[.]parquet)'", " ".join([sql, *(view for (view,) in views)]))
        return next((path for path in dict.fromkeys(named) if _cannot_be_read(path)), "")

    def _join_object_store(self) -> None:
        """A statement may also just speak of an address, in a rule for example: without the library that is fine."""
        with _JOINING, suppress(TrainfareError):
            if not self.connection.filesystem_is_registered(SCHEME.removesuffix("://")):
                self.connection.register_filesystem(file_system())

    def row(self, sql: str) -> tuple[Any, ...]:
        return self.rows(sql)[0]

    def records(self, sql: str) -> list[dict[str, Any]]:
        """Rows as dictionaries by column name."""
        rows = self.rows(sql)
        names = [column[0] for column in self.connection.description or ()]
        return [dict(zip(names, row, strict=True)) for row in rows]

    def columns(self, relation: str) -> dict[str, str]:
        """Column names and types of a table, view or FROM item, in order."""
        return {row[0]: row[1] for row in self.rows(f"DESCRIBE SELECT * FROM {relation}")}

    def table(self, name: str, select: str) -> None:
        """Make a temporary table of what `select` gives, replacing one of that name."""
        self.run(f'CREATE OR REPLACE TEMP TABLE "{name}" AS {select}')

    def view(self, name: str, select: str) -> None:
        self.run(f'CREATE OR REPLACE TEMP VIEW "{name}" AS {select}')

    def taken(self, name: str, *selects: str) -> None:
        self.view(name, " UNION ALL ".join(selects))

    def add(self, name: str, select: str) -> None:
        """Add what `select` gives, column by column, to a table that was made before."""
        self.run(f'INSERT INTO "{name}" {select}')

    def move(self, name: str, into: str) -> None:
        """Put the rows of one table into another. Where that has none yet and is made alike, the first takes its name."""
        is_alike = self.columns(f'"{name}"') == self.columns(f'"{into}"')
        if is_alike and not self.rows(f'SELECT 1 FROM "{into}" LIMIT 1'):
            self.drop(into)
            self.run(f'ALTER TABLE "{name}" RENAME TO "{into}"')
            return
        self.add(into, f'SELECT * FROM "{name}"')
        self.drop(name)

    def drop(self, *names: str) -> None:
        """Take tables and views away, if they are there."""
        for name in names:
            try:
                self.run(f'DROP TABLE IF EXISTS "{name}"')
            except duckdb.CatalogException:  # it is a view; to look that up first takes ten times as long
                self.run(f'DROP VIEW "{name}"')

    def step(self, package: str, name: str, into: str, fragments: Mapping[str, str] | None = None) -> None:
        """Run `name`.sql of `package` and keep its answer as table `into`."""
        self.table(into, step_text(package, name, fragments))

    def values(self, name: str, columns: str, rows: Iterable[Sequence[Any]]) -> None:
        """Make a small temporary table from Python values."""
        self.run(f'CREATE OR REPLACE TEMP TABLE "{name}" ({columns})')
        held = [list(row) for row in rows]
        if held:
            marks = ", ".join("?" for _ in held[0])
            told = [value for row in held for value in row]
            self.connection.execute(f'INSERT INTO "{name}" VALUES {", ".join(f"({marks})" for _ in held)}', told)

    def write_parquet(self, select: str, path: Place, in_order: bool = False) -> None:
        """Write what `select` gives to a new Parquet file that is safely there when this returns.

        Rows that have no order of their own are written by all threads; `in_order` keeps that of the table they come from.
        """
        path.parent.mkdir(parents=True, exist_ok=True)
        self.run(f"SET preserve_insertion_order = {str(in_order).lower()}")
        try:
            self.run(f"COPY ({select}) TO {quoted(path)} (FORMAT parquet, COMPRESSION snappy)")
        finally:
            self.run("SET preserve_insertion_order = true")
        fsync(path)


_JOINING = threading.Lock()
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
"""What the engine says of Parquet whose footer, pages or values are not what was written."""
_MISSING = ("No files found that match", "No such file or directory")


def _told(error: duckdb.Error, sql: str, damaged: Callable[[str], str]) -> Exception:
    """Name the faults of the surroundings; anything else is ours, and stays as it is. `damaged` finds the file behind a statement."""
    text = str(error)
    if known := _of_object_store(text, sql):
        return known
    found = re.search(r"""(?:file|pattern) \\?["']([^"'\\]+)""", text, re.IGNORECASE)
    where = found[1] if found else ""
    if any(sign in text for sign in _FULL):
        do = "Free some space and run the command again; what was published stands."
        return TrainfareError(where, "the disk is full", do)
    if "max_temp_directory_size" in text:
        do = "Free some space there, or name another folder with TMPDIR."
        return TrainfareError("TMPDIR", "the disk has no room for what does not fit into memory", do)
    if isinstance(error, duckdb.OutOfMemoryException):
        do = "Give it more with TRAINFARE_MEMORY_LIMIT, or a machine with more memory."
        return TrainfareError("", "the build ran out of memory", do)
    for reason in _UNUSABLE:
        if reason in text:
            return TrainfareError(where, reason.lower(), "Use a folder and files that this user may read and write.")
    if any(sign in text for sign in _DAMAGED):
        return DamagedError(where or damaged(sql))
    if any(sign in text for sign in _MISSING):
        do = "Restore it from a backup; or run trainfare build, which makes it again if its month is open."
        return TrainfareError(where, "there is no such file", do)
    return error


def _cannot_be_read(path: str) -> bool:
    """Whether there is such a file here, and the engine cannot read all of it."""
    if not Path(path).is_file():
        return False
    try:
        with duckdb.connect() as connection:
            connection.execute(f"SELECT last(COLUMNS(*)) FROM read_parquet({quoted(path)})")
    except (duckdb.Error, UnicodeDecodeError):
        return True
    return False


def _of_object_store(text: str, sql: str) -> TrainfareError | None:
    """A fault of the object store: the engine gives it as Python's own text, with the kind of the fault before the reason."""
    raised = re.search(r"^(?:\w+\.)*(\w+): (.*)$", text.partition("Traceback")[2].partition("\n")[2], re.MULTILINE)
    named = re.search(rf"'({SCHEME}[^']*)'", sql)
    return fault(named[1], [raised[1], OSError.__name__], raised[2]) if raised and named else None
