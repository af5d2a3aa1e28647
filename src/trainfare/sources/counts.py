"""What a file holds, counted independently of its reader: everything in it was read, or it is refused.

A reader states in `Head.tally` how many rows it found. `require_all_read` compares that with a count of its own, for
every source: most files need only the number of lines, which is counted while the file is hashed, or that of the lines
that do not end within quotes. Where these differ (blank lines, inches written as quotes), the rows are counted one by
one, by a parser that is not the reader's.
"""

import csv
import io
import json
import mmap
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb
import msgspec

from trainfare.engine.duckdb import DuckDB
from trainfare.engine.sql import quoted
from trainfare.errors import Problems, TrainfareError
from trainfare.files.locations import Location
from trainfare.sources.head import BLOCK_BYTES, Content, Head, Unit, open_content
from trainfare.sources.raw import translate_errors
from trainfare.sources.rows import FIX_LINE, LISTED_PER_CHECK, delimiter, json_objects, quoted_path

LONG_LINE_BYTES = 2_000_000
"""Readers give up on longer lines, with or without a message."""
_NEITHER_QUOTES_NOR_LINE_ENDS = bytes(byte for byte in range(256) if byte not in b'"\n')
_INTERNAL = "Nothing was loaded. Internal error; please report it."


def require_all_read(
    engine: DuckDB, head: Head, content: Content, archive: tuple[Location, int], problems: Problems
) -> None:
    """Report a file of which not every row was read and archived. `archive` is the copy and its number of rows.

    A reader that recorded nothing is an error, too, so that no new source can forget it.
    """
    if head.tally.unit is None:
        raise TrainfareError("", f"the reader of {head.path} does not state how many rows it read", _INTERNAL)
    with translate_errors(head, problems):
        _compare(engine, head, content, archive, problems)


def _compare(engine: DuckDB, head: Head, content: Content, archive: tuple[Location, int], problems: Problems) -> None:
    tally = head.tally
    held = tally.rows if _is_plain(head, content) else _counted(engine, head)
    if held != tally.rows:
        long_lines = _long_lines(head) if tally.unit in (Unit.RECORDS, Unit.LINES) else []
        for line, size in long_lines[:LISTED_PER_CHECK]:
            problems.add(f"{head.path}:{line}", f"the line of {size / 1e6:,.1f} MB is too long to be read", FIX_LINE)
        problems.unlisted += len(long_lines[LISTED_PER_CHECK:])
        if not long_lines:
            what = f"the file has {held:,} {tally.unit}, but {tally.rows:,} were read"
            problems.add(str(head.path), what, _INTERNAL)
        return
    location, rows = archive
    stored = _parquet_rows(engine, quoted(location))
    if stored != rows:
        what = f"{rows:,} rows were to be archived, but the copy has {stored:,}"
        problems.add(str(head.path), what, _INTERNAL)


def _is_plain(head: Head, content: Content) -> bool:
    """Return whether every line is a row, so that no other count is needed.

    A line break in quotes and a blank line only ever add lines, so they cannot make up for a row that was lost.
    """
    if head.tally.unit is Unit.RECORDS:
        rows = head.tally.rows + head.tally.header_rows
        return rows == content.lines or (not content.has_long_line and rows == _lines_outside_quotes(head))
    return head.tally.unit is Unit.LINES and head.tally.rows == content.lines


def _lines_outside_quotes(head: Head) -> int:
    """Return the number of lines that do not end within quotes: every second part between two quotes is outside."""
    line_ends, is_inside, last = 0, False, b"\n"
    with open_content(head.content, head.is_gzip) as content:
        while block := content.read(BLOCK_BYTES):
            parts = block.translate(None, _NEITHER_QUOTES_NOR_LINE_ENDS).split(b'"')
            line_ends += b"".join(parts[is_inside::2]).count(b"\n")
            is_inside, last = is_inside ^ (len(parts) % 2 == 0), block[-1:]
    return line_ends + (last != b"\n")


def _counted(engine: DuckDB, head: Head) -> int:
    if head.tally.unit is Unit.PARQUET_ROWS:
        return _parquet_rows(engine, quoted_path(head))
    if head.tally.unit is Unit.ENTRIES:
        return _entries(head)
    if head.tally.unit is Unit.OBJECTS:
        with open_content(head.content, head.is_gzip) as content:
            return sum(1 for _ in json_objects(content.read().decode("utf-8-sig")))
    with open_content(head.content, head.is_gzip) as content:
        if head.tally.unit is Unit.LINES:
            return sum(1 for _ in content)
        text = io.TextIOWrapper(content, encoding="utf-8-sig", errors="replace", newline="")
        with _unlimited_fields():
            records = sum(1 for record in csv.reader(text, delimiter=delimiter(head)) if record)
        return records - head.tally.header_rows


@contextmanager
def _unlimited_fields() -> Iterator[None]:
    before = csv.field_size_limit(sys.maxsize)
    try:
        yield
    finally:
        csv.field_size_limit(before)


def _long_lines(head: Head) -> list[tuple[int, int]]:
    """Return the lines that are too long, with their bytes."""
    with open_content(head.content, head.is_gzip) as content:
        return [(line, len(text)) for line, text in enumerate(content, 1) if len(text) > LONG_LINE_BYTES]


class _Document(msgspec.Struct):
    """A JSON object with its rows in a list. Entries are not parsed any further."""

    jobs: list[msgspec.Raw]


def _entries(head: Head) -> int:
    """Return the number of entries of a JSON list, or of the list in a JSON object."""
    with _whole(head) as content:
        is_list = head.text.lstrip().startswith("[")
        try:
            return len(msgspec.json.decode(content, type=list[msgspec.Raw]) if is_list else _jobs(content))
        except msgspec.MsgspecError:  # stricter than the readers, which accept NaN and a byte order mark
            found = json.loads(bytes(content).decode("utf-8-sig"))
            return len(found if is_list else found["jobs"])


def _jobs(content: bytes | memoryview) -> list[msgspec.Raw]:
    return msgspec.json.decode(content, type=_Document).jobs


@contextmanager
def _whole(head: Head) -> Iterator[bytes | memoryview]:
    """Yield the whole content; a plain local file is mapped, not loaded."""
    if isinstance(head.content, Path) and not head.is_gzip:
        with (
            head.content.open("rb") as file,
            mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped,
            memoryview(mapped) as view,
        ):
            yield view
        return
    with open_content(head.content, head.is_gzip) as content:
        yield content.read()


def _parquet_rows(engine: DuckDB, path: str) -> int:
    """Return the rows that a Parquet file declares, as a whole and in its parts; a difference is damage."""
    (declared,) = engine.row(f"SELECT coalesce(sum(num_rows), 0) FROM parquet_file_metadata({path})")
    (in_parts,) = engine.row(
        "SELECT coalesce(sum(row_group_num_rows), 0) FROM "
        f"(SELECT DISTINCT row_group_id, row_group_num_rows FROM parquet_metadata({path}))"
    )
    if declared != in_parts:
        raise duckdb.IOException(f"it declares {declared} rows, its parts {in_parts}")
    return int(declared)
