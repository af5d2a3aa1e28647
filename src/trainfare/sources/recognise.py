"""Tell by its content what a file is, and who reads it."""

from dataclasses import replace
from pathlib import Path
from types import ModuleType

from trainfare.engine.duckdb import DuckDB, quoted
from trainfare.errors import TrainfareError
from trainfare.sources.bills import focus
from trainfare.sources.head import Head, look
from trainfare.sources.inventories import machines_file
from trainfare.sources.schedulers import jobs_file, sacct, sacct_json

FORMATS: tuple[ModuleType, ...] = (focus, sacct, sacct_json, jobs_file, machines_file)


def recognise(engine: DuckDB, path: Path) -> tuple[ModuleType, Head]:
    """The format that reads this file; a file nobody recognises is refused with the list of what we read."""
    head = look(path)
    if head.is_parquet:
        head = replace(head, parquet_columns=_parquet_columns(engine, path))
    for format_ in FORMATS:
        if format_.recognise(head):
            return format_, head
    listed = "\n".join(f"    {format_.READS}" for format_ in FORMATS)
    starts = head.first_line[:60] or ", ".join(sorted(head.parquet_columns))[:60] or "bytes that are no text"
    raise TrainfareError(str(path), f"nobody here reads this file (it starts with: {starts})", f"We read:\n{listed}")


def _parquet_columns(engine: DuckDB, path: Path) -> frozenset[str]:
    try:
        names = engine.connection.execute(f"SELECT name FROM parquet_schema({quoted(path)})").fetchall()
    except Exception:
        raise TrainfareError(str(path), "the Parquet file is damaged", "Export or copy it again.") from None
    return frozenset(str(name).lower() for (name,) in names)
