"""Tell by its content what a file is, and who reads it."""

from dataclasses import replace
from types import ModuleType

import duckdb

from trainfare.engine.duckdb import DuckDB
from trainfare.errors import Faults, TrainfareError, UnreachableError
from trainfare.places import Place
from trainfare.sources.bills import focus
from trainfare.sources.head import Head, look
from trainfare.sources.inventories import machines_file
from trainfare.sources.ledgers import (
    commitment_file,
    ecb_file,
    hardware_file,
    invoice_file,
    labour_file,
    licence_file,
    power_file,
    prices_file,
    rates_file,
    tariff_file,
)
from trainfare.sources.raw import NUMBERED, TAKEN_NAME
from trainfare.sources.rows import bare, header_names, located, named_once
from trainfare.sources.schedulers import jobs_file, sacct, sacct_json
from trainfare.sources.telemetry import measurements_file, quality_file

FORMATS: tuple[ModuleType, ...] = (
    focus,
    sacct,
    sacct_json,
    measurements_file,
    quality_file,
    prices_file,
    labour_file,
    licence_file,
    invoice_file,
    power_file,
    tariff_file,
    rates_file,
    ecb_file,
    commitment_file,
    hardware_file,
    jobs_file,
    machines_file,
)
"""Asked in this order: a file of measurements has the columns of a job file beside its own."""

OTHER_FILES = (
    (b"PK\x03\x04", "a zip file or an Excel workbook", "Unpack it; of a workbook, save the sheet as CSV (UTF-8)."),
    (b"\xd0\xcf\x11\xe0", "an Excel workbook", "Save the sheet as CSV (UTF-8)."),
    (b"%PDF-", "a PDF", "Export the data behind it."),
    (b"(\xb5/\xfd", "packed with zstd", "Unpack it, or pack it with gzip."),
    (b"BZh", "packed with bzip2", "Unpack it, or pack it with gzip."),
    (b"\xfd7zXZ", "packed with xz", "Unpack it, or pack it with gzip."),
)
"""Files that we do not read, by how they start."""
OTHER_BILLS = (
    ({"lineitemunblendedcost"}, "an AWS Cost and Usage Report (CUR)", "In AWS Data Exports, export the FOCUS table."),
    ({"costinbillingcurrency"}, "an Azure cost export", "In Azure, export 'Cost and usage details (FOCUS)'."),
    ({"billingaccountid", "usagestarttime"}, "a Google Cloud billing export", "Export Google's FOCUS view instead."),
)
"""Bills that are not FOCUS, by the columns they have, and where the FOCUS one is to be had."""

LINES_BEFORE_HEADER = 20


def recognise(engine: DuckDB, path: Place) -> tuple[ModuleType, Head]:
    """The format that reads this file; a file nobody recognises is refused with the list of what we read."""
    head = look(path)
    if head.is_parquet:
        head = replace(head, parquet_columns=_parquet_columns(engine, head))
    for format_ in FORMATS:
        if format_.recognise(head):
            return format_, head
    if header := _later_header(head):
        do = f"Take out what stands before line {header}: the first line is the header."
        raise TrainfareError(f"{path}:1", f"this is not the header, which stands on line {header}", do)
    what, do = _known_otherwise(head)
    listed = "\n".join(f"    {format_.READS}" for format_ in FORMATS)
    raise TrainfareError(str(path), what, f"{do}We read:\n{listed}")


def _later_header(head: Head) -> int | None:
    """The line of a header that has a title, a comment or blank lines before it."""
    lines = head.text.split("\n")[:LINES_BEFORE_HEADER]
    for place in range(1, len(lines) if not head.is_json else 0):
        rest = replace(head, text="\n".join(lines[place:]))
        if not rest.is_json and any(format_.recognise(rest) for format_ in FORMATS):
            return place + 1
    return None


def _known_otherwise(head: Head) -> tuple[str, str]:
    """What a file is that nobody here reads, as far as we can tell, and how to get one that is read."""
    for start, what, do in OTHER_FILES:
        if head.start.startswith(start):
            return f"nobody here reads this file: it is {what}", f"{do} "
    if head.text.lstrip()[:9].lower().startswith(("<!doctype", "<html")):
        return "nobody here reads this file: it is a web page", "Download it again: a login page may have been saved. "
    names = {bare(name) for name in head.parquet_columns or header_names(head)}
    for columns, what, do in OTHER_BILLS:
        if columns <= names:
            return f"this is {what}, not FOCUS", f"{do} "
    text = head.text.strip().splitlines()[:1]
    starts = "".join(text).strip() or ", ".join(sorted(head.parquet_columns)) or "bytes that are no text"
    shown = "".join(char if char.isprintable() else "?" for char in starts[:60])
    return f"nobody here reads this file (it {'has' if head.is_parquet else 'starts with'}: {shown})", ""


def _parquet_columns(engine: DuckDB, head: Head) -> frozenset[str]:
    if head.is_gzip:
        do = "Unpack it with gunzip: Parquet is packed inside."
        raise TrainfareError(str(head.path), "this is Parquet inside gzip", do)
    try:
        names = _parquet_names(engine, head)
    except UnreachableError:
        raise
    except (TrainfareError, duckdb.Error):
        do = "Export or copy it again."
        raise TrainfareError(str(head.path), "the Parquet file is damaged or cut off", do) from None
    faults = Faults()
    if named_once(names, str(head.path), faults) and NUMBERED in {name.lower() for name in names}:
        faults.add(str(head.path), *TAKEN_NAME)
    faults.refuse()
    return frozenset(name.lower() for name in names)


def _parquet_names(engine: DuckDB, head: Head) -> list[str]:
    """The names of a Parquet file's columns as written; the engine itself would give a new name to one that comes twice."""
    engine.rows(f"DESCRIBE SELECT * FROM read_parquet({located(head)})")
    (_, _), *parts = engine.rows(f"SELECT name, num_children FROM parquet_schema({located(head)})")
    names, inside = [], 0
    for name, children in parts:
        if not inside:
            names.append(str(name))
        inside += (children or 0) - bool(inside)
    return names
