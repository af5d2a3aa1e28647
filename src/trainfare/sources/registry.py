"""Every source there is, and how a file is recognized by its content."""

import csv
import io
from dataclasses import replace

import duckdb

from trainfare.engine.duckdb import DuckDB
from trainfare.errors import Problems, TrainfareError, UnreachableError
from trainfare.files.locations import Location
from trainfare.sources import near_misses
from trainfare.sources.bills import aws, azure, focus, google, mapping, oracle
from trainfare.sources.head import HEAD_BYTES, Head, read_head
from trainfare.sources.inventories import machines
from trainfare.sources.ledgers import commitment, ecb, hardware, invoice, labor, licenses, power, prices, rates, tariff
from trainfare.sources.protocol import Source
from trainfare.sources.raw import RESERVED_NAME, ROW_NUMBER
from trainfare.sources.recordings import recording
from trainfare.sources.rows import check_unique_names, quoted_path
from trainfare.sources.schedulers import jobs, kubernetes, sacct, sacct_json
from trainfare.sources.telemetry import events, measurements, quality

SOURCES: tuple[Source, ...] = (
    focus,
    aws.LEGACY,
    aws.VERSION_2,
    google.READER,
    azure.READER,
    oracle.READER,
    sacct,
    sacct_json,
    events,
    kubernetes,
    measurements,
    quality,
    prices,
    labor,
    licenses,
    invoice,
    power,
    tariff,
    rates,
    ecb,
    commitment,
    hardware,
    jobs,
    machines,
    *mapping.SHIPPED,
    mapping.ANY,
)
"""The first one that recognizes a file reads it."""

OTHER_FILES = (
    (b"\xd0\xcf\x11\xe0", "an Excel workbook", "Save the sheet as CSV (UTF-8)."),
    (b"%PDF-", "a PDF", "Export the underlying data."),
    (b"(\xb5/\xfd", "compressed with zstd", "Decompress it, or compress it with gzip."),
    (b"BZh", "compressed with bzip2", "Decompress it, or compress it with gzip."),
    (b"\xfd7zXZ", "compressed with xz", "Decompress it, or compress it with gzip."),
)
"""Files that are not supported, by how they start."""

LINES_BEFORE_HEADER = 20
SEPARATORS = (",", ";", "\t", "|")
UNRECOGNIZED = "unrecognized file format"


def by_name(name: str) -> Source:
    """Return the source with this name. Recordings are delivered by collectors, never as files."""
    return next(source for source in (*SOURCES, recording) if name == source.NAME)


def open_head(engine: DuckDB, path: Location) -> Head:
    """Return the beginning of a file, with the columns of a Parquet file."""
    head = read_head(path)
    return replace(head, parquet_columns=_parquet_columns(engine, head)) if head.is_parquet else head


def recognize(engine: DuckDB, path: Location) -> tuple[Source, Head]:
    """Return the source that reads this file; an unrecognized file is an error that says what is missing."""
    head = open_head(engine, path)
    for source in SOURCES:
        if source.recognize(head):
            return source, head
    if header := _later_header(head):
        do = f"Remove everything before line {header}: the first line must be the header."
        raise TrainfareError(f"{path}:1", f"this is not the header, which is on line {header}", do)
    what, do = _described(head)
    if not do and (resembled := near_misses.near_miss(head)):
        raise TrainfareError(f"{path}:1" if head.text else str(path), *resembled)
    raise TrainfareError(str(path), what, do or near_misses.needed_columns())


def _later_header(head: Head) -> int | None:
    """Return the line of a header that follows a title, a comment or blank lines, if the rest of the file is its table.

    A text that merely has a table somewhere in it is no table.
    """
    lines = head.text.split("\n")
    if len(head.text.encode()) >= HEAD_BYTES - 4:
        lines = lines[:-1]  # its end was not read
    for index in range(1, min(len(lines), LINES_BEFORE_HEADER) if not head.is_json else 0):
        rest = replace(head, text="\n".join(lines[index:]))
        if not rest.is_json and any(source.recognize(rest) for source in SOURCES) and _is_table(rest):
            return index + 1
    return None


def _is_table(head: Head) -> bool:
    """Return whether every row has as many fields as the first one, as far as the file was read."""
    mark = max(SEPARATORS, key=head.first_line.count)
    rows = [row for row in csv.reader(io.StringIO(head.text, newline=""), delimiter=mark) if row]
    return len(rows[0]) > 1 and len({len(row) for row in rows}) == 1


def _described(head: Head) -> tuple[str, str]:
    """Return what an unrecognized file is, as far as we can tell, and how to get a supported one."""
    for start, what, do in OTHER_FILES:
        if head.start.startswith(start):
            return f"{UNRECOGNIZED}: {what}", do
    if head.text.lstrip()[:9].lower().startswith(("<!doctype", "<html")):
        return f"{UNRECOGNIZED}: a web page", "Download it again: a login page may have been saved."
    text = head.text.strip().splitlines()[:1]
    opening = "".join(text).strip() or ", ".join(sorted(head.parquet_columns)) or "binary data"
    shown = "".join(char if char.isprintable() else "?" for char in opening[:60])
    return f"{UNRECOGNIZED} ({'columns' if head.is_parquet else 'starts with'}: {shown})", ""


def _parquet_columns(engine: DuckDB, head: Head) -> frozenset[str]:
    if head.is_gzip:
        do = "Decompress it with gunzip: Parquet is compressed internally."
        raise TrainfareError(str(head.path), "Parquet inside gzip", do)
    try:
        names = _parquet_names(engine, head)
    except UnreachableError:
        raise
    except (TrainfareError, duckdb.Error):
        do = "Export or copy it again."
        raise TrainfareError(str(head.path), "the Parquet file is damaged or truncated", do) from None
    problems = Problems()
    if check_unique_names(names, str(head.path), problems) and ROW_NUMBER in {name.lower() for name in names}:
        problems.add(str(head.path), *RESERVED_NAME)
    problems.raise_if_any()
    return frozenset(name.lower() for name in names)


def _parquet_names(engine: DuckDB, head: Head) -> list[str]:
    """Return the column names of a Parquet file as written; the engine itself would rename duplicates."""
    engine.rows(f"DESCRIBE SELECT * FROM read_parquet({quoted_path(head)})")
    (_, _), *parts = engine.rows(f"SELECT name, num_children FROM parquet_schema({quoted_path(head)})")
    names, nested = [], 0
    for name, children in parts:
        if not nested:
            names.append(str(name))
        nested += (children or 0) - bool(nested)
    return names
