"""Archived job logs: what every reader of job logs has in common."""

from trainfare.engine.duckdb import DuckDB, parquet
from trainfare.errors import Problems
from trainfare.files.locations import Location
from trainfare.sources.head import Head
from trainfare.sources.protocol import ArchivedFile, ReadOptions
from trainfare.sources.table_file import write_archive
from trainfare.tables import PLACEMENTS, Table


def rows(engine: DuckDB, file: ArchivedFile, options: ReadOptions, table: Table) -> str | None:
    """Return a SELECT of placements; columns that the contract gained after a file was archived are null."""
    if table is not PLACEMENTS:
        return None
    archived = engine.columns(parquet(file.location))
    columns = (c.name if c.name in archived else f"CAST(NULL AS {c.type}) AS {c.name}" for c in PLACEMENTS.columns)
    return f"SELECT {', '.join(columns)} FROM {parquet(file.location)}"


def empty(engine: DuckDB, into: str) -> None:
    """Create `into` as a table without placements, for a file that cannot be read."""
    engine.run(f'CREATE OR REPLACE TEMP TABLE "{into}" ({PLACEMENTS.definition()})')


def archive_table(engine: DuckDB, head: Head, table: str, target: Location, problems: Problems) -> int:
    """Write a table of placements to `target`, drop it and return the number of rows."""
    lines = write_archive(engine, head, f"SELECT * FROM {table}", target, problems)
    engine.drop(table)
    return lines
