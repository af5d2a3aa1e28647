"""Delivered files of which only some rows are read, to trace one job without reading the bill of everybody."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from trainfare.engine.duckdb import DuckDB
from trainfare.sources.deliveries import DeliveredFile
from trainfare.tables import Table


@dataclass(frozen=True)
class NarrowedFile(DeliveredFile):
    """A file of which only the rows that match a condition are read, once."""

    conditions: Mapping[str, str] = field(default_factory=dict, compare=False)
    """SQL conditions by name of the table; other tables are read in full."""
    made: set[str] = field(default_factory=set, compare=False)

    def rows(self, engine: DuckDB, table: Table, currency: str | None = None) -> str | None:
        select = super().rows(engine, table, currency)
        if select is None or table.name not in self.conditions:
            return select
        name = f"narrowed_{table.name}_{self.number}"
        if name not in self.made:
            engine.table(name, f"SELECT * FROM ({select}) WHERE {self.conditions[table.name]}")
            self.made.add(name)
        return f"SELECT * FROM {name}"


def narrowed(file: DeliveredFile, conditions: Mapping[str, str]) -> NarrowedFile:
    """Return the file with only the rows of each table that match its condition."""
    return NarrowedFile(**vars(file), conditions=conditions)
