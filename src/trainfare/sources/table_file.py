"""The reader of our own files: a table of the contract as CSV, JSON lines or Parquet, checked as declared."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from trainfare.engine.duckdb import DuckDB, parquet
from trainfare.errors import Problems
from trainfare.files.locations import Location
from trainfare.sources.fields import Field
from trainfare.sources.head import Head
from trainfare.sources.protocol import ArchivedFile, ReadOptions
from trainfare.sources.raw import RawTable, open_table, require_columns, translate_errors
from trainfare.tables import TEXT, TIME, Table

Check = Callable[[RawTable, str, Problems], None]
"""Reports problems of whole rows, given the zone of times without an offset."""
Computed = Callable[[RawTable, str], str]
"""Returns SQL for a column that is not simply read."""


@dataclass(frozen=True)
class TableFile:
    """A declared file: its table, its columns and the checks that no single column can express."""

    table: Table
    fields: Sequence[Field] = ()
    """Checked in this order. Columns without a field are optional, and read by their type."""
    checks: Sequence[Check] = ()
    computed: Mapping[str, Computed] = field(default_factory=dict)
    is_utc: bool = False
    """Whether times are in UTC whatever the zone of the source, because days are UTC days."""

    @property
    def required(self) -> tuple[str, ...]:
        """The columns that a file must have, in the order of the table."""
        required = {declared.name for declared in self.fields if declared.is_required}
        return tuple(name for name in self.table.names if name in required)

    def archive(self, engine: DuckDB, head: Head, target: Location, options: ReadOptions, problems: Problems) -> int:
        """Check every row, write a copy to `target` and return the number of rows; with any problem, write nothing."""
        before = len(problems.found)
        select = self.read(engine, head, options, problems)
        return write_archive(engine, head, select, target, problems) if len(problems.found) == before else 0

    def read(self, engine: DuckDB, head: Head, options: ReadOptions, problems: Problems) -> str:
        """Check every row and return a SELECT of the rows of the table, empty if there are problems."""
        before, zone = len(problems.found), "UTC" if self.is_utc else options.zone
        raw = open_table(engine, head, "delivered", problems)
        do = "See docs/reference/files.md for the columns of this file."
        if raw is None or not require_columns(raw, self.required, self.table.names, problems, do):
            return ""
        with translate_errors(head, problems):
            for declared in self.fields:
                declared.check_presence(raw, problems)
            for declared in self.fields:
                declared.check_values(raw, zone, problems)
            for check in self.checks:
                check(raw, zone, problems)
        return self._select(raw, zone) if len(problems.found) == before else ""

    def rows(self, engine: DuckDB, file: ArchivedFile, options: ReadOptions, table: Table) -> str | None:
        """Return a SELECT of the archived rows if they are of `table`."""
        return f"SELECT * FROM {parquet(file.location)}" if table is self.table else None

    def _select(self, raw: RawTable, zone: str) -> str:
        columns = {column.name: _by_type(raw, column.name, column.type, zone) for column in self.table.columns}
        columns |= {declared.name: declared.select(raw, zone) for declared in self.fields}
        columns |= {name: sql(raw, zone) for name, sql in self.computed.items()}
        select = ", ".join(f"{columns[name]} AS {name}" for name in self.table.names)
        return self.table.typed_select(f"(SELECT {select} FROM {raw.relation})")


def write_archive(engine: DuckDB, head: Head, select: str, target: Location, problems: Problems) -> int:
    """Write the rows of `select` to `target` and return their number; 0 if a value turns out to be unreadable."""
    with translate_errors(head, problems):  # columns without a check are read here for the first time
        engine.write_parquet(select, target)
        count: int = engine.row(f"SELECT count(*) FROM {parquet(target)}")[0]
        return count
    return 0


def _by_type(raw: RawTable, name: str, type_: str, zone: str) -> str:
    if name == "line":
        return "line"
    if type_ == TIME:
        return raw.timestamp(name, zone)
    return raw.text(name) if type_ == TEXT else raw.number(name, type_)
